"""Expected grades: from the probabilities of a grade's alternatives, where a server tells them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from kragx.agreement import read_labels
from kragx.judging import OpenAIClient, Store
from kragx.judging.client import Token
from kragx.judging.forms import AnswerReading, expected_grade
from kragx.judging.question import Question
from kragx.judging.rubric import RUBRICS, Rubric
from tests.judging.server import Handler, serving
from tests.judging.support import ENDPOINT, ask, judge_of
from tests.thoroughness import all_cases

CHANCES = {b"2": 0.5, b"3": 0.3, b"1": 0.1, b"7": 0.1}


def tokens(*parts, chances=CHANCES):
    """The tokens of an answer; the one that is a 2 has these alternatives."""
    return [
        Token(part, chances if b"2" in part and b"reason" not in part else {part: 1.0})
        for part in (part.encode() if isinstance(part, str) else part for part in parts)
    ]


def test_by_hand():
    """(2 * .5 + 3 * .3 + 1 * .1) / .9: what is no grade is left out."""
    parts = ['{"reason": "it says', ' so", "grade": ', "2", "}"]
    assert expected_grade(
        AnswerReading(2, "it says so"), tokens(*parts), ask("d")
    ) == pytest.approx(2 / 0.9)


@pytest.mark.parametrize(
    "parts",
    [
        ['{"grade": ', "2", ', "reason": "why"}'],  # the other way round
        ['```json\n{"reason": "why", "grade": ', "2", "}\n```", b""],  # a fence, and an end
        ['{"reason": "', "why", '", "grade"', ": ", "2", " }", b""],
    ],
)
def test_wherever_it_stands(parts):
    """The place of the grade is found whatever stands around it."""
    assert expected_grade(AnswerReading(2, "why"), tokens(*parts), ask("d")) == pytest.approx(
        2 / 0.9
    )


def test_a_number_in_the_reason_is_not_the_grade():
    """Only what makes another grade of the same answer is its place; letters may be cut in two."""
    korean = "2번".encode()
    parts = ['{"reason": "', korean[:2], korean[2:], '", "grade": ', "2", "}"]
    made = tokens(*parts)
    made[1] = Token(made[1].text, {b"3\xeb": 1.0})
    assert expected_grade(AnswerReading(2, "2번"), made, ask("d")) == pytest.approx(2 / 0.9)


def test_tokens_with_more_than_the_digit():
    """Alternatives are tried as they are: `2}` beside `3}`, and what breaks the answer is none."""
    parts = ['{"reason": "why", "grade":', " 2}"]
    chances = {b" 2}": 0.6, b" 3}": 0.2, b" 2": 0.1, b" three": 0.1}
    made = tokens(*parts, chances=chances)
    assert expected_grade(AnswerReading(2, "why"), made, ask("d")) == pytest.approx(1.8 / 0.8)


@all_cases(
    "made",
    [
        [],
        tokens('{"reason": "other", "grade": ', "2", "}"),
        tokens('{"reason": "why", "grade": ', "3", "}"),
        tokens("no JSON ", "2"),
        tokens('{"reason": "why", "grade": ', "2", "}", chances={b"2": 0.3, b"8": 0.7}),
        tokens('{"reason": "why", "grade": ', "2", "}", chances={}),
    ],
)
def test_none(made):
    """No tokens, those of another answer, or most of it no grade: nothing is said."""
    assert expected_grade(AnswerReading(2, "why"), made, ask("d")) is None


def test_a_scale_of_two_digits():
    """A 1 may be the start of a 10, so nothing is said."""
    rubric = Rubric("ten", "support", "Grade.", {n: str(n) for n in range(11)}, cut=5)
    made = tokens('{"reason": "why", "grade": ', "2", "}")
    assert expected_grade(AnswerReading(2, "why"), made, Question(rubric, "d", gold="g")) is None


class Telling(Handler):
    """Tells the probabilities of its tokens, if it is asked for them; `odd` are those of nobody."""

    def reply(self, status, body, headers=()):
        """A token a letter; the grade is a third as likely to be one higher."""
        for choice in body.get("choices", ()):
            content = choice["message"]["content"]
            if self.server.requests[-1].get("logprobs") and content:
                choice["logprobs"] = {"content": [*map(self.token, content)]}
                if "odd" in str(self.server.requests[-1]["messages"]):
                    choice["logprobs"] = {"content": [{"token": 7}, None]}
        super().reply(status, body, headers)

    @staticmethod
    def token(letter):
        """One letter."""
        alike = {"token": letter, "bytes": [*letter.encode()], "logprob": math.log(0.75)}
        up = chr(ord(letter) + 1)
        higher = {"token": up, "bytes": None, "logprob": math.log(0.25)}
        return alike | {"top_logprobs": [alike, higher]}


def client(server, **options):
    """The client, pointed at a server."""
    return OpenAIClient("local-judge", base_url=server.base_url, endpoint=ENDPOINT, **options)


def test_stored_with_the_judgement(store, tmp_path):
    """Asked for once, kept, served, exported and imported; odd probabilities cost no grade."""
    questions = [ask("grade-1"), ask("grade-3"), ask("odd grade-2")]
    with serving(handler=Telling) as server:
        judged = judge_of(client(server, logprobs=True), store).judge(questions).judgements
        assert [one.grade for one in judged] == [1, 3, 2]
        assert [one.expected for one in judged] == [pytest.approx(1.25), pytest.approx(3), None]
        assert server.requests[0]["top_logprobs"] == 10
        again = judge_of(client(server, logprobs=True), store).judge(questions)
        assert again.tally.n_calls == 0
        assert again.judgements[0].expected == pytest.approx(1.25)
    with Store(store) as opened:
        records = list(opened.records())
    assert sorted(record.get("expected", -1) for record in records) == [
        -1,
        pytest.approx(1.25),
        pytest.approx(3),
    ]
    assert json.dumps(records)


def test_as_labels(store):
    """Whoever wants expected grades reads them from the store, and whole ones where there is none.

    The grade of a person of the same question is what it is.
    """
    questions = [
        replace(ask(text), query_id="q", document_id=text) for text in ("grade-1", "odd grade-2")
    ]
    with serving(handler=Telling) as server:
        judge_of(client(server, logprobs=True), store).judge(questions)
    labels = read_labels(store, "judge", asks="support", expected=True)
    assert labels.grades == {("q", "grade-1"): pytest.approx(1.25), ("q", "odd grade-2"): 2}
    assert read_labels(store, "judge", asks="support").grades["q", "grade-1"] == 1


def test_who_does_not_ask_has_the_same_key_and_request(store):
    """Nothing of it is sent or in the key; who asks has a key, and an answer, of their own."""
    with serving(handler=Telling) as server:
        plain = judge_of(client(server), store).judge([ask("grade-1")])
        assert plain.judgements[0].expected is None
        assert not {"logprobs", "top_logprobs"} & server.requests[0].keys()
        assert not {"logprobs", "top_logprobs"} & client(server).settings.keys()
        asking = judge_of(client(server, logprobs=True), store).judge([ask("grade-1")])
        assert asking.tally.n_calls == 1
        assert asking.judgements[0].key != plain.judgements[0].key


class Refusing(Handler):
    """Knows no probabilities."""

    def completion(self, body, document):
        """As some servers say it."""
        if "logprobs" in body:
            self.error(400, "unsupported", "logprobs is not supported with this model")
        else:
            super().completion(body, document)


def test_a_server_that_refuses(store):
    """What a user has named is kept: it fails with the server's words."""
    with serving(handler=Refusing) as server:
        judged = judge_of(client(server, logprobs=True), store).judge([ask("grade-1")])
        assert len(server.requests) == 1
    assert "logprobs is not supported with this model" in judged.judgements[0].detail


def test_a_server_that_passes_over_it(store):
    """Grades come, without expected ones."""
    with serving() as server:
        (one,) = judge_of(client(server, logprobs=True), store).judge([ask("grade-1")]).judgements
    assert (one.grade, one.expected) == (1, None)


def test_rubrics_have_one_digit():
    """The built-in rubrics all can have expected grades."""
    assert all(rubric.top <= 9 for rubric in RUBRICS.values())
