"""One small conversation that any endpoint can be recorded with. See tests/README.md."""

from __future__ import annotations

import json
import os

import yaml

from kragx.judging import Question
from kragx.judging.rubric import RUBRICS
from tests.judging.recording import CASSETTES
from tests.judging.support import judge_of, openai_client

RETURNS = "Opened software can be returned within 14 days if the key is still covered."
REFUND = "물건을 받은 날부터 7일 안에 청약을 철회할 수 있다."
PAIRS = [
    (RUBRICS["support-en-1"], RETURNS, f"Returns. {RETURNS} Keep the receipt.", True),
    (RUBRICS["support-en-1"], RETURNS, "The museum opens at nine on weekdays.", False),
    (RUBRICS["support-ko-1"], REFUND, f"청약 철회: {REFUND}", True),
    (RUBRICS["support-ko-1"], REFUND, "이 산은 높이가 1,950미터이다.", False),
]


def model():
    """The model to record with, or the one that was recorded."""
    if os.environ.get("KRAGX_RECORD"):
        return os.environ.get("KRAGX_RECORD_MODEL", "local-judge")
    text = (CASSETTES / "endpoint.yaml").read_text(encoding="utf-8")
    return json.loads(yaml.safe_load(text)["interactions"][0]["request"]["body"])["model"]


def test_endpoint(tape, store):
    """What holds the gold text is graded 2 or 3, what has nothing to do with it 0 or 1."""
    questions = [Question(rubric, document, gold=gold) for rubric, gold, document, _ in PAIRS]
    with tape("endpoint") as base_url:
        judged = judge_of(openai_client(base_url, model=model()), store).judge(questions)
    found = [each.grade >= 2 for each in judged.judgements]
    assert found == [supports for *_, supports in PAIRS]
