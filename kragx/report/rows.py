"""The lines that every kind of report shows: labels, values, counts worth a word."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from kragx.evaluation.cells import mean_cell, micro_cell
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import metric as metric_named

__all__ = [
    "best",
    "interval",
    "judging_lines",
    "match_label",
    "mean_cell",
    "metric_names",
    "micro_cell",
    "number",
    "probability",
    "profile_label",
    "remarks",
    "signed",
    "visible",
]


def number(value: float | None) -> str:
    """A metric's value as people read it; a dash where there is none."""
    if value is None:
        return "-"
    # Times and throughputs are not between 0 and 1, and 0.0000 seconds say nothing.
    if 0 < abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """A difference as people read it."""
    if value is None:
        return "-"
    small = 0 < abs(value) < 0.001
    return f"{value:+.2g}" if small else f"{value:+.4f}" if abs(value) < 100 else f"{value:+,.0f}"


def interval(low: float | None, high: float | None, *, plus: bool = False) -> str:
    """An interval in brackets; empty where there is none."""
    if low is None or high is None:
        return ""
    shown = signed if plus else number
    return f"[{shown(low)}, {shown(high)}]"


def probability(p: float | None) -> str:
    """A p as people read it; a dash where nothing was tested."""
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def visible(text: str) -> str:
    """A text from data in one line that shows what it holds and steers nothing.

    Control characters, line ends and marks of direction are what a terminal, a browser or an
    editor obeys instead of showing; white space becomes a space, the others their code point.
    """
    plain = " ".join(text.split())
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(
        f"\u2039U+{ord(each):04X}\u203a"
        if unicodedata.category(each) in ("Cc", "Cs") or each in _DIRECTION
        else each
        for each in plain
    )


_DIRECTION = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def match_label(evaluation: Evaluation) -> str:
    """How matches were decided, in one line."""
    label = method_label(evaluation.settings["match"])
    named = evaluation.match_name
    own = str(evaluation.settings["match"]["method"])
    combined = _is_combination(evaluation.settings["match"])
    return label if named == own or combined else f"{named}: {label}"


def _is_combination(match: Mapping[str, Any]) -> bool:
    return isinstance(match.get("of"), (list, tuple))


def method_label(match: Mapping[str, Any]) -> str:
    """A matcher as results record it, in one line."""
    match = dict(match)
    method = match.pop("method")
    if _is_combination(match):
        own = f", threshold {match['threshold']}" if "threshold" in match else ""
        return f"{method} of {'; '.join(map(method_label, match['of']))}{own}"
    options = []
    for name, value in match.items():
        shown = value
        if isinstance(value, dict):
            shown = " ".join(str(value[key]) for key in ("name", "version") if key in value)
        if value is not False:
            options.append(f"{name} {shown}")
    return f"{method} ({', '.join(options)})" if options else str(method)


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
    higher = metric_named(metric).higher_is_better
    if len(known) < 2 or len(set(known)) == 1 or higher is None:
        return set()
    top = (max if higher else min)(known)
    return {position for position, value in enumerate(values) if value == top}


def remarks(evaluation: Evaluation) -> list[str]:
    """What a reader must know before trusting the numbers: everything that was left out."""
    counts, profile = evaluation.counts, evaluation.profile
    treated = {
        "n_no_gold": ("queries without gold", _NO_GOLD[evaluation.no_gold]),
        "n_missing": ("queries missing in the run", _MISSING[profile.missing]),
        "n_failed": ("queries that failed", "scored as empty lists"),
        "n_empty": ("queries answered with an empty list", "nothing was found"),
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
        # What looks at documents or times may have a value without gold; a run's has none a query.
        by_gold = "n_no_gold" in own
        of = counts["n_scored" if by_gold else "n_queries"]
        if own["n_scored"] < of and (by_gold or own["n_scored"]):
            lines.append(f"{name}: no value for {of - own['n_scored']} of {of} queries")
    lines += [
        f"spans: by offsets for {read['n_queries_by_offsets']} queries, by comparing texts for "
        f"{read['n_queries_by_text']}"
        for read in evaluation.settings.get("spans", ())
        if read["n_queries_by_offsets"]
    ]
    return lines + judging_lines(evaluation)


def judging_lines(evaluation: Evaluation) -> list[str]:
    """What judging took and what is missing; nothing without a judge."""
    found = evaluation.counts.get("judging")
    if found is None:
        return []
    coverage = "-" if found["coverage"] is None else f"{found['coverage']:.1%}"
    lines = [
        f"judged: {found['n_judgements'] - found['n_missing']} of {found['n_judgements']} "
        f"(coverage {coverage})"
    ]
    if found["n_missing"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["failures"].items())
        lines.append(
            f"missing: {found['n_missing']} ({kinds}), estimated, never taken for 0; in brackets "
            "what the numbers can become"
        )
    lines.append(
        f"calls: {found['n_calls']} ({found['n_retries']} retries); from the store: "
        f"{found['n_stored']} of {found['n_distinct']} distinct questions"
    )
    if found["n_human"]:
        lines.append(f"human labels: {found['n_human']}, instead of the judge's")
    if "n_calls_saved" in found:
        lines.append(f"calls saved by cheaper matchers: {found['n_calls_saved']}")
    tokens = f"{found['prompt_tokens']} + {found['completion_tokens']} tokens"
    if found["cost"] is None:
        lines.append(f"cost: unknown, no price of {found['model']!r} is given; {tokens}")
    else:
        lines.append(f"cost: {found['cost']:.4f} {found['currency']} for {tokens}")
    if found["n_calls_without_usage"]:
        lines.append(f"calls whose usage is unknown: {found['n_calls_without_usage']}")
    pool = evaluation.settings.get("pool")
    if pool:
        lines.append(
            f"relative to pool {pool['hash']} of {pool['documents']} documents; relevant from "
            f"grade {pool['rel']} on"
        )
    return lines


_NO_GOLD = {
    "skip": "left out",
    "zero": "scored 0",
    "error": "refused",
    "abstain": "1 for an empty list, else 0",
}
_MISSING = {"empty": "scored as empty lists", "left_out": "left out"}
_REPEATS = {"once": "the first one counts", "count": "each one counts", "error": "refused"}
