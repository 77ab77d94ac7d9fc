"""Qrels and run files: what is read, what is refused, and that what is written reads back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import (
    DataError,
    Gold,
    GoldDataset,
    Query,
    Run,
    UsageError,
    evaluate,
    read_dataset,
    read_results,
    write_results,
)
from kragx.agreement import read_labels
from kragx.data.formats.trec import read_run, write_qrels
from tests.data.support import write_run

from .support import quick

QRELS = "q1 0 d1 2\nq1 0 문서2 0\nq2 0 d1 1\n"
RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 문서2 2 1.5 bm25\nq2 Q0 d1 1 0.5 bm25\n"


def read_qrels(path: Path) -> GoldDataset:
    """Qrels, whatever the file's name."""
    return read_dataset(path, "qrels")


def saved(folder: Path, content: str | bytes, name: str = "file.txt") -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def judged(dataset: GoldDataset) -> dict[str, dict[str | None, float]]:
    """The grades of a gold set."""
    return {query.id: {gold.id: gold.grade for gold in query.gold} for query in dataset}


def ranked(run: Run) -> dict[str, list[tuple[str | None, float | None]]]:
    """The ids and scores of a run, in order."""
    return {
        query: [(doc.id, doc.score) for doc in found.documents]
        for query, found in run.results.items()
    }


JUDGED = {"q1": {"d1": 2.0, "문서2": 0.0}, "q2": {"d1": 1.0}}
RANKED = {"q1": [("d1", 2.5), ("문서2", 1.5)], "q2": [("d1", 0.5)]}

forms = pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", " \t  "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", " \n"),
        lambda text: "\ufeff" + text,
        lambda text: "\ufeff# made by hand\n" + text,
        lambda text: "# q9 0 d9\n\n" + text.replace("\n", "\n  # between\n \n"),
        lambda text: text.removesuffix("\n"),
    ],
    ids=["plain", "tabs", "mixed", "crlf", "trailing", "bom", "bom-comment", "comments", "no-end"],
)


@pytest.mark.parametrize("ending", ["qrels", "txt.gz"])
@forms
def test_qrels_are_read_in_every_form(tmp_path: Path, form, ending: str):
    """Tabs or spaces, CRLF, a BOM, comments, blank lines, gzip: the same judgements."""
    raw = form(QRELS).encode()
    path = saved(tmp_path, gzip.compress(raw) if ending.endswith("gz") else raw, f"my.{ending}")
    assert judged(read_qrels(path)) == JUDGED


@pytest.mark.parametrize("ending", ["run", "txt.gz"])
@forms
def test_runs_are_read_in_every_form(tmp_path: Path, form, ending: str):
    """Tabs or spaces, CRLF, a BOM, comments, blank lines, gzip: the same ranked lists."""
    raw = form(RUN).encode()
    path = saved(tmp_path, gzip.compress(raw) if ending.endswith("gz") else raw, f"my.{ending}")
    run = read_run(path)
    assert ranked(run) == RANKED
    assert run.name == "bm25"


def test_a_hash_inside_an_id_is_part_of_it(tmp_path: Path):
    """Only a line that begins with '#' is a comment; 'd#1' and 'q#1' are ids."""
    path = saved(tmp_path, "# comment 0 x 1\nq#1 0 d#1 1\nq#1 0 d#2 0 \n")
    assert judged(read_qrels(path)) == {"q#1": {"d#1": 1.0, "d#2": 0.0}}


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2028", "\x1f", "\u0085"])
def test_only_spaces_and_tabs_separate_columns(tmp_path: Path, space: str):
    """White space beyond ASCII's stands inside an id, as in trec_eval, and is not a separator."""
    path = saved(tmp_path, f"q1 0 d{space}1 1\n")
    assert judged(read_qrels(path)) == {"q1": {f"d{space}1": 1.0}}


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("0", 0.0),
        ("3", 3.0),
        ("-1", -1.0),
        ("+2", 2.0),
        ("0.5", 0.5),
        ("-2.25", -2.25),
        ("1e1", 10),
    ],
)
def test_grades_are_any_number(tmp_path: Path, text: str, grade: float):
    """Whole, decimal and negative grades are read as they are."""
    assert judged(read_qrels(saved(tmp_path, f"q 0 d {text}\n"))) == {"q": {"d": grade}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 0 d2", "3 columns; 4 are expected: query iteration document grade (or three under"),
        ("q1 0 d2 1 more", "5 columns; 4 are expected"),
        ("q1 0 d2 high", "grade must be a finite number, not 'high'"),
        ("q1 0 d2 nan", "grade must be a finite number, not 'nan'"),
        ("q1 0 d2 inf", "grade must be a finite number, not 'inf'"),
        ("q1 0 d1 1", "document 'd1' of query 'q1' has grade 1 here and 2 before"),
        (b"q1 0 \xff\xfe 1", "not UTF-8"),
    ],
)
def test_a_broken_qrels_line_is_named(tmp_path: Path, line: str | bytes, message: str):
    """A broken line or a contradicting judgement is an error that names file and line."""
    raw = line if isinstance(line, bytes) else line.encode()
    path = saved(tmp_path, b"# comment\nq1 0 d1 2\n" + raw + b"\n")
    with pytest.raises(DataError) as error:
        read_qrels(path)
    assert str(error.value).startswith(f"{path}:3: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 Q0 d2 2 1.0", "5 columns; 6 are expected: query Q0 document rank score tag"),
        ("q1 0 d2 1", "4 columns; 6 are expected"),
        ("q1 Q0 d2 2 1,5 tag", "score must be a number, not '1,5'"),
        ("q1 Q0 d2 2 nan tag", "score must be a number, not 'nan'"),
        (b"q1 Q0 \xc0 2 1.0 tag", "not UTF-8"),
    ],
)
def test_a_broken_run_line_is_named(tmp_path: Path, line: str | bytes, message: str):
    """A broken line is an error that names file and line."""
    raw = line if isinstance(line, bytes) else line.encode()
    path = saved(tmp_path, b"q1 Q0 d1 1 2.0 tag\n\n" + raw + b"\n")
    with pytest.raises(DataError) as error:
        read_run(path)
    assert str(error.value).startswith(f"{path}:3: ")
    assert message in str(error.value)


def test_the_same_judgement_twice_counts_once(tmp_path: Path):
    """A line that repeats a judgement changes nothing; only a different grade is refused."""
    path = saved(tmp_path, "q 0 d 1\nq 0 e 0\nq 1 d 1.0\n")
    (query,) = read_qrels(path)
    assert query.gold == (Gold(id="d", grade=1.0), Gold(id="e", grade=0.0))


@pytest.mark.parametrize("read", [read_qrels, read_run])
@pytest.mark.parametrize("content", ["", "\n \n", "# nothing but a comment\n", "\ufeff"])
def test_an_empty_file_is_an_error(tmp_path: Path, read, content: str):
    """A file without a line of its own is an error that names the file."""
    path = saved(tmp_path, content)
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: the file holds no ")


@pytest.mark.parametrize("read", [read_qrels, read_run])
def test_a_missing_file_is_an_error(tmp_path: Path, read):
    """A path that does not exist is a DataError that names it."""
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "no.txt")


def _damaged(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-4],
        lambda raw: raw[:5],
        lambda raw: _damaged(raw, 12),
        lambda raw: _damaged(raw, len(raw) // 2),
        lambda raw: _damaged(raw, len(raw) - 6),
        lambda raw: b"q1 0 d1 1\n",
    ],
    ids=["half", "no-end", "no-head", "early", "middle", "checksum", "plain"],
)
def test_a_damaged_gzip_file_is_an_error(tmp_path: Path, damage):
    """A cut, damaged or not gzipped .gz file is a DataError that names it, whatever was read."""
    lines = "".join(f"q{number} 0 document{number * 7919 % 1000} 1\n" for number in range(800))
    path = saved(tmp_path, damage(gzip.compress(lines.encode())), "qrels.gz")
    with pytest.raises(DataError) as error:
        read_qrels(path)
    assert str(path) in str(error.value)


lines = st.permutations(
    [
        "q Q0 a 1 3.0 t",
        "q Q0 b 9 2.0 t",
        "q Q0 나 1 1.0 t",
        "q Q0 가 2 1.0 t",
        "q Q0 z 3 1.0 t",
        "q Q0 c 0 -5e-1 t",
        "p Q0 a 7 0 t",
    ]
)


@given(shuffled=lines)
@quick
def test_a_run_is_ordered_by_score(tmp_path_factory: pytest.TempPathFactory, shuffled: list[str]):
    """Neither the order of lines nor the rank column matters: score, then id descending, does."""
    path = saved(tmp_path_factory.mktemp("run"), "\n".join(shuffled))
    assert ranked(read_run(path)) == {
        "q": [("a", 3.0), ("b", 2.0), ("나", 1.0), ("가", 1.0), ("z", 1.0), ("c", -0.5)],
        "p": [("a", 0.0)],
    }


def test_a_document_that_stands_twice_in_a_run_is_seen(tmp_path: Path):
    """A repeated document is kept on reading, refused by profile trec and counted by kragx."""
    run = read_run(saved(tmp_path, "q Q0 d 1 2.0 t\nq Q0 d 2 1.0 t\n"))
    gold = read_qrels(saved(tmp_path, "q 0 d 1\n"))
    with pytest.raises(DataError, match="document 'd' stands twice"):
        evaluate(gold, run, profile="trec")
    assert evaluate(gold, run, match="id").counts["n_duplicates"] == 1


@pytest.mark.parametrize(
    ("tags", "name", "n_longer"),
    [
        (("bm25", "bm25"), "bm25", 0),
        (("bm25 tuned", "bm25  tuned"), "bm25 tuned", 2),
        (("bm25 0.3", "bm25 0.7"), "bm25", 2),
        (("bm25", "bm25 # by hand"), "bm25", 1),
    ],
    ids=["tag", "spaces", "columns", "one line"],
)
def test_what_follows_a_tag_is_passed_over_and_counted(
    tmp_path: Path, tags: tuple[str, str], name: str, n_longer: int
):
    """More than six columns change no number, as in trec_eval; a tag of several words is a name."""
    first, second = tags
    path = saved(tmp_path, f"q1 Q0 d1 1 2.5 {first}\nq1 Q0 문서2 9 1.5 {second}\n")
    run = read_run(path)
    assert (run.name, ranked(run)) == (name, {"q1": RANKED["q1"]})
    result = evaluate(JUDGED, run, profile="trec")
    assert result.counts["n_longer_lines"] == n_longer
    said = [remark for remark in result.remarks if "more than six columns" in remark]
    ignored = "what follows the tag is ignored, as by trec_eval"
    line = f"lines of the run with more than six columns: {n_longer} ({ignored})"
    assert said == [line][:n_longer]


def test_infinite_scores_rank_as_in_trec_eval(tmp_path: Path):
    """Infinities stand first and last, among one another by id descending; files keep them."""
    lines = ["a 1e400", "b inf", "c 3.4e38", "d 0", "e -Infinity", "f -inf"]
    text = "".join("q Q0 {} 1 {} t\n".format(*line.split()) for line in lines)
    run = read_run(saved(tmp_path, text, "x.run"))
    assert [document for document, _ in ranked(run)["q"]] == ["b", "a", "c", "d", "f", "e"]
    write_run(run, tmp_path / "again.run")
    assert ranked(read_run(tmp_path / "again.run")) == ranked(run)
    write_results(GoldDataset.from_documents({"q": {"e": 1}}), run, tmp_path / "results.jsonl")
    dataset, again = read_results(tmp_path / "results.jsonl")
    assert ranked(again) == ranked(run)
    for one in (run, again):
        assert evaluate(dataset, one, profile="trec", metrics=["mrr"])["mrr"] == 1 / 6


BEIR = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t문서2\t0\nq2\td1\t1\n"


@pytest.mark.parametrize("name", ["test.tsv", "test.tsv.gz", "test.txt", "test.qrels"])
@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: text.replace("\t", " "),
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        lambda text: text.replace("-id", "_id").replace("score", "Score"),
    ],
    ids=["tabs", "spaces", "bom-crlf", "underscores"],
)
def test_qrels_of_beir_are_read(tmp_path: Path, form, name: str):
    """Three columns under a header are qrels, whatever the file's name, with and without format."""
    raw = form(BEIR).encode()
    path = saved(tmp_path, gzip.compress(raw) if name.endswith("gz") else raw, name)
    assert judged(read_qrels(path)) == judged(read_dataset(path)) == JUDGED
    assert {*read_labels(path).grades.items()} == {
        ((query, document), grade)
        for query, grades in JUDGED.items()
        for document, grade in grades.items()
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1\td2", "2 columns; 3 are expected: query-id corpus-id score"),
        ("q1 0 d2 1", "4 columns; 3 are expected: query-id corpus-id score"),
        ("q1\td2\thigh", "grade must be a finite number, not 'high'"),
        ("query-id\tcorpus-id\tscore", "grade must be a finite number, not 'score'"),
    ],
)
def test_a_broken_line_of_beir_is_named(tmp_path: Path, line: str, message: str):
    """Under BEIR's header a line has three columns; another one is named with file and line."""
    path = saved(tmp_path, BEIR + line + "\n", "test.tsv")
    with pytest.raises(DataError) as error:
        read_dataset(path)
    assert str(error.value).startswith(f"{path}:5: ")
    assert message in str(error.value)


def test_names_come_from_tag_and_file(tmp_path: Path):
    """A run is named by its first tag, qrels by their file, .gz left out."""
    run = saved(tmp_path, "q Q0 d 1 2.0 first\nq Q0 e 2 1.0 second\n", "x.run")
    assert read_run(run).name == "first"
    qrels = saved(tmp_path, gzip.compress(QRELS.encode()), "dev.qrels.gz")
    assert read_qrels(qrels).name == "dev"


# -- writing ---------------------------------------------------------------------------------

# No white space; and no byte order mark, which is no part of an id where a file begins.
ids = st.text(
    st.characters(exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=6,
)
query_ids = ids.filter(lambda each: not each.startswith("#"))
numbers = st.floats(allow_nan=False, allow_infinity=False)
endings = st.sampled_from(["file.txt", "file.txt.gz"])


@pytest.mark.integration
@given(
    grades=st.dictionaries(
        query_ids,
        st.dictionaries(ids, numbers, min_size=1),
        min_size=1,
        max_size=4,
    ),
    name=endings,
)
@quick
def test_qrels_round_trip(tmp_path_factory: pytest.TempPathFactory, grades, name: str):
    """Every id and every grade, to the last digit, is read back as it was written."""
    path = tmp_path_factory.mktemp("qrels") / name
    write_qrels(GoldDataset.from_documents(grades), path)
    assert judged(read_qrels(path)) == grades


@given(
    scores=st.dictionaries(
        query_ids,
        st.dictionaries(ids, numbers, min_size=1),
        min_size=1,
        max_size=4,
    ),
    tag=ids,
    name=endings,
)
@quick
def test_runs_round_trip(tmp_path_factory: pytest.TempPathFactory, scores, tag: str, name: str):
    """Every id, score, order and the run's name is read back as it was written."""
    path = tmp_path_factory.mktemp("run") / name
    run = Run.from_documents(scores, name=tag)
    write_run(run, path)
    again = read_run(path)
    assert ranked(again) == ranked(run)
    assert again.name == tag


def test_written_files_are_what_trec_eval_reads(tmp_path: Path):
    """Four columns in qrels, whole grades without a point."""
    write_qrels(GoldDataset.from_documents({"q": {"a": 1, "b": -2}}), tmp_path / "qrels")
    assert (tmp_path / "qrels").read_bytes() == b"q 0 a 1\nq 0 b -2\n"


@pytest.mark.parametrize("bad", ["a b", "a\tb", "a\n", "a\rb", " a", ""])
def test_an_id_with_white_space_is_refused(tmp_path: Path, bad: str):
    """An id that is empty or holds white space cannot stand in a column, wherever it comes from."""
    gold = (Gold(id="d"),)
    with pytest.raises(DataError, match=r"white space|is empty"):
        write_qrels(GoldDataset((Query(bad, gold=gold),)), tmp_path / "qrels")
    with pytest.raises(DataError, match=r"white space|is empty"):
        write_qrels(GoldDataset((Query("q", gold=(Gold(id=bad),)),)), tmp_path / "qrels")


@pytest.mark.parametrize("query", ["#1", "#"])
def test_a_query_id_that_would_be_a_comment_is_refused(tmp_path: Path, query: str):
    """A query id that begins with '#' would be read back as a comment, so it is not written."""
    with pytest.raises(DataError, match="#"):
        write_qrels(GoldDataset.from_documents({query: {"d": 1}}), tmp_path / "qrels")


def test_what_has_no_id_is_refused(tmp_path: Path):
    """Gold with a text alone has no place in a TREC file; the place is named."""
    with pytest.raises(DataError, match="query 'q': the id of a gold item is None"):
        write_qrels(GoldDataset.from_documents({"q": ["a text"]}), tmp_path / "qrels")


def test_nothing_is_written_to_standard_output():
    """The path '-' is refused on writing, with what to do instead."""
    with pytest.raises(UsageError, match="written to a path"):
        write_qrels(GoldDataset.from_documents({"q": {"d": 1}}), "-")


def test_files_and_mappings_give_the_same_numbers(tmp_path: Path):
    """Evaluating files equals evaluating the mappings that they hold."""
    qrels, run = saved(tmp_path, QRELS, "qrels"), saved(tmp_path, RUN, "run")
    scored = {query: dict(docs) for query, docs in RANKED.items()}
    from_files = evaluate(read_qrels(qrels), read_run(run), profile="trec")
    from_mappings = evaluate(JUDGED, scored, profile="trec")
    assert from_files.queries == from_mappings.queries
    assert from_files["ndcg@10"] == 1.0
