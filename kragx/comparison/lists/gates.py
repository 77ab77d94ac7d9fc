"""Gates on what two versions have in common: ``unchanged@5: >= 0.8``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kragx.comparison.gate_conditions import Gate, conditions_by_metric, read_condition
from kragx.comparison.gates import GateResult
from kragx.comparison.lists.list_diff import ListDiff
from kragx.ground.errors import UsageError
from kragx.ground.printing import number, phrase

_MEASURE = re.compile(r"(?:unchanged|jaccard)@([1-9]\d*)|rbo")
_FORMS = "write for example unchanged@5: >= 0.8; jaccard@5 and rbo can be held to a limit as well"


def read_list_gates(options: Sequence[str]) -> tuple[Gate, ...]:
    """The gates of a command line; a `UsageError` names what is none."""
    return tuple(
        _gate(measure, text)
        for measure, texts in conditions_by_metric(options).items()
        for text in texts
    )


def depths_of(gates: Sequence[Gate]) -> Iterator[int]:
    """The depths that they look at."""
    matches = (_MEASURE.fullmatch(gate.metric) for gate in gates)
    return (int(match[1]) for match in matches if match and match[1])


def with_gates(diff: ListDiff, gates: Sequence[Gate]) -> ListDiff:
    """The same, held against gates; where a version is not comparable none passes."""
    return replace(diff, gates=tuple(_held(gate, diff) for gate in gates))


def _gate(measure: str, text: str) -> Gate:
    gate = read_condition("--gate", measure, text)
    if _MEASURE.fullmatch(measure) is None or gate is None or gate.sign is None or gate.surely:
        raise UsageError(f"--gate {measure}: {text!r} is no condition here", remedy=_FORMS)
    return gate


def _held(gate: Gate, diff: ListDiff) -> GateResult:
    value = diff.mean[gate.metric]
    text: str = number(value)
    passed = value is not None and gate.limit("higher").holds(value)
    n, of = diff.counts["n_compared"], diff.counts["n_questions"]
    if n < of:
        text = phrase("{value}, by {n} of {of} questions", value=text, n=n, of=of)
    failed = next((failure for failure in diff.failures if not failure.tolerated), None)
    if failed is not None:
        text = phrase("not comparable: {name} {failed}", name=failed.retriever, failed=failed.text)
        value, passed = None, False
    by = diff.identity.by
    return GateResult(
        gate.path, gate.metric, gate.condition, by, diff.new, None, value, passed, text
    )
