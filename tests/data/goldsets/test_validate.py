"""`kragx gold validate`: every problem with file, line and field, and what the set is made of."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from kragx import GoldDataset, UsageError, read_gold, validate

CORPUS = (
    {
        "id": "d1",
        "text": "Opened software can be returned within 14 days. Gift cards never expire.",
    },
    {"id": "d2", "text": "The shop pays the postage of a faulty item within 14 days."},
    {"id": "d3", "text": "배송은 이틀 걸리고 섬 지역은 나흘 걸립니다. 14 days"},
)

NFD = unicodedata.normalize("NFD", "약관.pdf")


def row(number, **changes):
    """A line without mistakes, but for the changes."""
    return {
        "query_id": f"q{number}",
        "query": f"question {number}?",
        "query_type": "lookup",
        "expected_doc_types": ["faq"],
        "relevant_chunk_ids": ["d1"],
        "highly_relevant_chunk_ids": [],
        "irrelevant_chunk_ids": [],
        "metadata": {"difficulty": "easy"},
        **changes,
    }


def gold(number, *texts, **changes):
    """A line of a gold file."""
    return {
        "query_id": f"q{number}",
        "query": f"question {number}?",
        "gold": [{"text": text} for text in texts],
        **changes,
    }


@pytest.fixture
def problems(jsonl):
    """The problems of some lines, as (line, field, level)."""

    def call(*records, corpus=False):
        path = jsonl(*records, name="set.jsonl")
        source = str(jsonl(*CORPUS, name="corpus.jsonl")) if corpus else None
        found = validate(str(path), corpus=source)
        assert all(each.file == str(path) for each in found.problems)
        return [(each.line, each.field, each.level, each.message) for each in found.problems]

    return call


def only(found):
    """The one problem, its message apart."""
    ((line, field, level, message),) = found
    return (line, field, level), message


def test_nothing_to_report(problems):
    """A good set has no problem, with or without a corpus."""
    assert problems(row(1), row(2)) == []
    assert problems(gold(1, "The shop pays the postage"), row(2, gold=[]), corpus=True) != []
    assert problems(row(1), corpus=True) == []


def test_every_problem_is_reported(problems):
    """Several mistakes in several lines are all there, by line."""
    found = problems(
        row(1, querry="x", query_id=None),
        row(2, relevant_chunk_ids=["a"], irrelevant_chunk_ids=["a"], extra=1),
        row(3, relevant_chunk_ids=[]),
    )
    assert [(line, field) for line, field, *_ in found] == [
        (1, "querry"),
        (1, "query_id"),
        (2, "extra"),
        (2, "irrelevant_chunk_ids[0]"),
        (3, "gold"),
    ]


@pytest.mark.parametrize(
    ("changes", "field", "level", "hint"),
    [
        ({"relevant_chunk_ids": []}, "gold", "warning", "answerable: false"),
        ({"answerable": False}, "answerable", "error", "gold items"),
        ({"query": unicodedata.normalize("NFD", "환불은 언제?")}, "query", "warning", "NFC"),
        ({"relevant_chunk_ids": [NFD]}, "gold[0].id", "warning", "NFC"),
        ({"relevant_chunk_ids": [["d1", NFD]]}, "gold[0].alternatives[0].id", "warning", "NFC"),
        ({"expected_doc_types": ["faq", NFD]}, "expected_doc_types[1]", "warning", "NFC"),
        ({"gold": [{"text": "  "}]}, "gold[1].text", "error", "everything"),
        ({"gold": [{"text": "14 days"}]}, "gold[1].text", "warning", "7 characters"),
        ({"gold": [{"text": "7"}]}, "gold[1].text", "warning", "only 1 character ("),
    ],
)
def test_one_problem(problems, changes, field, level, hint):
    """Each kind of mistake by its line and field."""
    place, message = only(problems(row(1), row(2, **changes)))
    assert place == (2, field, level)
    assert hint in message


def test_unanswerable(problems):
    """Empty gold that is marked is fine."""
    assert problems(row(1, relevant_chunk_ids=[], answerable=False)) == []


def test_qrels_cannot_mark(tmp_path):
    """Qrels have no word for the unanswerable, so that is no remedy; there it is usual."""
    (tmp_path / "set.qrels").write_text("q1 0 d1 0\n", encoding="utf-8")
    found = validate(str(tmp_path / "set.qrels"))
    assert found.n_errors == 0
    assert [each.message for each in found.problems if each.field == "gold"] == [
        "nothing is relevant, so it is not scored; add gold, or leave the query out"
    ]


def test_questions_that_stand_twice(problems):
    """The same question with the same gold weighs double; with other gold one may be wrong."""
    same = row(2, query="Question  1?")
    assert only(problems(row(1), same))[0] == (2, "query", "warning")
    place, message = only(problems(row(1), {**same, "relevant_chunk_ids": ["d2"]}))
    assert place == (2, "query", "warning")
    assert "q1 on line 1, with other gold" in message


def test_ids_that_stand_twice(problems):
    """A query id that stands twice names the first line."""
    place, message = only(problems(row(1), row(2), row(1, query="other?")))
    assert place == (3, "query_id", "error")
    assert "line 1" in message


def test_one_text_with_two_grades(problems):
    """The same gold text with two grades contradicts itself."""
    items = [{"text": "a text that is long"}, {"text": "a text  that is long", "grade": 2}]
    place, _ = only(problems({**gold(1), "gold": items}))
    assert place == (1, "gold[1].text", "error")


def test_against_a_corpus(problems):
    """Gold texts and ids must come from the corpus; chunks by their place in a document."""
    assert problems(row(1, relevant_chunk_ids=["d1:0-46", "d2"]), corpus=True) == []
    for chunk in ("d9", "d1:0-999", "d1:46-46", "d9:0-3"):
        place, message = only(problems(row(1, relevant_chunk_ids=[chunk]), corpus=True))
        assert place == (1, "gold[0].id", "error")
        assert repr(chunk) in message
    assert problems(gold(1, "The shop  pays the postage"), corpus=True) == []
    place, message = only(problems(gold(1, "The shop pays no postage"), corpus=True))
    assert place == (1, "gold[0].text", "error")


def test_nfd_in_a_corpus(problems):
    """A gold text in NFD is found in the corpus, and warned about."""
    text = unicodedata.normalize("NFD", "배송은 이틀 걸리고 섬 지역은")
    place, _ = only(problems(gold(1, text), corpus=True))
    assert place == (1, "gold[0].text", "warning")


def test_summary_and_targets(jsonl):
    """Counts by type and difficulty; a share away from its target is a warning."""
    records = [row(n, query_type="lookup" if n < 3 else "compare") for n in range(4)]
    path = str(jsonl(*records))
    found = validate(path, targets={"query_type": {"lookup": 0.5, "compare": 0.3, "other": 0.2}})
    assert found.summary["query_type"] == {"lookup": 3, "compare": 1}
    assert found.summary["difficulty"] == {"easy": 4}
    assert found.summary["grades"] == {"1": 4}
    assert found.targets["query_type"]["lookup"] == {"count": 3.0, "share": 0.75, "target": 0.5}
    assert [(each.field, each.level) for each in found.problems] == [
        ("query_type", "warning"),
        ("query_type", "warning"),
    ]
    with pytest.raises(UsageError, match="'query_type'"):
        validate(path, targets={"query_typ": {}})


@pytest.mark.parametrize(
    ("targets", "hint"),
    [
        ({"difficulty": {"easy": 50, "hard": 0.5}}, r"targets\.difficulty\.easy: 50 is no share"),
        ({"query_type": {"lookup": -0.1}}, r"targets\.query_type\.lookup: -0\.1 is no share"),
        ({"query_type": {"lookup": 0.7, "who": 0.7}}, r"query_type: the shares add up to 1\.4"),
    ],
)
def test_targets_that_cannot_be(jsonl, targets, hint):
    """A share is from 0 to 1, and shares of what a query has one of are 1 together at most."""
    path = str(jsonl(row(1)))
    with pytest.raises(UsageError, match=hint):
        validate(path, targets=targets)
    assert validate(path, targets={"expected_doc_types": {"faq": 0.9, "law": 0.9}}).targets


def test_command(kragx, jsonl):
    """Errors end with 3 and warnings with 0, but strictly with 3; JSON holds every problem."""
    bad = jsonl(row(1, querry=1), row(2, relevant_chunk_ids=[]), name="bad.jsonl")
    code, out, err = kragx("gold", "validate", bad)
    assert (code, err) == (3, "")
    assert "bad.jsonl:1: querry: unknown field; perhaps you meant 'query'?" in out
    assert "bad.jsonl:2: gold:" in out
    assert "1 error, 1 warning" in out
    warned = jsonl(row(1, relevant_chunk_ids=[]), name="warned.jsonl")
    assert kragx("gold", "validate", warned, "--strict").code == 3
    found = kragx("gold", "validate", warned, "--format", "json").json()
    assert (found["n_errors"], found["n_warnings"]) == (0, 1)
    assert found["problems"][0]["line"] == 1
    assert len(found["content_hash"]) == 64


def test_command_with_a_config(kragx, jsonl, here):
    """A config's gold set is checked against its own corpus and targets."""
    jsonl(row(1, relevant_chunk_ids=["d9"]), name="gold.jsonl")
    jsonl(*CORPUS, name="corpus.jsonl")
    (here / "c.yaml").write_text(
        "dataset: {path: gold.jsonl, corpus: corpus.jsonl, targets: {difficulty: {hard: 1.0}}}\n"
        "retrievers: {a: {results: r.jsonl}}\n",
        encoding="utf-8",
    )
    code, out, _ = kragx("gold", "validate", "c.yaml")
    assert code == 3
    assert "'d9' is not in the corpus" in out
    assert "hard: 0% of the queries, the target is 100%" in out


def test_command_on_a_table(kragx, here):
    """A CSV is checked with its columns mapped."""
    (here / "gold.csv").write_text("No,Q,Chunks\n1,why?,c1\n1,how?,c2\n", encoding="cp949")
    options = ("--column", "query_id=No", "--column", "query=Q")
    columns = (*options, "--column", "relevant_chunk_ids=Chunks")
    code, out, _ = kragx("gold", "validate", "gold.csv", *columns)
    assert code == 3
    assert "gold.csv:3: query_id: '1' stands twice (first on line 2)" in out
    assert kragx("gold", "validate", "gold.csv", "--column", "nonsense").code == 2


def test_what_is_in_memory(jsonl):
    """A gold set in memory has the problems of its file, and lists of gold are one."""
    path = jsonl(gold(1, "a"), gold(2, "the pool opens at nine"), gold(2, "x") | {"query_id": "q3"})
    from_file, in_memory = validate(str(path)), validate(read_gold(path))
    assert in_memory.problems
    assert [replace(problem, file="gold") for problem in from_file.problems] == [
        *in_memory.problems
    ]
    assert in_memory.content_hash == from_file.content_hash
    lists = GoldDataset.from_documents([["a"], ["b"]])
    assert validate([["a"], ["b"]]).problems == validate(lists).problems
