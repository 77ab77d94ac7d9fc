"""Coverage, density and iou on examples by hand."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, UsageError, evaluate
from kragx.errors import DataError
from kragx.matchers import MatchWarning
from tests.thoroughness import all_cases

TEN = "one two three four five six seven eight nine ten"


def measured(gold, docs, *metrics, **options):
    """The evaluation of one query; texts stand for gold items and documents."""
    golds = tuple(Gold(text=each) if isinstance(each, str) else each for each in gold)
    found = tuple(Doc(text=each) if isinstance(each, str) else each for each in docs)
    # Matching is not the point here: a text without an id is its own.
    golds = tuple(replace(each, id=each.id or each.text) for each in golds)
    found = tuple(replace(each, id=each.id or each.text) for each in found)
    dataset = GoldDataset((Query("q", "?", golds),))
    return evaluate(dataset, Run({"q": Retrieved(found)}), match="id", metrics=metrics, **options)


def values(gold, docs, *metrics, **options):
    """The value of each metric for one query."""
    return list(measured(gold, docs, *metrics, **options).mean.values())


def test_two_chunks_hold_the_gold_together():
    """8 of 10 tokens in the first chunk, the last 8 in the second; 6 of them are the same."""
    docs = ["x one two three four five six seven eight", "three four five six seven eight nine ten"]
    names = ("coverage@1", "coverage@2", "density@1", "density@2", "iou@1", "iou@2")
    # One other token was retrieved: 8 / (8 + 1), 10 / (10 + 1); 8 / (10 + 1), 10 / (10 + 1).
    assert values([TEN], docs, *names) == pytest.approx([0.8, 1, 8 / 9, 10 / 11, 8 / 11, 10 / 11])


def test_a_run_of_seven_is_no_evidence_within_and_six_are_at_an_end():
    """A run counts from 8 tokens; at the gold's first or last token from 6."""
    within, at_the_end = "two three four five six seven eight", "five six seven eight nine ten"
    assert values([TEN], [within, at_the_end], "coverage@1", "coverage@2") == [0.0, 1.0 - 0.4]
    assert values([TEN], [at_the_end[5:]], "coverage") == [0.0]
    assert values([TEN], [within], "coverage(run=7)") == [0.7]


def test_two_long_korean_words_at_an_end():
    """Seven letters are enough there; six words, or two that hold so many syllables, by words."""
    gold = "구매자가 반품하려면 물건을 받은 날부터 십사 일 안에 판매자에게 알려야 합니다"
    assert values([gold], ["안내: 구매자가 반품하려면"], "coverage") == [pytest.approx(9 / 33)]
    assert values([gold], ["안내: 구매자가"], "coverage") == [0.0]
    by_words = values([gold], ["안내: 구매자가 반품하려면"], "coverage(tokenizer=unicode)")
    assert by_words == [pytest.approx(2 / 11)]


@all_cases(
    ("gold", "docs", "value"),
    [
        (
            "임대차 계약이 종료된 경우 임차인은 임대차 목적물을 지체 없이 반환하여야 한다",
            ["임대차계약이 종료된 경우 임차인은 임대차목적물을 지체없이 반환하여야 한다."],
            1.0,
        ),
        ("손해배상", ["손해 배상을 청구한다"], 1.0),
        ("손해배상", ["무손해배상을 청구한다"], 0.0),
        ("서울", ["신서울 지점"], 0.0),
        ("서울", ["신서울 지점", "본점은 서울에"], 1.0),
        ("14일 이내", ["114일 이내"], 0.0),
    ],
)
def test_korean_is_compared_by_letters_and_short_gold_by_whole_words(gold, docs, value):
    """Compounds spaced otherwise are covered; short gold begins and ends where words do."""
    result = measured([gold], docs, "coverage", "coverage@1")
    assert result.mean["coverage"] == value
    assert result.mean["coverage@1"] == (value if len(docs) == 1 else 0.0)
    (spans,) = result.settings["spans"]
    assert (spans["tokenizer"]["name"], spans["tokenizer"]["passages"]) == ("auto", "characters")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_script_is_that_of_the_text_as_it_is_read(form):
    """Neither decomposed Hangul nor a wrapper's Latin letters hide that gold is Korean."""
    gold = unicodedata.normalize(form, "<Document>손해배상</Document>")
    assert values([gold], ["손해 배상을 청구한다"], "coverage") == [1.0]


def test_the_script_of_all_gold_chooses_what_spans_are():
    """One Korean question among English ones is compared by words, in whichever process."""
    gold = "임대차 계약이 종료된 경우 임차인은 임대차 목적물을 지체 없이 반환하여야 한다"
    queries = [Query("k", "?", (Gold(text=gold),))]
    queries += [Query(str(n), "?", (Gold(text=f"{TEN} {n}"),)) for n in range(8)]
    found = {query.id: Retrieved((Doc(text=query.gold[0].text),)) for query in queries}
    found["k"] = Retrieved((Doc(text=gold.replace(" ", "")),))
    run, dataset = Run(found), GoldDataset(tuple(queries))
    result = evaluate(dataset, run, match="exact", metrics=["coverage"])
    assert result.mean["coverage"] == pytest.approx(8 / 9)
    assert result.settings["spans"][0]["tokenizer"]["passages"] == "words"


@pytest.mark.integration
def test_korean_spans_are_the_same_in_workers():
    """The script that was chosen from all gold goes with the questions to each worker."""
    gold = "임대차 계약이 종료된 경우 임차인은 임대차 목적물을 지체 없이 반환하여야 한다"
    queries = tuple(Query(str(n), "?", (Gold(text=f"{gold} {n}"),)) for n in range(40))
    run = Run(
        {own.id: Retrieved((Doc(text=own.gold[0].text.replace(" ", "")),)) for own in queries}
    )
    alone, shared = (
        evaluate(GoldDataset(queries), run, match="exact", metrics=["coverage"], workers=workers)
        for workers in (1, 2)
    )
    assert alone.mean == shared.mean == {"coverage": 1.0}
    assert alone.settings["spans"] == shared.settings["spans"]


def test_a_part_is_known_when_it_is_one():
    """A word behind a gap is no part of a bridged run until the next one is read, at any k."""
    gold = "a b c d e f g h i j"
    docs = ["a b c d e f g NEW NEW", "j and more"]
    names = [f"{name}@1(bridge=2)" for name in ("coverage", "density", "iou")]
    assert values([gold], docs, *names) == values([gold], docs[:1], *names)
    assert values([gold], docs, "coverage@2(bridge=2)") == [1.0]


def test_a_short_gold_text_counts_whole():
    """A gold text of fewer than 8 tokens is covered where it stands whole."""
    assert values(["14 days"], ["within 14 days of delivery"], "coverage") == [1.0]
    assert values(["14 days"], ["14 hours, 3 days"], "coverage") == [0.0]


def test_mean_over_gold_items():
    """Each gold item counts the same, however long; items of grade 0 are none."""
    docs = [TEN]
    assert values([TEN, "not there"], docs, "coverage") == [0.5]
    assert values([TEN, Gold(text="not there", grade=0)], docs, "coverage") == [1.0]


def test_the_best_alternative():
    """Of a gold item and its alternatives the best covered counts, and no other is noise."""
    gold = Gold(text="never retrieved", alternatives=(Doc(text=TEN), Doc(text="something else")))
    docs = [TEN, "something else"]
    names = ("coverage@1", "density@1", "density@2", "iou@2")
    assert values([gold], docs, *names) == [1.0] * 4


def test_repeated_and_overlapping_documents_count_once():
    """The same document again, and an overlap of 8 tokens, add nothing to what was retrieved."""
    noise = " ".join(f"n{at}" for at in range(12))
    docs = [f"{TEN} {noise}", f"{TEN} {noise}", f"{noise} more"]
    assert values([TEN], docs, "density@1", "density@2", "density@3") == pytest.approx(
        [10 / 22, 10 / 22, 10 / 23]
    )


def test_gold_items_that_share_a_passage():
    """What one retrieved token covers for two gold items counts once in density and iou."""
    assert values([TEN, TEN], [f"{TEN} x"], "coverage", "density", "iou") == pytest.approx(
        [1, 10 / 11, 10 / 11]
    )


def test_a_gold_text_cut_within_words():
    """Parts of words at the gold's ends are found in the whole words."""
    gold = "ree four five six seven eight nine te"
    assert values([gold], [TEN], "coverage", "density") == [1.0, 0.8]


@all_cases(
    ("gold", "found"),
    [
        ("반품 기간은 14일", 1.0),
        ("기간은 14일", 1.0),
        ("14일", 1.0),
        ("심이면 반품 기간은 14일", 0.0),
        ("반품 기간은 1", 0.0),
        ("간은 14일", 0.0),
        ("14", 1.0),
        ("4일", 0.0),
        ("반품 14일", 0.0),
    ],
)
def test_a_short_gold_text_is_a_phrase(gold, found):
    """Its tokens stand one after the other, and the last may go on in Hangul.

    In Korean this is the usual case: a particle stands behind the last word.
    """
    docs = ["단순 변심이면 반품 기간은 14일이며"]
    assert values([gold], docs, "coverage", "coverage(bridge=2)") == [found] * 2
    # By letters, of which the document has 16, but a number alone is no Korean gold.
    share = len(gold.replace(" ", "")) / 16 if "일" in gold else 1 / 5
    assert values([gold], docs, "density") == [pytest.approx(share if found else 0.0)]


def test_a_phrase_over_the_end_of_a_chunk():
    """A chunk cut in two covers what it covered, once both parts are read."""
    docs = ["the answer is New", "York City"]
    assert values(["New York"], docs, "coverage@1", "coverage@2", "density@2") == pytest.approx(
        [0.0, 1.0, 2 / 6]
    )


def test_a_phrase_that_stands_several_times():
    """Each place is gold: the one word between them is beside the point."""
    assert values(["1919"], ["1919년 또는 1919년"], "coverage", "density") == [1.0, 0.5]


def test_short_gold_beside_a_passage():
    """Each gold item is read by its own rule."""
    docs = [f"{TEN} and 15일에"]
    names = ("coverage", "density", "coverage(short=0)")
    assert values([TEN, "15일"], docs, *names) == pytest.approx([1.0, 11 / 12, 0.5])


def test_runs_where_words_are_not_written_apart():
    """24 characters within are evidence, 7 at an end; a few are none. Marks stay with letters."""
    chinese = "商品在运输途中损坏的应当在签收之后二十四小时之内拍照并且联系本店的客服人员"
    assert len(chinese) == 37
    thai = "ลูกค้าสามารถขอคืนสินค้าได้ภายในเจ็ดวันนับจากวันที่"
    for gold, docs, covered in (
        (chinese, [f"他{chinese[4:28]}吗"], 24 / 37),
        (chinese, [f"他{chinese[4:27]}吗"], 0.0),
        (chinese, [f"他说{chinese[:7]}吗"], 7 / 37),
        (chinese, [f"他说{chinese[:6]}吗"], 0.0),
        (chinese, [chinese[:20], chinese[20:]], 1.0),
        ("三月十五日", ["会议在三月十五日召开"], 1.0),
        ("三月十五日", ["会议在三月二十五日召开"], 0.0),
        (thai, [f"แต่{thai}นี้"], 1.0),
    ):
        assert values([gold], docs, "coverage") == [pytest.approx(covered)], (gold, docs)


def test_repetitions_where_words_are_not_written_apart():
    """24 characters said again count once, eight count again."""
    first = "商品在运输途中损坏的应当在签收之后二十四小时之内"
    gold = "无理由退货的运费由顾客承担本店在三日内进行检查"
    assert len(first) == 24
    again, short = (
        values([gold], [f"{gold}。{first}", f"另{first}"], "density"),
        values([gold], [f"{gold}。{first[:8]}", f"另{first[:8]}"], "density"),
    )
    assert again == [pytest.approx(23 / (23 + 25))]
    assert short == [pytest.approx(23 / (23 + 17))]


def test_offsets_where_words_are_not_written_apart():
    """Each character has its own place."""
    text = "商品损坏的应当拍照。iPhone也是"
    parts = [
        {"text": text[a:b], "metadata": {"source": "s", "start": a}}
        for a, b in ((0, len(text)), (0, 5), (5, 12))
    ]
    found = evaluate([parts[:1]], [parts[1:]], match="text", metrics=["coverage@1", "coverage"])
    # Nine characters, iPhone, two characters; "iP" is a part of a word.
    assert list(found.mean.values()) == pytest.approx([5 / 12, 9 / 12])


@pytest.mark.integration
def test_many_short_gold_texts():
    """Ten thousand answers, each with its own documents, keep their own values."""
    golds = [[f"{n}"] for n in range(10_000)]
    docs = [[f"it was {n + n % 2}년"] for n in range(10_000)]
    result = evaluate(golds, docs, match="text", metrics=["coverage"])
    assert result["coverage"] == 0.5


@pytest.mark.parametrize(
    ("changed", "plain", "bridged"),
    [
        ("one two three four NEW six seven eight nine ten", 0.0, 1.0),
        ("one two three NEW NEW six seven eight nine ten", 0.0, 1.0),
        ("one two three A B C seven eight nine ten", 0.0, 0.0),
        ("one two three four six seven eight nine ten", 0.0, 0.0),
    ],
)
def test_bridging(changed, plain, bridged):
    """A word or two changed; three are too many, and none may be put in or left out."""
    assert values([TEN], [changed], "coverage", "coverage(bridge=2)") == [plain, bridged]


def test_no_gold_and_nothing_retrieved():
    """Without gold there is no value, with a count; an empty, missing or failed answer is 0."""
    golds = {"a": [{"text": TEN}], "b": [], "c": [{"text": TEN}], "d": [{"text": TEN}]}
    dataset = GoldDataset.from_documents(golds)
    run = Run({"a": Retrieved(), "b": Retrieved((Doc(text=TEN),)), "c": Retrieved(error="late")})
    result = evaluate(dataset, run, match="text", metrics=["coverage@5", "density@5", "iou@5"])
    assert result.mean == {"coverage@5": 0.0, "density@5": 0.0, "iou@5": 0.0}
    three = {"n_scored": 3}
    assert result.counts["metrics"] == {"coverage@5": three, "density@5": three, "iou@5": three}
    assert result.queries["b"]["coverage@5"] is None


def test_ids_without_texts():
    """Gold or documents without text are bad data; query, place and remedy are named."""
    with pytest.raises(DataError, match=r"query 'q', gold 1: 'g' has no text.*add it"):
        values([Gold(id="g")], [TEN], "coverage")
    with pytest.raises(DataError, match=r"query 'q', rank 2: document 'd' has no text.*add it"):
        values([TEN], [TEN, Doc(id="d")], "coverage")


def test_a_gold_text_without_tokens():
    """It is said, and never silently 0."""
    with pytest.warns(MatchWarning, match="no token.*1, for example '!!!'"):
        assert values(["!!!"], [TEN], "coverage") == [0.0]


@all_cases(
    ("metric", "hint"),
    [
        ("coverage(run=1)", "run must be a whole number from 2 to 1000, not '1'"),
        ("coverage(bridge=x)", "bridge must be a whole number"),
        ("coverage(offsets=on)", "offsets has no value 'on'"),
        ("iou(tokenizer=unicod)", "'unicode'"),
        ("coverage(bridges=2)", "'bridge'"),
    ],
)
def test_mistakes(metric, hint):
    """A wrong option or value is refused before anything is read."""
    with pytest.raises(UsageError, match=hint):
        evaluate("no-such-file.jsonl", metrics=[metric])


def test_other_tokenizers():
    """`tokenizer` names what is compared; settings record it with its version."""
    result = measured(
        ["반품 비용은 판매자가"], ["반품 비용을 판매자가"], "coverage(tokenizer=char)"
    )
    assert result["coverage(tokenizer=char)"] == 0.0
    (recorded,) = result.settings["spans"]
    assert recorded["tokenizer"]["name"] == "char"
    assert recorded["n_queries_by_text"] == 1


def test_repetitions_are_known_at_once():
    """A text of 12 tokens again, cut within: each token that 8 in a row make known counts once."""
    docs = [
        TEN + " eleven twelve",
        "so one two three four five six seven eight nine ten eleven twelve",
    ]
    names = [f"density@{n}tokens" for n in (20, 21, 22, 24)]
    # The last two of 12 are gold; after "so" 7 are no repetition yet, 8, 9 and 11 are.
    found = values(["eleven twelve"], docs, *names)
    assert found == pytest.approx([2 / 20, 2 / 13, 2 / 13, 2 / 13])


def test_a_missed_passage_that_gold_items_share():
    """What two gold items share is missed once, a short one that stands in another too."""
    first, second = TEN, "three four five six seven eight nine ten eleven twelve"
    both = [f"{first} x y z", f"{second} x y z"]
    docs = ["x y z and others"]
    # 13 gold tokens each, of which "x y z" is found; "three" to "ten" are the same 8: 12 missed.
    assert values([*both, "x y z"], docs, "iou") == pytest.approx([3 / (3 + 12 + 2)])
    assert values([TEN, "two three", "x y"], ["x y"], "iou") == pytest.approx([2 / 12])
    assert values([TEN, TEN, "x y"], ["x y"], "iou") == pytest.approx([2 / 12])


# -- offsets -----------------------------------------------------------------------------------

SOURCE = "Returns are free. Send it back within 14 days of delivery, unused, in its box."


def stretch(start, end, kind=Doc, source="faq", **more):
    """A part of the source with its place in the metadata."""
    metadata = {"source": source, "start_index": start, **more}
    return kind(text=SOURCE[start:end], metadata=metadata)


def test_offsets_are_exact():
    """Places decide where gold and documents have them, also for a run of three words."""
    gold = stretch(0, 57, Gold)  # 11 words, up to "delivery"
    docs = [stretch(0, 16), stretch(14, 42)]
    result = measured([gold], docs, "coverage@1", "coverage@2", "density@2", "iou@2")
    assert SOURCE[14:42] == "ee. Send it back within 14 d"
    # Returns are free | Send it back within 14; "d" is a part of "days", which is not covered.
    assert list(result.mean.values()) == pytest.approx([3 / 11, 8 / 11, 1.0, 8 / 11])
    (recorded,) = result.settings["spans"]
    assert (recorded["n_queries_by_offsets"], recorded["n_queries_by_text"]) == (1, 0)
    assert "spans: by offsets for 1 queries, by comparing texts for 0" in result.remarks


def test_a_word_cut_between_two_chunks():
    """Two chunks that each hold a part of a word cover it together."""
    gold = stretch(0, 16, Gold)
    docs = [stretch(0, 14), stretch(14, 30)]
    assert SOURCE[:14] == "Returns are fr"
    assert values([gold], docs, "coverage@1", "coverage@2") == pytest.approx([2 / 3, 1])


def test_offsets_of_parts_of_a_word():
    """However many retrieved parts of a word overlap, it is retrieved once."""
    gold = stretch(12, 16, Gold)
    docs = [stretch(begin, 20) for begin in (5, 0, 2)] + [stretch(0, 4)]
    # Beside "free" stand a part of "Returns" or all of it, "are", and "Se" of "Send".
    assert [doc.text for doc in docs[::3]] == ["ns are free. Se", "Retu"]
    names = [f"density@{k}" for k in (1, 2, 3, 4)]
    assert values([gold], docs, *names) == pytest.approx([1 / 4] * 4)
    # "Retu" and "rns" are two; "Returns" adds nothing to them.
    docs = [stretch(12, 16), stretch(0, 4), stretch(4, 7), stretch(0, 7)]
    assert values([gold], docs, *names) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 3])


def test_a_missed_passage_in_gold_items_with_offsets():
    """The words that two gold items share are missed once."""
    gold = [stretch(0, 34, Gold), stretch(18, 42, Gold), stretch(70, 73, Gold)]
    assert [len(each.text.split()) for each in gold] == [7, 6, 1]
    missed = len(SOURCE[:42].split())
    assert values(gold, [stretch(70, 73)], "iou") == pytest.approx([1 / (1 + missed)])


def test_offsets_in_another_source():
    """The same words in another source are not the gold's."""
    docs = [stretch(0, 57, source="terms"), stretch(60, 70)]
    metrics = ("coverage", "coverage(offsets=off)")
    assert values([stretch(0, 57, Gold)], docs, *metrics) == [0.0, 1.0]


def test_the_same_text_at_another_place():
    """With offsets the same words at another place are no repetition; the same place is one."""
    source = f"{TEN} and again {TEN}"
    second = source.rindex("one")

    def at(start, kind=Doc):
        return kind(text=TEN, metadata={"source": "s", "start_index": np.int64(start)})

    names = ("coverage@1", "coverage@2", "density@2", "density@3", "coverage@20tokens")
    result = evaluate(
        GoldDataset((Query("q", "?", (at(second, Gold),)),)),
        Run({"q": Retrieved((at(0), at(second), at(second)))}),
        match="text",
        metrics=names,
    )
    assert list(result.mean.values()) == [0.0, 1.0, 0.5, 0.5, 1.0]


def test_offsets_of_other_sources_alone():
    """Where no document is of a source of gold, the keys may be wrong, and that is said."""
    with pytest.warns(MatchWarning, match=r"gold: 'faq', retrieved: 'data/faq'.*offsets=off"):
        found = values([stretch(0, 57, Gold)], [stretch(0, 57, source="data/faq")], "coverage")
    assert found == [0.0]


def test_offsets_of_wrapped_text_and_own_keys():
    """Keys may be paths; a wrapper takes no place."""
    where = {"doc": {"name": "faq", "at": 0}}
    gold = Gold(text=SOURCE[:57], metadata=where)
    docs = [Doc(text=f"<Document>{SOURCE[:16]}</Document>", metadata=where)]
    name = "coverage(source=doc.name, start=doc.at)"
    assert values([gold], docs, name) == [3 / 11]


def test_offsets_that_are_missing():
    """Texts are compared instead, which is counted."""
    docs = [stretch(0, 57), Doc(text="nowhere")]
    result = measured([stretch(0, 57, Gold)], docs, "coverage")
    assert result.settings["spans"][0]["n_queries_by_text"] == 1
    wrong = [stretch(0, 57, end_index=99)]
    assert (
        measured([stretch(0, 57, Gold)], wrong, "coverage").settings["spans"][0][
            "n_queries_by_offsets"
        ]
        == 0
    )


# -- budgets -----------------------------------------------------------------------------------

CHUNKS = ("a b c d", "e f", "g h i")


def test_budgets_of_metrics():
    """Documents count that fit whole: 4, 6, 9 tokens; 7, 10, 15 characters."""
    golds = [Gold(id=each) for each in ("1", "2", "3")]
    docs = [Doc(id=str(at), text=text) for at, text in enumerate(CHUNKS, start=1)]
    names = [f"recall@{n}tokens" for n in (3, 4, 5, 6, 8, 9)]
    assert values(golds, docs, *names) == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1])
    names = [f"recall@{n}chars" for n in (6, 7, 9, 10, 14, 15)]
    assert values(golds, docs, *names) == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1])
    # As of a list that ends there: precision over what fits, nDCG with all gold in the ideal.
    assert values([golds[1]], docs, "precision@6tokens", "mrr@6tokens", "mrr@5tokens") == [
        0.5,
        0.5,
        0.0,
    ]
    cut = values(golds, docs[:1], "ndcg", "map")
    assert values(golds, docs, "ndcg@5tokens", "map@5tokens") == cut


def test_budgets_of_coverage():
    """The document in which a budget is spent is cut there."""
    docs = [TEN[:23], TEN[24:]]  # five and five tokens
    names = [f"coverage@{n}tokens" for n in (5, 8, 9, 10, 99)]
    assert docs[0].split()[-1] == "five"
    assert values([TEN], docs, *names) == [0.0, 0.8, 0.9, 1.0, 1.0]
    # "six seven eigh": the part of a word that the budget ends in is left out.
    assert values([TEN], docs, "coverage@37chars", "coverage@38chars") == [0.7, 0.8]


def test_wrappers_cost_nothing():
    """A budget pays for the text itself, not for what stands around it."""
    docs = [TEN[:23], TEN[24:]]
    wrapped = [f"[Document {at}]\nsource: a.pdf\n\n{each}\n</doc>" for at, each in enumerate(docs)]
    names = ["coverage@37chars", "coverage@8tokens", "density@38chars", "hit_rate@23chars"]
    gold = Gold(id="0", text=TEN)
    plain, found = (
        values([gold], [Doc(id=str(at), text=text) for at, text in enumerate(texts)], *names)
        for texts in (docs, wrapped)
    )
    assert found == plain == pytest.approx([0.7, 0.8, 1.0, 1.0])


@pytest.mark.parametrize("unit", ["tokens", "chars"])
def test_budgets_of_coverage_with_another_tokenizer(unit):
    """Half of a document is half of it in any tokenizer."""
    text = " ".join(f"word{at}" for at in range(10, 30))  # 20 words, 139 characters
    n = {"tokens": 10, "chars": 69}[unit]
    names = [f"coverage@{n}{unit}(tokenizer={each})" for each in ("unicode", "char", "whitespace")]
    assert values([text], [text], *names) == [0.5] * 3
    name = f"coverage@{n}{unit}"
    for tokenizer in ("char", "whitespace"):
        found = values([text], [text], name, budget_tokenizer=tokenizer)
        # 10 of 100 pairs of letters are two words, and those are no run.
        assert found == [0.0 if (tokenizer, unit) == ("char", "tokens") else 0.5]


def test_budgets_of_other_measures():
    """A measure sees the list that fits."""
    docs = [Doc(text=text, metadata={"source": text}) for text in CHUNKS]
    result = measured([TEN], docs, "source_diversity@6tokens", "judged@6tokens")
    assert result.mean == {"source_diversity@6tokens": 1.0, "judged@6tokens": 0.0}


def test_budgets_are_read_and_written():
    """A budget has one canonical name, in settings, JSON and every table; `k` and tokenizer too."""
    result = measured([TEN], [TEN], "nDCG@10tokens", "coverage@10Tokens", "ndcg@010chars")
    assert list(result.mean) == ["ndcg@10tokens", "coverage@10tokens", "ndcg@10chars"]
    assert result["NDCG@10tokens"] == 1.0
    plain = json.loads(json.dumps(result.to_dict(queries=True)))
    assert plain["settings"]["budget_tokenizer"]["name"] == "unicode"
    later = result.with_metrics(["recall@5tokens", "iou@5tokens"])
    assert list(later.mean) == ["recall@5tokens", "iou@5tokens"]


def test_the_tokenizer_of_budgets():
    """`budget_tokenizer` says what a token is."""
    golds, docs = [Gold(id="1")], [Doc(id="1", text="it's here")]
    assert values(golds, docs, "recall@2tokens", budget_tokenizer="whitespace") == [1.0]
    assert values(golds, docs, "recall@2tokens") == [0.0]


@all_cases(
    ("metric", "hint"),
    [
        ("ndcg@500token", "such as 500tokens or 2000chars, not '500token'"),
        ("ndcg@0tokens", "a budget such as 500tokens"),
        ("ndcg@500 tokens (gain=exp2)", "such as 500tokens or 2000chars, not '500 tokens'"),
        ("ndcg@-5chars", "a budget such as 500tokens"),
        ("seconds_p95@500tokens", "leave '@500tokens' out"),
    ],
)
def test_mistaken_budgets(metric, hint):
    """A budget that is none is refused with the remedy."""
    with pytest.raises(UsageError) as caught:
        evaluate("no-such-file.jsonl", metrics=[metric])
    assert hint in str(caught.value)


def test_budgets_need_texts():
    """A document without text has no length; the remedy is a rank."""
    with pytest.raises(DataError, match=r"query 'q', rank 1: document 'd' has no text.*ndcg@10"):
        values([Gold(id="d")], [Doc(id="d")], "ndcg@500tokens")
    qrels, run = {"q": {"d": 1}}, {"q": {"d": 0.5}}
    with pytest.raises(DataError, match="has no text"):
        evaluate(qrels, run, match="id", metrics=["ndcg@500tokens"])


def test_a_threshold_later():
    """`at_threshold` decides the cut lists anew."""
    match = {"method": "overlap", "short": 0}
    lists = [["one two three four five", TEN]]
    result = evaluate([[TEN]], lists, match=match, metrics=["recall@5tokens"])
    assert result["recall@5tokens"] == 1.0
    assert result.at_threshold(1.0).mean == {"recall@5tokens": 1.0}
    plain = evaluate([[TEN]], [[TEN]], metrics=["recall@5"])
    with pytest.raises(UsageError, match="name it when you call evaluate"):
        plain.with_metrics(["recall@5tokens"])


@pytest.mark.parametrize(
    ("words", "times"),
    [
        ("a", 500),
        pytest.param("a b c d", 500, marks=pytest.mark.integration),
        ("0 a 0", 300),
        pytest.param("a b", 10_000, marks=pytest.mark.integration),
    ],
)
def test_text_that_goes_on_repeating_itself(words, times):
    """A few words again and again, in gold and documents, are read in bounded time and memory."""
    gold = f"{words} " * times
    found = values([gold], [f"{gold} {at}" for at in range(5)], "coverage", "coverage(bridge=2)")
    assert found == [1.0, 1.0]
