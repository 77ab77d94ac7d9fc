"""Scoring into a folder: a table for each part, the numbers of `evaluate`, nothing done twice."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kragx import Doc, Gold, Query, UsageError, evaluate
from kragx.data import Retrieved
from kragx.data.formats.format import question_record
from kragx.data.formats.jsonl import write_records
from kragx.data.formats.parquet import TABLE_KEY, write_questions
from kragx.errors import DataError, JudgingError
from kragx.evaluation import part_tables as scored, parts as part
from kragx.evaluation.part_tables import SUMMARY, evaluate_in_parts
from kragx.judging import Failure, Judge, Panel, Request, Store
from kragx.matchers import ExactMatcher, MatchWarning
from kragx.testing import ScriptedClient
from tests.app.commands.conftest import here, kragx
from tests.thoroughness import some
from tests.waiting import wait_until

__all__ = ["here", "kragx"]

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

METRICS = ["mrr@10", "recall@5", "precision@3", "f1@10", "map", "ndcg@10", "redundancy@10"]


def questions(n: int) -> list[tuple[Query, Retrieved | None]]:
    """Questions: some are missing, failed, without gold, unanswerable, or have a repetition."""
    words = [f"word{i} of{i} the{i} chunk{i} number{i}" for i in range(40)]
    rows: list[tuple[Query, Retrieved | None]] = []
    for i in range(n):
        gold = () if i % 13 == 5 else (Gold(text=words[i % 40]), Gold(text=words[(i + 9) % 40]))
        metadata: dict[str, Any] = {"level": i % 3} if i % 2 else {"tags": ["a", "b"], "of": {}}
        query = Query(
            f"q{i}",
            gold=gold,
            query_type=("a", "b", None)[i % 3],
            answerable=False if i % 26 == 5 else None,
            metadata=metadata,
        )
        docs = tuple(Doc(text=words[(i * 7 + j * j) % 40]) for j in range(i % 9))
        answer = None if i % 11 == 3 else Retrieved(docs, seconds=0.1)
        rows.append((query, Retrieved(error="Timeout: late") if i % 17 == 2 else answer))
    return rows


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hundred questions in four files, a part each, and as lines of JSON."""
    rows = questions(200)
    (tmp_path / "data").mkdir()
    for number in range(4):
        own = rows[number * 50 : number * 50 + 50]
        write_questions(own, tmp_path / "data" / f"{number}.parquet")
    write_records((question_record(*own) for own in rows), tmp_path / "rows.jsonl")
    monkeypatch.setattr(part, "PART_BYTES", 8_000)
    return tmp_path


@pytest.mark.filterwarnings("ignore:gold of one template")
@pytest.mark.parametrize(
    ("source", "match", "profile", "metrics"),
    some(
        [
            ("data", "overlap", "kragx", METRICS),
            ("rows.jsonl", "overlap", "kragx", METRICS),
            ("data/*.parquet", {"any": ["exact", "rouge2"]}, "kragx", ["mrr@10", "f1@10"]),
            ("data", "rouge1", "krag", ["mrr@10", "recall@5"]),
        ],
        4,
    ),
)
def test_the_numbers_are_those_of_one_evaluation(
    files: Path, source: str, match: object, profile: str, metrics: list[str]
) -> None:
    """To the last bit: means, micro averages, intervals, counts, settings, values per question."""
    path = str(files / source)
    options: dict[str, Any] = {"match": match, "metrics": metrics, "profile": profile}
    whole = evaluate(path, **options).to_dict(queries=True)
    for n_kept in (0, 4 if "data" in source else None):
        result = evaluate_in_parts(path, files / "out", **options)
        assert result.evaluation.to_dict(queries=True) == whole
        assert len(result.tables) >= 4
        assert result.n_kept == (len(result.tables) if n_kept is None else n_kept)


def test_a_table_says_what_it_is_of(files: Path) -> None:
    """A row a question with status, fields to slice by and a column a metric; by hand for one."""
    result = evaluate_in_parts(files / "data", files / "out", metrics=["mrr@10", "precision@3"])
    table = pq.read_table(result.tables[0])
    assert table["query_id"].to_pylist() == [f"q{i}" for i in range(50)]
    rows = table.to_pylist()
    assert [rows[i]["status"] for i in (0, 2, 3)] == ["answered", "failed", "missing"]
    assert rows[2]["error"] == "Timeout: late"
    assert [rows[i]["query_type"] for i in range(3)] == ["a", "b", None]
    assert rows[1]["metadata.level"] == ["1"]
    assert rows[0]["metadata.tags"] == ["a", "b"]
    assert "metadata.of" not in rows[0]
    assert (rows[1]["n_gold"], rows[1]["n_retrieved"]) == (2, 1)
    assert rows[5]["mrr@10"] is None or rows[5]["mrr@10"] != rows[5]["mrr@10"]  # no gold
    about = json.loads(table.schema.metadata[TABLE_KEY])
    assert about["key"] == result.tables[0].stem
    assert about["sums"]["n_queries"] == 50
    summary = json.loads((files / "out" / SUMMARY).read_text(encoding="utf-8"))
    assert summary["tables"] == [f"tables/{path.name}" for path in result.tables]
    assert summary["mean"] == result.evaluation.mean


@pytest.fixture
def n_computed(files: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Score into the folder; how many parts were computed."""
    computed: list[str] = []
    match_part = scored.match_part
    monkeypatch.setattr(
        scored,
        "match_part",
        lambda part, *args: computed.append(part.name) or match_part(part, *args),
    )

    def run(**options: Any) -> int:
        computed.clear()
        evaluate_in_parts(files / "data", files / "out", **options)
        return len(computed)

    return run


@pytest.mark.integration
def test_only_what_has_changed_is_computed(files: Path, n_computed: Callable[..., int]) -> None:
    """Another file, metric, matcher or threshold is another table; a broken one is made anew."""
    assert [n_computed(match="rouge2"), n_computed(match="rouge2")] == [4, 0]
    assert n_computed(match="rouge2", metrics=["mrr@10"]) == 4
    assert n_computed(match={"method": "rouge2", "threshold": 0.6}) == 4
    assert n_computed(match="rouge2", no_gold="zero") == 4
    assert n_computed(profile="krag", match="exact", metrics=["mrr@10"]) == 4
    assert n_computed(match="rouge2") == 0
    changed = questions(50)
    changed[7] = (changed[7][0], Retrieved((Doc(text="another one"),)))
    write_questions(changed, files / "data" / "0.parquet")
    assert [n_computed(match="rouge2"), n_computed(match="rouge2")] == [1, 0]
    paths = evaluate_in_parts(files / "data", files / "out", match="rouge2").tables
    paths[1].write_bytes(paths[1].read_bytes()[:-50])
    paths[2].write_bytes(paths[3].read_bytes())  # of other content
    assert [n_computed(match="rouge2"), n_computed(match="rouge2")] == [2, 0]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:gold of one template")
def test_other_words_are_other_tables_where_siblings_are_apart(
    files: Path, n_computed: Callable[..., int]
) -> None:
    """What tells siblings apart is looked for in all texts: where it changes, all is computed."""

    def change(*docs: Doc) -> None:
        changed = questions(50)
        changed[7] = (changed[7][0], Retrieved(docs))
        write_questions(changed, files / "data" / "0.parquet")

    texts = [Doc(text=text) for text in ("a chunk that has other words", "and one more of them")]
    change(*texts)
    apart, together = "overlap", {"method": "overlap", "siblings": "together"}
    assert [n_computed(match=apart), n_computed(match=together)] == [4, 4]
    change(*texts[::-1])  # the same words
    assert [n_computed(match=apart), n_computed(match=together)] == [1, 1]
    change(*texts, Doc(text="a word that no other text has"))
    assert [n_computed(match=apart), n_computed(match=together)] == [4, 1]
    assert [n_computed(match=apart), n_computed(match=together)] == [0, 0]


@pytest.mark.integration
def test_another_script_is_another_table(files: Path, n_computed: Callable[..., int]) -> None:
    """By what the gold of all parts says that spans are compared, every part is computed."""
    options = {"match": "exact", "metrics": ["coverage@5"]}
    assert [n_computed(**options), n_computed(**options)] == [4, 0]
    hangul = Gold(text="한글로 쓴 긴 정답 " * 1000)
    write_questions(
        [
            (replace(query, gold=(hangul,), answerable=None), answer)
            for query, answer in questions(50)
        ],
        files / "data" / "0.parquet",
    )
    assert [n_computed(**options), n_computed(**options)] == [4, 0]


class Nothing(ExactMatcher):
    """Somebody's matcher: whatever equals the gold text is no match."""

    def matches(self, gold: str, doc: str) -> bool:
        """Never."""
        return False


@pytest.mark.integration
def test_a_subclass_has_tables_of_its_own(files: Path) -> None:
    """Its values are never those of the built-in matcher from which it derives."""
    first, own, again = (
        evaluate_in_parts(files / "data", files / "out", match=match, metrics=["mrr@10"])
        for match in ("exact", Nothing(), "exact")
    )
    assert (first.n_kept, own.n_kept, again.n_kept) == (0, 0, 4)
    assert own.evaluation["mrr@10"] == 0.0
    assert first.evaluation["mrr@10"] == again.evaluation["mrr@10"] != 0.0


@pytest.mark.parametrize("match", ["id", "pages", "overlap", "span", "phrase", "text"])
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_what_matchers_have_found_is_read_again(tmp_path: Path, match: str) -> None:
    """Whatever a matcher notes of questions is kept with their values, and stays as it is."""
    gold = [{"doc": "a.pdf", "pages": [3], "text": "the third page"}, {"id": "x", "text": "***"}]
    metadata = {"source": "a.pdf", "page": 3}
    docs = [{"id": name, "text": "a fourth page", "metadata": metadata} for name in ("x ", "y")]
    path = tmp_path / "rows.jsonl"
    write_records([{"query_id": "q1", "gold": gold, "retrieved": docs}], path)
    first, again = (
        evaluate_in_parts(path, tmp_path / "out", match=match, metrics=["recall@5"])
        for _ in range(2)
    )
    assert (first.n_kept, again.n_kept) == (0, 1)
    assert again.evaluation.to_dict(queries=True) == first.evaluation.to_dict(queries=True)


def test_a_corpus_is_part_of_what_a_table_depends_on(tmp_path: Path) -> None:
    """Texts of ids that are others are other values."""
    rows = [(Query("q", gold=(Gold("g"),)), Retrieved((Doc("d"),)))]
    write_questions(rows, tmp_path / "x.parquet")
    texts = {"g": "one two three", "d": "one two three"}
    for text, mean in ((texts["d"], 1.0), ("four five six", 0.0)):
        result = evaluate_in_parts(
            tmp_path / "x.parquet", tmp_path / "out", corpus=texts | {"d": text}
        )
        assert result.evaluation["mrr@10"] == mean
        assert result.n_kept == 0


def test_what_rules_lack_is_read_again(tmp_path: Path) -> None:
    """Counts of fields that rules ask for, and documents lack, stand in a table like all others."""
    rows = [
        {"query_id": f"q{n}", "gold": [{"text": "a b"}], "retrieved": [{"text": "a b"}]}
        for n in range(3)
    ]
    path = tmp_path / "rows.jsonl"
    write_records(rows, path)
    rules = {"old": {"metadata.state": {"in": ["old"]}}}
    for n_kept in (0, 1):
        with pytest.warns(MatchWarning, match=r"rule old: none of 3 retrieved documents has"):
            result = evaluate_in_parts(path, tmp_path / "out", forbidden=rules)
        assert result.n_kept == n_kept


def test_mistakes_are_those_of_reading_all_of_it(files: Path) -> None:
    """An id that stands in two files is named with both, also where their tables stand there."""
    evaluate_in_parts(files / "data", files / "out")
    write_questions(questions(1), files / "data" / "4.parquet")
    for _ in range(2):
        with pytest.raises(
            DataError, match=r"4\.parquet:1: query_id: 'q0' .*first in .*0\.parquet:1"
        ):
            evaluate_in_parts(files / "data", files / "out")


def test_what_needs_all_questions_is_refused(files: Path) -> None:
    """Pools, panels, numbers that are no question's, and folders of kragx run."""
    judge = Judge(ScriptedClient([3]), store=files / "store.sqlite")
    panel = Panel((judge, Judge(ScriptedClient([3]), store=judge.store, repeat=1)))
    for options, message in (
        ({"match": {"method": "llm", "judge": judge, "mode": "relevance"}}, "needs all questions"),
        ({"match": {"method": "llm", "judge": panel}}, "or a panel needs all questions"),
        (
            {
                "match": {"method": "llm", "judge": judge},
                "metrics": ["precision_judged@5"],
            },
            "a judge of relevance, a pool",
        ),
        ({"metrics": ["throughput"]}, "'throughput' is not made of values of single questions"),
        ({"no_gold": "nonsense"}, "no_gold"),
    ):
        with pytest.raises(UsageError, match=message):
            evaluate_in_parts(files / "data", files / "out", **options)  # type: ignore[arg-type]
    (files / "out").mkdir(exist_ok=True)
    (files / "out" / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="kragx run has written"):
        evaluate_in_parts(files / "data", files / "out")


LOOKING = [
    *("mrr@10", "coverage@5", "density@200tokens", "recall@40chars", "precision@30tokens"),
    *("seconds_mean", "seconds_p95", "source_diversity@5(key=topic)", "judged@3"),
    *("abstention", "false_abstention", "context_completeness@3"),
]


def with_more(rows: list[tuple[Query, Retrieved | None]]) -> list[tuple[Query, Retrieved | None]]:
    """The same with facts, times that differ, and topics of documents."""
    more: list[tuple[Query, Retrieved | None]] = []
    for i, (query, answer) in enumerate(rows):
        facts = [f"word{i % 40} of{i % 40}", {"text": "nobody says", "importance": "okay"}]
        own = replace(query, metadata={**query.metadata, "facts": facts} if i % 3 else {})
        timed = answer
        if answer is not None and answer.error is None:
            docs = tuple(
                replace(doc, metadata={"topic": f"t{(i + rank) % 3}"})
                for rank, doc in enumerate(answer.documents)
            )
            timed = replace(answer, documents=docs, seconds=0.1 + i / 1000)
        more.append((own, timed))
    return more


@pytest.mark.integration
@pytest.mark.parametrize("workers", [None, pytest.param(2, marks=pytest.mark.integration)])
def test_metrics_of_documents_and_times(files: Path, workers: int | None) -> None:
    """Texts, facts, times, budgets: bit for bit as whole, also from the tables, warnings too."""
    rows = with_more(questions(200))
    for number in range(4):
        write_questions(rows[number * 50 :][:50], files / "data" / f"{number}.parquet")
    options: dict[str, Any] = {"metrics": LOOKING, "facts_match": "text"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        whole = evaluate(files / "data", **options)
    for n_kept in (0, 4):
        with warnings.catch_warnings(record=True) as of_parts:
            warnings.simplefilter("always")
            result = evaluate_in_parts(files / "data", files / "out", workers=workers, **options)
        assert result.evaluation.to_dict(queries=True) == whole.to_dict(queries=True)
        assert result.evaluation.remarks == whole.remarks
        assert sorted(str(own.message) for own in of_parts) == sorted(
            str(own.message) for own in said
        )
        assert result.n_kept == n_kept
    assert whole.maximum["source_diversity@5(key=topic)"] > 0
    assert whole["context_completeness@3"]


def words(request: Request) -> list[str]:
    """By which words the gold text and the document begin that a judge is asked about."""
    return re.findall(r"word\d+", request.messages[-1][1])


def grading(request: Request) -> int:
    """Grade 3 where the numbers of both end alike: some that no text shows."""
    return 3 if len({word[-1] for word in words(request)}) == 1 else 0


@pytest.fixture
def few(files: Path) -> Path:
    """Of the questions ten in each file."""
    rows = questions(200)
    for number in range(4):
        own = rows[number * 50 :][:10]
        write_questions(own, files / "data" / f"{number}.parquet")
    return files


@pytest.mark.integration
def test_judged_and_resumed(few: Path) -> None:
    """A judge's grades: the numbers of one evaluation; a part that stands there asks nothing."""
    files = few
    client = ScriptedClient(grading)
    judge = Judge(client, store=files / "a.sqlite")
    match = {"any": ["exact", {"method": "llm", "judge": judge}]}
    first = evaluate_in_parts(files / "data", files / "out", match=match, metrics=METRICS)
    n_asked = len(client.requests)
    assert n_asked
    whole = evaluate(files / "data", match=match, metrics=METRICS)
    assert len(client.requests) == n_asked
    for name in ("mean", "micro", "intervals", "queries"):
        assert getattr(first.evaluation, name) == getattr(whole, name)
    assert first.evaluation.counts["judging"]["n_calls"] == n_asked
    elsewhere = Judge(client, store=files / "b.sqlite")  # an empty store would be asked
    match = {"any": ["exact", {"method": "llm", "judge": elsewhere}]}
    again = evaluate_in_parts(files / "data", files / "out", match=match, metrics=METRICS)
    assert again.n_kept == 4
    assert len(client.requests) == n_asked
    assert again.evaluation.queries == first.evaluation.queries
    judging = again.evaluation.counts["judging"]
    assert (judging["n_calls"], judging["cost"]) == (0, None)
    assert judging["n_stored"] == judging["n_distinct"]
    with Store(files / "a.sqlite") as store:  # people have the last word, also later
        store.add_labels([("q0", "d0", 0)], "people")
    match = {"any": ["exact", {"method": "llm", "judge": judge}]}
    corrected = evaluate_in_parts(files / "data", files / "out", match=match, metrics=METRICS)
    assert corrected.n_kept == 0
    assert len(client.requests) == n_asked
    whole = evaluate(files / "data", match=match, metrics=METRICS)
    assert corrected.evaluation.queries == whole.queries
    other = Judge(ScriptedClient(grading, model="other"), store=files / "a.sqlite")
    match = {"any": ["exact", {"method": "llm", "judge": other}]}
    assert evaluate_in_parts(files / "data", files / "out", match=match).n_kept == 0


@pytest.mark.integration
def test_missing_judgements(few: Path) -> None:
    """What lacks a grade is no table: an error that says so, and the next run asks for it alone."""
    files = few
    broken = {"word3"}

    def sometimes(request: Request) -> int | Failure:
        is_broken = not broken.isdisjoint(words(request))
        return Failure("refusal", "no") if is_broken else grading(request)

    client = ScriptedClient(sometimes)
    for max_missing, error in ((0.0, JudgingError), (0.5, UsageError)):
        judge = Judge(client, store=files / "a.sqlite", max_missing=max_missing, ask_again="all")
        match = {"method": "llm", "judge": judge}
        with pytest.raises(error, match="missing"):
            evaluate_in_parts(files / "data", files / "out", match=match)
    broken.clear()
    n_before = len(client.requests)
    result = evaluate_in_parts(files / "data", files / "out", match=match)
    whole = evaluate(files / "data", match=match)
    assert result.evaluation.queries == whole.queries
    assert 0 < result.n_kept < 4  # the word is asked about in some parts
    assert all("word3" in words(own) for own in client.requests[n_before:])


@pytest.mark.integration
def test_a_strangers_table_runs_no_code(files: Path) -> None:
    """What a matcher noted is read as nothing else; such a table is computed anew."""
    first = evaluate_in_parts(files / "data", files / "out")
    table = pq.read_table(first.tables[0])
    about = json.loads(table.schema.metadata[TABLE_KEY])
    about["diagnostics"]["by_kind"] = [["", "", "mkdir", {"path": str(files / "evil")}]]
    pq.write_table(table.replace_schema_metadata({TABLE_KEY: json.dumps(about)}), first.tables[0])
    again = evaluate_in_parts(files / "data", files / "out")
    assert again.n_kept == 3
    assert again.evaluation.to_dict() == first.evaluation.to_dict()
    assert not (files / "evil").exists()


@pytest.mark.integration
def test_killed_in_the_middle_it_goes_on(files: Path) -> None:
    """After kill -9 only whole tables stand there, and they are not computed again."""
    code = f"""
import time
from kragx.evaluation import part_tables as scored
write = scored.write_table
def slow(*args, written=[]):
    write(*args)
    written.append(1)
    time.sleep(600 if len(written) == 2 else 0)
scored.write_table = slow
scored.evaluate_in_parts({str(files / "data")!r}, {str(files / "out")!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    tables = files / "out" / "tables"
    wait_until(lambda: len([*tables.glob("[!.]*.parquet")]) == 2, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_whole = len([*tables.glob("[!.]*.parquet")])
    assert n_whole == 2
    assert not (files / "out" / SUMMARY).exists()
    result = evaluate_in_parts(files / "data", files / "out")
    assert result.n_kept == n_whole
    assert result.evaluation.to_dict() == evaluate(files / "data").to_dict()


@pytest.mark.integration
def test_the_command(kragx: Any, files: Path) -> None:
    """``kragx score --out`` prints what it prints without, and says what it wrote."""
    plain = kragx("score", files / "data")
    for remark in ("4 tables of values per query in", "4 of them computed before"):
        result = kragx("score", files / "data", "--out", files / "out")
        assert result.out == plain.out
        assert remark in result.err
        assert result.code == plain.code == 5  # some questions failed
    assert (
        "writes tables of one set"
        in kragx("score", "--qrels", files / "x", "--run", files / "y", "--out", files / "out").err
    )
