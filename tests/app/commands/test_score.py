"""`kragx score`: what it prints, and that nothing about the data is passed over in silence."""

from __future__ import annotations

import csv
import io
import re
import unicodedata

import pytest

from kragx.data.tokenizers import AutoTokenizer

FOUND = {
    "query_id": "found",
    "gold": [{"id": "g1", "text": "the quick brown fox jumps"}],
    "retrieved": [
        {"id": "d1", "text": "a slow turtle naps"},
        {"id": "d2", "text": "then the quick brown fox jumps over a log"},
    ],
}
NO_GOLD = {"query_id": "no gold", "gold": [], "retrieved": [{"text": "anything at all"}]}
NOTHING = {"query_id": "nothing", "gold": [{"text": "some other words here"}], "retrieved": []}
MISSING = {"query_id": "missing", "gold": [{"text": "some other words here"}]}
FAILED = {**MISSING, "query_id": "failed", "error": "TimeoutError: too late"}
METRICS = ("-m", "mrr@10", "-m", "recall@10")
KOREAN = "냉장고는 수령한 날부터 사흘 안에 반품할 수 있다"


def test_table(kragx, jsonl):
    """The table shows each metric's mean, interval, and micro average where it has one."""
    code, out, err = kragx("score", jsonl(FOUND, NOTHING), *METRICS)
    assert (code, err) == (0, "")
    rows = [re.findall(r"[\w.@]+", line) for line in out.splitlines() if line.startswith("│")]
    few = ["too", "few", "to", "tell"]
    assert rows == [["mrr@10", "0.2500", *few], ["recall@10", "0.5000", *few, "0.5000"]]
    assert "2 of 2 queries scored" in out


def test_table_says_how_matches_were_decided(kragx, jsonl):
    """Without --match, the table says that overlap decided, at which threshold, on what tokens."""
    out = kragx("score", jsonl(FOUND)).out
    first = out.splitlines()[0]
    assert first.startswith("match: ")
    assert "overlap" in first
    assert "threshold 0.5" in first
    assert f"tokenizer auto: words {AutoTokenizer.version}" in first
    assert "profile: kragx" in out


def test_table_per_query(kragx, jsonl):
    """--per-query puts a line for each query before the means, a dash where there is no value."""
    out = kragx("score", jsonl(FOUND, NO_GOLD), *METRICS, "--per-query").out
    lines = [line.strip("│ ").split("│") for line in out.splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line] for line in lines]
    assert rows[:2] == [["found", "0.5000", "1.0000"], ["no gold", "-", "-"]]
    assert rows[2][:2] == ["mrr@10", "0.5000"]


@pytest.mark.parametrize(("flags", "more"), [((), set()), (("--per-query",), {"queries"})])
def test_json_keys(kragx, jsonl, flags, more):
    """The JSON holds settings, counts, means with intervals, micro; queries only if asked for."""
    result = kragx("score", jsonl(FOUND), "--format", "json", *flags).json()
    assert set(result) == {"settings", "counts", "mean", "intervals", "micro"} | more


def test_json_values(kragx, jsonl):
    """The JSON's means, micro averages and values per query are the hand-made numbers."""
    path = jsonl(FOUND, NOTHING, NO_GOLD)
    result = kragx("score", path, *METRICS, "--format", "json", "--per-query").json()
    assert result["mean"] == {"mrr@10": 0.25, "recall@10": 0.5}
    assert result["micro"] == {"recall@10": 0.5}
    assert result["queries"] == {
        "found": {"mrr@10": 0.5, "recall@10": 1.0},
        "nothing": {"mrr@10": 0.0, "recall@10": 0.0},
        "no gold": {"mrr@10": None, "recall@10": None},
    }


def test_json_settings(kragx, jsonl):
    """The JSON records profile, match with every option, metrics, data and versions."""
    settings = kragx("score", jsonl(FOUND, name="mine.jsonl"), *METRICS, "--format", "json").json()[
        "settings"
    ]
    assert settings["profile"]["name"] == "kragx"
    assert settings["deviations"] == {}
    assert settings["match"] == {
        "method": "overlap",
        "threshold": 0.5,
        "short": 5,
        "siblings": "apart",
        "tokenizer": {"name": "auto", "version": AutoTokenizer.version, "passages": "words"},
    }
    assert settings["metrics"] == ["mrr@10", "recall@10"]
    assert settings["dataset"]["name"] == settings["run"]["name"] == "mine"
    assert {"kragx", "python", "numpy"} <= set(settings["versions"])


def test_csv(kragx, jsonl):
    """The CSV holds a header and one line with means and micro averages."""
    out = kragx("score", jsonl(FOUND, NOTHING), *METRICS, "--format", "csv").out
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["retriever"] == "results"
    assert (row["mrr@10"], row["recall@10"], row["micro recall@10"]) == ("0.25", "0.5", "0.5")


def test_csv_per_query(kragx, jsonl):
    """With --per-query the CSV holds a line for each query, empty where there is no value."""
    out = kragx("score", jsonl(FOUND, NO_GOLD), *METRICS, "--format", "csv", "--per-query").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["query_id"], row["mrr@10"]) for row in rows] == [("found", "0.5"), ("no gold", "")]


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("nDCG@5", "ndcg@5"),
        ("hit-rate@1", "hit_rate@1"),
        ("ndcg@5( gain = exp2 )", "ndcg@5(gain=exp2)"),
        ("precision@5(over=k)", "precision@5"),
        ("recall@3(rel=2.0)", "recall@3(rel=2)"),
        ("MRR", "mrr"),
    ],
)
def test_canonical_names(kragx, jsonl, written, canonical):
    """However a metric is written, and however often, it appears once, by its canonical name."""
    path = jsonl(FOUND | {"gold": [{"id": "g", "text": "the quick brown fox jumps", "grade": 2}]})
    result = kragx("score", path, "-m", written, "--metric", canonical, "--format", "json").json()
    assert list(result["mean"]) == [canonical]


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("kragx", "ndcg@10; hit_rate@10; mrr@10; precision@10; recall@10; f1@10; map@10"),
        (
            "krag",
            "hit_rate@10(need=all); mrr@10; precision@10(over=retrieved); recall@10; "
            "f1@10(over=retrieved, macro=means); map@10(credit=document); "
            "ndcg@10(gain=exp2, ideal=ones)",
        ),
    ],
)
def test_default_metrics(kragx, jsonl, profile, names):
    """Without -m the profile's usual metrics are computed, ndcg@10 first but for krag's."""
    options = ("--profile", profile, "--match", "exact", "--format", "json")
    result = kragx("score", jsonl(FOUND), *options).json()
    assert list(result["mean"]) == names.split("; ")


def test_the_verdict_speaks_of_ndcg_unless_told_otherwise(kragx, jsonl):
    """Where no metric is named, `kragx score` of two files speaks of ndcg@10."""
    first, second = (
        jsonl(FOUND, name="first.jsonl"),
        jsonl(FOUND | {"retrieved": []}, name="second.jsonl"),
    )
    result = kragx("score", first, second, "--format", "json").json()
    assert result["comparison"]["metrics"][0] == "ndcg@10"


def test_standard_input(kragx, jsonl):
    """`-` reads standard input and gives the same numbers as the file does."""
    path = jsonl(FOUND, NOTHING)
    piped = kragx("score", "-", "--format", "json", stdin=path.read_text(encoding="utf-8")).json()
    filed = kragx("score", path, "--format", "json").json()
    assert (piped["mean"], piped["counts"]) == (filed["mean"], filed["counts"])
    assert filed["mean"]["mrr@10"] == 0.25


def test_no_escape_codes_in_a_pipe(kragx, jsonl):
    """What goes into a pipe holds no escape code, in any format."""
    path = jsonl(FOUND, NO_GOLD, FAILED)
    for form in ("table", "json", "csv"):
        code, out, err = kragx("score", path, "--per-query", "--format", form)
        assert code == 5
        assert "\x1b" not in out + err


def _coloured(text: str) -> bool:
    numbers = [int(n) for codes in re.findall(r"\x1b\[([\d;]*)m", text) for n in codes.split(";")]
    return any(30 <= number <= 49 or 90 <= number <= 107 for number in numbers)


def test_no_color(kragx, jsonl, monkeypatch):
    """On a terminal a remark is coloured, unless NO_COLOR is set."""
    path = jsonl(FOUND, FAILED)
    assert _coloured(kragx("score", path, terminal=True).out)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = kragx("score", path, terminal=True)
    assert plain.code == 5
    assert "failed: 1" in plain.out
    assert not _coloured(plain.out)


@pytest.mark.parametrize("method", ["exact", "text", "contains", "rouge1", "rougeL", "overlap"])
@pytest.mark.parametrize(("gold", "doc"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_korean_unicode_forms(kragx, jsonl, method, gold, doc):
    """A Korean text in NFD matches the same text in NFC, whichever side is which."""
    record = {
        "query_id": "q",
        "gold": [{"text": unicodedata.normalize(gold, KOREAN)}],
        "retrieved": [{"text": unicodedata.normalize(doc, KOREAN)}],
    }
    assert record["gold"][0]["text"] != record["retrieved"][0]["text"]
    code, out, err = kragx(
        "score", jsonl(record), "--match", method, "-m", "mrr", "--format", "csv"
    )
    assert (code, err) == (0, "")
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["mrr"] == "1.0"


@pytest.mark.parametrize(
    ("record", "count", "remark"),
    [
        (NO_GOLD, "n_no_gold", "without gold: 1"),
        (FAILED, "n_failed", "failed: 1"),
        (MISSING, "n_missing", "missing in the run: 1"),
    ],
)
def test_what_was_left_out_is_counted_and_shown(kragx, jsonl, record, count, remark):
    """A query without gold or answer, or with a failure, is counted, and the table says so."""
    path = jsonl(FOUND, record)
    tolerant = ("--max-failed", 0.5, "--format", "json")
    counts = kragx("score", path, *tolerant).json()["counts"]
    assert counts[count] == 1
    assert counts["n_queries"] == 2
    assert counts["n_scored"] == (1 if record is NO_GOLD else 2)
    assert remark in kragx("score", path).out
    assert remark not in kragx("score", jsonl(FOUND, NOTHING)).out


@pytest.mark.parametrize(("share", "code"), [((), 5), ((0.3,), 5), ((0.5,), 0)])
def test_failures_end_with_their_exit_code(kragx, jsonl, share, code):
    """A results file that tells of failures is scored, and ends with 5 unless they are few."""
    options = ("--max-failed", *share) if share else ()
    outcome = kragx("score", jsonl(FOUND, FAILED), *options)
    assert outcome.code == code
    assert "failed: 1 (scored as empty lists)" in outcome.out
    assert ("results failed on 1 of 2 questions" in outcome.err) == bool(code)


def test_a_file_of_failures_alone_has_no_numbers(kragx, jsonl):
    """Where every question failed there are no zeros, but the first reason."""
    code, out, err = kragx("score", jsonl(FAILED))
    assert (code, out) == (5, "")
    assert "failed on every question, 1 of them" in err


def test_nothing_found_scores_zero(kragx, jsonl):
    """An empty list is an answer: it scores 0, and is neither missing nor failed."""
    result = kragx("score", jsonl(NOTHING), "--format", "json").json()
    assert set(result["mean"].values()) == {0.0}
    assert (result["counts"]["n_missing"], result["counts"]["n_failed"]) == (0, 0)


def test_duplicates(kragx, jsonl):
    """A document that stands twice is counted, and is relevant only the first time."""
    twice = FOUND | {"retrieved": [FOUND["retrieved"][1]] * 2}
    result = kragx("score", jsonl(twice), "-m", "precision@2", "--format", "json").json()
    assert result["mean"] == {"precision@2": 0.5}
    assert result["counts"]["n_duplicates"] == 1
    assert "stand twice" in kragx("score", jsonl(twice)).out


def test_explain_by_a_gold_file(kragx, jsonl):
    """Results without gold are explained by a gold file beside them, as they are scored."""
    gold = jsonl({"query_id": "q", "gold": [{"text": "the red door"}]}, name="gold.jsonl")
    results = jsonl({"query_id": "q", "retrieved": [{"text": "the red door of the house"}]})
    told = kragx("explain", results, "--gold", gold, "-q", "q", "--format", "json").json()
    assert [pair["matched"] for pair in told["pairs"]] == [True]
    assert "this query has no gold" in kragx("explain", results, "-q", "q").out


def test_only_queries_without_gold(kragx, jsonl):
    """Where no query has gold, and no metric a value, the error says so, as it does of a run."""
    outcome = kragx("score", jsonl(NO_GOLD), "--format", "json")
    assert (outcome.code, outcome.out) == (3, "")
    assert "the question has no gold, so no metric has a value; say in each" in outcome.err
    beside = kragx("score", jsonl(NO_GOLD), "-m", "mrr@5", "-m", "judged@5", "--format", "json")
    assert beside.json()["mean"] == {"mrr@5": None, "judged@5": 0.0}


def test_texts_without_tokens_are_warned_about(kragx, jsonl):
    """Korean under the ASCII-only tokenizer matches nothing: an error, with what would match."""
    record = {"query_id": "q", "gold": [{"text": KOREAN}], "retrieved": [{"text": KOREAN + "."}]}
    args = ("--match", "{method: rouge1, tokenizer: rouge}", "--format", "json")
    outcome = kragx("score", jsonl(record), *args)
    assert outcome.code == 3
    assert "no question can match: gold that can match nothing by 'rouge1'" in outcome.err
    assert "the tokenizer 'unicode' for another script" in outcome.err
    english = {"query_id": "p", "gold": [{"text": "a b"}], "retrieved": [{"text": "a b"}]}
    outcome = kragx("score", jsonl(record, english), *args)
    assert outcome.json()["counts"]["n_queries_gold_unmatchable"] == 1
    assert outcome.err.count("kragx: warning: ") == 2


def test_the_table_of_questions_is_made_where_it_is_asked_for(kragx, jsonl, monkeypatch):
    """Of a million questions it is most of the memory, so nobody else pays for it."""
    import kragx.app.commands.score as command

    tables = []
    table_of = command._queries_table
    monkeypatch.setattr(
        command, "_queries_table", lambda result: tables.append(result) or table_of(result)
    )
    results = jsonl({"query_id": "q", "gold": [{"text": "a b"}], "retrieved": [{"text": "a b"}]})
    assert kragx("score", results).code == 0
    assert tables == []
    assert kragx("score", results, "--per-query").code == 0
    assert len(tables) == 1
