"""Profiles fix every choice behind a number at once; each is a small frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import message

NoGold = Literal["skip", "zero", "error", "abstain"]
"""What becomes of a query without gold: left out, 0, an error, or 1 where nothing is retrieved."""
NO_GOLD: tuple[NoGold, ...] = get_args(NoGold)
LEFT_OUT: tuple[NoGold, ...] = ("skip", "error")
"""With which queries without gold have no value; ``error`` admits those without an answer."""


@dataclass(frozen=True)
class Profile:
    """What a number means where nothing else is said.

    Attributes:
        name: as in results.
        reproduces: whose numbers these are.
        match: the match method when none is named.
        match_options: options of match methods where the user names none (those a method has).
        metrics: what is computed when nothing is asked for; None for `DEFAULT_METRICS`.
        order: a list's order is its ranking (``list``), or its scores are, ties by id descending
            (``score``, a TREC run).
        duplicates: a document that stands twice in a list counts ``once``, each time (``count``),
            or is an ``error``.
        over, norm, need, gain, gain_from, rel, credit, ideal, macro: the defaults of `MetricSpec`.
        scored: of those, what differs when matches come from graded scores (ROUGE).
        filtered: the same where another matcher ruled pairs out before (a cascade that filters).
        no_gold: what becomes of a query without gold: left out (``skip``), scored 0 (``zero``),
            refused (``error``), or scored 1 if it was answered with an empty list (``abstain``).
        no_gold_hits: whether hit_rate(need=all) holds of a query without gold ("all of nothing").
        missing: a query without results is scored as an ``empty`` list, or ``left_out``.
    """

    name: str
    reproduces: str
    match: Any = "overlap"
    match_options: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] | None = None
    order: Literal["list", "score"] = "list"
    duplicates: Literal["once", "count", "error"] = "once"
    over: str = "k"
    norm: str = "m"
    need: str = "any"
    gain: str = "linear"
    gain_from: str = "gold"
    rel: float | None = None
    credit: str = "gold"
    ideal: str = "gold"
    macro: str = "queries"
    scored: Mapping[str, Any] = field(default_factory=dict)
    filtered: Mapping[str, Any] = field(default_factory=dict)
    no_gold: NoGold = "skip"
    no_gold_hits: bool = False
    missing: Literal["empty", "left_out"] = "empty"


KRAGX = Profile("kragx", "kragx itself: each gold item credited once, every metric in [0, 1]")

TREC = Profile(
    "trec",
    "trec_eval -c",
    match="id",
    order="score",
    duplicates="error",
    no_gold="zero",
)

KRAG = Profile(
    "krag",
    "K-RAG 0.0.32",
    match="text",
    metrics=("hit_rate@10", "mrr@10", "precision@10", "recall@10", "f1@10", "map@10", "ndcg@10"),
    match_options={
        "normalised": False,
        "tokenizer": {"name": "krag"},
        "embed_as": "queries",
    },
    duplicates="count",
    over="retrieved",
    need="all",
    gain="exp2",
    credit="document",
    ideal="ones",
    macro="means",
    # K-RAG's ROUGE takes scores for gains, and for the ideal what was retrieved, in order of them.
    scored={"gain": "score", "ideal": "retrieved"},
    filtered={"gain": "score"},
    no_gold="zero",
    no_gold_hits=True,
)

SCIENCE_QA = Profile(
    "science-qa",
    "the Korean science QA competition",
    match="id",
    metrics=("map@3",),
    duplicates="count",
    norm="hits",
    credit="document",
    no_gold="abstain",
    missing="left_out",
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (KRAGX, TREC, KRAG, SCIENCE_QA)
}
"""Every profile by name."""


def profile(spec: str | Profile) -> Profile:
    """The profile of a name.

    Raises:
        UsageError: there is none of that name.
    """
    if isinstance(spec, Profile):
        return spec
    if not isinstance(spec, str) or spec not in PROFILES:
        raise UsageError(
            message("unknown name {spec!r}", spec=spec),
            field="profile",
            remedy=nearest(str(spec), PROFILES),
        )
    return PROFILES[spec]
