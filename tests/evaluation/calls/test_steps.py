"""The steps of calls, against a slow reference."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from kragx.evaluation.calls.call import Call, searches_made, steps_of


@st.composite
def calls(draw: st.DrawFn) -> list[Call]:
    """Calls that begin at different times, some of one message, some of which fail."""
    starts = draw(st.lists(st.integers(0, 20), min_size=1, max_size=7, unique=True))
    return [
        Call(
            "tool",
            "tool",
            draw(st.sampled_from("ab")),
            started=start,
            ended=start + draw(st.integers(1, 4)),
            error=draw(st.sampled_from([None, None, "down"])),
            message=draw(st.sampled_from([None, None, None, "m", "n"])),
            documents=(),
        )
        for start in starts
    ]


def groups(made: list[Call]) -> list[list[Call]]:
    """Calls that ran side by side, merged two groups at a time until nothing changes."""

    def touch(left: list[Call], right: list[Call]) -> bool:
        messages = [{call.message for call in group} - {None} for group in (left, right)]
        (a, b), (c, d) = (
            (min(call.started for call in group), max(call.ended for call in group))
            for group in (left, right)
        )
        return bool(messages[0] & messages[1]) or (a < d and c < b)

    merged = [[call] for call in made]
    while pair := next((pair for pair in combinations(merged, 2) if touch(*pair)), None):
        merged = [group for group in merged if group not in pair] + [pair[0] + pair[1]]
    return sorted(merged, key=lambda group: min(call.started for call in group))


def slow_steps(made: list[Call]) -> dict[int, int]:
    """The step of each call by its start: a group is one, but for those tried again in it."""
    steps: dict[int, int] = {}
    step = 0
    for group in groups(made):
        earlier = [call for call in made if call.started in steps]

        def is_again(call: Call, earlier: list[Call] = earlier, step: int = step) -> bool:
            alike = [one for one in earlier if one.query == call.query]
            last = max(alike, key=lambda one: one.started, default=None)
            return last is not None and last.error is not None and steps[last.started] == step

        again = [call for call in group if is_again(call)]
        step += len(again) < len(group)
        for call in group:
            steps[call.started] = step - (call in again and len(again) < len(group))
    return steps


@given(calls(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_steps(made: list[Call], random: object) -> None:
    """They are those of the reference, in whatever order a log has the calls."""
    expected = slow_steps(made)
    searches = searches_made(made)
    shuffled = [*made]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for order in (made, shuffled):
        steps = dict(zip((call.started for call in order), steps_of(order)))
        assert steps == expected
        assert searches_made(order) == searches
    assert {search.step for search in searches} == set(range(1, max(expected.values()) + 1))


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        ([(0, 1), (1, 2)], [1, 2]),
        ([(0, 2), (1, 3)], [1, 1]),
        ([(0, 2), (1, 4), (3, 5), (5, 6)], [1, 1, 1, 2]),
    ],
)
def test_by_hand(times: list[tuple[int, int]], steps: list[int]) -> None:
    """Calls that overlap are one step, also by one between them; a call at another's end is not."""
    made = [
        Call("t", "tool", str(number), started=start, ended=end, error=None)
        for number, (start, end) in enumerate(times)
    ]
    assert steps_of(made) == steps
