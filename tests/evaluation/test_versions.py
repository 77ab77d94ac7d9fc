"""Versions and tenants that differ in one word: none is taken for the other, however it is cut."""

from __future__ import annotations

import pytest

from kragx import Gold, GoldDataset, Query, evaluate
from kragx.data import Forbidden
from tests.evaluation import versions
from tests.evaluation.versions import CUTS, Pair, pieces

PAIRS = [*versions.pairs()]
OF_ENGLISH, OF_KOREAN = ([pair for pair in PAIRS if pair.language == name] for name in ("en", "ko"))
SOME = PAIRS[::5]
"""Two of each template."""


def brought(pairs: list[Pair]) -> dict[tuple[int, str, int], bool]:
    """Whether a piece of the old version, and of the new, is taken for the old one's passage.

    By the number of the pair, the version and the cut. For every pair somebody asks for the new
    version as well, so that both are known.
    """
    golds, runs = {}, {}
    for number, pair in enumerate(pairs):
        for cut in range(len(CUTS)):
            for version, sentences in (("old", pair.old), ("new", pair.new)):
                golds[f"{number} {version} {cut}"] = [{"text": pair.forbidden()}]
                runs[f"{number} {version} {cut}"] = [{"text": pieces(sentences, cut)}]
        golds[f"{number} wanted 0"] = [{"text": pair.wanted()}]
        runs[f"{number} wanted 0"] = [{"text": pair.wanted()}]
    result = evaluate(golds, runs, metrics=["hit_rate@1"])
    values = result.to_pandas()["hit_rate@1"]
    outcome = {}
    for query_id, value in zip(result.query_ids, values):
        number, version, cut = query_id.split()
        outcome[int(number), version, int(cut)] = bool(value)
    return outcome


def test_what_they_are():
    """100 pairs a language, all different, each with one word that tells it apart."""
    assert len(PAIRS) == len({pair.old for pair in PAIRS} | {pair.new for pair in PAIRS}) / 2 == 200
    for pair in PAIRS:
        different = [i for i, (a, b) in enumerate(zip(pair.old, pair.new)) if a != b]
        assert different == [2]
        old, new = pair.old[2].split(), pair.new[2].split()
        assert sum(a != b for a, b in zip(old, new)) == 1
        assert len(old) == len(new)
    kinds = [(pair.language, pair.kind) for pair in PAIRS]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        (language, kind): n
        for language in ("en", "ko")
        for kind, n in (("number", 40), ("date", 30), ("name", 30))
    }


def some_or_all(*groups: list[Pair]) -> pytest.MarkDecorator:
    """With some pairs of both languages by default, and with all of each group."""
    every = [pytest.param(group, marks=pytest.mark.integration) for group in groups]
    return pytest.mark.parametrize("pairs", [SOME, *every], ids=lambda pairs: str(len(pairs)))


@some_or_all(OF_ENGLISH, OF_KOREAN, PAIRS)
def test_none_for_the_other(pairs: list[Pair]):
    """In four chunkings no new version is taken for the old one, and 99 % of the old are found."""
    outcome = brought(pairs)
    wrong = [key for key, value in outcome.items() if key[1] == "new" and value]
    assert wrong == []
    old = [value for key, value in outcome.items() if key[1] == "old"]
    assert len(old) == len(pairs) * len(CUTS)
    assert sum(old) >= 0.99 * len(old)


@some_or_all(PAIRS)
def test_leaks(pairs: list[Pair]):
    """By `leak@1`, of a question whose gold is the new version: exactly the old ones leak."""
    queries, runs = [], {}
    for number, pair in enumerate(pairs):
        for cut in range(len(CUTS)):
            for version, sentences in (("old", pair.old), ("new", pair.new)):
                query_id = f"{number} {version} {cut}"
                forbidden = (Forbidden(text=pair.forbidden(), why="stale"),)
                gold = (Gold(text=pair.wanted()),)
                queries.append(Query(query_id, gold=gold, forbidden=forbidden))
                runs[query_id] = [{"text": pieces(sentences, cut)}]
    result = evaluate(GoldDataset(tuple(queries)), runs, metrics=["leak@1", "hit_rate@1"])
    values = result.to_pandas()
    is_new = [" new " in query_id for query_id in result.query_ids]
    assert not values["leak@1"][is_new].any()
    assert values["leak@1"][[not one for one in is_new]].mean() >= 0.99


@pytest.mark.filterwarnings("ignore:gold of one template")
def test_together_they_would_be():
    """The pairs are hard: without the rule that keeps siblings apart most are one."""
    golds = [[{"text": pair.forbidden()}] for pair in PAIRS]
    runs = [[{"text": pieces(pair.new, number)}] for number, pair in enumerate(PAIRS)]
    match = {"method": "overlap", "siblings": "together"}
    assert evaluate(golds, runs, match=match, metrics=["hit_rate@1"])["hit_rate@1"] > 0.95
