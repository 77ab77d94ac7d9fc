"""Releases: what is ready becomes a gold file that never changes, with what is known of it."""

from kragx.workshop.releases.making import LeftOut, Ready, ready
from kragx.workshop.releases.next import Next, next_release
from kragx.workshop.releases.release import Released, release

__all__ = ["LeftOut", "Next", "Ready", "Released", "next_release", "ready", "release"]
