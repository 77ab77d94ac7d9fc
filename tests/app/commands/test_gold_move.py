"""`kragx gold move`: from a gold set and two corpora to a new gold set and what is left open."""

from __future__ import annotations

import json

import pytest

from kragx import read_dataset

TEXTS = (
    "The ferry to the northern islands leaves at nine from pier four, daily except Sundays.",
    "Bicycles travel free of charge, but must be registered one day before at the office.",
    "Dogs are welcome on the upper deck if they are kept on a short lead at all times.",
)
GOLD = (
    {"query_id": "q1", "query": "Bicycles?", "relevant_chunk_ids": ["c1"], "query_type": "a"},
    {"query_id": "q2", "query": "Dogs?", "relevant_chunk_ids": ["c2", "c0"], "query_type": "a"},
)


def corpus(jsonl, *texts, name):
    """A corpus whose ids are counters."""
    return jsonl(*({"id": f"c{n}", "text": text} for n, text in enumerate(texts)), name=name)


def files(kragx, jsonl, *new):
    """The arguments of a move from the three texts to others."""
    old = corpus(jsonl, *TEXTS, name="old.jsonl")
    return (
        *("gold", "move", jsonl(*GOLD, name="gold.jsonl"), "--from", old),
        *("--to", corpus(jsonl, *new, name="new.jsonl"), "--out", "v2.jsonl"),
    )


@pytest.mark.integration
def test_moved(kragx, jsonl, here):
    """The moved set is written and has no mistake; no file says that nothing is left."""
    code, out, err = kragx(*files(kragx, jsonl, "One more in front.", *TEXTS))
    assert (code, "3 gold items on 4 chunks" in out, "v2.unsure.jsonl" in out + err) == (
        0,
        True,
        False,
    )
    assert [[gold.id for gold in query.gold] for query in read_dataset("v2.jsonl")] == [
        ["c2"],
        ["c3", "c1"],
    ]
    assert not (here / "v2.unsure.jsonl").exists()
    result = kragx("gold", "validate", "v2.jsonl", "--corpus", "new.jsonl", "--format", "json")
    assert result.json()["n_errors"] == 0


@pytest.mark.integration
def test_a_query_without_gold(kragx, jsonl, here):
    """A query whose gold is lost is said loudly, with 3; the files are there all the same."""
    code, out, _ = kragx(*files(kragx, jsonl, TEXTS[0], TEXTS[2]))
    assert (code, "1 queries have NO relevant gold" in out) == (3, True)
    (line,) = map(json.loads, (here / "v2.unsure.jsonl").read_text().splitlines())
    assert (line["query_id"], line["verdict"], line["gold"]["id"]) == ("q1", "lost", "c1")
    assert read_dataset("v2.jsonl")["q1"].gold[0].text == TEXTS[1]


@pytest.mark.integration
def test_strict(kragx, jsonl, here):
    """What is lost beside other gold ends with 0, and with 3 by --strict."""
    arguments = files(kragx, jsonl, TEXTS[1], TEXTS[2])
    assert kragx(*arguments).code == 0
    assert kragx(*arguments[:-1], "v3.jsonl", "--strict").code == 3


def test_json(kragx, jsonl, here):
    """JSON has every item with its places."""
    result = kragx(*files(kragx, jsonl, " ".join(TEXTS)), "--format", "json").json()
    assert result["counts"] == {"merged": 3}
    assert {item["places"][0]["id"] for item in result["items"]} == {"c0"}


def test_never_written_over(kragx, jsonl, here):
    """A file that exists, or is not called .jsonl, is refused before anything is read."""
    arguments = files(kragx, jsonl, *TEXTS)
    assert kragx(*arguments).code == 0
    code, _, problem = kragx(*arguments)
    assert (code, "v2.jsonl exists" in problem) == (2, True)
    assert kragx(*arguments[:-1], "v3.csv").code == 2


def test_the_wrong_corpus(kragx, jsonl, here):
    """Ids that are not in the old corpus are counted, with what to do."""
    old = corpus(jsonl, *TEXTS[:1], name="short.jsonl")
    gold, new = jsonl(*GOLD, name="gold.jsonl"), corpus(jsonl, *TEXTS, name="new.jsonl")
    code, _, problem = kragx("gold", "move", gold, "--from", old, "--to", new, "--out", "v2.jsonl")
    assert (code, "2 ids have no text" in problem, "name that one" in problem) == (3, True, True)
