"""Which results may be set side by side, and what to say where they may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kragx.comparison.scored import Scored
from kragx.errors import UsageError, shorten
from kragx.evaluation.evaluation import Evaluation
from kragx.judging.pool import check_same_pool

REMEDY = "to compare them all the same: anyway=True, or --anyway"


def check_comparable(
    results: Sequence[Evaluation] | Sequence[Scored], *, anyway: bool = False
) -> tuple[str, ...]:
    """Refuse to set numbers side by side that do not mean the same.

    Args:
        results: of which each is held against the first.
        anyway: say what differs instead of refusing.

    Returns:
        What a reader must know: what is unknown, and with `anyway` what differs.

    Raises:
        UsageError: gold set, profile, matcher or pool differ.
    """
    cautions: dict[str, None] = {}
    for other in results[1:]:
        differing = list(_differing(results[0], other))
        if differing and not anyway:
            pair = f"{results[0].name!r} and {other.name!r} cannot be compared"
            raise UsageError(f"{pair}: {'; '.join(differing)} ({REMEDY})")
        cautions.update(dict.fromkeys(f"compared all the same: {each}" for each in differing))
        cautions.update(dict.fromkeys(_unsure(results[0], other)))
    return tuple(cautions)


def gold_differs(gold: Mapping[str, Any], others: Mapping[str, Any]) -> str | None:
    """What to say of two gold sets, by their settings, that are known to differ."""
    if gold["hash"] == others["hash"] or None in (gold["hash"], others["hash"]):
        return None
    return f"the gold sets differ ({_gold(gold)} and {_gold(others)})"


def _differing(one: Evaluation | Scored, other: Evaluation | Scored) -> Iterator[str]:
    mine, theirs = one.settings, other.settings
    gold, others = mine["dataset"], theirs["dataset"]
    other_gold = gold_differs(gold, others)
    if other_gold is not None:
        yield other_gold
    elif None in (gold["hash"], others["hash"]) and set(one.query_ids) != set(other.query_ids):
        yield (
            f"the gold sets have different queries ({len(one.query_ids)} and "
            f"{len(other.query_ids)})"
        )
    profiles = _changes(*({**each["profile"], "reproduces": ""} for each in (mine, theirs)))
    if profiles:
        yield f"the profiles differ ({profiles})"
    no_gold = [each["deviations"].get("no_gold") for each in (mine, theirs)]
    if no_gold[0] != no_gold[1]:
        yield "queries without gold are treated differently (no_gold)"
    matchers = _changes(mine["match"], theirs["match"])
    if matchers:
        yield f"the matchers differ ({matchers})"
    if mine.get("facts_match") != theirs.get("facts_match"):
        yield "facts are matched differently (facts_match)"
    try:
        check_same_pool((each.name, each.settings.get("pool")) for each in (one, other))
    except UsageError as error:
        yield str(error).removeprefix(f"{one.name!r} and {other.name!r} cannot be compared: ")


def _unsure(one: Evaluation | Scored, other: Evaluation | Scored) -> Iterator[str]:
    if None in (one.settings["dataset"]["hash"], other.settings["dataset"]["hash"]):
        yield "the gold set has no content hash; it is taken to be the same, as the queries are"
    versions = [each.settings["versions"].get("kragx") for each in (one, other)]
    if versions[0] != versions[1]:
        yield f"computed by different versions of kragx ({versions[0]} and {versions[1]})"


def _gold(settings: Mapping[str, Any]) -> str:
    version = "" if settings["version"] is None else f" version {settings['version']}"
    return f"{settings['name']}{version}, sha256 {settings['hash'][:12]}"


def _changes(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """The entries that differ, at most three of them, in the order of their names; or nothing."""
    names = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
    shown = [
        f"{name} {shorten(mine.get(name))} and {shorten(theirs.get(name))}" for name in names[:3]
    ]
    rest = len(names) - len(shown)
    return ", ".join([*shown, f"and {rest} more"] if rest else shown)
