"""What is noted of parts of an evaluation comes to what is noted of all of it."""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import GoldDataset, Run, matcher
from kragx.errors import JudgingError
from kragx.judging import Failure, Judge
from kragx.matchers import BaseMatcher, Diagnostics, MatchItem
from kragx.matchers.items import batch_of
from kragx.matchers.matching import conclude, match_batches
from kragx.testing import ScriptedClient
from tests.thoroughness import examples, some

from .support import item

WORDS = [f"{first}{last}" for first in ("gar", "riv", "mark") for last in ("den", "er", "et", "s")]
POLICY = "Goods of {} can be sent back within {} days of their delivery free of charge at any shop"


def questions(n: int, seed: int = 0) -> list[MatchItem]:
    """Questions with whatever is warned of: templates, lost spaces, texts without tokens, ids."""
    draw = random.Random(seed)
    golds, docs = {}, {}
    for number in range(n):
        name = f"q{number}"
        own, sibling = (POLICY.format(f"Mart {place}", place) for place in (number, number + n))
        prose = " ".join(draw.choices(WORDS, k=20))
        kind = draw.choice(["template", "broken", "broken", "empty", "short", "none"])
        golds[name], docs[name] = {
            "template": ([own], [own, sibling]),
            "broken": ([prose], [prose.replace(" ", "", 12), "something else"]),
            "empty": (["?!"], [prose, "..."]),
            "short": ([WORDS[number % 9]], [prose]),
            "none": ([prose], []),
        }[kind]
    gold, run = GoldDataset.from_documents(golds), Run.from_documents(docs)
    return [MatchItem(query, run[query.id].documents) for query in gold]


def noted(
    own: BaseMatcher, parts: Sequence[Sequence[MatchItem]]
) -> tuple[dict[str, int], list[str]]:
    """The counts and warnings of an evaluation in parts, each with notes that were sent over."""
    diagnostics = Diagnostics()
    for part in parts:
        own_notes = Diagnostics()
        match_batches([batch_of([*part])], own, own_notes)
        diagnostics.merge(pickle.loads(pickle.dumps(own_notes)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conclude(own, diagnostics)
    return dict(diagnostics), [str(warning.message) for warning in caught]


@pytest.fixture(scope="module")
def items() -> list[MatchItem]:
    """Enough questions for every finding to have seen more than it looks at."""
    return questions(300)


@pytest.mark.parametrize("size", some([3, 33, 299], 3))
@pytest.mark.parametrize(
    "spec", ["overlap", "rouge2", "phrase", {"any": ["exact", "rouge2", "overlap"]}]
)
def test_parts_of_any_size(items: list[MatchItem], spec: object, size: int) -> None:
    """Counts and warnings are those of one part."""
    own = matcher(spec)
    whole = noted(own, [items])
    assert noted(own, [items[at : at + size] for at in range(0, 300, size)]) == whole
    kinds = ("look broken", "retrieved texts that can", "gold that can match")
    expected = kinds if str(spec) not in {"rouge2", "phrase"} else kinds[1:]
    assert all(any(kind in problem for problem in whole[1]) for kind in expected)


@pytest.mark.integration
@examples(40)
@given(st.lists(st.integers(0, 200), max_size=6), st.integers(0, 3))
def test_parts_cut_anywhere(cuts: list[int], seed: int) -> None:
    """Parts of different sizes, empty ones among them, come to the whole as well."""
    own, items = matcher("overlap"), questions(200, seed)
    ends = [0, *sorted(cuts), 200]
    assert noted(own, [items[a:b] for a, b in pairwise(ends)]) == noted(own, [items])


def test_ids_that_look_alike() -> None:
    """The first example of all, and how many questions."""
    items = [
        item([{"id": "d\u00a0x" if number % 2 else "y"}], [{"id": "d x"}]) for number in range(5)
    ]
    counts, (problem,) = noted(matcher("id"), [items[:1], items[1:2], items[2:]])
    assert counts["n_queries_ids_alike"] == 2
    assert "only look equal in 2 questions: in 'q1'" in problem


def test_ids_that_never_meet() -> None:
    """A gold id of one part that a later part retrieves is met; else all are counted together."""
    items = [item([{"id": f"d{n}"}], [{"id": f"g{n}"}]) for n in range(4)]
    counts, (problem,) = noted(matcher("id"), [items[:1], [], items[1:2], items[2:]])
    assert counts["n_queries_ids_apart"] == 4
    assert "(questions compared: 4): in 'q1' 'd0' was retrieved, 'g0' is gold" in problem
    late = item([{"id": "g0"}], [{"id": "g9"}])
    assert noted(matcher("id"), [items[:1], items[1:], [late]]) == ({}, [])
    assert noted(matcher("id"), [[late], items[1:], items[:1]]) == ({}, [])


def test_a_combination_warns_once() -> None:
    """However many batches it works in; of each member by itself."""
    empty = item(["?!"], ["garden river"])
    _, problems = noted(matcher({"all": ["rouge2", "rouge1"]}), [[empty] * 2500])
    assert [problem.split(", for")[0] for problem in problems] == [
        f"retrieved texts that can match nothing by {name!r} in 2500 questions"
        for name in ("rouge1", "rouge2")
    ]


@pytest.mark.parametrize("match", ["llm", "cascade"])
def test_missing_judgements_are_those_of_all_parts(tmp_path: Path, match: str) -> None:
    """Half of the first part is missing, which is a quarter of all: that much is allowed."""
    replies = [Failure("refusal"), 3, 3, 3]
    for allowed in (0.25, 0.2):
        store = tmp_path / f"{allowed}.sqlite"
        judge = Judge(ScriptedClient(replies), store=store, max_missing=allowed, concurrency=1)
        llm = {"method": "llm", "mode": "support", "judge": judge}
        cascade = {"cascade": [{"method": "exact", "accept": 1}, llm]}
        own = matcher(llm if match == "llm" else cascade)
        parts = [[item([f"doc {n}{m}"], [f"gold {n}{m}"]) for m in "ab"] for n in "12"]
        if allowed == 0.25:
            noted(own, parts)
        else:
            with pytest.raises(JudgingError, match="1 of 4"):
                noted(own, parts)
