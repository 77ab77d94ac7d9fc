"""A third party's matcher and tokenizer plug in by import path, without touching kragx."""

from __future__ import annotations

from pathlib import Path

import pytest

from kragx import UsageError, evaluate, match_pairs, matcher

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


@pytest.mark.parametrize(
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
    ids=str,
)
def test_a_plugin_that_cannot_be_used_says_why(spec: object, message: str) -> None:
    """A wrong path, argument or object is refused with its name and the remedy."""
    with pytest.raises(UsageError) as caught:
        matcher(spec)
    assert message in str(caught.value)
