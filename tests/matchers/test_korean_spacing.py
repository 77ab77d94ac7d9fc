"""Korean documents write compounds together or apart; what tells two of them apart is a word.

`korean_spacing.jsonl` holds 60 sentences of statutes, company rules, product terms and public
notices, each with the same sentence whose compounds are spaced otherwise (some within a longer
chunk) and with a sibling in which one name or number is another one. The other name stands in the
gold of another question, with any particle, unless gold is so short that it is looked for as it is;
the other number need not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from kragx.data.korean import spaced_alike
from tests.thoroughness import all_cases, examples

BOTH = pytest.mark.parametrize("match", ["overlap", "span"])


class Triple(NamedTuple):
    """A gold text, what documents have instead of it, and in what the sibling differs."""

    id: str
    value: str
    other: str
    gold: str
    respaced: str
    sibling: str


PATH = Path(__file__).with_name("korean_spacing.jsonl")
TRIPLES = [Triple(**json.loads(line)) for line in PATH.read_text("utf-8").splitlines()]
IDS = [triple.id for triple in TRIPLES]


def letters(text: str) -> str:
    """A text without its spaces."""
    return "".join(text.split())


def ranks(run: Sequence[Sequence[str]], match: str) -> dict[str, float]:
    """By question the reciprocal rank of the first match in its list, 0 where there is none."""
    gold = {triple.id: [triple.gold] for triple in TRIPLES}
    lists = dict(zip(IDS, run, strict=True))
    evaluation = evaluate(gold, lists, match=match, metrics=["mrr"])
    return {query_id: values["mrr"] or 0.0 for query_id, values in evaluation.queries.items()}


def found(run: Sequence[Sequence[str]], match: str) -> set[str]:
    """The questions with a match in their list."""
    return {query_id for query_id, rank in ranks(run, match).items() if rank}


def behind_others(row: int) -> list[str]:
    """The respaced texts of nine other questions."""
    return [TRIPLES[(row + 7 * step) % len(TRIPLES)].respaced for step in range(1, 10)]


@all_cases("triple", TRIPLES)
def test_the_triples(triple: Triple) -> None:
    """Respaced texts have the gold's letters; a sibling has one name or number for another."""
    own, value, other = (letters(text) for text in (triple.gold, triple.value, triple.other))
    assert own in letters(triple.respaced)
    assert abs(len(triple.respaced.split()) - len(triple.gold.split())) >= 2
    assert own.count(value) == 1
    assert own.replace(value, other) in letters(triple.sibling)
    if not re.search(r"\d", other) and len(triple.gold.split()) > 5:
        assert any(other in letters(rest.gold) for rest in TRIPLES if rest is not triple)


@BOTH
def test_respaced_texts_are_found(match: str) -> None:
    """All of them, alone and behind those of nine other questions, of which none matches."""
    alone = ranks([[triple.respaced] for triple in TRIPLES], match)
    assert {query_id for query_id, rank in alone.items() if rank != 1.0} == set()
    run = [[*behind_others(row), triple.respaced] for row, triple in enumerate(TRIPLES)]
    assert {query_id for query_id, rank in ranks(run, match).items() if rank != 0.1} == set()


def test_by_pairs_of_words_few_are_found() -> None:
    """Of the 60 respaced texts ROUGE-2 by words, as it stands, finds 10."""
    run = [[triple.respaced] for triple in TRIPLES]
    assert len(found(run, "rouge2")) == 10


@BOTH
def test_siblings_are_apart(match: str) -> None:
    """None of the 60 siblings is a match."""
    assert found([[triple.sibling] for triple in TRIPLES], match) == set()


@BOTH
def test_siblings_are_apart_beside_the_gold(match: str) -> None:
    """Of a sibling and the respaced text behind it the latter alone matches."""
    run = [[triple.sibling, triple.respaced] for triple in TRIPLES]
    by_rank = ranks(run, match)
    assert {query_id for query_id, rank in by_rank.items() if rank != 0.5} == set()


LONE = {"ko-22": "해솔물류", "ko-24": "한지민", "ko-51": "속초시", "ko-53": "울산광역시"}
"""Names that no other question has."""


@BOTH
def test_a_name_that_nobody_else_has_is_a_misreading(match: str) -> None:
    """Nobody can say whether such a name is another one or the gold's, misread: it matches."""
    run = [
        [triple.sibling.replace(triple.other, LONE.get(triple.id, triple.other))]
        for triple in TRIPLES
    ]
    assert found(run, match) == LONE.keys()


WRITTEN = st.text("손해 배상청구권을1 ,.0Aß_한(漢)", max_size=24)


@examples(300)
@given(pairs=st.lists(st.tuples(WRITTEN, WRITTEN), max_size=4))
def test_many_at_once(pairs: list[tuple[str, str]]) -> None:
    """Many texts and those beside them are written alike as each two of them are."""
    some, others = ([pair[side] for pair in pairs] for side in (0, 1))
    alone = [spaced_alike([one], [other]) for one, other in pairs]
    assert [*zip(*spaced_alike(some, others))] == [(one[0], other[0]) for one, other in alone]


@BOTH
def test_a_passage_whose_spaces_were_lost_is_no_short_gold(match: str) -> None:
    """Gold that seems to be a few words, as its spaces were lost, is found where a chunk ends in
    it; an answer in a few words still stands there whole.
    """
    sentences = [triple.gold for triple in TRIPLES[:4]]
    passage, cut = " ".join(sentences), " ".join(sentences[:3])
    gold = [[passage.replace(" ", "")], ["손해배상청구권의 소멸시효"]]
    result = evaluate(gold, [[cut], ["손해배상청구권"]], match=match, metrics=["recall@1"])
    assert [*result.queries.values()] == [{"recall@1": 1.0}, {"recall@1": 0.0}]
