"""Results side by side: which may be, and what to say of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from kragx.comparison.columns import same_ids
from kragx.comparison.gold_versions import GoldVersions, gold_pair
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.search_settings import Looks, first_that_searches, searches_that_differ
from kragx.comparison.statistics import Rows
from kragx.comparison.statistics.weighted import of_rows
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import UsageError, shorten
from kragx.ground.printing import Line, joined, phrase, warning
from kragx.metrics import Floats

Result = Evaluation | RetrieverScores

Kind = Literal["gold", "profile", "match", "no_gold", "facts_match", "relevance", "pool"] | Looks
"""What of settings keeps two numbers from meaning the same."""

REMEDY = phrase("to compare them all the same: anyway=True, or --anyway")


def check_comparable(
    results: Sequence[Result],
    *,
    anyway: bool = False,
    versions: Mapping[str, GoldVersions] | None = None,
) -> tuple[str, ...]:
    """Refuse to set numbers side by side that do not mean the same.

    Args:
        results: of which each is held against the first, and its searches against the first that
            has any.
        anyway: say what differs instead of refusing.
        versions: by the name of a result, which questions of its gold set and the first one's are
            not the same; only the others are set side by side.

    Returns:
        What a reader must know: what is unknown, and with `anyway` what differs.

    Raises:
        UsageError: gold set, profile, matcher, pool, or how searches are looked at differ.
    """
    cautions: list[str] = []
    for first, result, differing in _pairs(results, versions or {}):
        if differing and not anyway:
            raise UsageError(
                phrase(
                    "{name!r} and {other!r} cannot be compared: {why} ({remedy})",
                    name=first.name,
                    other=result.name,
                    why=joined("; ", differing),
                    remedy=REMEDY,
                )
            )
        cautions += [
            phrase("compared all the same: {what}", what=difference) for difference in differing
        ]
        cautions += _unsure(first, result)
    return tuple(dict.fromkeys(cautions))


def _pairs(
    results: Sequence[Result], versions: Mapping[str, GoldVersions]
) -> Iterator[tuple[Result, Result, list[str]]]:
    """Pairs of results with what differs."""
    for result in results[1:]:
        yield results[0], result, [*_differing(results[0], result, versions.get(result.name))]
    if place := first_that_searches([result.settings for result in results]):
        first = results[place]
        for result in results[place + 1 :]:
            reasons = searches_that_differ(first.settings, result.settings)
            yield first, result, [text for _, text in reasons]


def shared_weights(
    scores: Sequence[RetrieverScores], query_ids: Sequence[str], rows: Sequence[Rows | None]
) -> Floats | None:
    """(q) for how many asks each question stands, alike for all; None where all weigh alike.

    Args:
        scores: of retrievers.
        query_ids: (q) the questions that are compared.
        rows: for each retriever where these stand.

    Raises:
        UsageError: a question stands for more asks in one result than in another.
    """
    first, *columns = (of_rows(score.weights, own_rows) for score, own_rows in zip(scores, rows))
    alike = np.ones(len(query_ids))
    for score, column in zip(scores[1:], columns):
        one, other = (alike if weights is None else weights for weights in (first, column))
        differing = np.flatnonzero(~np.isclose(one, other, rtol=1e-9, atol=0))
        if differing.size:
            row = int(differing[0])
            raise UsageError(
                f"{scores[0].name!r} and {score.name!r} cannot be compared: question "
                f"{query_ids[row]!r} stands for {one[row]:g} asks in the one and for "
                f"{other[row]:g} in the other; evaluate both with one gold set, whose weight "
                "and inclusion each question then has"
            )
    return first


def gold_differs(
    gold: Mapping[str, Any], other_gold: Mapping[str, Any], versions: GoldVersions | None = None
) -> str | None:
    """Why results of two gold sets cannot be compared; None if they can.

    Args:
        gold: what results record of the one.
        other_gold: of the other.
        versions: which questions are not the same, where that is known.
    """
    if gold["hash"] == other_gold["hash"] or None in (gold["hash"], other_gold["hash"]):
        return None
    if versions is None:
        return gold_pair(gold, other_gold)
    is_told = versions.n_same and versions.left_out  # and what differs is left out
    return None if is_told or not versions.differing else versions.text


def _differing(first: Result, second: Result, versions: GoldVersions | None) -> Iterator[str]:
    hashes = [result.settings["dataset"]["hash"] for result in (first, second)]
    if None in hashes and not same_ids(first.query_ids, second.query_ids):
        yield phrase(
            "the gold sets have different queries ({n} and {others})",
            n=len(first.query_ids),
            others=len(second.query_ids),
        )
    yield from settings_that_differ(first.settings, second.settings, versions).values()


def settings_that_differ(
    first: Mapping[str, Any], second: Mapping[str, Any], versions: GoldVersions | None = None
) -> dict[Kind, str]:
    """Why numbers of two settings do not mean the same, in a sentence for each kind of reason.

    Args:
        first: settings of an `Evaluation`.
        second: of another.
        versions: which questions of their gold sets are not the same, where that is known.
    """
    return dict(_reasons((first, second), versions))


def _reasons(
    settings: tuple[Mapping[str, Any], Mapping[str, Any]], versions: GoldVersions | None
) -> Iterator[tuple[Kind, str]]:
    gold, other_gold = (setting["dataset"] for setting in settings)
    if text := gold_differs(gold, other_gold, versions):
        yield "gold", text
    profiles = [{**entry["profile"], "reproduces": ""} for entry in settings]
    described: tuple[tuple[Kind, str, list[Any]], ...] = (
        ("profile", phrase("the profiles differ"), profiles),
        ("match", phrase("the matchers differ"), [entry["match"] for entry in settings]),
    )
    for kind, kind_text, pair in described:
        if entries := _entries_that_differ(*pair):
            yield kind, phrase("{what} ({entries})", what=kind_text, entries=entries)
    pools = [(entry.get("pool") or {"hash": "gold"})["hash"] for entry in settings]
    # A document's grade does not depend on what else was judged, as gold of a pool does.
    relevance = [{**(entry.get("relevance") or {}), "pool": None} for entry in settings]
    other_pools = phrase(
        "they were judged in different pools ({pool} and {other}); judge both in one pool: "
        "one config file with both retrievers, or kragx.pooled(...)",
        pool=pools[0],
        other=pools[1],
    )
    no_gold = phrase("queries without gold are treated differently (no_gold)")
    facts = phrase("facts are matched differently (facts_match)")
    plain_kinds: tuple[tuple[Kind, str, list[Any]], ...] = (
        ("no_gold", no_gold, [entry["deviations"].get("no_gold") for entry in settings]),
        ("facts_match", facts, [entry.get("facts_match") for entry in settings]),
        ("relevance", phrase("relevance was judged differently (relevance_match)"), relevance),
        ("pool", other_pools, pools),
    )
    for kind, text, values in plain_kinds:
        if values[0] != values[1]:
            yield kind, text
    yield from searches_that_differ(*settings)


def _unsure(first: Result, second: Result) -> Iterator[str]:
    if None in (first.settings["dataset"]["hash"], second.settings["dataset"]["hash"]):
        yield phrase(
            "the gold set has no content hash; it is taken to be the same, as the queries are"
        )
    versions = [result.settings["versions"].get("kragx") for result in (first, second)]
    if versions[0] != versions[1]:
        yield phrase(
            "computed by different versions of kragx ({one} and {other})",
            one=versions[0],
            other=versions[1],
        )


def _entries_that_differ(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The entries that differ, at most three of them, in the order of their names; or nothing."""
    names = [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]
    entries: list[str] = [
        phrase(
            "{name} {one} and {other}",
            name=name,
            one=shorten(first.get(name)),
            other=shorten(second.get(name)),
        )
        for name in names
    ]
    n_more = len(names) - 3
    return joined(", ", [*entries[:3], *([phrase("and {n} more", n=n_more)] if n_more > 0 else [])])


def remarks_on(evaluations: Sequence[Evaluation], *, failures: bool = True) -> Iterator[Line]:
    """What was left out of evaluations of one matcher, of several with their names.

    Args:
        evaluations: of one matcher.
        failures: whether that includes failures; a comparison says itself what they mean.
    """
    for evaluation in evaluations:
        for remark in evaluation.remarks if failures else evaluation.further_remarks:
            yield warning(
                phrase("{names}: {remark}", names=evaluation.name, remark=remark)
                if len(evaluations) > 1
                else remark
            )
