"""`kragx gold questions`: from a corpus to a file of questions."""

from __future__ import annotations

import sys

from kragx import read_dataset
from kragx.ground.errors import installing

DOCS = (
    {"id": "d1", "text": "You may return the opened box. The opened box is checked in the shop."},
    {
        "id": "d2",
        "text": "Keep the gift card for a year. The gift card is replaced for a small fee.",
    },
)


def test_file(kragx, jsonl, here):
    """The file is read as a gold set; each question has its sources, template and leak."""
    corpus = jsonl(*DOCS, name="corpus.jsonl")
    code, out, _ = kragx("gold", "questions", "--corpus", corpus, "-n", "2", "-o", "q.jsonl")
    assert code == 0
    assert "2 of 2 questions" in out
    first, second = read_dataset("q.jsonl")
    assert {*first.metadata} == {"difficulty", "sources", "made_by", "leak"}
    assert {*first.metadata["sources"], *second.metadata["sources"]} <= {"d1", "d2"}
    assert (first.gold, first.answerable) == ((), None)
    result = kragx("gold", "validate", "q.jsonl", "--format", "json").json()
    assert (result["n_errors"], result["n_warnings"]) == (0, 2)


def test_again(kragx, jsonl, here):
    """A file is never written over; --existing makes none of its questions again."""
    corpus = jsonl(*DOCS, name="corpus.jsonl")
    asked = ("gold", "questions", "--corpus", corpus, "-n", "1", "-o")
    assert kragx(*asked, "q.jsonl").code == 0
    code, _, problem = kragx(*asked, "q.jsonl")
    assert (code, "q.jsonl exists" in problem) == (2, True)
    assert kragx(*asked, "more.jsonl", "--existing", "q.jsonl").code == 0
    assert read_dataset("q.jsonl").queries[0].text != read_dataset("more.jsonl").queries[0].text


def test_own_templates(kragx, jsonl, here):
    """One's own templates, with one's own types; JSON holds the questions."""
    corpus = jsonl(*DOCS, name="corpus.jsonl")
    (here / "t.yaml").write_text(
        "templates: [{id: t, query_type: howto, difficulty: easy, text: 'Is the {{ noun }} free?'}]"
    )
    options = ("--templates", "t.yaml", "-n", "2", "-o", "q.jsonl", "--format", "json")
    result = kragx("gold", "questions", "--corpus", corpus, *options).json()
    assert {made["query_type"] for made in result["questions"]} == {"howto"}
    assert all(made["made_by"] == {"template": "t"} for made in result["questions"])


def test_without_kiwi(kragx, jsonl, here, monkeypatch):
    """Without Kiwi there are Korean questions of headings, and it says what is different."""
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    text = "운송장을 보낸다. 운송장의 번호를 적는다. 번호는 길다."
    document = {"id": "d", "text": text, "metadata": {"title": "운송장 번호"}}
    corpus = jsonl(document, name="corpus.jsonl")
    code, out, _ = kragx("gold", "questions", "--corpus", corpus, "-n", "4", "-o", "q.jsonl")
    assert (code, "4 of 4 questions" in out) == (0, True)
    assert installing("korean").replace(" ", "") in "".join(out.split())
    assert all("운송장 번호" in q.text for q in read_dataset("q.jsonl"))


def test_nothing_to_fill(kragx, jsonl, here):
    """A corpus that fills no template is said so, with exit code 3, and no file."""
    corpus = jsonl({"id": "d", "text": "?!"}, name="corpus.jsonl")
    code, _, problem = kragx("gold", "questions", "--corpus", corpus, "-o", "q.jsonl")
    assert (code, "no question can be made" in problem) == (3, True)
    assert not (here / "q.jsonl").exists()
