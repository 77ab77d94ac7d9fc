"""Gates: what the numbers must be, lest the command end with 1.

    gates:
      ndcg@10: ">= 0.75"                                # of every retriever
      recall@3: no worse than baseline by 0.02          # of every other retriever
      seconds_p95: ["< 0.5", no worse than earlier by 0.1]
      retrievers:
        hybrid: {ndcg@10: surely >= 0.8}                # of one
      slices:
        metadata.difficulty:
          hard: {recall@3: ">= 0.5"}                    # within a slice
      matchers:
        strict: {ndcg@10: ">= 0.6"}                     # under one of several matchers

Blocks may stand in each other. A condition looks at the mean; with ``surely`` at that end of its
interval that is less favourable, so that chance alone does not pass it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal

from kragx.comparison.comparison import Comparison
from kragx.comparison.estimate import Difference
from kragx.comparison.scores import direction
from kragx.comparison.view import View
from kragx.data.text import normalise
from kragx.errors import UsageError, nearest, shorten
from kragx.metrics import KRAGX, Profile, parse
from kragx.plain import HIDDEN
from kragx.printing import Line, Part, Result, Table, number, signed, visible

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_BOUND = re.compile(rf"(?P<surely>surely\s+)?(?P<sign>>=|<=|>|<)\s*(?P<bound>{_NUMBER})", re.I)
_RELATIVE = re.compile(
    rf"(?P<surely>surely\s+)?no\s+worse\s+than\s+(?:the\s+)?(?P<than>baseline|earlier)"
    rf"(?:\s+by\s+(?:more\s+than\s+)?(?P<by>{_NUMBER}))?",
    re.I,
)
_BLOCKS = ("retrievers", "slices", "matchers")
_SLACK = 1e-12
"""A mean that should be 0.75 may come out a few bits below."""

FORMS = (
    "'>= 0.75' (also >, <=, <), 'no worse than baseline by 0.02', "
    "'no worse than earlier by 0.02', each also with 'surely' before it"
)


_ITSELF = "{!r} is the baseline, which is not held to itself"

NEEDS_EARLIER = (
    "'no worse than earlier' needs earlier results: --earlier FOLDER, or earlier: FOLDER in the "
    "config"
)


@dataclass(frozen=True)
class Gate:
    """One condition.

    Attributes:
        path: where it stands in the config, for example ``gates.ndcg@10``.
        metric: by canonical name.
        condition: as people read it.
        surely: whether it looks at the less favourable end of the interval.
        sign, bound: of a condition such as ``>= 0.75``.
        than: of ``no worse than``: ``baseline`` or ``earlier``; `bound` is then by how much.
        retriever: None for every one.
        field, value: of a slice; None for all queries.
        match: the matcher; None for each.
    """

    path: str
    metric: str
    condition: str
    surely: bool
    sign: str | None
    bound: float
    than: Literal["baseline", "earlier"] | None = None
    retriever: str | None = None
    field: str | None = None
    value: str | None = None
    match: str | None = None


@dataclass(frozen=True)
class GateResult(Result):
    """Whether one retriever passed one gate.

    Attributes:
        gate: the gate.
        match, retriever: which.
        value: what was looked at: a mean, an end of its interval, or a difference; None if there is
            none.
        passed: whether it holds; a value that is not there does not pass.
        said: what was found, as people read it.
    """

    gate: Gate = field(metadata=HIDDEN)
    match: str
    retriever: str
    value: float | None
    passed: bool
    said: str

    also_plain = ("path", "metric", "condition", "slice")

    @property
    def path(self) -> str:
        """Where the gate stands in the config."""
        return self.gate.path

    @property
    def metric(self) -> str:
        """Of the gate."""
        return self.gate.metric

    @property
    def condition(self) -> str:
        """Of the gate, as people read it."""
        return self.gate.condition

    @property
    def slice(self) -> dict[str, str | None] | None:
        """Field and value of the slice; None for all queries."""
        gate = self.gate
        return None if gate.field is None else {"field": gate.field, "value": gate.value}

    @property
    def where(self) -> str:
        """The slice, as people read it; empty for all queries."""
        gate = self.gate
        return "" if gate.field is None else f"{gate.field} = {gate.value}"

    def describe(self) -> Iterator[Line]:
        """The gate, whom it concerns, and what was found."""
        where = f", {self.where}" if self.where else ""
        name = f"{self.retriever} ({self.match}{where})"
        yield Line(f"{self.metric} {self.condition}: {name}: {self.said}")


def gates_table(results: Sequence[GateResult]) -> Table:
    """Gates, whom they concern, and what was found."""
    match = len({result.match for result in results}) > 1
    where = any(result.where for result in results)
    words = ["", "gate", "retriever", *["match"] * match, *["slice"] * where, "found"]
    rows = [
        [
            "✅" if result.passed else "❌",
            f"{result.metric} {result.condition}",
            result.retriever,
            *[result.match] * match,
            *[visible(result.where)] * where,
            result.said,
        ]
        for result in results
    ]
    return Table(words, rows, words=len(words))


def gates_parts(results: Sequence[GateResult]) -> Iterator[Part]:
    """How many gates passed, and those that failed as a table; nothing where there are none."""
    bad = failed(results)
    if bad:
        yield Line(f"gates: {len(bad)} of {len(results)} failed", "bold red")
        yield gates_table(bad)
    elif results:
        yield Line(f"gates: all {len(results)} passed", "green")


def parse_gates(
    gates: object, problems: list[str], within: Profile = KRAGX, path: str = "gates"
) -> tuple[Gate, ...]:
    """Read a mapping of gates.

    Args:
        gates: as in the config.
        problems: gets a line for each mistake, with its path.
        within: the profile by which metric strings are read.
        path: where the mapping stands.
    """
    return tuple(_block(gates, path, {}, problems, within))


def _block(
    block: object,
    path: str,
    context: Mapping[str, str],
    problems: list[str],
    within: Profile,
) -> Iterator[Gate]:
    if not isinstance(block, Mapping):
        problems.append(
            f"{path}: a mapping from metric to condition is expected, not {shorten(block)}"
        )
        return
    for key, value in block.items():
        name, here = str(key), f"{path}.{key}"
        if name not in _BLOCKS:
            yield from _conditions(name, value, here, context, problems, within)
            continue
        if not isinstance(value, Mapping):
            problems.append(f"{here}: a mapping from name to gates is expected")
            continue
        for inner, gates in value.items():
            below = f"{here}.{inner}"
            if name != "slices":
                part = {"retrievers": "retriever", "matchers": "match"}[name]
                context_below = {**context, part: str(inner)}
                yield from _block(gates, below, context_below, problems, within)
            elif not isinstance(gates, Mapping):
                problems.append(
                    f"{below}: a mapping from a value of the field to gates is expected"
                )
            else:
                for of_slice, own in gates.items():
                    text = _slice_value(of_slice)
                    context_below = {**context, "field": str(inner), "value": text}
                    yield from _block(own, f"{below}.{of_slice}", context_below, problems, within)


def _slice_value(value: object) -> str:
    # As slices name their values: YAML reads true and 1 as no text.
    return str(value).lower() if isinstance(value, bool) else normalise(str(value))


def _conditions(
    metric: str,
    given: object,
    path: str,
    context: Mapping[str, str],
    problems: list[str],
    within: Profile,
) -> Iterator[Gate]:
    try:
        name = str(parse(metric, within))
    except UsageError as error:
        hint = nearest(metric, _BLOCKS)
        also = f"; {hint}" if hint.startswith("perhaps") else ""
        problems.append(f"{path}: {error}{also}")
        return
    for each in given if isinstance(given, list) else [given]:
        gate = _condition(each, path, name)
        if gate is None:
            problems.append(f"{path}: {shorten(each)} is no condition; write {FORMS}")
        else:
            yield replace(gate, **context)  # type: ignore[arg-type]  # names of texts


def _condition(text: object, path: str, metric: str) -> Gate | None:
    if not isinstance(text, str):
        return None
    found = _BOUND.fullmatch(text.strip())
    if found and isfinite(float(found["bound"])):
        surely = "surely " * bool(found["surely"])
        return Gate(
            path=path,
            metric=metric,
            condition=f"{surely}{found['sign']} {found['bound']}",
            surely=bool(surely),
            sign=found["sign"],
            bound=float(found["bound"]),
        )
    found = _RELATIVE.fullmatch(text.strip())
    if found is None or float(found["by"] or 0) < 0:
        return None
    surely = "surely " * bool(found["surely"])
    than: Literal["baseline", "earlier"] = (
        "baseline" if found["than"].lower() == "baseline" else "earlier"
    )
    by = f" by {found['by']}" if found["by"] else ""
    return Gate(
        path=path,
        metric=metric,
        condition=f"{surely}no worse than {than}{by}",
        surely=bool(surely),
        sign=None,
        bound=float(found["by"] or 0),
        than=than,
    )


def gate_problems(
    gates: Iterable[Gate],
    *,
    metrics: Iterable[str],
    retrievers: Iterable[str],
    matchers: Iterable[str],
    slices: Iterable[str],
    baseline: str | None,
) -> Iterator[str]:
    """What gates ask for that will not be there, with the remedy; a line for each mistake.

    Args:
        gates: from `parse_gates`.
        metrics: that are computed, by canonical name.
        retrievers: by name.
        matchers: by name.
        slices: the fields that are compared within.
        baseline: the retriever that was named as such.
    """
    metrics, retrievers, matchers = list(metrics), list(retrievers), list(matchers)
    fields = list(slices)
    for gate in gates:
        if gate.metric not in metrics:
            yield f"{gate.path}: {gate.metric} is not computed; add it to 'metrics'; " + (
                nearest(gate.metric, metrics)
            )
        elif gate.than is not None and direction(gate.metric) == "neither":
            yield f"{gate.path}: {gate.metric} has no direction, so nothing is worse"
        if gate.retriever is not None and gate.retriever not in retrievers:
            yield f"{gate.path}: no retriever {gate.retriever!r}; " + (
                nearest(gate.retriever, retrievers)
            )
        if gate.match is not None and gate.match not in matchers:
            yield f"{gate.path}: no matcher {gate.match!r}; {nearest(gate.match, matchers)}"
        if gate.field is not None and gate.field not in fields:
            yield f"{gate.path}: {gate.field!r} is not among the slices; add it to 'slices'" + (
                f"; {nearest(gate.field, fields)}" if fields else ""
            )
        if gate.than == "baseline" and baseline is None:
            yield (
                f"{gate.path}: 'no worse than baseline' needs one; name a retriever: baseline: "
                + (retrievers[0] if retrievers else "NAME")
            )
        elif gate.than == "baseline" and {gate.retriever or baseline, *retrievers} == {baseline}:
            yield f"{gate.path}: there is no retriever besides the baseline {baseline!r}"
        elif gate.than == "baseline" and gate.retriever == baseline:
            yield f"{gate.path}: {_ITSELF.format(baseline)}"


def check_gates(
    gates: Sequence[Gate],
    comparisons: Sequence[Comparison],
    earlier: Sequence[tuple[str, Comparison]] = (),
) -> tuple[GateResult, ...]:
    """Hold every retriever against the gates that concern it.

    Args:
        gates: from `parse_gates`.
        comparisons: one for each matcher.
        earlier: for each retriever that an earlier result has as well its name and the comparison
            of the two, whose baseline is the earlier one.

    Raises:
        UsageError: a gate asks for what the comparisons lack.
    """
    results: list[GateResult] = []
    for gate in gates:
        chosen = [each for each in comparisons if gate.match in (None, each.match)]
        if not chosen:
            names = [each.match for each in comparisons]
            raise UsageError(
                f"{gate.path}: no matcher {gate.match!r}; {nearest(gate.match or '', names)}"
            )
        for comparison in chosen:
            results += _checked(gate, comparison, earlier)
    return tuple(results)


def _checked(
    gate: Gate, comparison: Comparison, earlier: Sequence[tuple[str, Comparison]]
) -> Iterator[GateResult]:
    if gate.metric not in comparison.metrics:
        pooled = [each for each in comparison.metrics if _without_rel(each) == gate.metric]
        if len(pooled) != 1:
            hint = nearest(gate.metric, comparison.metrics)
            raise UsageError(f"{gate.path}: {gate.metric} was not computed; {hint}")
        gate = replace(gate, metric=pooled[0])
    if gate.retriever is not None and gate.retriever not in comparison.retrievers:
        hint = nearest(gate.retriever, comparison.retrievers)
        raise UsageError(f"{gate.path}: no retriever {gate.retriever!r}; {hint}")
    if gate.than == "baseline" and gate.retriever == comparison.baseline:
        raise UsageError(f"{gate.path}: {_ITSELF.format(gate.retriever)}")
    names = comparison.retrievers if gate.retriever is None else (gate.retriever,)
    for name in names:
        if gate.than == "baseline":
            if name == comparison.baseline:
                continue
            yield _relative(gate, name, comparison, name, comparison)
        elif gate.than == "earlier":
            yield _against_earlier(gate, name, comparison, earlier)
        else:
            yield _bounded(gate, name, comparison)


def _without_rel(metric: str) -> str:
    """The metric that was asked for: a pool says from which grade on a document is relevant."""
    name, _, options = metric.removesuffix(")").partition("(")
    kept = [each for each in options.split(", ") if each and not each.startswith("rel=")]
    return f"{name}({', '.join(kept)})" if kept else name


def _view(gate: Gate, comparison: Comparison) -> View | None:
    """What a gate looks at; None where no query has the slice's value."""
    if gate.field is None:
        return comparison.overall
    slices = comparison.by(gate.field)
    if not slices:
        raise UsageError(f"{gate.path}: there are no slices by {gate.field!r}; add it to 'slices'")
    return next((part for part in slices if part.label == gate.value), None)


def _no_slice(gate: Gate, name: str, comparison: Comparison) -> GateResult:
    # Known only once retrievers have answered, whose answers an error would throw away.
    hint = nearest(gate.value or "", [each.label for each in comparison.by(gate.field or "")])
    said = f"no query has the value {gate.value!r}; {hint}"
    return GateResult(gate, comparison.match, name, None, passed=False, said=said)


def _bounded(gate: Gate, name: str, comparison: Comparison) -> GateResult:
    view = _view(gate, comparison)
    if view is None:
        return _no_slice(gate, name, comparison)
    found = view.means[name][gate.metric]
    upwards = gate.sign in (">=", ">")
    value = (found.low if upwards else found.high) if gate.surely else found.value
    holds = _COMPARED[gate.sign or ">="]
    # Equality is granted to the last bits, and strictness denied.
    slack = _SLACK if gate.sign in (">=", "<=") else -_SLACK
    passed = value is not None and holds(value + (slack if upwards else -slack), gate.bound)
    end = f" ({'low' if upwards else 'high'} end of the interval)" if gate.surely else ""
    said = _no_value(found.n, surely=gate.surely) if value is None else f"{number(value)}{end}"
    return GateResult(gate, comparison.match, name, value, passed, said)


def _relative(
    gate: Gate, name: str, comparison: Comparison, inside: str, within: Comparison
) -> GateResult:
    """`no worse than`: `inside` is the retriever's name in `within`."""
    view = _view(gate, within)
    if view is None:
        return _no_slice(gate, name, within)
    found = view.difference(gate.metric, inside)
    better = within.better[gate.metric]
    value = _worst(found, better, surely=gate.surely)
    worse_by = None if value is None else -value if better == "higher" else value
    passed = worse_by is not None and worse_by <= gate.bound + _SLACK
    if value is None:
        said = _no_value(0 if found is None else found.n, surely=gate.surely)
    else:
        end = " (less favourable end of the interval)" if gate.surely else ""
        said = f"{signed(value)} against {gate.than}{end}"
    return GateResult(gate, comparison.match, name, value, passed, said)


def _worst(found: Difference | None, better: str, *, surely: bool) -> float | None:
    if found is None or not surely:
        return None if found is None else found.value
    return found.low if better == "higher" else found.high


def _against_earlier(
    gate: Gate, name: str, comparison: Comparison, earlier: Sequence[tuple[str, Comparison]]
) -> GateResult:
    if not earlier:
        raise UsageError(f"{gate.path}: {NEEDS_EARLIER}")
    for retriever, change in earlier:
        if (retriever, change.match) == (name, comparison.match):
            if gate.metric not in change.metrics:
                said = f"the earlier results lack {gate.metric}"
                return GateResult(gate, comparison.match, name, None, passed=False, said=said)
            return _relative(gate, name, comparison, change.retrievers[1], change)
    if gate.retriever is None:
        # A retriever that is new has nothing that it could be worse than.
        return GateResult(
            gate, comparison.match, name, None, passed=True, said="new: not in earlier"
        )
    said = "the earlier results lack this retriever"
    return GateResult(gate, comparison.match, name, None, passed=False, said=said)


def _no_value(n: int, *, surely: bool) -> str:
    if surely and n:
        return "no interval: a run's own number, or fewer than two queries"
    return "no value: it could not be computed for any query here"


def failed(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Those that did not pass."""
    return tuple(each for each in results if not each.passed)
