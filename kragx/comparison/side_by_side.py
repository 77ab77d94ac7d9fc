"""Results side by side: which may be, what to say of them, and all that lies between two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from kragx.comparison.scores import RetrieverScores
from kragx.data import GoldDataset
from kragx.data.gold_diff import diff_gold, gold_name
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.searching import SEARCHES
from kragx.ground.errors import UsageError, shorten
from kragx.ground.printing import Line, Result, joined, listed, message, plural, visible, warning
from kragx.matchers import METHODS, method_class
from kragx.metrics import known_metric

Scored = Evaluation | RetrieverScores

REMEDY = message("to compare them all the same: anyway=True, or --anyway")


def check_comparable(
    results: Sequence[Scored],
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
    first, cautions = results[0], list[str]()
    # Lists alone are no searches.
    looks = [result.settings.get(SEARCHES, {"lists_alone": True}) for result in results]
    place = next((row for row, look in enumerate(looks) if not look.get("lists_alone")), 0)
    for result in results[1:]:
        gold = (versions or {}).get(result.name)
        reasons = chain(
            _other_queries(first, result),
            settings_that_differ(first.settings, result.settings, gold),
        )
        searches = searches_that_differ(results[place].settings, result.settings)
        for other, differing in ((first, [*reasons]), (results[place], [*searches])):
            if differing and not anyway:
                raise UsageError(
                    message(
                        "{name!r} and {other!r} cannot be compared: {why} ({remedy})",
                        name=other.name,
                        other=result.name,
                        why=joined("; ", differing),
                        remedy=REMEDY,
                    )
                )
            cautions += [message("compared all the same: {what}", what=text) for text in differing]
        cautions += _unsure(first, result)
    return tuple(dict.fromkeys(cautions))


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


def _other_queries(first: Scored, second: Scored) -> Iterator[str]:
    ids = first.query_ids, second.query_ids
    if _lacks_hash(first, second) and ids[0] != ids[1] and {*ids[0]} != {*ids[1]}:
        yield message(
            "the gold sets have different queries ({n} and {others})",
            n=len(ids[0]),
            others=len(ids[1]),
        )


def _lacks_hash(*results: Scored) -> bool:
    return None in (result.settings["dataset"]["hash"] for result in results)


def settings_that_differ(
    first: Mapping[str, Any], second: Mapping[str, Any], versions: GoldVersions | None = None
) -> Iterator[str]:
    """Why numbers of two settings do not mean the same, a sentence for each reason.

    Args:
        first: settings of an `Evaluation`.
        second: of another.
        versions: which questions of their gold sets are not the same, where that is known.
    """
    settings = first, second
    if text := gold_differs(first["dataset"], second["dataset"], versions):
        yield text
    # What a profile imitates is a text for people: worded anew it is the same profile.
    profiles = [{**entry["profile"], "reproduces": ""} for entry in settings]
    if entries := _entries_that_differ(*profiles):
        yield message("the profiles differ ({entries})", entries=entries)
    if entries := _entries_that_differ(first["match"], second["match"]):
        yield message("the matchers differ ({entries})", entries=entries)
    if first["deviations"].get("no_gold") != second["deviations"].get("no_gold"):
        yield message("queries without gold are treated differently (no_gold)")
    if first.get("facts_match") != second.get("facts_match"):
        yield message("facts are matched differently (facts_match)")
    # A document's grade does not depend on what else was judged, as gold of a pool does.
    grades = [{**(entry.get("relevance") or {}), "pool": None} for entry in settings]
    if grades[0] != grades[1]:
        yield message("relevance was judged differently (relevance_match)")
    pools = [(entry.get("pool") or {"hash": "gold"})["hash"] for entry in settings]
    if pools[0] != pools[1]:
        yield message(
            "they were judged in different pools ({pool} and {other}); judge both in one pool: "
            "one config file with both retrievers, or kragx.pooled(...)",
            pool=pools[0],
            other=pools[1],
        )
    yield from searches_that_differ(first, second)


def searches_that_differ(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    """Why numbers of searches do not mean the same, a sentence for each reason.

    Where lists are all there is, they are what came first and what came in the end. Tokens are of
    no interest where either has no metric of them.

    Args:
        first: settings of an `Evaluation`.
        second: of another.
    """
    looks, other_looks = first.get(SEARCHES), second.get(SEARCHES)
    if looks is None or other_looks is None:
        return
    have_searches = not (looks.get("lists_alone") or other_looks.get("lists_alone"))
    if have_searches and looks["basis"] != other_looks["basis"]:
        yield message(
            "metrics are about different lists ({one} and {other}); evaluate both together: "
            "kragx score with both files, or one call of kragx.evaluate",
            one=looks["basis"],
            other=other_looks["basis"],
        )
    tokens, other_tokens = (entry.get("tokenizer") for entry in (looks, other_looks))
    if tokens != other_tokens and _reads_tokens(first) and _reads_tokens(second):
        yield message(
            "tokens of searches are known differently ({one} and {other})",
            one=shorten(tokens or "stated"),
            other=shorten(other_tokens or "stated"),
        )


def _reads_tokens(settings: Mapping[str, Any]) -> bool:
    metrics = map(known_metric, settings["metrics"])
    return any(metric is not None and metric.reads_tokens for metric in metrics)


def _unsure(first: Scored, second: Scored) -> Iterator[str]:
    if _lacks_hash(first, second):
        yield message(
            "the gold set has no content hash; it is taken to be the same, as the queries are"
        )
    versions = [result.settings["versions"].get("kragx") for result in (first, second)]
    if versions[0] != versions[1]:
        yield message(
            "computed by different versions of kragx ({one} and {other})",
            one=versions[0],
            other=versions[1],
        )


def _entries_that_differ(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The entries that differ, at most three of them, in the order of their names; or nothing."""
    names = [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]
    entries: list[str] = [
        message(
            "{name} {one} and {other}",
            name=name,
            one=shorten(first.get(name)),
            other=shorten(second.get(name)),
        )
        for name in names[:3]
    ]
    if len(names) > 3:
        entries.append(message("and {n} more", n=len(names) - 3))
    return joined(", ", entries)


def remarks_on(evaluations: Sequence[Evaluation], *, failures: bool = True) -> Iterator[Line]:
    """What was left out of evaluations of one matcher, of several with their names.

    Args:
        evaluations: of one matcher.
        failures: whether that includes failures; a comparison says itself what they mean.
    """
    for evaluation in evaluations:
        for remark in evaluation.remarks if failures else evaluation.further_remarks:
            yield warning(
                message("{names}: {remark}", names=evaluation.name, remark=remark)
                if len(evaluations) > 1
                else remark
            )


NAMED = 5
"""So many questions are named; JSON and ``kragx gold diff`` have all of them."""


@dataclass(frozen=True)
class GoldVersions(Result):
    """Two states of a gold set, whose results are compared: which questions are not the same.

    Attributes:
        left_out: whether only those questions that are the same are compared.
        earlier, later: name, version and content hash of either.
        n_same: the questions of both on which numbers mean the same.
        changed: the questions that both have on which they do not.
        only_earlier, only_later: those that only one of both has.
    """

    left_out: bool
    earlier: Mapping[str, Any]
    later: Mapping[str, Any]
    n_same: int
    changed: tuple[str, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """The questions that are not the same, those that both have first."""
        return (*self.changed, *self.only_later, *self.only_earlier)

    @cached_property
    def differing(self) -> frozenset[str]:
        """The same, to look among."""
        return frozenset(self.named)

    @property
    def text(self) -> str:
        """What a reader must know, in a sentence."""
        n, differing = self.n_same, self._not_the_same
        outcome: str = message(
            "no question differs in what metrics read"
            if not self.named
            else "{which}, none is the same"
            if not n
            else "{which}, left out here; 1 is the same, and compared"
            if n == 1
            else "{which}, left out here; {n} are the same, and compared",
            which=differing,
            n=n,
        )
        if self.named and n and not self.left_out:
            outcome = differing
        return message("{pair}: {end}", pair=gold_pair(self.earlier, self.later), end=outcome)

    @property
    def _not_the_same(self) -> str:
        """How many questions differ, and which."""
        n, ids = len(self.named), [*map(visible, self.named)]
        numbers = (
            (self.changed, message("{n} changed", n=len(self.changed))),
            (self.only_later, message("{n} only in the later", n=len(self.only_later))),
            (self.only_earlier, message("{n} only in the earlier", n=len(self.only_earlier))),
        )
        return plural(
            n,
            "1 question is not the same ({counts}: {questions})",
            "{n} questions are not the same ({counts}: {questions})",
            counts=joined(", ", (text for questions, text in numbers if questions)),
            questions=listed(ids, NAMED) if n > NAMED else joined(", ", ids),
        )

    def describe(self) -> Iterator[Line]:
        """What a reader must know."""
        # Else it stands among the cautions, as all that is compared anyway.
        if self.left_out or not self.differing:
            yield warning(self.text)


def gold_pair(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """Two gold sets that differ."""
    return message(
        "the gold sets differ ({earlier} and {later})",
        earlier=gold_name(earlier),
        later=gold_name(later),
    )


def gold_versions(
    earlier: Mapping[str, Any],
    later: Mapping[str, Any],
    datasets: Sequence[GoldDataset | None],
    match: Mapping[str, Any],
    *,
    anyway: bool = False,
) -> GoldVersions | None:
    """What is not the same in two gold sets; None where they are one, or are not known.

    Gold with the same text under another id is other gold where the matcher compares ids, unless a
    move has recorded where it went.

    Args:
        earlier: the settings that results record of the one.
        later: those of the other.
        datasets: the two of them.
        match: the settings of the matcher that results record.
        anyway: compare whatever both have.
    """
    hashes, (before, after) = (earlier["hash"], later["hash"]), datasets
    if before is None or after is None or hashes[0] == hashes[1]:
        return None
    if hashes != (before.content_hash, after.content_hash):  # others than results were made with
        return None
    diff, ids = diff_gold(before, after), dict[str, list[str]](changed=[], dropped=[], added=[])
    for question in diff.differing(compares_ids=_compares_ids(match)):
        ids[question.state].append(question.query_id)
    n_same = diff.n_old - len(ids["changed"]) - len(ids["dropped"])
    return GoldVersions(not anyway, dict(earlier), dict(later), n_same, *map(tuple, ids.values()))


def _compares_ids(match: Mapping[str, Any]) -> bool:
    """Whether a matcher of these settings may; of one that is not kragx's own nobody knows."""
    # A cascade compares ids as soon as one of its members does.
    if isinstance(members := match.get("of"), (list, tuple)):  # a span's is a word
        return any(map(_compares_ids, members))
    method = str(match.get("method"))
    return method not in METHODS or method_class(method).reads == "ids"


def left_out(versions: Iterable[GoldVersions]) -> frozenset[str]:
    """The questions that are not compared."""
    return frozenset().union(*(version.differing for version in versions if version.left_out))
