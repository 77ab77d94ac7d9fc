"""The folder of a workshop: made from what there is, and opened."""

import json
import stat
import unicodedata

import pytest
import yaml

from kragx.errors import ConfigError, DataError, UsageError
from kragx.workshop import services
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.folder.starting import start
from tests.workshop.serving import CORPUS, opened, started, written


def changed(shop, **fields):
    """The workshop of a folder whose file has other values."""
    file = shop / "workshop.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | fields))
    return Workshop.open(shop)


def test_what_is_made(shop):
    """A file to edit, guidelines in the corpus's language, and a secret that others cannot read."""
    assert {path.name for path in shop.iterdir()} >= {
        "workshop.yaml",
        "guidelines.md",
        "workshop.sqlite",
        ".secret",
        ".gitignore",
    }
    assert stat.S_IMODE((shop / ".secret").stat().st_mode) == 0o600
    assert ".secret" in (shop / ".gitignore").read_text().splitlines()
    settings = Workshop.open(shop).settings
    assert (settings.name, settings.language, list(settings.scale)) == ("shop", "ko", [0, 1, 2, 3])
    assert settings.corpus == shop.parent / "corpus.jsonl"


def test_both_folders_can_be_moved(tmp_path):
    """Paths are written from the folder on."""
    started(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    assert len(Workshop.open(tmp_path / "there" / "shop").documents) == len(CORPUS)


def test_a_workshop_is_not_made_twice(shop):
    """What is there stays, and the remedy opens it."""
    with pytest.raises(UsageError, match=r"already; kragx workshop .* opens it"):
        started(shop.parent)


def test_what_is_wrong_leaves_nothing_behind(tmp_path):
    """A missing corpus, a gold set without texts, a database that is none: no folder is made."""
    corpus = written(tmp_path / "c.jsonl", [{"id": "a", "text": "x"}])
    qrels = tmp_path / "gold.qrels"
    qrels.write_text("q1 0 a 1\n")
    config = tmp_path / "config.yaml"
    config.write_text("dataset: gold.jsonl\n")
    for options, error in (
        ({"corpus": tmp_path / "nothing"}, DataError),
        ({"corpus": corpus, "gold": qrels}, DataError),
        ({"corpus": corpus, "config": config}, UsageError),
        ({"corpus": corpus, "config": tmp_path / "nothing.yaml"}, DataError),
        ({"corpus": corpus, "database": "mysql://host/db"}, UsageError),
        ({"corpus": corpus, "database": "${NO_SUCH_DATABASE}"}, ConfigError),
        ({"corpus": corpus, "schema": "Ab-c"}, ConfigError),
        ({"corpus": corpus, "name": "n" * 201}, ConfigError),
    ):
        with pytest.raises(error):
            start(tmp_path / "shop", **options)
        assert not (tmp_path / "shop").exists(), options


def test_a_gold_set_comes_in_whole(tmp_path):
    """Grades of documents are judgements; what says more stays with its question, to the letter."""
    corpus = written(tmp_path / "c.jsonl", ({"id": k, "text": t} for k, t in CORPUS.items()))
    other = {"text": "an answer of one's own", "grade": 2.0}
    graded = {"id": "delivery", "grade": 0.5}
    pair = {"alternatives": [{"id": "refund"}, {"id": "delivery"}]}
    gold = [
        {"id": "refund", "grade": 2},
        {"id": "refund:0-3", "grade": 1},
        {"id": "warranty", "text": CORPUS["warranty"], "grade": 0},
        graded,
        other,
        pair,
    ]
    record = {
        "query_id": "q/1",
        "query": "환불은?",
        "query_type": "lookup",
        "reference": "7일",
        "answerable": True,
        "expected_doc_types": ["faq"],
        "metadata": {"difficulty": "easy", "facts": ["7일"], "sources": ["refund"]},
        "gold": gold,
    }
    folder = tmp_path / "shop"
    made = start(folder, corpus=corpus, gold=written(tmp_path / "g.jsonl", [record]))
    assert (made.questions, made.judgements, made.absent) == (1, 3, "")
    with opened(folder) as desk:
        question = desk.state.questions["q/1"]
        (person,) = desk.state.people.values()
        said = {one.document: one.grade for one in desk.state.history[person.uid]}
    assert (person.role, person.name) == ("file", "g")
    # Of 0 to 3, what a gold file calls relevant (1) is a 2, and highly relevant (2) a 3.
    assert said == {"refund": 3, "refund:0-3": 2, "warranty": 0}
    assert [dict(item) for item in question.gold] == [graded, other, pair]
    assert (question.query_type, question.difficulty, question.reference) == (
        "lookup",
        "easy",
        "7일",
    )
    assert question.sources == ("refund",)
    assert question.metadata == {"facts": ["7일"], "expected_doc_types": ["faq"]}


def test_gold_that_the_corpus_lacks_is_said(tmp_path):
    """Ids that no document has, and no text beside them, are found by nobody: how many, which."""
    corpus = written(tmp_path / "c.jsonl", ({"id": k, "text": t} for k, t in CORPUS.items()))
    gold = [{"id": "refund:0-3"}, {"id": "gone"}, {"id": "gone too", "text": "its text"}]
    record = {"query_id": "q", "query": "환불은?", "gold": gold}
    made = start(tmp_path / "shop", corpus=corpus, gold=written(tmp_path / "g.jsonl", [record]))
    assert "1 id has no text and is not in the corpus" in made.absent
    assert "'gone' (query 'q', gold 2)" in str(made)


def test_questions_come_in_without_grades(tmp_path):
    """As kragx gold questions writes them: sources are suggested, and nothing is judged."""
    corpus = written(tmp_path / "c.jsonl", ({"id": k, "text": t} for k, t in CORPUS.items()))
    metadata = {"sources": ["refund"], "made_by": {"template": "t1"}, "difficulty": "hard"}
    records = [{"query_id": "q1", "query": "환불은?", "gold": [], "metadata": metadata}]
    questions = written(tmp_path / "q.jsonl", records)
    made = start(tmp_path / "shop", corpus=corpus, questions=questions)
    assert (made.questions, made.judgements) == (1, 0)
    with opened(tmp_path / "shop") as desk:
        question = desk.state.questions["q1"]
        assert (question.origin, question.sources) == ("template", ("refund",))
        assert (
            services.judging.next_pair(desk, desk.state.owner())["pair"]["document"]["id"]
            == "refund"
        )


def test_all_mistakes_are_named_with_their_fields(shop):
    """Each in a line of its own, with what is meant."""
    with pytest.raises(ConfigError) as raised:
        changed(shop, langauge="ko", k=0, leak_target=2, scale={"0": "no"}, corpus=None)
    lines = "\n".join(raised.value.problems)
    assert "langauge: unknown key; perhaps you meant 'language'?" in lines
    for field in ("k:", "leak_target:", "scale:", "corpus: missing"):
        assert f"\n{field}" in f"\n{lines}", field
    assert len(raised.value.problems) == 5


def test_other_scales_and_targets(shop):
    """A scale of one's own, and shares that must be some."""
    workshop = changed(shop, scale={"0": "no", "1": "yes"}, targets={"difficulty": {"easy": 1}})
    assert workshop.settings.scale == {0: "no", 1: "yes"}
    with pytest.raises(ConfigError, match="targets"):
        changed(shop, targets={"difficulty": {"easy": 0.5, "hard": 0.9}})


def test_a_folder_without_a_workshop(tmp_path):
    """What makes one is said."""
    with pytest.raises(DataError, match="kragx gold start"):
        Workshop.open(tmp_path)


def test_a_secret_that_was_cut_short(shop):
    """A short one could be guessed; without one, links are made anew."""
    with opened(shop) as desk:
        before = services.people.link_token(desk, desk.state.owner())
    (shop / ".secret").write_text("abc")
    with pytest.raises(DataError, match="remove it"):
        _ = Workshop.open(shop).secret
    (shop / ".secret").unlink()
    with opened(shop) as desk:
        assert services.people.link_token(desk, desk.state.owner()) != before


def test_gold_of_one_word_stays_what_it_is(tmp_path):
    """A word (in NFD) of a document is kept as gold, and is no judgement."""
    texts = ("환불은 이레 안에.", "환불")
    document, word = (unicodedata.normalize("NFD", text) for text in texts)
    corpus, gold = tmp_path / "corpus.jsonl", tmp_path / "gold.jsonl"
    corpus.write_text(json.dumps({"id": "d", "text": document}), "utf-8")
    item = {"query_id": "q", "query": "언제?", "gold": [{"id": "d", "text": word}]}
    gold.write_text(json.dumps(item), "utf-8")
    made = start(tmp_path / "shop", corpus=corpus, gold=gold)
    assert (made.questions, made.judgements) == (1, 0)
