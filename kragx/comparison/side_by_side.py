"""Results side by side: which may be, what to say where not, and a table without statistics."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import Any

from kragx.comparison.gold_versions import GoldVersions, gold_pair
from kragx.comparison.scores import RetrieverScores
from kragx.errors import UsageError, shorten
from kragx.evaluation.evaluation import INTERVAL, Evaluation, bounds_note, metric_names
from kragx.metrics import metric as metric_named
from kragx.metrics.intervals import TOLERANCE, with_reasons
from kragx.printing import Cell, Line, Part, Table, warning

Result = Evaluation | RetrieverScores

REMEDY = "to compare them all the same: anyway=True, or --anyway"


def check_comparable(
    results: Sequence[Result],
    *,
    anyway: bool = False,
    versions: Mapping[str, GoldVersions] | None = None,
) -> tuple[str, ...]:
    """Refuse to set numbers side by side that do not mean the same.

    Args:
        results: of which each is held against the first.
        anyway: say what differs instead of refusing.
        versions: by the name of a result, which questions of its gold set and the first one's are
            not the same; only the others are set side by side.

    Returns:
        What a reader must know: what is unknown, and with `anyway` what differs.

    Raises:
        UsageError: gold set, profile, matcher or pool differ.
    """
    cautions: list[str] = []
    for other in results[1:]:
        gold = (versions or {}).get(other.name)
        differing = list(_differing(results[0], other, gold))
        if differing and not anyway:
            raise UsageError(
                f"{results[0].name!r} and {other.name!r} cannot be compared: "
                f"{'; '.join(differing)} ({REMEDY})"
            )
        cautions += [f"compared all the same: {what}" for what in differing]
        cautions += _unsure(results[0], other)
    return tuple(dict.fromkeys(cautions))


def gold_differs(
    gold: Mapping[str, Any], others: Mapping[str, Any], versions: GoldVersions | None = None
) -> str | None:
    """Why results of two gold sets cannot be compared; None if they can.

    Args:
        gold: what results record of the one.
        others: of the other.
        versions: which questions are not the same, where that is known.
    """
    if gold["hash"] == others["hash"] or None in (gold["hash"], others["hash"]):
        return None
    if versions is None:
        return gold_pair(gold, others)
    is_told = versions.n_same and versions.left_out  # and what differs is left out
    return None if is_told or not versions.differing else versions.text


def _differing(one: Result, other: Result, versions: GoldVersions | None) -> Iterator[str]:
    settings = one.settings, other.settings
    gold, other_gold = (own["dataset"] for own in settings)
    if text := gold_differs(gold, other_gold, versions):
        yield text
    elif None in (gold["hash"], other_gold["hash"]) and set(one.query_ids) != set(other.query_ids):
        yield (
            f"the gold sets have different queries ({len(one.query_ids)} and "
            f"{len(other.query_ids)})"
        )
    profiles = [{**own["profile"], "reproduces": ""} for own in settings]
    for what, pair in (("profiles", profiles), ("matchers", [own["match"] for own in settings])):
        if entries := _entries_that_differ(*pair):
            yield f"the {what} differ ({entries})"
    pools = [(own.get("pool") or {"hash": "gold"})["hash"] for own in settings]
    for text, values in (
        (
            "queries without gold are treated differently (no_gold)",
            [own["deviations"].get("no_gold") for own in settings],
        ),
        (
            "facts are matched differently (facts_match)",
            [own.get("facts_match") for own in settings],
        ),
        (
            "relevance was judged differently (relevance_match)",
            # A document's grade does not depend on what else was judged, as gold of a pool does.
            [{**(own.get("relevance") or {}), "pool": None} for own in settings],
        ),
        (
            f"they were judged in different pools ({pools[0]} and {pools[1]}); judge both in one "
            "pool: one config file with both retrievers, or kragx.pooled(...)",
            pools,
        ),
    ):
        if values[0] != values[1]:
            yield text


def _unsure(one: Result, other: Result) -> Iterator[str]:
    if None in (one.settings["dataset"]["hash"], other.settings["dataset"]["hash"]):
        yield "the gold set has no content hash; it is taken to be the same, as the queries are"
    versions = [own.settings["versions"].get("kragx") for own in (one, other)]
    if versions[0] != versions[1]:
        yield f"computed by different versions of kragx ({versions[0]} and {versions[1]})"


def _entries_that_differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The entries that differ, at most three of them, in the order of their names; or nothing."""
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    shown = [f"{name} {shorten(one.get(name))} and {shorten(other.get(name))}" for name in names]
    return ", ".join([*shown[:3], *([f"and {len(names) - 3} more"] if len(names) > 3 else [])])


def side_by_side(evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    """A table for each matcher: metrics down, retrievers across, the best in bold.

    Raises:
        UsageError: numbers of one matcher do not mean the same.
    """
    for _, of_matcher in groupby(evaluations, key=lambda evaluation: evaluation.match_label):
        group = list(of_matcher)
        if len(group) == 1:
            yield from group[0].describe()
            continue
        check_comparable(group)
        yield from group[0].heading()
        yield _table(group)
        yield from remarks_on(group)
        yield group[0].size


def remarks_on(evaluations: Sequence[Evaluation], *, failures: bool = True) -> Iterator[Line]:
    """What was left out of evaluations of one matcher, of several with their names.

    Args:
        evaluations: of one matcher.
        failures: whether that includes failures; a comparison says itself what they mean.
    """
    for evaluation in evaluations:
        prefix = f"{evaluation.name}: " if len(evaluations) > 1 else ""
        for remark in evaluation.remarks if failures else evaluation.further_remarks:
            yield warning(f"{prefix}{remark}")


def _table(evaluations: Sequence[Evaluation]) -> Table:
    def row(metric: str) -> list[str | Cell]:
        means = [evaluation.mean.get(metric) for evaluation in evaluations]
        known = [mean for mean in means if mean is not None]
        better = metric_named(metric).better
        # Sums of fractions differ in their last bits, and where all are equal none is best.
        differ = better != "neither" and known and max(known) - min(known) > TOLERANCE
        best = (max(known) if better == "higher" else min(known)) if differ else inf
        cells = (
            Cell(
                evaluation.mean_cell(metric),
                "bold" if mean is not None and abs(mean - best) <= TOLERANCE else "",
                evaluation.ends.get(metric, ""),
            )
            for evaluation, mean in zip(evaluations, means)
        )
        return [metric, *cells]

    columns = ["metric", *(evaluation.name for evaluation in evaluations)]
    rows = list(map(row, metric_names(evaluations)))
    ends = (text for evaluation in evaluations for text in evaluation.ends.values())
    note = f"with each mean its {INTERVAL}; whether two differ, kragx.compare tests"
    return Table(columns, rows, note=with_reasons(ends, note, bounds_note(evaluations)))
