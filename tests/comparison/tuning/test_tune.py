"""`kragx.tune`: a grid from Python."""

import pytest

from kragx import Gold, GoldDataset, Query, UsageError, tune
from kragx.judging import Judge
from kragx.testing import ScriptedClient
from tests.thoroughness import all_cases

ASKED: list[tuple[int, int]] = []


class Toy:
    """Finds the gold of `skill` questions of ten; fails on all of them if it is broken."""

    def __init__(self, skill, k=3):
        if skill < 0:
            raise ValueError(f"skill {skill}")
        self.skill, self.k = skill, k

    def __call__(self, question):
        """The gold, or something else, then what is never gold."""
        n = int(question.split()[1])
        ASKED.append((self.skill, n))
        if self.skill == 99:
            raise RuntimeError("broken")
        first = {"id": f"{'g' if n % 10 < self.skill else 'x'}{n}", "text": "one two"}
        return [first, *({"id": f"n{n}-{more}", "text": "three"} for more in range(1, self.k))]


@pytest.fixture(autouse=True)
def fresh():
    """Nothing was asked before."""
    ASKED.clear()


def gold():
    """Sixty questions with a gold id each."""
    queries = (Query(f"q{n}", f"question {n}", gold=(Gold(f"g{n}"),)) for n in range(60))
    return GoldDataset(tuple(queries))


def tried(grid, **options):
    """The toy's grid, by id."""
    usual = {"match": "id", "metric": "mrr@3", "resamples": 500, "progress": False}
    return tune(gold(), Toy, grid, **usual | options)


def test_a_grid_from_python():
    """The better ones are alike, and the one with less context is taken."""
    result = tried({"skill": [2, 9], "k": [3, 1]})
    assert (result.take, result.n_settings, result.match) == ("Toy[skill=9, k=1]", 4, "id")
    assert {own.name: own.tokens for own in result.settings}["Toy[skill=9, k=3]"] == 4
    assert all(own.seconds is not None for own in result.settings)
    assert "Take Toy[skill=9, k=1]" in str(result)
    assert len(ASKED) == 240


def test_a_broken_setting_is_named():
    """One that fails is not taken; one that cannot be made is an error with its name."""
    result = tried({"skill": [3, 99]})
    assert result.settings[-1].failed == "failed on 60 of 60 questions"
    with pytest.raises(UsageError, match=r"Toy\[skill=-1\].*ValueError: skill -1"):
        tried({"skill": [-1]})


def test_what_is_wrong():
    """Too many settings, no grid, and a metric without a better or worse."""
    with pytest.raises(UsageError, match=r"max_settings.*3 settings \(skill 3\), more than 2"):
        tried({"skill": [1, 2, 3]}, max_settings=2)
    with pytest.raises(UsageError, match="for each axis a list"):
        tried({})
    with pytest.raises(UsageError, match="better or worse"):
        tune(gold(), Toy, {"skill": [1]}, metric="source_diversity@5", match="id")
    assert ASKED == []


@all_cases(
    ("options", "said"),
    [
        ({"metrics": ["mrr@3"]}, "tune: unknown argument 'metrics'; perhaps you meant 'metric'"),
        ({"concurency": 3}, "tune: unknown argument 'concurency'; perhaps you meant 'concurrency'"),
        ({"confidence": 95}, "confidence: 95"),
        ({"resamples": 5}, "resamples: 5"),
        ({"seed": -1}, "seed: -1"),
        ({"max_failed": 2}, "max_failed: 2"),
    ],
)
def test_an_option_that_is_wrong_is_said_before_anything_is_asked(options, said):
    """Whatever is wrong is an error that names it, with what is meant."""
    with pytest.raises(UsageError) as caught:
        tried({"skill": [1, 2]}, **options)
    assert str(caught.value).startswith(said)
    assert ASKED == []


def judging(tmp_path, **options):
    """Two settings under a judge to whom all is relevant, of questions without gold."""
    judge = Judge(ScriptedClient(lambda _: 3), store=tmp_path / "store.sqlite", progress=False)
    dataset = GoldDataset.from_documents([[]] * 2, queries=["one", "two"])

    def first(k):
        return lambda question: [f"{question} {rank}" for rank in range(k)]

    match = {"method": "llm", "judge": judge}
    return tune(
        dataset, first, {"k": [1, 4]}, match=match, metric="recall@5", progress=False, **options
    )


def test_without_gold_all_settings_are_judged_in_one_pool(tmp_path):
    """What one setting finds is gold for all of them, or each would find all of its own."""
    of_first = {own.name: own.mean for own in judging(tmp_path).settings}
    assert of_first == {"first[k=1]": 0.25, "first[k=4]": 1.0}
