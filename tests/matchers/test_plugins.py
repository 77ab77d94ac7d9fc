"""A third party's matcher and tokenizer plug in by import path, without touching kragx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from pydantic import BaseModel, Field

from kragx import UsageError, evaluate, match_pairs, matcher
from kragx.data import UnicodeTokenizer
from kragx.ground.plugins import build
from kragx.matchers import Diagnostics, Matcher, MatchItem
from kragx.matchers.overlap import PhraseMatcher
from kragx.matchers.reasons import reasons
from kragx.matchers.texts import RougeMatcher
from tests.thoroughness import all_cases

from .support import item

GOLD = [["섬에는 등대가 있다"], ["배는 아침에 떠난다"]]
RETRIEVED = [["섬에는 등대가 없다", "등대"], ["밤에 온다"]]


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the folder of `toy_plugin` on the path, as if it were installed."""
    monkeypatch.syspath_prepend(Path(__file__).parent)


def test_a_matcher_plugs_in_by_import_path() -> None:
    """A matcher class is made, asked, and decides with its own threshold."""
    (first, second) = match_pairs(GOLD, RETRIEVED, match="toy_plugin.matchers:StartsWith")
    assert first["scores"] == [[0.8], [0.0]]
    assert first["matched"] == [[True], [False]]
    assert second["scores"] == [[0.0]]


def test_arguments_stand_under_args() -> None:
    """The arguments of a third party's class are given under `args`."""
    spec = {"method": "toy_plugin.matchers:StartsWith", "args": {"threshold": 0.9}}
    (first, _) = match_pairs(GOLD, RETRIEVED, match=spec)
    assert first["matched"] == [[False], [False]]


def test_an_evaluation_records_the_plugin() -> None:
    """Numbers, the matcher's own counts and its settings arrive in the result."""
    spec = {"method": "toy_plugin.matchers:StartsWith", "args": {"threshold": 0.75}}
    result = evaluate(GOLD, RETRIEVED, match=spec)
    assert result["hit_rate@10"] == 0.5
    assert result.counts["n_compared"] == 3
    assert result.settings["match"] == {
        "method": "toy_plugin.matchers:StartsWith",
        "threshold": 0.75,
    }


def test_a_plugins_scores_can_be_decided_anew() -> None:
    """Another threshold costs no other scoring, for a third party's matcher as well."""
    result = evaluate(GOLD, RETRIEVED, match="toy_plugin.matchers:StartsWith")
    assert result.at_threshold(0.8)["hit_rate@10"] == 0.5
    assert result.at_threshold(0.81)["hit_rate@10"] == 0.0


def test_a_path_may_name_an_object() -> None:
    """An import path that names a ready matcher gives this matcher."""
    import toy_plugin.matchers

    chosen = matcher("toy_plugin.matchers:half")
    assert chosen.inner is toy_plugin.matchers.half
    assert chosen.settings == {"method": "fixed", "threshold": 0.25}


def test_a_judge_of_a_third_party_works_in_a_cascade(capsys: pytest.CaptureFixture[str]) -> None:
    """It is asked for the open pairs alone, last; unknown stays unknown; its counts are shown."""
    import toy_plugin.matchers

    toy_plugin.matchers.Referee.asked.clear()
    referee = {"method": "toy_plugin.matchers:Referee"}
    spec = {"cascade": [{"method": "rouge1", "accept": 0.9, "reject": 0.2}, referee]}
    docs = ["a b c d", "a b c !", "a b c ?", "x y z !"]
    result = evaluate([["a b c d"]], [docs], match=spec, metrics=["precision@4"])
    assert toy_plugin.matchers.Referee.asked == [("a b c !", "a b c d"), ("a b c ?", "a b c d")]
    assert result.bounds["precision@4"] == (0.5, 0.75)
    judging = result.counts["judging"]
    assert judging["model"] == "referee"
    assert judging["coverage"] == 0.5
    assert {name: judging[name] for name in ("n_judgements", "n_calls", "n_calls_saved")} == {
        "n_judgements": 2,
        "n_calls": 2,
        "n_calls_saved": 2,
    }
    result.print()
    assert "coverage 50.0%" in capsys.readouterr().out


def test_a_judge_of_a_third_party_comes_last_and_explains() -> None:
    """`any` asks it after what is free, and its words are the reason of what it decided."""
    spec = {"any": [{"method": "toy_plugin.matchers:Referee"}, "exact"]}
    chosen = matcher(spec)
    assert [member["method"] for member in chosen.settings["of"]] == ["exact", "referee"]
    grid = reasons(chosen, item(["a", "b !"], ["a"]))
    (first,), (second,) = grid
    assert [part.method for part in first.deciding()] == ["exact"]
    assert [(part.method, part.text) for part in second.deciding()] == [("referee", "saw b !")]


def test_grades_of_a_third_party_can_be_gains() -> None:
    """`gain_from=judge` takes any matcher whose scores are grades."""
    spec = {"method": "toy_plugin.matchers:Referee"}
    result = evaluate([["a"]], [["b !"]], match=spec, metrics=["ndcg@1(gain_from=judge)"])
    assert result.mean["ndcg@1(gain_from=judge)"] == 1.0
    with pytest.raises(UsageError, match="gives grades"):
        evaluate([["a"]], [["b"]], match="exact", metrics=["ndcg@1(gain_from=judge)"])


def test_options_of_a_third_party_are_checked_by_their_types() -> None:
    """A field's type is enough for a wrong value to be refused with the option's name."""
    spec = {"method": "toy_plugin.matchers:Referee", "args": {"language": "kr"}}
    with pytest.raises(UsageError, match=r"match\.language: unknown value 'kr'"):
        matcher(spec)


def test_a_tokenizer_plugs_in_by_import_path() -> None:
    """A third party's tokenizer serves ROUGE, and is recorded with its options."""
    spec = {
        "method": "rouge1",
        "measure": "recall",
        "tokenizer": {"name": "toy_plugin.tokenizers:Syllables", "skip": "."},
    }
    (pair,) = match_pairs([["가 나."]], [["나다", "가나"]], match=spec)
    assert pair["scores"] == [[0.5], [1.0]]
    assert matcher(spec).settings["tokenizer"] == {
        "name": "toy_plugin.tokenizers:Syllables",
        "skip": ".",
    }


def test_a_tokenizer_may_be_a_function() -> None:
    """A third party's plain function serves as a tokenizer, and is recorded by its path."""
    spec = {"method": "rouge1", "tokenizer": "toy_plugin.tokenizers:at_bars"}
    (pair,) = match_pairs([["서울 | 부산"]], [["부산|서울"]], match=spec)
    assert pair["scores"] == [[1.0]]
    assert matcher(spec).settings["tokenizer"] == {"name": "toy_plugin.tokenizers:at_bars"}


@all_cases(
    ("spec", "message"),
    [
        ("toy_plugin.matcher:StartsWith", "cannot import 'toy_plugin.matcher'"),
        ("toy_plugin.matchers:StartWith", "perhaps you meant 'StartsWith'"),
        ("toy_plugin.matchers:", "is not an import path"),
        (
            {"method": "toy_plugin.matchers:StartsWith", "args": {"treshold": 0.5}},
            "unknown argument 'treshold'; perhaps you meant 'threshold'",
        ),
        (
            {"method": "toy_plugin.matchers:StartsWith", "threshold": 0.5},
            "match.threshold: unknown option; what 'toy_plugin.matchers:StartsWith' takes belongs "
            "under 'args'",
        ),
        ({"method": "toy_plugin.matchers:StartsWith", "args": [0.5]}, "args"),
        ({"method": "toy_plugin.matchers:StartsWith", "args": "small"}, "args"),
        ({"method": "toy_plugin.matchers:Fixed"}, "missing a required argument: 'value'"),
        ("toy_plugin.matchers:Failing", "RuntimeError: the model file is missing"),
        ("toy_plugin.matchers:NoMatcher", "is not a matcher; it needs 'threshold' and 'scores'"),
        ("toy_plugin.tokenizers:Syllables", "is not a matcher"),
    ],
)
def test_a_plugin_that_cannot_be_used_says_why(spec: object, message: str) -> None:
    """A wrong path, argument or object is refused with its name and the remedy."""
    with pytest.raises(UsageError) as caught:
        matcher(spec)
    assert message in str(caught.value)


class Aliased(BaseModel):
    """As chat models are: fields that may be given by name or alias."""

    model_config = {"populate_by_name": True}
    model: str = Field(alias="model_name")


@pytest.mark.parametrize("name", ["model", "model_name"])
def test_fields_of_pydantic_by_name_or_alias(name: str) -> None:
    """Both are arguments; a third is none, and the hint knows the field's name."""
    path = "tests.matchers.test_plugins:Aliased"
    assert build(path, {name: "m"}).model == "m"
    with pytest.raises(UsageError, match="perhaps you meant 'model'"):
        build(path, {name: "m", "modle": "m"})


class Narrower(RougeMatcher):
    """Somebody's matcher, derived from kragx's."""


class StillNarrower(Narrower):
    """Derived from theirs, with a name."""

    name = "still_narrower"


class Backwards(UnicodeTokenizer):
    """Somebody's tokenizer, derived from kragx's."""


@dataclass(frozen=True)
class Loose(PhraseMatcher):
    """Somebody's matcher with an option of its own."""

    gap: int = 1


class Named:
    """A matcher that derives from nothing of kragx."""

    name, threshold = "named", 1.0

    def scores(self, items: Iterable[MatchItem], diagnostics: Diagnostics) -> Iterator[ArrayLike]:
        """Nothing matches."""
        return (np.zeros(one.shape) for one in items)


class Renamed(Named):
    """Another that derives from it."""


@all_cases(
    ("own", "shown"),
    [
        (Narrower(), f"{__name__}:Narrower"),
        (StillNarrower(), "still_narrower"),
        (Loose(), f"{__name__}:Loose"),
        (Named(), "named"),
        (Renamed(), f"{__name__}:Renamed"),
        (RougeMatcher("rougeL"), "rougeL"),
        (PhraseMatcher(), "phrase"),
    ],
)
def test_a_class_that_derives_from_a_matcher_has_a_name_of_its_own(
    own: Matcher, shown: str
) -> None:
    """Its results are not taken for those of the matcher that it derives from."""
    result = evaluate([["배는 아침에 떠난다"]], [["밤에 배는 온다"]], match=own, metrics=["mrr@5"])
    assert (result.settings["match"]["method"], result.match_name) == (shown, shown)
    assert result.to_text().startswith(f"match: {shown}")


def test_a_class_that_derives_from_a_tokenizer_has_a_name_of_its_own() -> None:
    """Results say by its import path who cut the texts; kragx's own keep their names."""
    names = [
        PhraseMatcher(tokenizer=own).settings["tokenizer"]["name"]
        for own in (Backwards(), UnicodeTokenizer())
    ]
    assert names == [f"{__name__}:Backwards", "unicode"]
