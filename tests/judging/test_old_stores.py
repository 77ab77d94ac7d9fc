"""What an earlier kragx paid for is never paid for again.

`recorded/store-1.sql` is the dump of a store that commit 80a9fc1 wrote, with a scripted client and
under the settings of two of OpenAI's models.
"""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from kragx.judging import RUBRICS, Judge, OpenAIClient, Question, Rubric, Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.keys import canonical_json, digest, key_of
from kragx.judging.prompt import messages, schema
from kragx.judging.records import statistics
from kragx.judging.store import exported

DUMP = Path(__file__).parent / "recorded" / "store-1.sql"
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
    "relevance-en-1": ("f8321a141010a51f", "ab738eaf2300ae93"),
    "relevance-ko-1": ("39c62dd56f48b34f", "adab97d5c8944ac8"),
    "support-en-1": ("0f688852dad409f6", "79d4de31f0c85409"),
    "support-ko-1": ("def6205eb3d77936", "886dcf5fff840ad8"),
}


@pytest.fixture
def store(tmp_path):
    """The old store, as a file."""
    path = tmp_path / "judgements.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(DUMP.read_text(encoding="utf-8"))
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
    """OpenAI's settings make the same keys as they did."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    stored = Judge(OpenAIClient(**options), store=store).stored(questions()[:2])
    assert [judgement.grade for judgement in stored] == grades


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
    question = Question(
        rubric, "a document", query="a query", gold="a gold text", reference="a reference"
    )
    prompt = key_of(canonical_json([messages(question, "0" * 64), schema(rubric)]))[:16]
    assert (digest(rubric)["digest"], prompt) == WORDS[name]
    assert set(WORDS) == set(RUBRICS)
