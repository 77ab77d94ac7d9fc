"""`move`: by hand, and the rules that hold for any gold set."""

from __future__ import annotations

import json
import random
import unicodedata
import warnings
from dataclasses import replace

import pytest
from hypothesis import example, given, strategies as st

from examples.template_corpora import policy_en, policy_ko
from kragx import DataError, evaluate, read_dataset
from kragx.data import Doc, Forbidden, Gold, GoldDataset, Query
from kragx.data.gold_diff import diff_gold
from kragx.workshop.moving import move
from kragx.workshop.moving.blocks import blocks, letters
from tests.thoroughness import examples

from .truth import CUTS, Corpus, Edited, edited, sized, texts, truths

FERRY = (
    "The ferry to the northern islands leaves at nine from pier four, daily except Sundays.",
    "Bicycles travel free of charge, but must be registered one day before at the office.",
    "Dogs are welcome on the upper deck if they are kept on a short lead at all times.",
    "In heavy fog the captain may cancel a crossing, and tickets are then refunded in full.",
)


def corpus(*chunks: str, name: str = "c") -> list[Doc]:
    """Chunks with counters as ids."""
    return [Doc(f"{name}{number}", text) for number, text in enumerate(chunks)]


OLD = corpus(*FERRY)


def moved(new, gold=("c1",), old=OLD):
    """What became of the items of one query, and its gold."""
    result = move({"q": [{"id": g} if isinstance(g, str) else g for g in gold]}, old, new)
    return result, result.dataset["q"].gold


@pytest.mark.integration
def test_same():
    """A chunk with its id and its text is the same, and its gold item is left as it is."""
    result, golds = moved(corpus("Something else that is new here.", FERRY[1], name="c"))
    (item,) = result.items
    assert (item.verdict, item.places[0].id, item.edited) == ("same", "c1", 0.0)
    assert (golds[0].id, golds[0].text) == ("c1", None)


@pytest.mark.parametrize("kept", [20, 30])
def test_what_is_left_is_said_in_korean(kept):
    """How much of a text is left is said in the language that results are shown in."""
    result, _ = moved(corpus(FERRY[0], f"{FERRY[1][:kept]} now other words stand here.", FERRY[2]))
    (item,) = result.items
    assert item.reason.endswith("% of its letters are left")
    shown = result.to_text(language="ko")
    assert "남아 있습니다" in shown
    assert "letters" not in shown


def test_an_equal_id_says_nothing():
    """Ids are counters: c1 is another text now, and the gold's own text is c2."""
    result, golds = moved(corpus("A chunk that was added in front of all.", *FERRY))
    assert (result.items[0].verdict, golds[0].id) == ("moved", "c2")


def test_merged():
    """Inside a larger chunk: its id, and the gold's own words, which it holds."""
    result, golds = moved(corpus(" ".join(FERRY[:2]), " ".join(FERRY[2:])))
    assert (result.items[0].verdict, golds[0].id, golds[0].text) == ("merged", "c0", FERRY[1])


def test_split():
    """Over two chunks: an and of both, with the share of the letters that each has."""
    cut = FERRY[1].index("but")
    result, golds = moved(
        corpus(FERRY[0] + " " + FERRY[1][:cut], FERRY[1][cut:] + " " + " ".join(FERRY[2:]))
    )
    assert result.items[0].verdict == "split"
    assert [(gold.id, gold.text) for gold in golds] == [
        ("c0", "Bicycles travel free of charge,"),
        ("c1", FERRY[1][cut:]),
    ]
    shares = [gold.metadata["share"] for gold in golds]
    assert shares == [round(26 / 68, 4), round(42 / 68, 4)]


def test_overlap_is_no_split():
    """Where windows overlap, both that hold the whole text are alternatives, the smaller first."""
    new = corpus(" ".join(FERRY[:2]), " ".join(FERRY[1:]))
    result, golds = moved(new)
    assert result.items[0].verdict == "merged"
    assert [golds[0].id, *(other.id for other in golds[0].alternatives)] == ["c0", "c1"]


def test_lost():
    """A text that is gone is lost: it stays with its text and without an id, and is said loudly."""
    result, golds = moved(corpus(FERRY[0], *FERRY[2:]))
    assert (result.items[0].verdict, result.bare) == ("lost", ("q",))
    assert (golds[0].id, golds[0].text) == (None, FERRY[1])
    assert golds[0].metadata == {"moved": "lost", "old_id": "c1"}
    assert "NO relevant gold" in str(result)


def test_moved_again():
    """A text that comes back is found without its id, and bears no mark any more."""
    result, _ = moved(corpus(FERRY[0], *FERRY[2:]))
    again = move(result.dataset, corpus(FERRY[0], *FERRY[2:]), OLD)
    (gold,) = again.dataset["q"].gold
    assert (again.items[0].verdict, gold.id, gold.metadata) == ("moved", "c1", {})


def test_edited():
    """How many of its words changed is said apart from where it is; its text is today's."""
    now = FERRY[1].replace("free of charge", "for two euros")
    result, golds = moved(corpus(FERRY[0], now, *FERRY[2:], name="n"))
    assert (result.items[0].verdict, result.items[0].edited) == ("moved", round(3 / 15, 4))
    assert (golds[0].id, golds[0].text) == ("n1", now)


BOILERPLATE = "This notice is given without prejudice to any rights of either of the two parties."


def test_boilerplate_by_its_neighbours():
    """Of a text that stands in several places the one with the old neighbours is chosen."""
    chunks = [FERRY[0], BOILERPLATE, FERRY[1], FERRY[2], BOILERPLATE, FERRY[3]]
    result, golds = moved(corpus("New in front.", *chunks), gold=("c4",), old=corpus(*chunks))
    assert (result.items[0].verdict, golds[0].id) == ("moved", "c5")


def test_boilerplate_that_nothing_tells_apart():
    """Where nothing tells, it is unsure with its candidates; never one of them by chance."""
    old = corpus(BOILERPLATE, BOILERPLATE.upper(), BOILERPLATE, *FERRY)
    new = [Doc(f"n{number}", text) for number, text in enumerate([FERRY[0], BOILERPLATE, FERRY[2]])]
    new += [Doc("x1", FERRY[3]), Doc("x2", BOILERPLATE), Doc("x3", FERRY[1])]
    result, golds = moved(new, gold=("c1",), old=old)
    assert result.items[0].verdict == "unsure"
    assert {place.id for place in result.items[0].places} == {"n1", "x2"}
    assert golds[0].id is None


def test_a_deleted_template_is_not_its_sibling():
    """Gold whose chunk is gone does not move to another of the same template."""
    template = "The fee for {} is {} euros a month and is charged on the first day of each month."
    old = corpus(*(template.format(*pair) for pair in (("parking", 40), ("storage", 65))), FERRY[0])
    new = corpus(template.format("storage", 65), FERRY[0], name="n")
    result, _ = moved(new, gold=("c0",), old=old)
    assert result.items[0].verdict in ("unsure", "lost")


def test_the_next_document_alone_is_no_place():
    """What stood behind a text that is gone may stand behind its sibling now: unsure, not there."""
    last = "Whoever cancels before that day pays {} euros, and all the rest is paid back at once."
    old = corpus(FERRY[0], last.format(15), FERRY[1], last.format(40), FERRY[2], last.format(15))
    new = corpus(FERRY[0], last.format(15), FERRY[2], last.format(15), name="n")
    result, _ = moved(new, gold=("c3",), old=old)
    assert result.items[0].verdict in ("unsure", "lost")


def test_an_edit_is_told_from_a_sibling():
    """New words are an edit; those that another text of the template had are that other text."""
    template = "The fee for {} is {} euros a month and is charged on the first day of each month."
    pairs = [("parking", 40), ("storage", 65), ("lockers", 12)]
    old = corpus(*(text for pair in pairs for text in (template.format(*pair), FERRY[0])))
    now = [template.format("parking", 44), FERRY[0], template.format("storage", 65), FERRY[0]]
    result, _ = moved(corpus(*now, name="n"), gold=("c0", "c2", "c4"), old=old)
    assert [item.verdict for item in result.items][:2] == ["moved", "moved"]
    assert [item.places[0].id for item in result.items][:2] == ["n0", "n2"]
    assert result.items[2].verdict in ("unsure", "lost")


def test_an_edited_end_in_the_next_chunk():
    """A text whose last word was edited and stands in the next chunk is split, not whole."""
    text = "Bicycles travel free of charge, but must be registered one day before at the"
    new = corpus(FERRY[0] + " " + text, "counter. " + FERRY[2], name="n")
    result, golds = moved(new)
    assert (result.items[0].verdict, [gold.id for gold in golds]) == ("split", ["n0", "n1"])
    assert golds[1].text == "counter."


def test_a_sentence_that_was_put_in_between():
    """It belongs to neither of the texts between which it stands now."""
    new = corpus(FERRY[0], "Tickets are sold at the blue kiosk from eight.", *FERRY[1:], name="n")
    result, _ = moved(new, gold=("c0", "c1"))
    places = [(item.verdict, *(place.id for place in item.places)) for item in result.items]
    assert places == [("moved", "n0"), ("moved", "n2")]


def test_much_edited_between_its_neighbours():
    """A short text that was mostly rewritten is still where both of its neighbours are."""
    now = "Bicycles now cost eleven euros, but must be registered a week before at the counter."
    result, golds = moved(corpus(FERRY[0], now, *FERRY[2:], name="n"))
    assert (result.items[0].verdict, golds[0].id) == ("moved", "n1")


@given(st.integers(0, 10**6), st.sampled_from([(60, 0), (150, 30), (300, 60)]))
@examples(30)
def test_a_stream_is_the_text(seed, how):
    """However documents were cut, with overlap or not, a block has their letters in a row."""
    wholes = random.Random(seed).sample(texts("consumer_ko") + texts("shop_en"), 3)
    docs = Corpus.cut(wholes, sized(*how), offsets=True).docs
    found = "".join(
        chr(code)
        for block in blocks(docs, set(), size=2_000, margin=1_000)
        for code in block.stream[block.interior_letters].tolist()
    )
    assert found == "".join(chr(code) for code in letters(wholes).codes.tolist())


@pytest.mark.integration
def test_a_corpus_of_which_an_eighth_is_known(monkeypatch):
    """In a large corpus every eighth gram has to do: fewer places are known, none is false."""
    monkeypatch.setattr("kragx.workshop.moving.blocks._MOST", 0)
    wholes = texts("shop_en")[:12]
    rng = random.Random(3)
    changed = [edited(text, 0.05, rng) for text in wholes]
    old = Corpus.cut(wholes, CUTS["paragraphs"])
    new = Corpus.cut([text.text for text in changed], CUTS["300"])
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    right = []
    for item, truth in zip(result.items, truths(old, new, wholes, changed)):
        right.append(truth.right(item))
        assert right[-1] or item.verdict in ("unsure", "lost", "split"), item
    assert sum(right) >= 0.9 * len(right)


def test_grades_move_and_items_join():
    """Two relevant chunks that are one now count once, with the higher grade."""
    gold = [{"id": "c0", "grade": 1}, {"id": "c1", "grade": 2}, {"id": "c3", "grade": 0}]
    _, golds = moved(corpus(" ".join(FERRY[:2]), " ".join(FERRY[2:])), gold)
    assert [(item.id, item.grade) for item in golds] == [("c0", 2.0), ("c1", 0.0)]
    assert golds[0].text == " ".join(FERRY[:2])


def test_conflicting_grades():
    """What was judged as not relevant and is in a relevant chunk now is left to a person."""
    gold = [{"id": "c0", "grade": 2}, {"id": "c1", "grade": 0}]
    result, golds = moved(corpus(" ".join(FERRY[:2]), " ".join(FERRY[2:])), gold)
    assert [item.verdict for item in result.items] == ["merged", "unsure"]
    assert [(item.id, item.grade) for item in golds] == [("c0", 2.0), (None, 0.0)]
    assert "move" not in golds[1].metadata
    assert not result.bare


def test_alternatives():
    """(a and b) or c is (a or c) and (b or c)."""
    cut = FERRY[1].index("but")
    new = corpus(FERRY[0] + " " + FERRY[1][:cut], FERRY[1][cut:] + " " + FERRY[2], FERRY[3])
    _, golds = moved(new, [{"id": "c1", "alternatives": [{"id": "c3"}]}])
    assert [[g.id, *(o.id for o in g.alternatives)] for g in golds] == [["c0", "c2"], ["c1", "c2"]]


def test_evidence_moves():
    """Evidence in a chunk, as a release writes it, is in the new chunk where its words are."""
    text = "must be registered one day before"
    start = FERRY[1].index(text)
    place = {"source": "c1", "start": start, "end": start + len(text)}
    gold = [{"id": "c1", "text": text, "metadata": place}]
    new = corpus(FERRY[0], " ".join(FERRY[1:3]), name="n")
    result, golds = moved(new, gold)
    now = golds[0].metadata
    assert (result.items[0].verdict, golds[0].text, now["source"]) == ("merged", text, "n1")
    assert (new[1].text or "")[now["start"] : now["end"]] == text


def test_offsets_of_a_source():
    """Where metadata give source and start, they are those of the new chunk."""
    whole = " ".join(FERRY)
    old = [Doc("c0", whole[87:170], {"source": "s", "start": 87})]
    new = [
        Doc("n0", whole[:200], {"source": "s", "start": 0}),
        Doc("n1", whole[200:], {"source": "s", "start": 200}),
    ]
    place = {"source": "s", "start": 87, "end": 170}
    _, golds = moved(new, [{"id": "c0", "text": whole[87:170], "metadata": place}], old)
    record = {"move": {"from": ["c0"], "to": ["n0"]}}
    assert (golds[0].id, golds[0].metadata) == ("n0", place | record)


def chunked(wholes, how):
    """Chunks whose ids are ``document:start-end``, and the same that say so in their metadata."""
    cut = Corpus.cut(wholes, CUTS[how], offsets=True)
    named = [
        Doc(f"d{number}:{start}-{end}", doc.text)
        for doc, (number, start, end) in zip(cut.docs, cut.spans)
    ]
    return named, [
        Doc(doc.id, doc.text, {"source": f"d{number}", "start": start, "end": end})
        for doc, (number, start, end) in zip(named, cut.spans)
    ]


@pytest.mark.integration
@pytest.mark.parametrize("policy", [policy_ko, policy_en])
def test_ids_are_offsets(policy):
    """Ids such as document:start-end tell a place as `source`, `start` and `end` do."""
    rng = random.Random(5)
    wholes = [policy(rng) for _ in range(12)]
    changed = [edited(text, 0.05, rng).text for text in wholes]
    (old, old_said), (new, new_said) = chunked(wholes, "300"), chunked(changed, "500/100")
    gold = [[{"id": doc.id}] for doc in old]
    by_id, by_metadata = move(gold, old, new), move(gold, old_said, new_said)
    assert by_id.items == by_metadata.items
    assert not by_id.open


def test_places_of_a_release_move():
    """Gold that says where it stands says so of the new chunks, evidence too."""
    whole = " ".join(FERRY)
    old = [Doc("d:87-171", whole[87:171])]
    new = [Doc("d:0-200", whole[:200]), Doc(f"d:200-{len(whole)}", whole[200:])]
    place = {"source": "d", "start": 87, "end": 171, "evidence": [[87, 95], [167, 170]]}
    _, golds = moved(new, [{"id": "d:87-171", "text": whole[87:171], "metadata": place}], old)
    assert golds[0].id == "d:0-200"
    assert {**golds[0].metadata, "move": None} == {**place, "move": None}
    documents = [Doc("d", whole)]
    result, golds = moved(new, [{"id": "d:87-171"}], documents)
    assert (result.items[0].verdict, golds[0].id) == ("merged", "d:0-200")


@pytest.mark.integration
def test_text_without_an_id():
    """Gold that is a text alone gets the id of the chunk that holds it."""
    _, golds = moved(OLD, [{"text": "kept on a short lead at all times"}])
    assert (golds[0].id, golds[0].text) == ("c2", "kept on a short lead at all times")


def test_forms_and_white_space():
    """NFD, other white space, lost spaces and a cut within a word change nothing."""
    text = "소비자는 계약 내용을 적은 서면을 받은 날부터 7일 안에 청약을 철회할 수 있다."
    new = unicodedata.normalize("NFD", text.replace(" ", "")) + "\n\n덧붙인 말은 다음과 같습니다."
    result, golds = moved([Doc("n", new)], [{"id": "c"}], [Doc("c", text[1:])])
    assert (result.items[0].edited, golds[0].id) == (0.0, "n")


def test_a_stretch_of_a_document():
    """An id such as document:start-end is of that stretch."""
    whole = " ".join(FERRY)
    result, golds = moved(OLD, [{"id": "d:87-171"}], [Doc("d", whole)])
    assert (result.items[0].verdict, golds[0].id) == ("moved", "c1")
    result, golds = moved([Doc("d", whole)], [{"id": "d:87-171"}], [Doc("d", whole)])
    assert golds[0].id == "d"


def test_a_chunk_without_letters():
    """Between texts that are found it is unsure: nothing of it could be looked for."""
    chunks = [FERRY[0], "* * *", *FERRY[1:]]
    result, golds = moved(corpus(" ".join(chunks), name="n"), old=corpus(*chunks))
    assert (result.items[0].verdict, golds[0].id, golds[0].text) == ("unsure", None, "* * *")


def test_an_id_that_is_nowhere():
    """An id that is not in the old corpus is an error that counts it, and says what to do."""
    with pytest.raises(DataError, match=r"1 id has no text.*'x'.*the corpus that its ids are of"):
        moved(OLD, ["x"])


def test_nothing_of_the_query_is_lost():
    """Question, type, reference and metadata of a query stay as they are."""
    record = {
        "query_id": "q",
        "query": "Are dogs welcome?",
        "query_type": "lookup",
        "gold": [{"id": "c2"}],
        "reference": "Yes.",
        "metadata": {"difficulty": "easy", "facts": ["welcome"]},
    }
    result = move([record], OLD, corpus(*FERRY[1:]))
    query = result.dataset["q"]
    assert (query.text, query.query_type, query.reference) == (
        "Are dogs welcome?",
        "lookup",
        "Yes.",
    )
    assert (query.metadata, query.gold[0].id) == (record["metadata"], "c1")


def test_what_metrics_make_of_a_split():
    """Each part is an item: with one of two found recall is a half, whatever their shares."""
    cut = FERRY[1].index("but")
    new = corpus(FERRY[0] + " " + FERRY[1][:cut], FERRY[1][cut:])
    result, _ = moved(new)
    run = {"q": [{"id": "c1", "text": new[1].text}]}
    assert evaluate(result.dataset, run, match="id", metrics=["recall@5"])["recall@5"] == 0.5


@pytest.mark.integration
@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("language", ["consumer_ko", "shop_en"])
def test_by_places(language, offsets):
    """Cut at 300 and at 500 with overlap, unedited: every verdict is what the places say."""
    wholes = texts(language)[:12]
    unchanged = [Edited(text, range(len(text) + 1)) for text in wholes]
    old = Corpus.cut(wholes, CUTS["300"], offsets=offsets)
    new = Corpus.cut(wholes, CUTS["500/100"], offsets=offsets)
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    for item, truth in zip(result.items, truths(old, new, wholes, unchanged)):
        assert truth.right(item), item
    assert {item.verdict for item in result.items} >= {"merged", "split"}


@pytest.mark.integration
@pytest.mark.parametrize("language", ["consumer_ko", "shop_en"])
@pytest.mark.parametrize("share", [0, 0.05])
def test_a_corpus_in_no_order(language, share):
    """What lies beside a part of a split text there is no part of it: no *and* with strangers."""
    for seed, (before, after) in enumerate([("paragraphs", "sentences"), ("300/60", "150")]):
        rng = random.Random(seed)
        wholes = rng.sample(texts(language), 10)
        changed = [edited(text, share, rng).text for text in wholes]
        old, new = Corpus.cut(wholes, CUTS[before]), Corpus.cut(changed, CUTS[after], name="n")
        home = {doc.id: span[0] for doc, span in zip(new.docs, new.spans)}
        result = move(
            [[{"id": doc.id}] for doc in old.docs], old.docs, rng.sample(new.docs, len(new.docs))
        )
        for query, (number, *_) in zip(result.dataset, old.spans):
            assert {home[gold.id] for gold in query.gold if gold.id} <= {number}, query
        assert any(item.verdict == "split" for item in result.items)


@pytest.mark.integration
@given(st.integers(0, 10**6), st.sampled_from(sorted(CUTS)), st.sampled_from(sorted(CUTS)))
@examples(40)
@example(7862, "150", "sentences")  # a word of its own: "already."
def test_never_a_false_place(seed, before, after):
    """Whatever was cut and edited how: no item is said to be whole in a chunk it is not in."""
    rng = random.Random(seed)
    wholes = rng.sample(texts("consumer_ko") + texts("shop_en"), 3)
    changed = [edited(text, 0.05, rng) for text in wholes]
    old = Corpus.cut(wholes, CUTS[before])
    new = Corpus.cut([text.text for text in changed], CUTS[after])
    result = move([[{"id": doc.id}] for doc in old.docs], old.docs, new.docs)
    texts_of = {doc.id: doc.text for doc in old.docs}
    new_texts = {doc.id: doc.text for doc in new.docs}
    for item, truth in zip(result.items, truths(old, new, wholes, changed)):
        word_for_word = {doc.id for doc in new.docs if doc.text == texts_of[item.id]}
        if item.verdict == "same":  # whatever document it is of: "Q." is "Q."
            assert str(item.id) in word_for_word
        elif item.verdict == "moved" and item.places[0].id in word_for_word:
            continue  # an edit behind "Q." counts as its own, and is longer than it
        elif item.verdict in ("moved", "merged") and truth.letters:
            own = truth.chunks.get(item.places[0].id, set())
            # Where it came to, with every word of it, and without the words of an edit behind it.
            is_whole = bool(own) and texts_of[item.id] in new_texts[item.places[0].id]
            # Of a sentence whose end was edited a word may be beyond the chunk.
            assert is_whole or len(own) >= 0.8 * len(truth.letters), item


def test_written(tmp_path):
    """The moved set reads back as the same, and what is left to a person stands beside it."""
    result, _ = moved(corpus(FERRY[0], *FERRY[2:]), ["c0", "c1"])
    path, beside = result.write(tmp_path / "gold_v2.jsonl")
    assert read_dataset(str(path)).content_hash == result.dataset.content_hash
    assert beside.name == "gold_v2.unsure.jsonl"
    (line,) = map(json.loads, beside.read_text("utf-8").splitlines())
    assert (line["query_id"], line["verdict"], line["gold"]["id"]) == ("q", "lost", "c1")


def kinds(result, before):
    """By question what kind of difference the move has made."""
    return {
        own.query_id: own.kind for own in diff_gold(read_dataset(before), result.dataset).questions
    }


@pytest.mark.integration
def test_results_of_before_and_after_are_of_the_same_text():
    """Whole and unedited gold is recorded as the same; split, edited, joined and lost is other."""
    cut = FERRY[1].index("but")
    new = corpus(
        FERRY[0] + " " + FERRY[1][:cut],
        FERRY[1][cut:],
        FERRY[2] + " " + FERRY[3].split()[0],
        name="n",
    )
    ids = {"whole": ["c0"], "split": ["c1"], "merged": ["c2"], "lost": ["c3"]}
    before = [
        {"query_id": name, "query": name, "gold": [{"id": own} for own in of]}
        for name, of in ids.items()
    ]
    result = move(before, OLD, new)
    assert kinds(result, before) == {
        "whole": "moved",
        "split": "gold",
        "merged": "moved",
        "lost": "gold",
    }
    again = move(result.dataset, new, new)  # what stays where it is keeps its record
    assert kinds(again, before) == kinds(result, before)
    edited = corpus(FERRY[1].replace("free", "gratis"), *FERRY[2:], name="n")
    assert kinds(
        move([{**before[1], "query_id": "q"}], OLD, edited), [{**before[1], "query_id": "q"}]
    ) == {"q": "gold"}
    both = [{"query_id": "q", "query": "q", "gold": [{"id": "c0"}, {"id": "c1"}]}]
    assert kinds(move(both, OLD, corpus(" ".join(FERRY[:2]), *FERRY[2:], name="n")), both) == {
        "q": "gold"
    }


def test_a_record_is_of_one_item_alone():
    """Whoever corrects the id of a moved line, or its text, has other gold there."""
    before = [{"query_id": "q", "query": "q", "gold": [{"id": "c1"}]}]
    result = move(before, OLD, corpus("Another one.", *FERRY, name="n"))
    (gold,) = result.dataset["q"].gold
    assert gold.metadata["move"] == {"from": ["c1"], "to": ["n2"]}
    assert kinds(result, before) == {"q": "moved"}
    for corrected in (replace(gold, id="n3"), replace(gold, alternatives=(Doc("n4"),))):
        query = replace(result.dataset["q"], gold=(corrected,))
        assert kinds(replace(result, dataset=GoldDataset((query,))), before) == {"q": "gold"}


def test_warns_of_nothing():
    """A corpus of another script, empty texts and marks alone are no reason to warn or fail."""
    odd = [*OLD, Doc("e", ""), Doc("m", "?!"), Doc("t", "ดี")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result, _ = moved(odd[::-1], ["c0", "m", "t"], odd)
    assert [item.verdict for item in result.items][:2] == ["same", "same"]


def forbidden_after(new, *items, old=OLD):
    """What is forbidden after a move."""
    query = Query("q", "?", (Gold("c0"),), forbidden=tuple(items))
    result = move(GoldDataset((query,)), old, new)
    assert [item.field for item in result.items] == ["gold[0]"]  # it counts apart
    return result.dataset["q"].forbidden


def test_forbidden_moves_along():
    """The same chunk keeps its id; moved, merged or lost it is forbidden by its text."""
    item, by_text = Forbidden("c1", why="stale"), Forbidden(text=FERRY[1], why="stale")
    assert forbidden_after(OLD, item) == (item,)
    for new in (
        corpus("A chunk in front of all of them.", *FERRY),
        corpus(" ".join(FERRY[:2]), *FERRY[2:]),
        corpus(FERRY[0], *FERRY[2:], name="n"),
    ):
        assert forbidden_after(new, item) == (by_text,)
    assert forbidden_after(OLD, Forbidden("z", why="old")) == (Forbidden("z", why="old"),)


def test_forbidden_of_a_source():
    """A source stays as it is; what has taken a document's place has its new id."""
    whole = Forbidden(source="list-2024", why="stale")
    pair = Forbidden("c1", why="stale", superseded_by="c2")
    items = forbidden_after(corpus("A chunk in front of all of them.", *FERRY), whole, pair)
    assert items[0] == whole
    assert (items[1].text, items[1].superseded_by) == (FERRY[1], "c3")
    both = forbidden_after(corpus(FERRY[0], " ".join(FERRY[1:3]), FERRY[3], name="n"), pair)
    assert [(one.text, one.superseded_by) for one in both] == [(FERRY[1], None)]


def test_nothing_is_forbidden():
    """An empty list stays one."""
    query = Query("q", "?", (Gold("c0"),), forbidden=())
    result = move(GoldDataset((query,)), OLD, OLD)
    assert result.dataset["q"].forbidden == ()
