"""Profiles fix every choice behind a number at once; each is a small frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from kragx.errors import UsageError, nearest

NoGold = Literal["skip", "zero", "error", "abstain"]
NO_GOLD: tuple[NoGold, ...] = get_args(NoGold)


@dataclass(frozen=True)
class Profile:
    """What a metric string means when it does not say.

    Attributes:
        name: as in results.
        over, norm, need, gain, rel: the defaults of the options of `MetricSpec`.
        no_gold: what becomes of a query without gold: left out (``skip``), scored 0 (``zero``),
            refused (``error``), or scored 1 if it was answered with an empty list (``abstain``).
    """

    name: str
    over: str = "k"
    norm: str = "m"
    need: str = "any"
    gain: str = "linear"
    rel: float | None = None
    no_gold: NoGold = "skip"


PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (Profile("kragx"),)}


def profile(spec: str | Profile) -> Profile:
    """The profile of a name.

    Raises:
        UsageError: there is none of that name.
    """
    if isinstance(spec, Profile):
        return spec
    if spec not in PROFILES:
        raise UsageError(f"profile: unknown name {spec!r}; {nearest(str(spec), PROFILES)}")
    return PROFILES[spec]
