"""The questions of a log: what they stand for, how they are drawn, and what becomes of them."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from kragx import evaluate, read_dataset
from kragx.data.databases import database
from kragx.data.formats.format import question_record
from kragx.data.formats.jsonl import write_records
from kragx.errors import DataError, UsageError
from kragx.judging import Judge, Question
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.rubric import RUBRICS
from kragx.workshop.calls import question_json
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.logs import Masker, gold_from_logs, open_workshop, read_masks
from kragx.workshop.releases.contents import query_of
from kragx.workshop.state.records import SuggestedDocument
from kragx.workshop.state.state import State


def _log(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _doc(name, text="text"):
    return {"id": name, "text": text}


T = 1_700_000_000

LOG = (
    {
        "question": "How do I reset my password?",
        "time": T + 1,
        "retrieved": [_doc("d1", "mail a@b.kr")],
    },
    {
        "question": "how can I reset my password",
        "time": T + 3,
        "retrieved": [_doc("d2")],
        "thumbs": "up",
    },
    {
        "question": "How do I reset my password?",
        "time": T + 2,
        "answer": "ask a@b.kr",
        "click": "d9",
    },
    {"question": "환불 되나요?", "thumbs": "down", "lang": "ko", "retrieved": [_doc("d3")]},
    {"question": "환불 되나요?", "lang": "en", "retrieved": []},
)


def test_by_hand(tmp_path):
    """Each once with its sum, by the words asked most, with the last list; personal data masked."""
    made = gold_from_logs(_log(tmp_path / "a.jsonl", *LOG), read_masks())
    reset, refund = sorted((pair for pair in made.questions()), key=lambda pair: -pair[0].weight)
    assert (made.n_asks, made.n_exact, made.n_questions, made.n_drawn) == (5, 3, 2, 2)
    assert (made.n_up, made.n_down, made.design) == (1, 1, {})
    query, answer = reset
    assert (query.text, query.weight, query.inclusion, query.gold) == (LOG[0]["question"], 3, 1, ())
    assert [doc.id for doc in answer.documents] == ["d2"]
    assert (refund[0].weight, refund[1].documents) == (2, ())
    assert "5 asks from 2023-11-14 to 2023-11-14" in made.scope
    again = gold_from_logs(tmp_path / "a.jsonl", Masker(()))
    assert [query.id for query, _ in again.questions()] == [
        query.id for query, _ in made.questions()
    ]


def test_masked_everywhere(tmp_path):
    """Questions, answers, texts, metadata and history have one mask for one value."""
    record = {
        "question": "mail a@b.kr",
        "answer": "a@b.kr",
        "retrieved": [{"id": "d1", "text": "to a@b.kr", "metadata": {"from": "c@d.kr"}}],
        "history": [{"role": "user", "content": "I am a@b.kr"}],
        "team": "e@f.kr",
    }
    made = gold_from_logs(_log(tmp_path / "a.jsonl", record), read_masks(), keep=["team"])
    ((query, answer),) = made.questions()
    assert (query.text, query.history[0].content) == ("mail [email 1]", "I am [email 1]")
    assert query.metadata["logged_answer"] == "[email 1]"
    assert answer.documents[0].text == "to [email 1]"
    masks = query.metadata["team"], answer.documents[0].metadata["from"]
    assert sorted(masks) == ["[email 2]", "[email 3]"]
    assert made.masked == {"email": 6}
    assert "@" not in json.dumps(question_record(query, answer))
    assert ([*made.questions()], made.masked) == ([(query, answer)], {"email": 6})


def test_ids_and_masks(tmp_path):
    """Ids are those of any order and any log: what is masked parts questions, and names none."""
    first, second = "010-1234-5678", "010-8765-4321"
    rows = [
        {"question": f"whose is {first}?"},
        {"question": f"Whose is {first}"},
        {"question": f"whose is {second}?"},
        {"question": "and mine?", "history": [{"role": "user", "content": f"I am {first}"}]},
        {"question": f"call {second}", "session": "a", "time": "2026-01-31"},
        {"question": "and then?", "session": "a", "time": "2026-02-01"},
    ]

    def ids(*rows):
        made = gold_from_logs(_log(tmp_path / "a.jsonl", *rows), read_masks())
        return sorted((query.id, query.weight) for query, _ in made.questions())

    assert [weight for _, weight in ids(*rows)].count(2) == 1
    assert len(ids(*rows)) == 5
    assert ids(*rows) == ids(*rows[::-1])
    swapped = json.dumps(rows).replace(first, "010-5555-5555")
    assert [name for name, _ in ids(*json.loads(swapped))] == [name for name, _ in ids(*rows)]


def test_kept_fields(tmp_path):
    """What differs in a kept field is another question; `query_type` is the query's own."""
    path = _log(tmp_path / "a.jsonl", *LOG)
    made = gold_from_logs(path, Masker(()), keep=["lang"])
    by_lang = {q.metadata.get("lang"): q.weight for q, _ in made.questions()}
    assert by_lang == {None: 3, "ko": 1, "en": 1}
    rows = [{"question": "Where?", "query_type": "lookup"}]
    made = gold_from_logs(_log(tmp_path / "b.jsonl", *rows), Masker(()), keep=["query_type"])
    ((query, _),) = made.questions()
    assert (query.query_type, dict(query.metadata)) == ("lookup", {})


def test_sessions(tmp_path):
    """What was asked before in a session is history, in order of time, and parts questions."""
    rows = [
        {"question": "And how much?", "session": "a", "time": T + 2},
        {"question": "What is A?", "session": "a", "time": T + 1},
        {"question": "What is B?", "session": "b", "time": T + 1},
        {"question": "And how much?", "session": "b", "time": T + 2},
        {"question": "What is A", "session": "c", "time": T + 5},
        {"question": "and how much", "session": "c", "time": T + 6},
    ]
    made = gold_from_logs(_log(tmp_path / "a.jsonl", *rows), Masker(()))
    found = {
        (q.text, tuple(turn.content for turn in q.history)): q.weight for q, _ in made.questions()
    }
    assert found == {
        ("What is A", ()): 2,
        ("What is B?", ()): 1,
        ("And how much?", ("What is A",)): 2,
        ("And how much?", ("What is B?",)): 1,
    }


def test_paths(tmp_path):
    """A kept field may stand in metadata, and in a cell of JSON; the question has it as its own."""
    rows = [
        {"question": "Where?", "metadata": {"tier": tier}, "env": json.dumps({"os": system})}
        for tier, system in (("free", "mac"), ("free", "mac"), ("paid", "mac"), ("paid", "linux"))
    ]
    path = _log(tmp_path / "a.jsonl", *rows)
    made = gold_from_logs(path, Masker(()), keep=["metadata.tier", "env.os"])
    queries = [query for query, _ in made.questions()]
    kept = {(query.metadata["tier"], query.metadata["env.os"]): query.weight for query in queries}
    assert kept == {("free", "mac"): 2, ("paid", "mac"): 1, ("paid", "linux"): 1}
    made = gold_from_logs(path, Masker(()), n=1, by="metadata.tier")
    assert (made.n_questions, made.design["by"]) == (2, "metadata.tier")


def test_no_such_field(tmp_path):
    """A field that no line has is refused, with the ones that there are."""
    path = _log(tmp_path / "a.jsonl", {"question": "Where?", "tier": "free"})
    with pytest.raises(DataError, match=r"--keep: no line has 'teir'; perhaps you meant 'tier'"):
        gold_from_logs(path, Masker(()), keep=["tier", "teir"])
    with pytest.raises(DataError, match=r"--slice: no line has 'lang'; valid: question, tier"):
        gold_from_logs(path, Masker(()), n=1, by="lang")


def test_no_order_of_lines(tmp_path):
    """Lines in another order give the same wordings, and the same draw with slices."""
    rows = [
        {"question": text, "lang": ["ko", "en", "ja"][k % 3], "time": T + k}
        for k in range(60)
        for text in (f"How do I cook {k} eggs?", f"how can I cook {k} eggs")
    ]

    def drawn(name, rows, **options):
        made = gold_from_logs(_log(tmp_path / name, *rows), Masker(()), keep=["lang"], **options)
        return sorted((q.id, q.text, q.inclusion) for q, _ in made.questions())

    for seed, options in enumerate(({}, {"n": 12, "by": "lang"}, {"n": 12})):
        mixed = random.Random(seed).sample(rows, len(rows))
        assert drawn("a.jsonl", rows, **options) == drawn("b.jsonl", mixed, **options)


def test_long_sessions(tmp_path):
    """The ten questions before are history, and no more."""
    rows = [
        {"question": f"Is {k} a prime?", "session": "web", "time": T + k} for k in range(1, 1002)
    ]
    made = gold_from_logs(_log(tmp_path / "a.jsonl", *rows), Masker(()))
    histories = {query.text: [t.content for t in query.history] for query, _ in made.questions()}
    assert histories["Is 900 a prime?"] == [f"Is {k} a prime?" for k in range(890, 900)]
    assert histories["Is 3 a prime?"] == ["Is 1 a prime?", "Is 2 a prime?"]


def test_ratings(tmp_path):
    """Ratings to 5 are no thumbs, and refused; a 0 is down where none is -1, and that is said."""
    rows = [{"question": f"question {k}", "vote": k % 5 + 1} for k in range(10)]
    with pytest.raises(DataError, match="not 2; if it means something else, leave it out"):
        gold_from_logs(_log(tmp_path / "a.jsonl", *rows), Masker(()))
    rows = [{"question": f"question {k}", "vote": k % 2} for k in range(10)]
    made = gold_from_logs(_log(tmp_path / "b.jsonl", *rows), Masker(()))
    assert (made.n_up, made.n_down) == (5, 5)
    assert "a 0 is taken as a thumb down, as none is -1" in made.cautions[0]
    rows.append({"question": "another", "vote": -1})
    made = gold_from_logs(_log(tmp_path / "c.jsonl", *rows), Masker(()))
    assert (made.n_up, made.n_down, made.cautions) == (5, 1, [])


def _many(tmp_path, n=60):
    rows = [
        {
            "question": f"question {k}",
            "lang": "ko" if k % 10 else "en",
            "thumbs": "down" if k % 7 == 0 else None,
        }
        for k in range(n)
        for _ in range(1 + 40 * (k == 3) + k % 3)
    ]
    return _log(tmp_path / "many.jsonl", *rows)


@pytest.mark.parametrize(
    ("n", "n_drawn", "n_draws"),
    [(20, 10, 25), pytest.param(60, 15, 100, marks=pytest.mark.integration)],
)
def test_chances(tmp_path, n, n_drawn, n_draws):
    """Over many draws each question comes as often as its chance says, and sums come out right."""
    path = _many(tmp_path, n)
    drawn, total, chances = Counter(), 0.0, {}
    asks = {q.text: q.weight for q, _ in gold_from_logs(path, Masker(())).questions()}
    for seed in range(n_draws):
        made = gold_from_logs(path, Masker(()), n=n_drawn, by="lang", seed=seed)
        questions = [query for query, _ in made.questions()]
        assert len(questions) == made.n_drawn == n_drawn
        for query in questions:
            drawn[query.text] += 1
            assert chances.setdefault(query.text, query.inclusion) == query.inclusion
            total += query.weight / query.inclusion / n_draws
    assert set(chances) == set(asks)  # none is left out
    assert total == pytest.approx(sum(asks.values()), rel=0.8 / n_draws**0.5)
    for text, chance in chances.items():
        spread = 4 * (chance * (1 - chance) / n_draws) ** 0.5 + 1e-9
        assert abs(drawn[text] / n_draws - chance) <= spread, text
    assert chances["question 3"] == 1
    assert chances["question 14"] > 2 * chances["question 15"] / 3  # somebody complained


def test_slices(tmp_path):
    """Each value of a slice gets its share: half of the random one goes to the values alike."""
    made = gold_from_logs(_many(tmp_path), Masker(()), n=20, by="lang", random_share=1.0)
    by_lang = Counter(query.metadata["lang"] for query, _ in made.questions())
    # Of 20: half as the asks, half to the two alike; question 3 takes one place for sure.
    assert 5 <= by_lang["en"] <= 8
    plain = gold_from_logs(_many(tmp_path), Masker(()), n=20, random_share=1.0, keep=["lang"])
    assert Counter(q.metadata["lang"] for q, _ in plain.questions())["en"] <= 4


def test_lists_that_differ(tmp_path):
    """Half of a draw goes to where the lists of two retrievers differ: it is the only one."""
    path = _log(tmp_path / "a.jsonl", *({"question": f"question {k}"} for k in range(50)))
    queries = [query for query, _ in gold_from_logs(path, Masker(())).questions()]
    files = []
    for name in "ab":
        rows = [
            {"query_id": query.id, "query": query.text, "retrieved": [_doc(document)]}
            for query in queries
            for document in [name if query.text == "question 20" else "c"]
        ]
        files.append(_log(tmp_path / f"{name}.jsonl", *rows))
    made = gold_from_logs(path, Masker(()), n=10, results=files)
    assert made.design["towards"] == ["disagreement"]
    chances = {query.text: query.inclusion for query, _ in made.questions()}
    assert chances.pop("question 20") == 1
    assert [*chances.values()] == pytest.approx([9 / 49] * 9)
    strange = _log(tmp_path / "d.jsonl", {**rows[0], "query_id": "q1"})
    with pytest.raises(DataError, match="--results: knows none of the 50 questions of the logs"):
        gold_from_logs(path, Masker(()), n=10, results=[files[0], strange])
    with pytest.raises(UsageError, match="name two or more"):
        gold_from_logs(path, Masker(()), n=10, results=files[:1])


def test_doubt(tmp_path):
    """Half of a draw goes to the questions whose grades one step more, or less, would turn."""
    path = _log(tmp_path / "a.jsonl", *({"question": f"question {k}"} for k in range(50)))
    ids = {query.text: query.id for query, _ in gold_from_logs(path, Masker(())).questions()}
    store = tmp_path / "judgements.sqlite"
    judge = Judge(ScriptedClient([3, 1, 0]), store=store, concurrency=1)
    rubric = RUBRICS["relevance-en-1"]
    for k in range(3):
        text = f"question {k}"
        judge.judge(
            [Question(rubric, f"text {k}", query=text, query_id=ids[text], document_id="d")]
        )
    made = gold_from_logs(path, Masker(()), n=10, store=store)
    assert made.design["towards"] == ["doubt"]
    assert {query.text: query.inclusion for query, _ in made.questions()}["question 1"] == 1
    other = _log(tmp_path / "b.jsonl", *({"question": f"other {k}"} for k in range(50)))
    with pytest.raises(DataError, match="--store: knows none of the 50 questions"):
        gold_from_logs(other, Masker(()), n=10, store=store)


def test_biased_gold(tmp_path):
    """Gold of clicks and of thumbs is of those questions alone, and is called biased."""
    path = _log(tmp_path / "a.jsonl", *LOG)
    clicked = gold_from_logs(path, Masker(()), gold_from="clicks")
    ((query, _),) = clicked.questions()
    assert ([gold.id for gold in query.gold], clicked.n_asks_of_gold) == (["d9"], 3)
    rated = gold_from_logs(path, Masker(()), gold_from="thumbs")
    ((query, _),) = rated.questions()
    assert [(gold.id, gold.grade) for gold in query.gold] == [("d2", 1.0)]
    for made in (clicked, rated):
        assert "biased" in made.to_text()
        assert "people" in made.to_dict()["biased"]
        assert "3 asks" in made.scope
        assert "and not of the others" in made.scope
    assert "that people rated up and whose documents are logged" in rated.scope
    rows = [{"question": "A?", "thumbs": "up"}, {"question": "B?", "thumbs": "down"}]
    with pytest.raises(DataError, match="thumbs: no ask that was rated up says"):
        gold_from_logs(_log(tmp_path / "c.jsonl", *rows), Masker(()), gold_from="thumbs")
    with pytest.raises(DataError, match="clicks: no clicks in the logs"):
        gold_from_logs(_log(tmp_path / "b.jsonl", LOG[3]), Masker(()), gold_from="clicks")


def test_a_gold_file(tmp_path):
    """What is written is a gold set and a results file, whose means weigh as the asks do."""
    made = gold_from_logs(_log(tmp_path / "a.jsonl", *LOG), read_masks())
    out = tmp_path / "gold.jsonl"
    write_records((question_record(*pair) for pair in made.questions()), out)
    dataset = read_dataset(out)
    assert sorted(query.weight for query in dataset) == [2, 3]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row, hit in zip(rows, ("d2", "none")):
        row["gold"] = [{"id": hit}]
    result = evaluate(_log(tmp_path / "scored.jsonl", *rows), match="id", metrics=["hit_rate@1"])
    asks = {row["query_id"]: row.get("weight", 1) for row in rows}
    assert result["hit_rate@1"] == pytest.approx(asks[rows[0]["query_id"]] / 5)


def test_a_workshop(tmp_path):
    """A workshop has the documents of the logs, masked; questions keep weight, chance, history."""
    rows = [
        *LOG,
        {"question": "And?", "session": "s", "retrieved": [{"text": "no id"}], "time": T + 9},
    ]
    rows.append({"question": "First?", "session": "s", "time": T + 8})
    made = gold_from_logs(_log(tmp_path / "a.jsonl", *rows), read_masks(), n=3)
    assert any(query.history for query, _ in made.questions())
    open_workshop(made, tmp_path / "shop")
    workshop = Workshop.open(tmp_path / "shop")
    drawn = {query.id: query for query, _ in made.questions()}
    with workshop.store() as store:
        state = State(store)
        questions = [*state.open_questions()]
        for question in questions:
            assert query_of(question).weight == drawn[question.uid].weight
            assert query_of(question).inclusion == drawn[question.uid].inclusion
            history = drawn[question.uid].history
            assert query_of(question).history == history
            shown = question_json(question).get("history", [])
            assert shown == [turn.to_dict() for turn in history]
        suggested = {
            (row.question, row.document)
            for row in store.after({})
            if isinstance(row, SuggestedDocument)
        }
    wanted = sum(len(answer.documents) for _, answer in made.questions() if answer)
    assert (len(questions), len(suggested)) == (3, wanted)
    assert all("@" not in (doc.text or "") for doc in workshop.documents.values())
    with pytest.raises(UsageError, match="there is a workshop already"):
        open_workshop(made, tmp_path / "shop")


@pytest.mark.parametrize("place", ["insert_rows", "secret"])
def test_interrupted(tmp_path, monkeypatch, place):
    """After Ctrl-C the same call makes the workshop; what was there stays."""
    made = gold_from_logs(_log(tmp_path / "a.jsonl", *LOG), Masker(()))
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "notes.txt").write_text("mine")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if place == "secret":
            patch.setattr(Workshop, "secret", property(interrupt))
        else:
            patch.setattr(database, "insert_rows", interrupt)
        with pytest.raises(KeyboardInterrupt):
            open_workshop(made, shop)
    open_workshop(made, shop)
    assert (shop / "notes.txt").read_text() == "mine"
    with Workshop.open(shop).store() as store:
        suggested = [row for row in store.after({}) if isinstance(row, SuggestedDocument)]
    assert {row.document for row in suggested} == {"d2"}


def test_no_documents(tmp_path):
    """Logs without texts need a corpus; suggested is what stands in it."""
    made = gold_from_logs(
        _log(tmp_path / "a.jsonl", {"question": "Q", "retrieved": ["d1"]}), Masker(())
    )
    with pytest.raises(UsageError, match="--corpus: the logs have no texts"):
        open_workshop(made, tmp_path / "shop")
    corpus = _log(tmp_path / "corpus.jsonl", _doc("d1"), _doc("d2"))
    assert open_workshop(made, tmp_path / "shop", corpus=corpus).documents == 2
