"""What the HTML page is given: texts once, scores on their side of the threshold, no markup."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
import warnings
import zlib
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from examples.ngram_embeddings import NgramEmbeddings
from kragx import (
    Doc,
    Gold,
    GoldDataset,
    Query,
    Retrieved,
    Run,
    UsageError,
    evaluate,
    write_html,
)
from kragx.comparison import (
    check_gates,
    compare,
    fields_worth_slicing,
    gates_parts,
    gates_table,
    parse_gates,
)
from kragx.ground.messages import Message, Name, joined, message, plural
from kragx.matchers import MatchItem, MatchWarning, matcher
from kragx.matchers.reasons import best_targets, reasons
from kragx.metrics import METRICS
from kragx.metrics.spec import WHERE
from kragx.report.html_page import cells, questions
from kragx.report.html_page.packing import TextTable, described, packed, rounded_score, text_of
from kragx.report.html_page.page import page_words
from kragx.report.html_page.questions import member_label

HOSTILE = "</script><script>alert(1)</script> <!-- {{script}} \u2028 \u202e \ud800 '\"&"


def unpacked(block):
    """What the page's script reads from a block."""
    return json.loads(zlib.decompress(base64.b64decode(block)))


def parts(path):
    """The data blocks of a written page by their ids."""
    page = path.read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/octet-stream" id="([\w-]+)">([^<]*)<', page)
    return {name: unpacked(block) for name, block in found}


@pytest.fixture
def gold():
    """Three queries: found, a near miss, one without gold."""
    return GoldDataset(
        (
            Query("q1", "첫 질문", (Gold("g1", "가 나 다 라 마"),), query_type="a"),
            Query("q2", HOSTILE, (Gold("g2", "바 사 아 자 차"),), query_type="a"),
            Query("q3", None, (), query_type="b"),
        ),
        name=HOSTILE,
    )


@pytest.fixture
def run():
    """q1 at rank 2, q2 nearly, q3 failed."""
    return Run(
        {
            "q1": Retrieved(
                Run.from_documents([["딴 글", "가 나 다 라 마"]]).results["q1"].documents
            ),
            "q2": Retrieved(Run.from_documents([["바 사 빈 칸 들 이다"]]).results["q1"].documents),
            "q3": Retrieved(error="down"),
        },
        name="one",
    )


def written(tmp_path, gold, run, **options):
    """The data of the page of an evaluation."""
    path = tmp_path / "page.html"
    match = {"method": "overlap", "short": 0, "siblings": "together", "tokenizer": "unicode"}
    result = evaluate(gold, run, match=match, metrics=["ndcg@5", "recall@5"])
    write_html([result], path, runs={"one": run}, **options)
    return parts(path), path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("variable", "named", "begins"),
    [("", None, ""), ("ko", None, "ko"), ("ko_KR.UTF-8", "en", "en"), ("", "ko", "ko")],
)
def test_the_language_in_which_the_page_begins(
    tmp_path, gold, run, monkeypatch, variable, named, begins
):
    """The one that is named, else the variable's, else (nothing is written) the browser's."""
    monkeypatch.setenv("KRAGX_LANG", variable)
    _, html = written(tmp_path, gold, run, language=named)
    assert f'<html lang="en" data-language="{begins}">' in html


def test_the_page_holds_ranks_scores_and_texts(tmp_path, gold, run):
    """First ranks, highest scores with their ranks, statuses, and every text by number."""
    data, _ = written(tmp_path, gold, run)
    cell = data["index"]["cells"][0][0]
    assert cell["first"] == [[2], [0], []]
    assert cell["best"] == [[1.0, 2], [0.25, 1], []]
    assert cell["status"] == "aaf"
    assert cell["values"]["recall@5"] == [1.0, 0.0, None]
    detail = data["detail-0"]
    assert detail[2]["runs"]["one"]["error"] == "down"
    documents = detail[0]["runs"]["one"]["docs"]
    assert [data["texts-0"][each[1]] for each in documents] == ["딴 글", "가 나 다 라 마"]
    # The gold's text is the same as the document's: it is stored once.
    assert detail[0]["gold"][0]["text"] == documents[1][1]
    assert detail[0]["pairs"] == [[[1, 0, 1.0]]]


def test_the_page_names_the_gold_set(tmp_path, run):
    """Its name, version and hash, which the page's head and its export show."""
    gold = GoldDataset((Query("q1", None, (Gold(text="가 나 다"),)),), name="상담", version="3")
    data, _ = written(tmp_path, gold, run)
    named = {"name": "상담", "version": "3", "hash": gold.content_hash}
    assert data["index"]["dataset"] == named


def test_facts_and_what_each_retriever_holds_of_them(tmp_path):
    """A question's facts with their importance, and how far each retriever holds each of them."""
    facts = ["within 14 days", {"text": "by post", "importance": "okay"}]
    gold = GoldDataset(
        (
            Query("q1", "How?", (Gold("d"),), metadata={"facts": facts}),
            Query("q2", "What?", (Gold("d"),), metadata={"facts": "none"}),
        )
    )
    run = Run({"q1": Retrieved((Doc("d", "within 14 days"), Doc("e", "by post")))}, name="a")
    whole = replace(gold, queries=gold.queries[:1])
    metrics = ["recall@5", "context_completeness@1"]
    evaluation = evaluate(whole, run, match="id", facts_match="text", metrics=metrics)
    write_html([evaluation], tmp_path / "r.html", runs={"a": run})
    (question,) = parts(tmp_path / "r.html")["detail-0"]
    assert question["facts"] == [["within 14 days", 1], ["by post", 0]]
    assert question["held"] == [[[1.0, 0.0]]]
    plain = evaluate(gold, run, match="id", metrics=["recall@5"])
    write_html([plain], tmp_path / "p.html", runs={"a": run})
    shown = parts(tmp_path / "p.html")["detail-0"]
    assert [(len(one["facts"]), one["held"]) for one in shown] == [(2, [[[]]]), (0, [[[]]])]


def test_nothing_of_the_data_stands_in_the_markup(tmp_path, gold, run):
    """Hostile texts occur in compressed blocks only; the title's are escaped."""
    data, page = written(tmp_path, gold, run)
    assert data["index"]["queries"]["texts"][1] == HOSTILE.replace("\ud800", "\ufffd")
    assert "alert(1)</script>" not in page
    assert "&lt;/script&gt;" in page
    assert page.count("<script>") == 1  # the page's own
    ending = page[page.index("</head>") :]
    assert "\u202e" not in ending


def test_gates_stand_on_the_page(tmp_path, gold, run):
    """Each with what it asks for, of whom, and what was found; none where there are none."""
    asked = {"recall@1": "surely >= 0.95", "mrr@5": ">= 0.1"}
    evaluation = evaluate(gold, run, match="overlap", metrics=list(asked))
    gates = check_gates(parse_gates(asked, []), [compare([evaluation])])
    passed = [gate for gate in gates if gate.passed]
    shown = written(tmp_path, gold, run, gates=gates)[0]["index"]["gates"]
    assert shown == {
        "failed": sum(not gate.passed for gate in gates),
        "parts": json.loads(json.dumps(described(gates_parts(gates)))),
        "passed": json.loads(json.dumps(described([gates_table(passed)]))) if passed else [],
    }
    assert shown["failed"] > 0
    assert not written(tmp_path, gold, run)[0]["index"]["gates"]["parts"]


def test_the_policy_allows_this_script_and_style_alone(tmp_path, gold, run):
    """The hashes of the content security policy are those of what the file holds."""
    _, page = written(tmp_path, gold, run)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    for tag in ("script", "style"):
        inner = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_script_never_makes_markup_of_data():
    """No part of the script uses a way to parse markup or code."""
    from importlib.resources import files

    parts_ = list(files("kragx.report.html_page").joinpath("script").iterdir())
    assert len(parts_) == 26
    for part in parts_:
        text = part.read_text(encoding="utf-8")
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "http://",
            "https://",
        ):
            assert way not in text.replace("http://www.w3.org/2000/svg", ""), (part.name, way)


def test_every_word_of_the_page_is_asked_for():
    """No word stands in words.json that no script names, by itself or by its beginning."""
    from importlib.resources import files

    scripts = files("kragx.report.html_page").joinpath("script").iterdir()
    script = "\n".join(part.read_text(encoding="utf-8") for part in scripts)
    named = set(re.findall(r"[\"'`](\w+)[\"'`]", script))
    patterns = [
        re.compile(re.sub(r"\\\$\\\{.*?\\\}", ".*", re.escape(text)))
        for text in re.findall(r"\b(?:t|phrase)\(`([^`]*)`", script)
    ]
    words = page_words()["en"]
    unused = [
        key
        for key in words
        if key not in named and not any(pattern.fullmatch(key) for pattern in patterns)
    ]
    assert unused == []


def test_every_metric_says_its_meaning():
    """The page's sentences are the registry's; the catalogues have them in other languages."""
    for metric in METRICS.values():
        assert isinstance(metric.meaning, Message), metric.name
        assert metric.meaning.count(WHERE) <= 1, metric.name


def test_names_are_data_in_every_language():
    """What a sentence names is told apart from its words, whatever stands around it."""
    best, text = Name("a {b}", "retriever"), message("{metric}: {names}", metric="mrr", names="x")
    assert text_of("as it is") == "as it is"
    assert text_of(text) == "mrr: x"
    assert text_of(plural(1, "1 error", "{n} errors")) == {"en": "1 error", "ko": "오류 1개"}
    said = text_of(joined("; ", [message("Compared with {baseline}", baseline=best), "1"]))
    name = {"name": "a {b}", "is": "retriever"}
    assert said == {"en": ["Compared with ", name, "; 1"], "ko": [name, " 대비; 1"]}
    assert pickle.loads(pickle.dumps(best)).kind == "retriever"


def test_what_is_left_out_is_said(tmp_path, gold, run, monkeypatch):
    """Documents beyond so many of each list are counted."""
    monkeypatch.setattr(questions, "MOST_DOCS", 1)
    data, _ = written(tmp_path, gold, run)
    assert data["index"]["kept"]["docs_left_out"] == 1
    assert data["detail-0"][0]["runs"]["one"]["n"] == 2
    # Numbers count what the page does not hold.
    assert data["index"]["cells"][0][0]["first"][0] == [2]


def test_without_runs_the_page_has_numbers_but_no_texts(tmp_path, gold, run):
    """Evaluations alone are enough for a page; it says that texts were not given."""
    path = tmp_path / "page.html"
    write_html([evaluate(gold, run, match="overlap", metrics=["ndcg@5"])], path)
    index = parts(path)["index"]
    assert index["kept"]["texts"] is False
    assert index["cells"][0][0]["first"][0] == [2]
    # The gold set is kept by the evaluation.
    assert parts(path)["detail-0"][0]["gold"][0]["id"] == "g1"


def test_gold_named_by_id_gets_its_text_from_what_was_retrieved(tmp_path):
    """A gold id shows the text of the document with that id, or the corpus's."""
    gold = GoldDataset((Query("q1", "?", (Gold("a"), Gold("b"), Gold("c"))),))
    run = Run.from_documents({"q1": [{"id": "a", "text": "글 a"}]}, name="one")
    path = tmp_path / "page.html"
    result = evaluate(gold, run, match="id", metrics=["recall@5"])
    write_html([result], path, runs={"one": run}, corpus={"b": "말뭉치 b"})
    data = parts(path)
    numbers = [each["text"] for each in data["detail-0"][0]["gold"]]
    assert [data["texts-0"][at] if at >= 0 else None for at in numbers] == [
        "글 a",
        "말뭉치 b",
        None,
    ]


def test_an_id_matcher_tells_whether_the_text_is_there_under_another_id(tmp_path):
    """For a matcher that says yes or no: how much of the gold's text stands in the list."""
    gold = GoldDataset((Query("q1", "?", (Gold("a", "하나 둘 셋 넷"),)),))
    docs = [{"id": "x", "text": "관계없는 글"}, {"id": "y", "text": "앞 하나 둘 셋 넷 뒤"}]
    run = Run.from_documents({"q1": docs}, name="one")
    path = tmp_path / "page.html"
    write_html([evaluate(gold, run, match="id", metrics=["recall@5"])], path, runs={"one": run})
    assert parts(path)["index"]["cells"][0][0]["alike"] == [[2, 1.0]]


@given(
    st.floats(0, 1, allow_nan=False),
    st.floats(0.0001, 1, allow_nan=False),
)
def test_a_rounded_score_stays_on_its_side_of_the_threshold(score, threshold):
    """What the page decides by rounded scores is what was decided."""
    short = rounded_score(score, threshold)
    assert (short >= threshold) == (score >= threshold)
    assert abs(short - score) <= 1e-4


@given(st.lists(st.text(), max_size=30))
def test_texts_come_back_by_their_numbers(texts):
    """Whatever the texts, each number leads to its own; equal texts share one."""
    kept = TextTable()
    numbers = [kept.number(text) for text in texts]
    listed = [text for block in kept.blocks() for text in block]
    assert [listed[at] for at in numbers] == texts
    assert len(kept) == len(set(texts))


@given(st.text(alphabet=st.characters()))
def test_packing_keeps_any_text(text):
    """JSON, deflate and base64 give the text back; a lone surrogate becomes U+FFFD."""
    mended = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert unpacked(packed({"text": text})) == {"text": mended}
    assert re.fullmatch(r"[\w+/=]*", packed(text), re.ASCII)


def test_two_evaluations_of_one_name_are_refused(tmp_path, gold, run):
    """They would stand in the same column."""
    result = evaluate(gold, run, match="overlap", metrics=["ndcg@5"])
    with pytest.raises(UsageError, match="one"):
        write_html([result, result], tmp_path / "page.html")
    with pytest.raises(UsageError, match="empty"):
        write_html([], tmp_path / "page.html")


def test_a_mapping_names_the_evaluations(tmp_path, gold, run):
    """The mapping that `compare` takes: its names stand on the page, and runs are found by them."""
    result = evaluate(gold, run, match="overlap", metrics=["ndcg@5"])
    named = {"first": result, "second": result}
    assert compare(named, max_failed=1).retrievers == ("first", "second")
    write_html(named, tmp_path / "page.html", runs={"first": run, "second": run})
    data = parts(tmp_path / "page.html")
    assert data["index"]["retrievers"] == ["first", "second"]
    assert data["detail-0"][0]["runs"]["second"]["docs"]
    assert result.name == "one"
    with pytest.raises(
        UsageError, match="runs: no evaluation is called 'one'; valid: first, second"
    ):
        write_html(named, tmp_path / "page.html", runs={"one": run})


def test_the_wrong_run_or_a_retriever_is_refused(tmp_path, gold, run):
    """A run with fewer documents than were evaluated is not that run; a retriever is not asked."""
    result = evaluate(gold, run, match="overlap", metrics=["ndcg@5"])
    other = replace(run, results={"q1": Retrieved()})
    with pytest.raises(UsageError, match="pass the run of the evaluation"):
        write_html([result], tmp_path / "page.html", runs={"one": other})
    with pytest.raises(UsageError, match=r"runs\.one.*retriever"):
        write_html([result], tmp_path / "page.html", runs={"one": lambda query: []})


def test_fields_worth_slicing_by():
    """Those with a few values that repeat: no notes of free text, no single value, no measures."""
    queries = []
    for at in range(30):
        metadata = {"note": str(at), "same": 1, "hard": at % 3, "leak": at % 3 / 2}
        queries.append(Query(f"q{at}", query_type="ab"[at % 2], metadata=metadata))
    assert fields_worth_slicing(GoldDataset(tuple(queries))) == ("query_type", "metadata.hard")
    assert fields_worth_slicing(None) == ()


def test_the_page_is_packed_with_the_package():
    """Template, styles and scripts are package data."""
    from importlib.resources import files

    for name in ("template.html", "style.css", "script/main.js", "english.json"):
        assert files("kragx.report.html_page").joinpath(name).is_file()


def test_slices_of_the_page_are_positions(tmp_path, gold, run):
    """A slice lists the positions of its queries, in order."""
    queries = tuple(
        Query(f"q{at}", "?", (Gold("g", "가 나 다"),), query_type="ab"[at % 2]) for at in range(8)
    )
    many = GoldDataset(queries)
    found = Run.from_documents({query.id: ["가 나 다"] for query in queries}, name="one")
    path = tmp_path / "page.html"
    write_html([evaluate(many, found, match="overlap", metrics=["ndcg@5"])], path)
    slices = parts(path)["index"]["standings"]["overlap"]["slices"]
    assert [(each["value"], each["rows"]) for each in slices] == [
        ("a", [0, 2, 4, 6]),
        ("b", [1, 3, 5, 7]),
    ]
    assert all(a < b for each in slices for a, b in pairwise(each["rows"]))


def explained(chosen, item):
    """Of each document and gold item the verdict, and each member asked with whether it decides."""
    grid = reasons(chosen, item)

    def leaves(reason, decides=True):
        for part in reason.parts:
            if part.parts:
                yield from leaves(part, decides and part.decides)
            else:
                yield member_label(part.settings), part.verdict, decides and part.decides

    return {
        (row, column): (grid[row][at].verdict, list(leaves(grid[row][at])))
        for row, columns in enumerate(best_targets(item, grid))
        for column, at in enumerate(columns)
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"cascade": [{"method": "overlap", "accept": 0.8, "reject": 0.05}, "rouge1"]},
        {"cascade": [{"method": "rouge1", "reject": 0.3}, {"method": "rougeL", "threshold": 0.4}]},
        {"any": ["exact", {"all": ["contains", {"method": "rouge1", "threshold": 0.3}]}]},
        {"all": ["overlap", {"any": ["text", "rougeL"]}]},
    ],
)
def test_decisions_are_those_that_kragx_explain_gives(tmp_path, spec):
    """Of each pair that any member scores above 0: who was asked, who decided, and the verdict."""
    chosen = matcher(spec)
    golds = (
        Gold("g", "가 나 다 라 마", alternatives=(Doc(text="아 자 차 카"),)),
        Gold("h", "사 아 자"),
    )
    texts = [
        "가 나 다 라 마",
        "앞 가 나 다 라 마 뒤",
        "가 나 하나 둘 셋",
        "아 자 차 카",
        "딴 글",
        "자 아",
    ]
    dataset = GoldDataset((Query("q1", "질문", golds), Query("q2", "또", golds[1:])))
    run = Run.from_documents({"q1": texts, "q2": texts[::-1]}, name="one")
    result = evaluate(dataset, run, match=chosen, metrics=["recall@5"])
    path = tmp_path / "page.html"
    write_html([result], path, runs={"one": run}, matchers={result.match_name: chosen})
    data = parts(path)
    members = data["index"]["matches"][0]["members"]
    verdicts = {"m": "match", "n": "no match", "o": "open", "u": "unknown"}
    for at, query in enumerate(dataset):
        item = MatchItem(query, run.results[query.id].documents)
        wanted = explained(chosen, item)
        told = {
            (doc, gold): (
                verdicts[verdict],
                [
                    (members[who][0], verdicts[said], bool(decides))
                    for who, _, said, decides in steps
                ],
            )
            for doc, gold, verdict, *steps in data["detail-0"][at]["decided"][0][0]
        }
        assert told or at == 1
        assert told.items() <= wanted.items()
        assert all(pair in told for pair, (verdict, _) in wanted.items() if verdict == "match")


def test_a_budget_cuts_each_list_where_its_metric_does(tmp_path):
    """A metric sees what fits whole, a measure that reads text also the document it ends in."""
    gold = GoldDataset.from_documents({"q1": ["나 나"], "q2": ["라"]}, queries=["?", "?"])
    run = Run.from_documents({"q1": ["가가가가", "나 나", "다"], "q2": ["라"]}, name="one")
    result = evaluate(gold, run, match="rouge1", metrics=["recall@5chars", "coverage@5chars"])
    path = tmp_path / "page.html"
    write_html([result], path, runs={"one": run})
    index = parts(path)["index"]
    assert index["cells"][0][0]["cuts"] == {"recall@5chars": [1, 1], "coverage@5chars": [2, 1]}
    assert index["cells"][0][0]["values"]["recall@5chars"] == [0.0, 1.0]
    assert index["metrics"][0]["budget"] == {"n": 5, "unit": "chars"}


@pytest.mark.parametrize(
    ("spec", "near"),
    [
        ("overlap", 0.25),
        ({"method": "span", "threshold": 0.6}, 0.3),
        ({"method": "embedding", "embeddings": NgramEmbeddings(), "threshold": 0.8}, 0.7),
        ("id", None),
    ],
)
def test_a_near_miss_is_half_of_the_threshold_but_for_cosines(tmp_path, gold, spec, near):
    """Cosines of unrelated texts are above 0, so there only 0.1 below the threshold is near."""
    run = Run.from_documents({"q1": [{"id": "g1", "text": "가 나"}]}, name="one")
    result = evaluate(gold, run, match=spec, metrics=["recall@5"])
    path = tmp_path / "page.html"
    write_html([result], path, runs={"one": run})
    assert parts(path)["index"]["matches"][0]["near"] == near


@pytest.mark.parametrize("spec", ["exact", {"any": ["exact", "overlap"]}])
def test_writing_the_page_warns_of_nothing(tmp_path, spec):
    """What the page asks for itself, about texts too short for pairs of words, warns nobody."""
    gold = GoldDataset.from_documents({"q1": ["가"]}, queries=["?"])
    run = Run.from_documents({"q1": ["나"]}, name="one")
    chosen = matcher(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)
        result = evaluate(gold, run, match=chosen, metrics=["recall@5"])
    write_html(
        [result], tmp_path / "page.html", runs={"one": run}, matchers={result.match_name: chosen}
    )


def test_an_order_that_the_threshold_decides_is_a_caution(tmp_path):
    """In every language; once only."""
    gold = GoldDataset.from_documents({"q1": ["가 나 다 라 마 바 사 아 자 차 카"]}, queries=["?"])
    words = list("가나다라마바사아자차카")
    # Six of eleven words: F = 12 / 18. The other has all of them, at rank 2.
    found = {
        "one": Run.from_documents({"q1": [" ".join([*words[:6], "x"])]}, name="one"),
        "two": Run.from_documents({"q1": ["딴 글", " ".join(words)]}, name="two"),
    }
    chosen = {"method": "rouge1", "threshold": 0.65}
    results = [evaluate(gold, run, match=chosen, metrics=["mrr"]) for run in found.values()]
    path = tmp_path / "page.html"
    write_html(results, path, runs=found)
    standing = next(iter(parts(path)["index"]["standings"].values()))
    texts = [caution["text"]["en"] for caution in standing["cautions"]]
    (said,) = (text for text in texts if "threshold" in text)
    assert said.startswith("the order depends on the threshold: at 0.65 'one' is ahead of 'two'")


@pytest.mark.filterwarnings("ignore:gold of one template")
def test_what_could_turn_the_verdict_is_among_its_cautions(tmp_path):
    """Of gold of one template in both languages, once."""
    golds = [f"Order {n} is delivered within three working days of its payment" for n in range(9)]
    gold = GoldDataset.from_documents([[own] for own in golds])
    lists = {"one": [golds[:1]] * 9, "two": [golds[1:2]] * 9}
    result = evaluate(gold, lists, match="rouge2", metrics=["mrr@5"])
    result.report(tmp_path / "page.html")
    standing = next(iter(parts(tmp_path / "page.html")["index"]["standings"].values()))
    texts = [caution["text"] for caution in standing["cautions"]]
    (said,) = (text for text in texts if "gold of one template" in text["en"])
    assert "한 틀에서" in said["ko"]


class TestSample:
    """What a page holds of more questions than it can."""

    @pytest.fixture
    def sampled(self, tmp_path, monkeypatch):
        """A page of at most `most` of 60 questions: on 20 of them retrievers differ."""

        def write(most):
            monkeypatch.setattr(cells, "MOST_QUESTIONS", most)
            gold = GoldDataset(
                tuple(
                    Query(f"q{i}", f"question {i}", (Gold(f"g{i}"),), query_type="ab"[i % 2])
                    for i in range(60)
                )
            )
            evaluations = [
                replace(
                    evaluate(
                        gold,
                        {f"q{i}": [{"id": f"g{i}" if i % 3 else wrong(i)}] for i in range(60)},
                        match="id",
                        metrics=["hit_rate@1"],
                    ),
                    name=name,
                )
                for name, wrong in (("one", "g{}".format), ("other", "no{}".format))
            ]
            page = tmp_path / "page.html"
            write_html(evaluations, page, dataset=gold)
            return parts(page)["index"]

        return write

    def test_those_that_differ_come_first(self, sampled):
        """All 20 that differ are held, in the set's order; the means are those of all sixty."""
        index = sampled(30)
        assert index["queries"]["sample"] == {
            "n": 60,
            "n_differing": 20,
            "n_differing_held": 20,
        }
        ids = index["queries"]["ids"]
        assert len(ids) == 30
        assert {f"q{i}" for i in range(0, 60, 3)} < set(ids)
        assert ids == sorted(ids, key=lambda own: int(own[1:]))
        one, other = index["cells"][0]
        assert one["mean"]["hit_rate@1"] == 1.0
        assert other["mean"]["hit_rate@1"] == pytest.approx(2 / 3)
        assert len(one["status"]) == len(one["values"]["hit_rate@1"]) == 30
        standing = next(iter(index["standings"].values()))
        slices, (by_type,) = standing["slices"], standing["fields"]
        assert by_type["best"]["columns"][1:] == ["a (n = 30)", "b (n = 30)"]
        assert sorted(row for part in slices for row in part["rows"]) == list(range(30))

    def test_too_many_differ(self, sampled):
        """Of those that differ as many are held as a page can have."""
        index = sampled(8)
        assert index["queries"]["sample"] == {
            "n": 60,
            "n_differing": 20,
            "n_differing_held": 8,
        }

    def test_all_are_held(self, sampled):
        """Sixty questions of at most sixty are no sample."""
        assert sampled(60)["queries"]["sample"] is None
