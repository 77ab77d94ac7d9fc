"""What the end of a run says about judgements that failed."""

from __future__ import annotations

import pytest

from kragx import evaluate
from kragx.errors import JudgingError
from kragx.ground.printing import in_language
from kragx.judging import Failure
from kragx.judging.client import FAILURE_KINDS
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.judgement_counts import Tally, check_missing, failure_lines, remedy
from tests.judging.support import judge_of
from tests.thoroughness import all_cases

GOLD = [["gold 0"], ["gold 1"]]
RUN = [["a good one", "bad\x1b[31m", "blocked one"], ["bad too", "a good one", "another"]]


def reply(request):
    """A grade, or what two kinds of documents come to."""
    text = request.messages[1][1]
    if "bad" in text:
        return Failure("refusal", f"I would\nrather not, {'really ' * 100}")
    return Failure("api_error", "403: policy", status=403) if "blocked" in text else 3


def test_an_example_of_each_kind(store):
    """An evaluation has, by kind, the first question that failed, the words, and what to do."""
    match = {"method": "llm", "judge": judge_of(ScriptedClient(reply), store, max_missing=1)}
    evaluation = evaluate(GOLD, RUN, match=match, metrics=["hit_rate@3"])
    judging = evaluation.counts["judging"]
    assert judging["failures"] == {"api_error": 1, "refusal": 2}
    examples = judging["failure_examples"]
    assert examples.keys() == {"api_error", "refusal"}
    assert examples["refusal"]["query_id"] == next(iter(evaluation.query_ids))
    assert examples["refusal"]["detail"].startswith("I would rather not, really")
    assert len(examples["refusal"]["detail"]) <= 300
    assert examples["api_error"]["remedy"] == remedy("api_error")
    refused, blocked = (line for line in evaluation.remarks if "; such as query " in line)
    assert refused.startswith(f"2 refusal: {remedy('refusal')}; such as query ")
    assert refused.endswith("really...'")
    assert len(refused) < 250
    assert blocked.startswith(f"1 api_error: {remedy('api_error')}; such as query ")
    assert blocked.endswith(": '403: policy'")
    again = evaluate(GOLD, RUN, match=match, metrics=["hit_rate@3"]).counts["judging"]
    assert again["failure_examples"] == examples  # of what is stored as well


def test_too_many_missing(store):
    """The error that ends a run lists the same, a line for each kind."""
    match = {"method": "llm", "judge": judge_of(ScriptedClient(reply), store)}
    with pytest.raises(JudgingError, match=r"3 of 6 judgements are missing") as raised:
        evaluate(GOLD, RUN, match=match)
    _, refused, blocked, last = str(raised.value).split("\n  ")
    assert blocked.startswith("1 api_error: ")
    assert refused.startswith("2 refusal: ")
    assert "\x1b" not in refused
    assert str(store) in last


def test_where_what_was_judged_is(store):
    """Where nothing else is said, the last line names the store, in Korean as well."""
    with pytest.raises(JudgingError) as raised:
        check_missing(Tally(n_judgements=2, n_missing=1), judge_of(ScriptedClient(reply), store))
    last = in_language(raised.value.text, "ko").split("\n  ")[-1]
    assert last == f"판정한 것은 {store}에 있습니다. 다시 실행하면 빠진 것만 묻습니다"


@all_cases("kind", FAILURE_KINDS)
def test_every_kind_has_a_remedy(kind):
    """It stands in the line of its kind, where there is nothing else to say, too."""
    example = {"query_id": None, "document_id": None, "detail": "", "remedy": remedy(kind)}
    judging = {"failures": {kind: 1}, "failure_examples": {kind: example}}
    (line,) = failure_lines(judging)
    assert line == f"1 {kind}: {remedy(kind)}"


def test_remedies_by_status():
    """Of an error of the service the status says more than its kind."""
    assert "judge.model" in remedy("api_error", 404)
    assert "credit" in remedy("rate_limit", 402)
    assert remedy("api_error", 418) == remedy("api_error")
