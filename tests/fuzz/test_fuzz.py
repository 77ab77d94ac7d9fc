"""Inputs that nobody means: 2 of each kind, 2,000 in all with ``-m integration``.

``python -m tests.fuzz --count 10000`` tries more.
"""

from __future__ import annotations

import pytest

from tests.fuzz.kinds import KINDS
from tests.fuzz.trial import attempt

PART = 50
"""Inputs of one test: a few seconds, so that pytest-xdist can spread them."""
FIRST = 2
"""Inputs of each kind that are tried by default."""


def parts():
    """Of each kind the first few, by default; all others with ``-m integration``."""
    for kind, (count, _) in KINDS.items():
        yield pytest.param(kind, 0, FIRST)
        for start in range(FIRST, count, PART):
            part = (kind, start, min(PART, count - start))
            yield pytest.param(*part, marks=pytest.mark.integration)


@pytest.mark.parametrize(("kind", "start", "count"), [*parts()])
def test_inputs(kind: str, start: int, count: int) -> None:
    """Each ends with a typed message or a right result, in time, and touches nothing else."""
    trials = (attempt(kind, number, KINDS[kind][1]) for number in range(start, start + count))
    wrong = {trial.number: trial.wrong for trial in trials if trial.wrong}
    assert not wrong, "\n".join(
        f"python -m tests.fuzz {kind} {number}: {'; '.join(said)[:2000]}"
        for number, said in wrong.items()
    )


@pytest.mark.integration
def test_an_input_is_made_again_by_its_name() -> None:
    """Kind and number alone make an input: its commands end alike whenever it is run."""
    for kind, (_, make) in KINDS.items():
        first, second = (attempt(kind, 3, make) for _ in range(2))
        ends = [[(own.args, own.code) for own in trial.outcomes] for trial in (first, second)]
        assert ends[0] == ends[1], kind
