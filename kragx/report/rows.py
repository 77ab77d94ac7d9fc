"""The lines that every kind of report shows: labels, values, counts worth a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kragx.evaluation import Evaluation
from kragx.metrics import METRICS


def number(value: float | None) -> str:
    """A metric's value as people read it; a dash where there is none."""
    return "-" if value is None else f"{value:.4f}"


def match_label(evaluation: Evaluation) -> str:
    """How matches were decided, in one line."""
    match = dict(evaluation.settings["match"])
    method = match.pop("method")
    options = []
    for name, value in match.items():
        shown = value
        if isinstance(value, dict):
            shown = " ".join(str(value[key]) for key in ("name", "version") if key in value)
        if value is not False:
            options.append(f"{name} {shown}")
    label = f"{method} ({', '.join(options)})" if options else str(method)
    named = evaluation.match_name
    return label if named == method else f"{named}: {label}"


def profile_label(evaluation: Evaluation) -> str:
    """The profile and how many deviations from it."""
    name = str(evaluation.settings["profile"]["name"])
    changed = [
        f"{what}={how}" if isinstance(how, str) else what
        for what, how in evaluation.settings["deviations"].items()
    ]
    return f"{name}, with {', '.join(changed)}" if changed else name


def metric_names(evaluations: Sequence[Evaluation]) -> list[str]:
    """The metrics of all evaluations, in order, each once."""
    return list(dict.fromkeys(name for each in evaluations for name in each.mean))


def best(values: Sequence[float | None], metric: str) -> set[int]:
    """The positions of the best values; none where all are equal, or there is but one."""
    known = [value for value in values if value is not None]
    if len(known) < 2 or len(set(known)) == 1:
        return set()
    top = (max if METRICS[re.split("[@(]", metric)[0]].higher_is_better else min)(known)
    return {position for position, value in enumerate(values) if value == top}


def remarks(evaluation: Evaluation) -> list[str]:
    """What a reader must know before trusting the numbers: everything that was left out."""
    counts, profile = evaluation.counts, evaluation.profile
    treated = {
        "n_no_gold": ("queries without gold", _NO_GOLD[evaluation.no_gold]),
        "n_missing": ("queries missing in the run", _MISSING[profile.missing]),
        "n_failed": ("queries that failed", "scored as empty lists"),
        "n_extra": ("queries of the run that the gold set lacks", "left out"),
        "n_duplicates": ("documents that stand twice in a list", _REPEATS[profile.duplicates]),
        "n_replaced_surrogates": ("lone surrogates in texts", "replaced by U+FFFD"),
        "n_texts_without_tokens": ("texts without tokens", "they can match nothing"),
    }
    lines = [
        f"{what}: {counts[name]} ({how})"
        for name, (what, how) in treated.items()
        if counts.get(name)
    ]
    if counts["n_failed"]:
        lines.append(f"the first failure: {counts['first_failure']}")
    for name, own in counts.get("metrics", {}).items():
        undefined = counts["n_scored"] - own["n_scored"]
        if undefined > 0:
            lines.append(f"{name}: no value for {undefined} of {counts['n_scored']} queries")
    return lines


_NO_GOLD = {
    "skip": "left out",
    "zero": "scored 0",
    "error": "refused",
    "abstain": "1 for an empty list, else 0",
}
_MISSING = {"empty": "scored as empty lists", "left_out": "left out"}
_REPEATS = {"once": "the first one counts", "count": "each one counts", "error": "refused"}
