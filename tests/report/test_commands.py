"""report.html, figures and CSV from the command."""

from __future__ import annotations

import csv
import io

import pytest

from kragx import Gold, GoldDataset, Query, Run, evaluate
from kragx.report.csv_files import queries_csv, write_text
from tests.app.commands.conftest import here, jsonl, kragx
from tests.report.test_page import parts

__all__ = ["here", "jsonl", "kragx"]

CONFIG = """\
dataset: gold.jsonl
retrievers: {{one: {{results: one.jsonl}}}}
match: {match}
metrics: [ndcg@5, recall@5]
output: out
{more}
"""


@pytest.fixture
def config(here, jsonl):
    """A config with results that are there already."""
    query = {
        "query_id": "q1",
        "query": "=1+1",
        "query_type": "쉬움",
        "gold": [{"text": "가 나 다"}],
    }
    jsonl(query, name="gold.jsonl")
    retrieved = [{"text": "가 나 다 라"}, {"text": "딴 글 하나"}]
    jsonl({**query, "retrieved": retrieved}, name="one.jsonl")

    def write(more="", match="overlap"):
        (here / "config.yaml").write_text(CONFIG.format(more=more, match=match), encoding="utf-8")

    return write


def test_a_run_writes_the_page(kragx, here, config):
    """report.html stands in the result folder, unless the config leaves it out."""
    config()
    assert kragx("run", "config.yaml").code == 0
    assert "<title>kragx · gold</title>" in (here / "out" / "report.html").read_text(
        encoding="utf-8"
    )
    (here / "out" / "report.html").unlink()
    assert kragx("run", "config.yaml", "--set", "html=false").code == 0
    assert not (here / "out" / "report.html").exists()


@pytest.mark.integration
def test_the_page_of_a_folder_is_written_anew(kragx, here, config):
    """Kragx report --format html writes beside the rest, or where --out says."""
    config()
    kragx("run", "config.yaml", "--set", "html=false")
    assert kragx("report", "out", "--format", "html").code == 0
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert kragx("report", "out", "--format", "html", "--out", "other.html").code == 0
    assert (here / "other.html").read_text(encoding="utf-8") == page
    assert kragx("report", "out", "--format", "html", "--out", "missing/x.html").code == 2
    assert kragx("report", "out", "--out", "x.html").code == 2


@pytest.mark.integration
def test_figures_of_a_folder(kragx, here, config):
    """--figures draws into a folder, in the language of the results."""
    pytest.importorskip("matplotlib")
    config()
    kragx("run", "config.yaml")
    assert kragx("--language", "ko", "report", "out", "--figures", "fig").code == 0
    assert {each.name for each in (here / "fig").iterdir()} == {
        f"{stem}.{kind}" for stem in ("metrics", "metric_at_k", "scores") for kind in ("png", "svg")
    }


def test_a_run_keeps_who_decided_for_the_page(kragx, here, config):
    """The page that a run writes, and that of `kragx report`, names a combination's members."""
    config(match="{cascade: [{method: overlap, accept: 0.8}, exact]}")
    for command in (("run", "config.yaml"), ("report", "out", "--format", "html")):
        assert kragx(*command).code == 0
        data = parts(here / "out" / "report.html")
        assert data["index"]["matches"][0]["members"] == [["overlap", 0.8, None]]
        assert data["detail-0"][0]["decided"] == [[[[0, 0, "m", [0, 1.0, "m", 1]]]]]


def test_the_csv_of_queries_opens_in_excel(kragx, here, config):
    """A byte order mark, Korean as it is, and no text that would be computed as a formula."""
    config()
    kragx("run", "config.yaml")
    raw = (here / "out" / "queries.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"))))
    assert rows == [
        {
            "query_id": "q1",
            "retriever": "one",
            "match": "overlap",
            "ndcg@5": "1.0",
            "recall@5": "1.0",
            "failure": "",
            "query_type": "쉬움",
            "answerable": "",
            "query": "'=1+1",
        }
    ]


def test_csv_keeps_numbers_and_guards_formulas(tmp_path):
    """What begins with = + - @ or ＝ gets an apostrophe, a number does not; NFD is put together."""
    texts = ["=cmd()", "-3", "+82", "@x", "둘\n줄", 'a "b", c', "-a", "＝1", "\u1100\u1161"]
    gold = GoldDataset(
        tuple(Query(f"q{at}", text, (Gold(text="가"),)) for at, text in enumerate(texts))
    )
    run = Run.from_documents({f"q{at}": ["가"] for at in range(len(texts))})
    result = evaluate(gold, run, match="exact", metrics=["recall@1"])
    write_text(tmp_path / "q.csv", queries_csv([result], gold))
    with (tmp_path / "q.csv").open(encoding="utf-8-sig", newline="") as file:
        found = [row["query"] for row in csv.DictReader(file)]
    assert found == ["'=cmd()", "-3", "+82", "'@x", "둘\n줄", 'a "b", c', "'-a", "'＝1", "\uac00"]
