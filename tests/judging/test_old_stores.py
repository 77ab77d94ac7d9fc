"""What an earlier kragx paid for is never paid for again.

`recorded/store-1.sql` is the dump of a store that commit 80a9fc1 wrote, with a scripted client and
under the settings of two of OpenAI's models. `recorded/store-2.sql` was written by commit 2476d30,
the last one whose keys held what only bounds an answer: two questions to each of four clients, and
the second was cut off.
"""

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kragx.app.config import filled
from kragx.judging import (
    RUBRICS,
    Judge,
    LangChainClient,
    OpenAIClient,
    Question,
    Rubric,
    Store,
    read_judge,
)
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.docket import Docket
from kragx.judging.keys import canonical_json, digest, key_of
from kragx.judging.prompt import request_for
from kragx.judging.store import exported
from kragx.judging.store.statistics import statistics
from tests.judging.test_keys import Chat
from tests.thoroughness import some

RECORDED = Path(__file__).parent / "recorded"
GOLD = "Refunds are paid within 14 days."
OWN = {
    "id": "contract-2",
    "asks": "support",
    "instruction": "Does the document contain the clause?",
    "grades": {0: "no", 1: "in substance", 2: "word for word"},
    "cut": 1,
}
# id: digest of the rubric's words, start of the hash of its messages and schema.
WORDS = {
    "holds-en-1": ("e28dfdbe66e2d4ec", "0f25b7eac60eec9e"),
    "holds-ko-1": ("ba7c06549c6b2bc5", "bf3954907c5530b1"),
    "need-en-1": ("a492e211a2fd09ff", "09a252655c59638d"),
    "need-ko-1": ("7db1f1e197bb4bc4", "958b200b28d80113"),
    "nuggets-en-1": ("905f1b4ad599320d", "644ef2d628cdd0e1"),
    "nuggets-ko-1": ("0085c623a159bcca", "6e9304e36046018c"),
    "questions-en-1": ("48d7adc7d6759652", "dfce155a19af04c2"),
    "questions-ko-1": ("82e6d770e4776c8c", "20d9f365289a50a4"),
    "relevance-en-1": ("f8321a141010a51f", "ab738eaf2300ae93"),
    "relevance-ko-1": ("39c62dd56f48b34f", "adab97d5c8944ac8"),
    "support-en-1": ("0f688852dad409f6", "79d4de31f0c85409"),
    "support-ko-1": ("def6205eb3d77936", "886dcf5fff840ad8"),
}


@pytest.fixture
def store(tmp_path):
    """The old store, as a file."""
    return of_dump("store-1.sql", tmp_path)


@pytest.fixture
def bounded(tmp_path):
    """The store whose keys hold limits, as a file."""
    return of_dump("store-2.sql", tmp_path)


def of_dump(name, folder):
    """The store that was dumped, as a file."""
    path = folder / "judgements.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript((RECORDED / name).read_text(encoding="utf-8"))
    return path


def questions():
    """What was asked then: both questions in both languages, and by a rubric of the user's own."""
    en, ko = RUBRICS["support-en-1"], RUBRICS["support-ko-1"]
    return [
        Question(en, "You are paid back in two weeks.", gold=GOLD),
        Question(ko, "환불은 14일 안에 <<<됩니다>>>.", gold="환불은 14일 안에 됩니다."),
        Question(
            RUBRICS["relevance-en-1"],
            "We open at nine.",
            query="When are refunds paid?",
            reference=GOLD,
        ),
        Question(RUBRICS["relevance-ko-1"], "아홉 시에 엽니다.", query="언제 여나요?"),
        Question(Rubric(**OWN), GOLD, gold=GOLD),
    ]


def test_served(store):
    """Every grade is served without a call, and the refusal stays one."""
    judged = Judge(ScriptedClient([]), store=store, progress=False).judge(questions())
    assert [judgement.grade for judgement in judged.judgements] == [3, 2, 0, 3, None]
    assert judged.judgements[-1].failure == "refusal"
    assert {judgement.source for judgement in judged.judgements} == {"store"}
    assert (judged.tally.n_calls, judged.tally.n_stored) == (0, 5)


@pytest.mark.parametrize(
    ("options", "grades"),
    [
        ({"model": "gpt-4.1-mini"}, [2, 1]),
        (
            {
                "model": "o3",
                "base_url": "http://localhost:8000/v1/",
                "seed": 7,
                "reasoning_effort": "low",
            },
            [1, 3],
        ),
    ],
)
def test_openai(store, monkeypatch, options, grades):
    """What was kept under OpenAI's settings is served, whatever the limit of answers is now."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for limit in ({}, {"max_output_tokens": 16}, {"max_output_tokens": 50_000}):
        judge = Judge(OpenAIClient(**options, **limit), store=store)
        stored = judge.stored(questions()[:2])
        assert [judgement.grade for judgement in stored] == grades
        assert [judgement.key for judgement in stored] == Docket(judge, questions()[:2]).keys


SERVER = {"model": "gpt-4.1-mini", "base_url": "http://localhost:8000/v1"}
CHAT = {"model": "m", "base_url": "http://b", "model_kwargs": {"top_k": 1, "max_tokens": 9}}


@dataclass
class Under(ScriptedClient):
    """Answers from a script under another client's settings."""

    like: Any = None

    @property
    def settings(self):
        """The other client's."""
        return self.like.settings

    @property
    def earlier_settings(self):
        """The other client's."""
        return getattr(self.like, "earlier_settings", ())


def of_loose(**args):
    """A chat model of a config that says nothing but its name."""
    loose = {"client": "tests.judging.test_keys:Loose", "args": {"model": "m", **args}}
    return read_judge(filled(loose)).client


@pytest.mark.parametrize(
    ("client", "grade", "again"),
    some(
        [
            (OpenAIClient(**SERVER, max_output_tokens=20, extra_body={"top_k": 1}), 3, False),
            (OpenAIClient(**SERVER, max_output_tokens=80, extra_body={"top_k": 1}), 3, False),
            (OpenAIClient(**SERVER, max_output_tokens=81, extra_body={"top_k": 1}), 3, True),
            (LangChainClient(Chat(**CHAT, max_tokens=5)), 1, False),
            (LangChainClient(Chat(**CHAT, max_tokens=10)), 1, True),
            (LangChainClient(Chat(**CHAT)), 1, True),
            (of_loose(num_predict=6), 0, False),
            (of_loose(num_predict=8), 0, True),
            (of_loose(), 0, True),
        ],
        3,
    ),
)
def test_limits(bounded, client, grade, again):
    """A lower limit asks nothing, a higher one or none what was cut off; both serve the grades.

    What is asked then is kept under today's key and asked no more. The first of two grades counts.
    """
    en = RUBRICS["support-en-1"]
    asked = [
        Question(en, text, gold=GOLD, query_id="q9", document_id=text)
        for text in ("You are paid back in two weeks.", "We open at nine.")
    ]
    for script in ([2] * again, []):
        judge = Judge(Under(script, like=client), store=bounded, concurrency=1, progress=False)
        judged = judge.judge(asked)
        assert [judgement.grade for judgement in judged.judgements] == [grade, 2 if again else None]
        assert judged.tally.n_calls == len(script)
        assert judged.tally.n_stored == 2 - len(script)
    with Store(bounded) as opened:
        pairs = {
            pair: record["grade"]
            for record in opened.records()
            for pair in map(tuple, record["pairs"])
            if pair[0] == "q9" and "grade" in record
        }
    expected = {("q9", "You are paid back in two weeks."): grade}
    assert pairs == expected | ({("q9", "We open at nine."): 2} if again else {})


def test_limits_none(bounded):
    """`ask_again: none` asks nothing at a higher limit either, and `all` asks at a lower one."""
    question = Question(RUBRICS["support-en-1"], "We open at nine.", gold=GOLD)
    for again, limit, n_calls in (("none", 9000, 0), ("all", 9, 1)):
        options = {"max_output_tokens": limit, "extra_body": {"top_k": 1}}
        client = Under([1], like=OpenAIClient(**SERVER, **options))
        judge = Judge(client, store=bounded, ask_again=again, progress=False)
        assert judge.judge([question]).tally.n_calls == n_calls


def test_exports_of_old_stores(bounded, tmp_path):
    """An export of an earlier version is taken, served, and exported as it was, with its pairs."""
    with Store(bounded) as old, Store(tmp_path / "new.sqlite") as new:
        records = list(old.records())
        assert new.add_records(exported(records)) == (8, 0)
        assert list(new.records()) == records
    question = Question(RUBRICS["support-en-1"], "You are paid back in two weeks.", gold=GOLD)
    (judgement,) = Judge(of_loose(), store=tmp_path / "new.sqlite").stored([question])
    assert judgement.grade == 0


def test_read(store, tmp_path):
    """Its records, labels and pairs are read, and another store takes its export."""
    with Store(store) as old, Store(tmp_path / "new.sqlite") as new:
        records = list(old.records())
        assert old.labels() == {("q1", "d3"): 1}
        assert new.add_records(exported(records)) == (9, 0)
        assert list(new.records()) == records
    counts = Counter()
    for group in statistics(records).groups:
        counts[group.model] += group.n_questions
    assert counts == {"gpt-4.1-mini": 2, "o3": 2, "scripted": 5}


@pytest.mark.parametrize("name", WORDS)
def test_words(name):
    """The words of the built-in rubrics and of the prompt are those behind the stored grades.

    A changed wording needs a new id or PROMPT_VERSION, and a line of its own here.
    """
    rubric = RUBRICS[name]
    usual = {"gold": "a gold text", "reference": "a reference"}
    own = {
        "nuggets": {"most": 9},
        "holds": {"facts": ("a fact", "another")},
        "questions": {"kind": "any"},
    }
    question = Question(rubric, "a document", query="a query", **own.get(rubric.asks, usual))
    request = request_for(question, "0" * 64, 1.0)
    prompt = key_of(canonical_json([request.messages, request.schema]))[:16]
    assert (digest(rubric)["digest"], prompt) == WORDS[name]
    assert set(WORDS) == set(RUBRICS)
