"""Combinations: nested, in Python and YAML, cascades that filter, the reasons of decisions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, strategies as st

from examples.ngram_embeddings import NgramEmbeddings
from kragx import UsageError, evaluate, matcher
from kragx.app.config import load
from kragx.app.pipeline import run
from kragx.matchers.reasons import Reason, best_targets, reasons
from tests.thoroughness import all_cases, examples

from .support import item, scored

DOCS = ["a b c d", "a b c d e f g h", "a b x y", "q r s t", "A B C D"]
GOLDS = ["a b c d", "c d e f g h", "q r"]
PAIRS = {"method": "overlap", "short": 0}
"""Pairs of tokens alone, of gold of any length."""
EMBEDDING = {"method": "embedding", "embeddings": NgramEmbeddings()}

leaves = st.sampled_from(
    [
        "exact",
        "text",
        "contains",
        {"method": "rouge1", "threshold": 0.4},
        {"method": "rouge2", "measure": "recall", "threshold": 0.6},
        {"method": "overlap", "threshold": 0.9},
        {**EMBEDDING, "threshold": 0.5},
    ]
)


def cascades(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Cascades of steps with limits, whose last member may be a combination."""
    steps = st.builds(
        lambda method, low, high, which: {
            "method": method,
            **({"reject": min(low, high)} if which != "accept" else {}),
            **({"accept": max(low, high)} if which != "reject" else {}),
        },
        st.sampled_from(["rouge1", "rouge2", "overlap"]),
        st.sampled_from([0.1, 0.3, 0.5]),
        st.sampled_from([0.4, 0.6, 0.9]),
        st.sampled_from(["accept", "reject", "both"]),
    )
    return st.builds(
        lambda first, last: {"cascade": [*first, last]},
        st.lists(steps, min_size=1, max_size=2),
        members,
    )


def combinations(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """`any`, `all` and `cascade` of members."""
    several = st.lists(members, min_size=2, max_size=3)
    return st.one_of(
        st.builds(lambda of: {"any": of}, several),
        st.builds(lambda of: {"all": of}, several),
        cascades(members),
    )


specs = st.recursive(leaves, combinations, max_leaves=6)


def reference(spec: Any, doc: str, gold: str) -> bool:
    """The obvious way to decide, pair by pair, from scores of single matchers."""
    if isinstance(spec, dict) and "any" in spec:
        return any(reference(each, doc, gold) for each in spec["any"])
    if isinstance(spec, dict) and "all" in spec:
        return all(reference(each, doc, gold) for each in spec["all"])
    if isinstance(spec, dict) and "cascade" in spec:
        *first, last = spec["cascade"]
        for step in first:
            score = score_of({"method": step["method"]}, doc, gold)
            if "accept" in step and score >= step["accept"]:
                return True
            if "reject" in step and score < step["reject"]:
                return False
        return reference(last, doc, gold)
    return score_of(spec, doc, gold) >= matcher(spec).threshold


def score_of(spec: Any, doc: str, gold: str) -> float:
    """The score of one matcher."""
    return float(scored(matcher(spec), [doc], [gold])[0, 0])


@examples(80)
@given(specs)
def test_nested_combinations_decide_as_their_words_say(spec: Any):
    """However nested, each pair is decided as the plain reading of the spec decides it."""
    chosen = matcher(spec)
    found = scored(chosen, DOCS, GOLDS) >= chosen.threshold
    for (row, doc), (column, gold) in itertools.product(enumerate(DOCS), enumerate(GOLDS)):
        assert found[row, column] == reference(spec, doc, gold), (spec, doc, gold)


@examples(80)
@given(specs)
def test_reasons_give_the_decision_and_the_score(spec: Any):
    """The reason of a pair says what matching says, and rests on members that say so too."""
    chosen = matcher(spec)
    scores = scored(chosen, DOCS, GOLDS)
    grid = reasons(chosen, item(DOCS, GOLDS))
    for row, column in itertools.product(range(len(DOCS)), range(len(GOLDS))):
        reason = grid[row][column]
        assert (reason.verdict == "match") == (scores[row, column] >= chosen.threshold)
        assert reason.score == scores[row, column]
        check_parts(reason)


def check_parts(reason: Reason) -> None:
    """The members that decide justify the verdict of the whole."""
    leaves_ = reason.deciding()
    assert leaves_
    if not reason.parts:
        return
    verdicts = [part.verdict for part in reason.parts]
    deciding = [part for part in reason.parts if part.decides]
    match reason.method:
        case "any":
            assert (reason.verdict == "match") == ("match" in verdicts)
            assert all(part.verdict == reason.verdict for part in deciding)
        case "all":
            assert (reason.verdict == "match") == (set(verdicts) == {"match"})
            assert all(part.verdict == reason.verdict for part in deciding)
        case "cascade":
            assert deciding == [reason.parts[-1]]
            assert reason.parts[-1].verdict == reason.verdict
            assert all(part.verdict == "open" for part in reason.parts[:-1])
    for part in deciding:
        check_parts(part)


def test_which_member_decided_is_said_with_its_score():
    """By hand: overlap accepts the first pair, rejects the last, and leaves the middle to text."""
    spec = {"cascade": [{**PAIRS, "accept": 0.9, "reject": 0.2}, "text"]}
    grid = reasons(matcher(spec), item(DOCS, ["a b c z"]))
    first, second, third = grid[0][0], grid[2][0], grid[3][0]
    assert [each.method for each in first.deciding()] == ["text"]  # overlap 2/3: in between
    assert first.parts[0].score == pytest.approx(2 / 3)
    assert first.parts[0].verdict == "open"
    assert first.parts[0].distance == pytest.approx(2 / 3 - 0.9)
    assert [each.method for each in second.deciding()] == ["text"]
    assert [(each.method, each.score) for each in third.deciding()] == [("overlap", 0.0)]
    assert third.parts[0].verdict == "no match"
    assert third.distance is None
    assert third.parts[0].distance == pytest.approx(-0.2)
    (sure,) = reasons(matcher(spec), item(["a b c z"], ["a b c z"]))[0]
    assert [(each.method, each.verdict) for each in sure.deciding()] == [("overlap", "match")]
    assert sure.to_dict()["of"][0] == {
        "method": "overlap",
        "score": 1.0,
        "verdict": "match",
        "decides": True,
        "accept": 0.9,
        "reject": 0.2,
        "distance": pytest.approx(0.1),
    }


def test_the_alternative_that_matches_speaks_for_its_gold_item():
    """Of a gold item's alternatives, the best one's reason is taken."""
    gold = {"text": "nothing of it", "alternatives": [{"text": "a b c d"}, {"text": "a b c x"}]}
    asked = item(DOCS, [gold, "q r"])
    grid = reasons(matcher(PAIRS), asked)
    assert best_targets(asked, grid) == [[1, 3], [1, 3], [1, 3], [0, 3], [1, 3]]


FILTER = {
    "cascade": [
        {**EMBEDDING, "reject": 0.5},
        {"method": "rouge1", "measure": "recall", "threshold": 0.7},
    ]
}


def test_a_cascade_that_filters_keeps_the_last_score():
    """What passes has ROUGE's score and threshold, what was ruled out 0; so it can be swept."""
    chosen = matcher(FILTER)
    similar = scored(matcher({**EMBEDDING, "threshold": 0.5}), DOCS, GOLDS) >= 0.5
    rouge = scored(matcher({"method": "rouge1", "measure": "recall"}), DOCS, GOLDS)
    assert chosen.threshold == 0.7
    assert (scored(chosen, DOCS, GOLDS) == np.where(similar, rouge, 0.0)).all()
    assert 0 < similar.sum() < similar.size
    result = evaluate([GOLDS], [DOCS], match=FILTER, metrics=["recall@5"])
    lower = {**FILTER["cascade"][1], "threshold": 0.2}
    other = evaluate(
        [GOLDS], [DOCS], match={"cascade": [FILTER["cascade"][0], lower]}, metrics=["recall@5"]
    )
    assert result.at_threshold(0.2).mean == other.mean
    assert result.at_threshold(0.2).settings["match"] == other.settings["match"]
    assert result.match_label.endswith("threshold 0.7")


class Unsure:
    """A matcher that scores .6, and does not know documents of upper case."""

    threshold = 0.5
    may_not_know = True

    def scores(self, items: Iterable[Any], notes: Any) -> Iterator[Any]:
        """Yield NaN for what it does not know."""
        for one in items:
            of_docs = [np.nan if doc.text.isupper() else 0.6 for doc in one.docs]
            yield np.array(of_docs)[:, None].repeat(len(one.targets), axis=1)


def test_a_cascade_that_filters_keeps_the_score_of_one_that_may_not_know():
    """What its last matcher does not know stays unknown; what it knows keeps its score."""
    chosen = matcher({"cascade": [{"method": "contains", "reject": 0.5}, Unsure()]})
    assert chosen.threshold == chosen.settings["threshold"] == 0.5
    np.testing.assert_array_equal(
        scored(chosen, ["a b", "B", "q"], ["a b", "B"]), [[0.6, 0], [0, np.nan], [0, 0]]
    )


def test_a_combination_within_a_cascade_says_yes_or_no_itself():
    """It has its own threshold, whatever the limits are by which the cascade goes on."""
    spec = {"cascade": [{"any": ["exact", "contains"], "accept": 1}, PAIRS]}
    (reason,) = reasons(matcher(spec), item(["a b c d"], ["a b c e"]))[0]
    inner, last = reason.parts
    assert (inner.verdict, inner.accept, inner.reject) == ("no match", None, None)
    assert (reason.verdict, last.verdict, last.decides) == ("match", "match", True)


@all_cases(
    "spec",
    [
        {"cascade": [{"method": "rouge1", "accept": 0.9, "reject": 0.1}, "overlap"]},
        {"cascade": [{"method": "rouge1", "reject": 0.1}, "text"]},
        {"any": ["text", "overlap"]},
        {"all": ["text", "overlap"]},
        {"cascade": [{"method": "rouge1", "reject": 0.1}, {"any": ["text", "overlap"]}]},
    ],
)
def test_other_combinations_say_yes_or_no(spec: Any):
    """Scores are 0 and 1, and there is no threshold to change."""
    found = scored(matcher(spec), DOCS, GOLDS)
    assert set(np.unique(found)) <= {0.0, 1.0}
    assert "threshold" not in matcher(spec).settings
    with pytest.raises(UsageError, match="decides yes or no"):
        evaluate([GOLDS], [DOCS], match=spec).at_threshold(0.4)


def test_nested_combinations_work_from_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """YAML and Python give the same numbers; a variable in args is never written out."""
    spec = {
        "any": [
            "exact",
            {
                "all": [
                    PAIRS,
                    {
                        "cascade": [
                            {
                                "method": "embedding",
                                "embeddings": "tests.matchers.test_embedding:Keyed",
                                "args": {"api_key": "${A_KEY_OF_MINE}"},
                                "reject": 0.3,
                            },
                            {"method": "rouge1", "threshold": 0.5},
                        ]
                    },
                ]
            },
        ]
    }
    monkeypatch.setenv("A_KEY_OF_MINE", "hush-hush")
    (tmp_path / "gold.jsonl").write_text(
        '{"query_id": "q1", "gold": [{"text": "a b c d"}, {"text": "q r s"}]}\n'
    )
    (tmp_path / "results.jsonl").write_text(
        '{"query_id": "q1", "gold": [], "retrieved": [{"text": "a b c e"}, {"text": "q r s"}]}\n'
    )
    config = {
        "dataset": "gold.jsonl",
        "retrievers": {"one": {"results": "results.jsonl"}},
        "match": spec,
        "metrics": ["recall@1", "recall@2"],
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    from kragx.app.result_folder.written import claimed

    loaded = load(tmp_path / "config.yaml")
    report = run(loaded)
    with claimed(tmp_path / "out", loaded) as write:
        write(report)
    monkeypatch.delenv("A_KEY_OF_MINE")
    written = "".join(
        path.read_text(encoding="utf-8-sig")
        for path in (tmp_path / "out").rglob("*")
        if path.suffix in (".json", ".yaml", ".csv", ".jsonl")
    )
    assert "hush-hush" not in written
    assert "A_KEY_OF_MINE" in written
    (evaluation,) = report.evaluations
    python = evaluate(
        [["a b c d", "q r s"]],
        [["a b c e", "q r s"]],
        match=spec,
        metrics=["recall@1", "recall@2"],
    )
    assert evaluation.mean == python.mean == {"recall@1": 0.5, "recall@2": 1.0}


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ("{any: [exact, {all: [text, {method: overlap, treshold: 1}]}]}", "all[1].treshold"),
        (
            "{cascade: [{method: embedding, reject: 0.2}, text]}",
            "cascade[0].embeddings: none are named",
        ),
        # Nothing is ever accepted, so that a judge is paid for every pair.
        ("{cascade: [{method: overlap, accept: 80}, text]}", "cascade[0].accept: 80.0 is out of"),
        ("{method: embedding, threshold: 0.5}", "match.embeddings: none are named"),
        (
            "{method: embedding, embeddings: 'examples.ngram_embeddings:NgramEmbeddings'}",
            "match.threshold: 'embedding' has no default",
        ),
        (
            "{method: embedding, embeddings: 'examples.ngram_embeddings:NgramEmbeddings', "
            "threshold: 7, embed_as: 0}",
            "match.embed_as: ",
        ),
        (
            "{method: embedding, embeddings: 'examples.ngram_embeddings:NgramEmbeddings', "
            "threshold: 0.5, args: {n: '${NO_SUCH_VARIABLE_HERE}'}}",
            "match.args.n: the environment variable 'NO_SUCH_VARIABLE_HERE' is not set",
        ),
    ],
)
def test_a_wrong_member_is_named_with_its_path(tmp_path: Path, match: str, message: str):
    """A config says where in a nested match the mistake is."""
    (tmp_path / "config.yaml").write_text(
        f"dataset: gold.jsonl\nretrievers: {{one: results.jsonl}}\nmatch: {match}\n"
    )
    with pytest.raises(UsageError) as caught:
        load(tmp_path / "config.yaml")
    assert message in str(caught.value)


def test_reasons_cost_nothing_where_nobody_asks(monkeypatch: pytest.MonkeyPatch):
    """Evaluating makes no record of who decided what."""
    monkeypatch.setattr(
        "kragx.matchers.reasons.Reason", lambda *_, **__: pytest.fail("a reason was recorded")
    )
    spec = {"any": ["exact", {"all": ["overlap", "text"]}]}
    evaluate([GOLDS], [DOCS], match=spec)
    with pytest.raises(pytest.fail.Exception):
        reasons(matcher(spec), item(DOCS, GOLDS))
