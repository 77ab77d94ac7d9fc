"""kragx threshold sweep, threshold calibrate and explain, as people call them."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from tests.thoroughness import some

RECORDS = [
    {
        "query_id": f"q{number}",
        "gold": [{"text": f"{word} one two three four five"}],
        "retrieved": [
            {"id": f"a{number}", "text": f"{word} one two three four five six"},
            {"id": f"b{number}", "text": f"{word} one two nine ten"},
            {"id": f"c{number}", "text": "other words altogether here"},
        ],
    }
    for number, word in enumerate(("환불", "배송", "교환", "문의"), start=1)
]
PAIRS = {"method": "overlap", "short": 0}  # as YAML has it too
"""Shares of pairs of words for gold of any length."""
LABELS = "query_id,doc_id,label\n" + "".join(
    f"q{number},{letter}{number},{int(letter == 'a')}\n"
    for number in range(1, 5)
    for letter in "abc"
)


def plotting() -> None:
    """Skip where figures cannot be drawn; the font's package itself is never imported."""
    if find_spec("koreanize_matplotlib") is None or find_spec("matplotlib") is None:
        pytest.skip("needs the extra 'plot'")


@pytest.fixture
def results(jsonl) -> Path:
    """A results file."""
    return jsonl(*RECORDS)


@pytest.fixture
def folder(kragx, jsonl, here) -> Path:
    """What kragx run leaves of two retrievers."""
    jsonl(*RECORDS)
    other = [{**record, "retrieved": record["retrieved"][::-1]} for record in RECORDS]
    jsonl(*other, name="other.jsonl")
    config = {
        "dataset": "results.jsonl",
        "retrievers": {"첫째": {"results": "results.jsonl"}, "other": {"results": "other.jsonl"}},
        "matchers": {"loose": PAIRS, "strict": "exact"},
        "metrics": ["mrr@3", "recall@1"],
    }
    (here / "config.yaml").write_text(
        yaml.safe_dump(config, allow_unicode=True, sort_keys=False), "utf-8"
    )
    assert kragx("run", "config.yaml", "-o", "out").code == 0
    return here / "out"


@pytest.mark.integration
def test_every_comparison_says_where_the_order_is_reversed(kragx, jsonl, here):
    """A run's tables and Markdown, two retrievers of its folder, and earlier results."""
    gold = [{"text": "a b c d e f g h i j k"}]  # ten pairs of words
    texts = {"early": ["a b c d e f x y z 1 2"], "late": ["x y z", "a b c d e f g h i j k"]}
    for name, docs in texts.items():
        record = {"query_id": "q1", "gold": gold, "retrieved": [{"text": text} for text in docs]}
        jsonl(record, name=f"{name}.jsonl")

    def run(out: str, *options: object, **retrievers: str) -> str:
        config = {
            "dataset": "early.jsonl",
            "retrievers": {name: {"results": file} for name, file in retrievers.items()},
            "match": PAIRS,
            "metrics": ["mrr@3", "mrr@20tokens"],
        }
        (here / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
        done = kragx("run", "config.yaml", "-o", out, *options)
        assert done.code == 0, done.err
        return " ".join(done.out.split())

    told = "at 0.5 'early' is ahead of 'late' in mrr@3, at 0.525 behind"
    assert told in run("out", early="early.jsonl", late="late.jsonl")
    assert told in (here / "out" / "report.md").read_text("utf-8")
    compared = kragx("compare", "out", "--retriever", "early", "--retriever", "late")
    assert told in " ".join(compared.out.split())
    run("before", mine="early.jsonl")
    after = run("after", "--earlier", "before", mine="late.jsonl")
    assert "the order depends on the threshold: at 0.5 'earlier' is ahead of 'now'" in after
    between = kragx("compare", "before", "after", "--format", "markdown").out
    assert "'earlier' is ahead of 'now' in mrr@3, at 0.525 behind" in between


def test_sweep_as_json_csv_and_table(kragx, results):
    """The same values in each; the chosen threshold is marked."""
    plain = kragx(
        "threshold", "sweep", results, "--match", PAIRS, "-m", "recall@3", "--format", "json"
    ).json()
    (sweep,) = plain["sweeps"]
    assert len(sweep["thresholds"]) == 100
    assert sweep["chosen"] == 0.5
    rows = list(
        csv.DictReader(
            io.StringIO(
                kragx(
                    "threshold",
                    "sweep",
                    results,
                    "--match",
                    PAIRS,
                    "-m",
                    "recall@3",
                    "--format",
                    "csv",
                ).out
            )
        )
    )
    assert [float(row["recall@3"]) for row in rows] == sweep["values"]["results"]["recall@3"]
    assert [row["threshold"] for row in rows if row["chosen"] == "1"] == ["0.5"]
    table = kragx("threshold", "sweep", results, "--match", PAIRS, "-m", "recall@3").out
    assert "0.5 *" in table


def test_sweep_of_standard_input(kragx, results):
    """A file may be piped in."""
    piped = kragx(
        "threshold", "sweep", "-", "--format", "json", stdin=results.read_text("utf-8")
    ).json()
    (values,) = piped["sweeps"][0]["values"].values()
    assert len(values) == 7


def test_sweep_of_several_files(kragx, jsonl, here):
    """What score says of the order is looked at with the same files, with gold or beside it."""
    gold = {"gold": [{"text": "a b c d e f g h i j k"}]}  # ten pairs of words
    lists = {"early": ["a b c d e f x y z 1 2"], "late": ["x y z", "a b c d e f g h i j k"]}
    rows = {name: {"retrieved": [{"text": text} for text in lists[name]]} for name in lists}
    question = jsonl({"query_id": "q1", **gold}, name="gold.jsonl")
    with_gold = [jsonl({"query_id": "q1", **gold, **rows[n]}, name=f"{n}.jsonl") for n in rows]
    match, metric = ("--match", json.dumps(PAIRS)), ("-m", "mrr@3")
    assert "see kragx threshold sweep" in kragx("score", *with_gold, *match, *metric).out
    swept = kragx("threshold", "sweep", *with_gold, *match, *metric).out
    assert "the order early > late holds from threshold 0.01 to 0.5" in swept
    (here / "alone").mkdir()
    alone = [jsonl({"query_id": "q1", **rows[n]}, name=f"alone/{n}.jsonl") for n in rows]
    assert kragx("threshold", "sweep", *alone, "--gold", question, *match, *metric).out == swept
    bare = kragx("threshold", "sweep", alone[1])
    assert (bare.code, "name a gold set beside the results (--gold)" in bare.err) == (3, True)
    late = kragx("threshold", "sweep", alone[1], "--gold", question, *match, *metric).out
    assert late.splitlines()[0].startswith("late, match:")
    failed = jsonl({"query_id": "q1", **gold, "error": "down"}, name="failed.jsonl")
    done = kragx("threshold", "sweep", *with_gold, failed, *match, *metric)
    assert (done.code, done.out) == (5, swept)
    assert "failed failed on 1 of 1 questions, and is left out" in done.err
    done = kragx("threshold", "sweep", here, *with_gold)
    assert (done.code, "name it alone" in done.err) == (2, True)


@pytest.mark.integration
def test_sweep_of_a_folder_draws_every_retriever(kragx, folder, here):
    """By the matcher named; the plot is written, and where is said on standard error."""
    plotting()
    done = kragx(
        "threshold", "sweep", folder, "--match", "overlap", "-m", "mrr@3", "--plot", "sweep.svg"
    )
    assert done.code == 0, done.err
    assert "첫째" in done.out
    assert "written: sweep.svg" in done.err
    assert "첫째" in (here / "sweep.svg").read_text("utf-8")
    every = kragx("threshold", "sweep", folder)
    assert every.code == 0
    assert "mrr@3: plateau: the order 첫째 > other holds from threshold " in every.out
    plain = kragx("threshold", "sweep", folder, "--format", "json").json()
    (swept,) = plain["sweeps"]
    assert [*swept["values"]] == ["첫째", "other"]
    assert swept["orders"].keys() == swept["values"]["other"].keys()


@pytest.mark.parametrize(
    ("args", "message"),
    some(
        [
            (("--format", "xml"), "--format: "),
            (("-m", "recal@3"), "perhaps you meant 'recall'"),
            (("--match", "{method: [}"), "--match {method: [}: not a mapping"),
            (("--match", "none.yaml"), "--match none.yaml: not a mapping as in YAML"),
            (("--plot", "sweep.gif"), "a figure is written as .png"),
        ],
        4,
    ),
)
def test_a_wrong_sweep_is_refused(kragx, results, args, message):
    """Exit code 2 and one line that says what to do."""
    done = kragx("threshold", "sweep", results, *args)
    assert done.code == 2
    assert message in done.err


@pytest.mark.integration
def test_calibrate_writes_a_block_that_a_run_can_use(kragx, results, here):
    """The block stands in the file and on the screen; sweep takes it as --match."""
    (here / "labels.csv").write_text(LABELS)
    done = kragx("threshold", "calibrate", results, "--labels", "labels.csv", "-o", "match.yaml")
    assert done.code == 0, done.err
    block = (here / "match.yaml").read_text("utf-8")
    assert block in done.out
    assert "12 labelled pairs of 4 queries, 4 of them matches" in done.out
    match = yaml.safe_load(block)["match"]
    assert match["method"] in ("text", "contains", "overlap")
    assert kragx("explain", results, "-q", "q1", "--match", "match.yaml").code == 0


def test_calibrate_as_json_with_other_candidates(kragx, results, here):
    """By F1, with a further candidate."""
    (here / "labels.csv").write_text(LABELS)
    spec = "{method: embedding, embeddings: 'examples.ngram_embeddings:NgramEmbeddings'}"
    args = ("--by", "f1", "--match", spec)
    result = kragx(
        "threshold", "calibrate", results, "--labels", "labels.csv", "--format", "json", *args
    ).json()
    assert result["by"] == "f1"
    assert result["chosen"]["agreement"]["value"] == 1.0
    methods = [candidate["match"]["method"] for candidate in result["candidates"]]
    assert "embedding" in methods


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "--labels"),
        (("--labels", "nowhere.jsonl"), 3, "nowhere.jsonl: cannot be read"),
        (("--labels", "results.jsonl"), 3, "check query ids, document ids and ranks"),
        (("--labels", "labels.csv", "--by", "f2"), 2, "--by: "),
        (("--labels", "labels.csv", "--format", "csv"), 2, "--format: "),
    ],
)
def test_a_wrong_calibration_is_refused(kragx, results, here, args, code, message):
    """Wrong use is 2, bad data 3; one line says what to do."""
    (here / "labels.csv").write_text(LABELS)
    done = kragx("threshold", "calibrate", results, *args)
    assert (done.code, message in done.err) == (code, True), done.err


def test_explain_a_file(kragx, results):
    """Gold, documents, reasons, marks; and the same as JSON."""
    done = kragx("explain", results, "--query", "q1", "--match", PAIRS)
    assert done.code == 0, done.err
    assert "1. [a1] matches gold 1" in done.out
    assert "«환불 one two three four five» six" in done.out
    assert "gold 1: overlap 0.5000 (match from 0.5, +0.0000 from the limit) -> match" in done.out
    plain = kragx("explain", results, "-q", "q1", "--match", PAIRS, "--format", "json").json()
    assert plain["pairs"][0]["matched"] is True


def test_explain_obeys_no_color(kragx, results, monkeypatch):
    """In colour on a terminal, and in marks with NO_COLOR."""
    assert "\x1b[" in kragx("explain", results, "-q", "q1", terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "«환불 one" in kragx("explain", results, "-q", "q1", terminal=True).out


@pytest.mark.integration
def test_explain_a_folder(kragx, folder):
    """Every retriever, or the one named."""
    both = kragx("explain", folder, "-q", "q2", "--format", "json").json()
    assert [run["retriever"] for run in both["runs"]] == ["첫째", "other"]
    one = kragx("explain", folder, "-q", "q2", "--retriever", "other", "--format", "json").json()
    assert one["gold"][0]["found_at"] == 2
    wrong = kragx("explain", folder, "-q", "q2", "--retriever", "othr")
    assert wrong.code == 2
    assert "perhaps you meant 'other'" in wrong.err


def test_an_unknown_query_is_named(kragx, results):
    """Exit code 2, and the nearest one."""
    done = kragx("explain", results, "-q", "q9")
    assert done.code == 2
    assert "has no query 'q9'; perhaps you meant 'q" in done.err
    assert kragx("explain", results, "-q", "q1", "--retriever", "x").code == 2


def test_a_run_says_where_its_order_depends_on_the_threshold(kragx, jsonl, here):
    """Of two retrievers whose order turns around near the threshold, kragx run warns."""
    gold = "a b c d e f g h i j k"  # ten pairs of words
    near, far = "a b c d e f", "a b c d e f g h i j k"
    lists = {"x": [near, near, "z"], "y": [far, "z", "z"]}
    for name, texts in lists.items():
        records = [
            {
                "query_id": f"q{number}",
                "gold": [{"text": gold}],
                "retrieved": [{"text": f"{text} {' '.join(f'n{n}' for n in range(20))}"}],
            }
            for number, text in enumerate(texts)
        ]
        jsonl(*records, name=f"{name}.jsonl")
    config = {
        "dataset": "x.jsonl",
        "retrievers": {"x": "x.jsonl", "y": "y.jsonl"},
        "match": {"method": "overlap", "short": 0},
        "metrics": ["recall@1"],
    }
    (here / "config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    done = kragx("run", "config.yaml", "-o", "out")
    assert "at 0.5 'x' is ahead of 'y' in recall@1, at 0.525 behind" in " ".join(done.out.split())
    report = json.loads((here / "out" / "report.json").read_text("utf-8"))
    assert any("threshold" in caution for caution in report["comparisons"][0]["cautions"])


def test_a_query_without_gold_and_the_nearest_id(kragx, jsonl):
    """Without gold nothing is called no match; of ids as near the first ones are named."""
    path = jsonl(
        {"query_id": "q03", "gold": [], "retrieved": [{"text": "a b"}]},
        {"query_id": "q53", "gold": [{"text": "a b"}], "retrieved": []},
    )
    done = kragx("explain", path, "--query", "q03")
    assert "this query has no gold" in done.out
    assert "match\n" not in done.out
    assert "perhaps you meant 'q03' or 'q53'?" in kragx("explain", path, "--query", "q3").err


def test_an_id_in_another_unicode_form_is_found(kragx, jsonl):
    """An id that a Mac wrote in pieces is found by what a keyboard types."""
    pieces = unicodedata.normalize("NFD", "질문1")
    path = jsonl({"query_id": pieces, "gold": [{"text": "a b"}], "retrieved": [{"text": "a b"}]})
    done = kragx("explain", path, "--query", "질문1")
    assert (done.code, done.err) == (0, "")
    assert pieces in done.out


def test_sweep_passes_over_matchers_without_a_threshold(kragx, here, jsonl):
    """Of several matchers those that decide yes or no are left out; alone they are an error."""
    gold = jsonl({"query_id": "q1", "query": "?", "gold": [{"text": "a b c d"}]}, name="gold.jsonl")
    results = jsonl(
        {"query_id": "q1", "gold": [], "retrieved": [{"text": "a b c x"}]}, name="found.jsonl"
    )
    (here / "two.yaml").write_text(
        f"dataset: {gold}\nretrievers: {{mine: {{results: {results}}}}}\nmetrics: [recall@5]\n"
        "matchers: {strict: exact, loose: {method: overlap, threshold: 0.503}}\noutput: out\n",
        encoding="utf-8",
    )
    assert kragx("run", "two.yaml").code == 0
    outcome = kragx("threshold", "sweep", "out", "--format", "json")
    assert outcome.code == 0
    (swept,) = json.loads(outcome.out)["sweeps"]
    assert 0.503 in swept["thresholds"]  # the chosen one is always looked at
    alone = kragx("threshold", "sweep", "out", "--match", "exact")
    assert (alone.code, alone.out) == (2, "")
    assert "match: 'exact' decides yes or no and has no threshold; to vary" in alone.err


@pytest.mark.parametrize("language", ["en", "ko"])
def test_after_a_calibration_without_a_threshold(kragx, here, results, language):
    """Of a matcher that decides yes or no `sweep` says what to do, and `score` takes it."""
    (here / "labels.csv").write_text(LABELS)
    arguments = ("threshold", "calibrate", results, "--labels", "labels.csv", "-o", "match.yaml")
    assert kragx(*arguments).code == 0
    chosen = yaml.safe_load((here / "match.yaml").read_text(encoding="utf-8"))["match"]
    assert chosen == {"method": "text"}
    swept = kragx("--language", language, "threshold", "sweep", results, "--match", "match.yaml")
    assert swept.code == 2
    for word in ("'text'", "'overlap'"):
        assert word in swept.err
    assert kragx("score", results, "--match", "match.yaml").code == 0
    assert kragx("threshold", "sweep", results, "--match", "overlap").code == 0
