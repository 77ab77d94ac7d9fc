"""Where people disagree, and how far: of a pair the newest grade of each person counts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kragx.judging.votes import ordinal_alpha
from kragx.metrics import Floats
from kragx.metrics.intervals import Interval, expanded_intervals
from kragx.workshop.records import Judgement
from kragx.workshop.state import Pair, State


def verdicts(state: State, pair: Pair) -> dict[str, Judgement]:
    """What each person says of a pair now, by uid: "later" says nothing.

    A file's grade counts until somebody has judged the pair here.
    """
    own: dict[str, Judgement] = {}
    of_files: dict[str, Judgement] = {}
    for person, history in state.judgements.get(pair, {}).items():
        last = next((one for one in reversed(history) if one.kind != "later"), None)
        if last is not None:
            is_file = person in state.people and state.people[person].role == "file"
            (of_files if is_file else own)[person] = last
    return own or of_files


def is_conflict(state: State, pair: Pair) -> bool:
    """Whether people differ on a pair, and nobody has decided."""
    if state.decisions.get(pair):
        return False
    return len({(one.kind, one.grade) for one in verdicts(state, pair).values()}) > 1


def conflicts(state: State) -> Iterator[Pair]:
    """Yield the pairs of open questions on which people differ, in the order of the questions."""
    of_question: dict[str, list[Pair]] = defaultdict(list)
    for pair in state.judgements:
        of_question[pair[0]].append(pair)
    for question in state.open_questions():
        yield from (pair for pair in of_question[question.uid] if is_conflict(state, pair))


@dataclass(frozen=True)
class Alpha:
    """How far people agree.

    Attributes:
        value: Krippendorff's alpha for ordered grades; None where nothing could disagree.
        interval: at 95 %, over questions; None with fewer than three, and where nothing varies.
        pairs: how many pairs two people or more have graded.
        questions: how many questions they belong to.
    """

    value: float | None
    interval: Interval | None
    pairs: int
    questions: int


def agreement(state: State, top: int) -> Alpha:
    """How far people agree; files, decisions and "unusable" aside.

    Args:
        state: what was judged.
        top: the highest grade.
    """
    sums: dict[str, Floats] = {}
    n_pairs = 0
    for pair in list(state.judgements):
        people = verdicts(state, pair)
        grades = [one.grade for one in people.values() if one.grade is not None]
        if len(grades) > 1:
            n_pairs += 1
            own = sums.setdefault(pair[0], np.zeros((top + 1, top + 1)))
            # Of m grades each stands beside m - 1 others, and counts once in all.
            for one, other in combinations(grades, 2):
                own[one, other] += 1 / (len(grades) - 1)
                own[other, one] += 1 / (len(grades) - 1)
    if not sums:
        return Alpha(None, None, 0, 0)
    terms = np.stack(list(sums.values()))
    value = float(_alpha(terms.sum(0, keepdims=True))["alpha"][0])
    if np.isnan(value):
        return Alpha(None, None, n_pairs, len(sums))
    return Alpha(value, expanded_intervals(terms, _alpha)["alpha"], n_pairs, len(sums))


def _alpha(coincidences: Floats) -> Mapping[str, Floats]:
    return {"alpha": ordinal_alpha(coincidences)}
