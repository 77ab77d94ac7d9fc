"""What becomes of questions without gold, as the profile has it."""

import numpy as np

from kragx.errors import DataError
from kragx.metrics.match_table import Bools, Floats, Ints, MatchTable
from kragx.metrics.profiles import Profile
from kragx.metrics.spec import MetricSpec


def with_no_gold(
    values: Floats,
    empty: Bools,
    table: MatchTable,
    n_came: Ints,
    spec: MetricSpec,
    profile: Profile,
) -> Floats:
    """(c, q) what becomes of queries without gold; what a view keeps is not written into.

    Args:
        values: of all queries; 0 or undefined without gold.
        empty: (q) which have no gold.
        table: of all queries.
        n_came: (q) how many documents came in the end, as they abstain where none did.
        spec: the metric.
        profile: has the rule.

    Raises:
        DataError: the profile refuses such a query.
    """
    if not empty.any():
        return values
    match profile.no_gold:
        case "error" if (forgotten := empty & ~table.unanswerable).any():
            n, (first, *_) = int(forgotten.sum()), np.flatnonzero(forgotten).tolist()
            raise DataError(
                f"{spec}: {n} {'query has' if n == 1 else 'queries have'} no gold (the first is "
                f"number {first + 1}); add gold, mark those that nothing "
                "answers with answerable: false, or choose no_gold: skip"
            )
        case "skip" | "error":
            return np.where(empty, np.nan, values)
        case "zero":
            # Every metric is 0 without gold, or undefined without a relevant document.
            if profile.no_gold_hits and spec["need"] == "all":
                return np.where(empty, 1.0, values)
        case "abstain":
            abstained = table.answered & (n_came == 0)
            return np.where(empty & ~np.isnan(values), abstained, values)
    return values
