"""What judging would take: the answer of a dry run, in which nothing is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kragx.evaluation.evaluation import Evaluation
from kragx.printing import Line


def judging_plan(evaluations: Iterable[Evaluation]) -> Iterator[Line]:
    """A line for each judged evaluation of a dry run: calls, tokens and cost."""
    for evaluation in evaluations:
        judging = evaluation.counts.get("judging")
        if judging is None:
            continue
        plan = judging["plan"]
        cost = (
            f"about {plan['cost']:.4f} {judging['currency']}"
            if plan["cost"] is not None
            else f"no price of {judging['model']!r} is given"
        )
        yield Line(
            f"{evaluation.match_name}, {evaluation.name}: {plan['n_calls']} calls to make, "
            f"{judging['n_stored']} judgements stored; about {plan['prompt_tokens']} tokens "
            f"to send and {plan['completion_tokens']} to get; {cost}"
        )
    yield Line("a dry run: nothing was asked; what retrievers share is counted for each")
