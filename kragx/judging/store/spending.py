"""What a store says was used in all, for budgets that span runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kragx.errors import UsageError
from kragx.judging.budget import Budget, Budgets, Price, Used
from kragx.judging.store.store import Store


@dataclass
class StoreSpending:
    """What others than a ledger have used, by a store.

    Attributes:
        waiting: the most that open batches may take yet.
        ledgers: ids of attempts that the ledger has counted itself.
    """

    waiting: Used = field(default_factory=Used)
    ledgers: set[str] = field(default_factory=set)
    _stored: Used = field(default_factory=Used)
    _last: int = -1

    @property
    def used(self) -> Used:
        """What others used, and open batches may."""
        return self._stored + self.waiting

    def read(self, store: Store, prices: Mapping[str, Price] | None) -> None:
        """Count what the store got since it was last read.

        Args:
            store: that everybody shares who shares the budget.
            prices: of models; None where the budget is not of money.

        Raises:
            UsageError: somebody asked a model whose price is not known.
        """
        # What is collected in between counts twice for a moment, rather than not at all.
        pending = [batch for batch in store.batches.batches() if batch.is_open]
        self.waiting = sum((batch.most for batch in pending), Used())
        for number, uid, model, is_batch, spent in store.spent(after=self._last):
            self._last = number
            if uid in self.ledgers:
                self.ledgers.remove(uid)
                continue
            price = None if prices is None else prices.get(model)
            if (
                prices is not None
                and price is None
                and spent.prompt_tokens + spent.completion_tokens
            ):
                raise UsageError(
                    "judge.budget: of a cost per total all counts that the store has, and "
                    f"the price of {model!r} is not known",
                    remedy=f"add judge.prices.{model}: {{input: ..., output: ...}}",
                )
            if is_batch and price is not None:
                price = price.of_batches or price
            self._stored = self._stored + Used.of(spent, price)


def used_of(
    budgets: Budgets, store: Store | None, prices: Mapping[str, Price]
) -> list[tuple[Budget, Used]]:
    """Each limit with what others have used of it by now, open batches included.

    Args:
        budgets: the limits.
        store: what everybody shares; None if there is none yet.
        prices: of models.

    Raises:
        UsageError: a limit of a cost, and somebody asked a model whose price is not known.
    """
    used: list[tuple[Budget, Used]] = []
    for budget in budgets.limits:
        spending = StoreSpending()
        if store is not None and budget.per == "total":
            spending.read(store, None if budget.cost is None else prices)
        used.append((budget, spending.used))
    return used
