"""Results side by side: which may be, what to say of them, and all that lies between two."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kragx.comparison.gold_versions import GoldVersions, gold_pair
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import TOLERANCE
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.searching import SEARCHES
from kragx.ground.errors import UsageError, shorten
from kragx.ground.printing import Line, joined, phrase, warning
from kragx.metrics import Floats, known_metric

Scored = Evaluation | RetrieverScores

Kind = Literal[
    "gold", "profile", "match", "no_gold", "facts_match", "relevance", "pool", "basis", "tokens"
]
"""What of settings keeps two numbers from meaning the same; the last two are of searches."""

REMEDY = phrase("to compare them all the same: anyway=True, or --anyway")


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
    pairs = [
        (first, result, [*_differing(first, result, (versions or {}).get(result.name))])
        for result in results[1:]
    ]
    if place := _first_that_searches([result.settings for result in results]):
        one = results[place]
        pairs += [
            (one, result, [*searches_that_differ(one.settings, result.settings).values()])
            for result in results[place + 1 :]
        ]
    for one, other, differing in pairs:
        if differing and not anyway:
            raise UsageError(
                phrase(
                    "{name!r} and {other!r} cannot be compared: {why} ({remedy})",
                    name=one.name,
                    other=other.name,
                    why=joined("; ", differing),
                    remedy=REMEDY,
                )
            )
        cautions += [phrase("compared all the same: {what}", what=text) for text in differing]
        cautions += _unsure(one, other)
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


def _differing(first: Scored, second: Scored, versions: GoldVersions | None) -> Iterator[str]:
    ids = first.query_ids, second.query_ids
    hashes = [result.settings["dataset"]["hash"] for result in (first, second)]
    if None in hashes and ids[0] != ids[1] and {*ids[0]} != {*ids[1]}:
        yield phrase(
            "the gold sets have different queries ({n} and {others})",
            n=len(ids[0]),
            others=len(ids[1]),
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
    settings = first, second
    pools = [(entry.get("pool") or {"hash": "gold"})["hash"] for entry in settings]
    reasons: dict[Kind, str] = {}
    if text := gold_differs(first["dataset"], second["dataset"], versions):
        reasons["gold"] = text
    # What a profile imitates is a text for people: worded anew it is the same profile.
    profiles = [{**entry["profile"], "reproduces": ""} for entry in settings]
    if entries := _entries_that_differ(*profiles):
        reasons["profile"] = phrase("the profiles differ ({entries})", entries=entries)
    if entries := _entries_that_differ(first["match"], second["match"]):
        reasons["match"] = phrase("the matchers differ ({entries})", entries=entries)
    # A document's grade does not depend on what else was judged, as gold of a pool does.
    relevance = [{**(entry.get("relevance") or {}), "pool": None} for entry in settings]
    kinds: tuple[tuple[Kind, str, list[Any]], ...] = (
        (
            "no_gold",
            phrase("queries without gold are treated differently (no_gold)"),
            [entry["deviations"].get("no_gold") for entry in settings],
        ),
        (
            "facts_match",
            phrase("facts are matched differently (facts_match)"),
            [entry.get("facts_match") for entry in settings],
        ),
        ("relevance", phrase("relevance was judged differently (relevance_match)"), relevance),
        (
            "pool",
            phrase(
                "they were judged in different pools ({pool} and {other}); judge both in one pool: "
                "one config file with both retrievers, or kragx.pooled(...)",
                pool=pools[0],
                other=pools[1],
            ),
            pools,
        ),
    )
    reasons |= {kind: text for kind, text, values in kinds if values[0] != values[1]}
    return reasons | searches_that_differ(first, second)


def searches_that_differ(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[Kind, str]:
    """Why numbers of searches do not mean the same, in a sentence for each kind of reason.

    Where lists are all there is, they are what came first and what came in the end. Tokens are of
    no interest where either has no metric of them.

    Args:
        first: settings of an `Evaluation`.
        second: of another.
    """
    looks, other_looks = first.get(SEARCHES), second.get(SEARCHES)
    reasons: dict[Kind, str] = {}
    if looks is None or other_looks is None:
        return reasons
    are_alone = any(entry.get("lists_alone") for entry in (looks, other_looks))
    if looks["basis"] != other_looks["basis"] and not are_alone:
        reasons["basis"] = phrase(
            "metrics are about different lists ({one} and {other}); evaluate both together: "
            "kragx score with both files, or one call of kragx.evaluate",
            one=looks["basis"],
            other=other_looks["basis"],
        )
    tokens, other_tokens = (entry.get("tokenizer") for entry in (looks, other_looks))
    if tokens != other_tokens and _reads_tokens(first) and _reads_tokens(second):
        reasons["tokens"] = _tokens_differ(tokens, other_tokens)
    return reasons


def _tokens_differ(tokens: object, other_tokens: object) -> str:
    return phrase(
        "tokens of searches are known differently ({one} and {other})",
        one=_known_by(tokens),
        other=_known_by(other_tokens),
    )


def _first_that_searches(settings: Sequence[Mapping[str, Any]]) -> int:
    """The place of the first with more searches than lists alone are; 0 where none has any."""
    return next(
        (
            place
            for place, entry in enumerate(settings)
            if SEARCHES in entry and not entry[SEARCHES].get("lists_alone")
        ),
        0,
    )


def _reads_tokens(settings: Mapping[str, Any]) -> bool:
    metrics = map(known_metric, settings["metrics"])
    return any(metric is not None and metric.reads_tokens for metric in metrics)


def _known_by(tokenizer: object) -> str:
    if tokenizer is None:
        return phrase("stated by searches")
    if isinstance(tokenizer, Mapping):
        tokenizer = " ".join(str(tokenizer[key]) for key in ("name", "version") if key in tokenizer)
    return phrase("counted by the tokenizer {name}", name=shorten(tokenizer))


def _unsure(first: Scored, second: Scored) -> Iterator[str]:
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
    entries: list[str] = [
        phrase(
            "{name} {one} and {other}",
            name=name,
            one=shorten(first.get(name)),
            other=shorten(second.get(name)),
        )
        for name in sorted({*first, *second})
        if first.get(name) != second.get(name)
    ]
    if len(entries) > 3:
        entries[3:] = [phrase("and {n} more", n=len(entries) - 3)]
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
                phrase("{names}: {remark}", names=evaluation.name, remark=remark)
                if len(evaluations) > 1
                else remark
            )


_SHA256 = 64  # characters


@dataclass(frozen=True)
class Entry:
    """A setting that changed; ``None`` where it was not there."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name} {_shorten_value(self.before)} → {_shorten_value(self.after)}"


@dataclass(frozen=True)
class RunPair:
    """Two results of a retriever, of which a change and a step of a history are views."""

    before: RetrieverScores
    after: RetrieverScores

    @property
    def breaks(self) -> dict[Kind, str]:
        """Why the numbers do not mean the same, by the kind of reason."""
        return settings_that_differ(self.before.settings, self.after.settings)

    @property
    def changes(self) -> tuple[Entry, ...]:
        """The settings that changed."""
        return tuple(_changes(self.before.settings, self.after.settings))

    def values(self, metric: str, query_ids: Sequence[str]) -> tuple[Floats, Floats]:
        """The values of a metric before and after, of these questions, which both have."""
        before, after = (
            side.table([metric], query_ids)[:, 0] for side in (self.before, self.after)
        )
        return before, after

    def is_bounded(self, metric: str) -> bool:
        """Whether all values lie between 0 and 1: times differ at each query and say nothing."""
        # A metric of the user's own says no range, so its values are looked at.
        known_as = known_metric(metric)
        if known_as is not None and known_as.range[1] is None:
            return False
        values = np.concatenate([side.values[metric] for side in (self.before, self.after)])
        values = values[~np.isnan(values)]
        return bool(values.size and values.min() >= 0 and values.max() <= 1 + TOLERANCE)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings of how the retriever was asked, of the matcher, the gold set and versions."""
    parts = (("run", ""), ("match", "match."), ("dataset", "gold."), ("versions", "versions."))
    for part, prefix in parts:
        old, new = (dict(_flat(side.get(part) or {}, prefix)) for side in (before, after))
        for name in dict.fromkeys((*old, *new)):
            pair = old.get(name), new.get(name)
            # A name is how it is called; what the gold set holds is told by its hash.
            if pair[0] != pair[1] and name not in ("name", "gold.name"):
                yield Entry(name, *pair)


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, entry in value.items():
        if isinstance(entry, Mapping) and entry:
            yield from _flat(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry


def _shorten_value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value[:12] if len(value) == _SHA256 else value
    return shorten(value)
