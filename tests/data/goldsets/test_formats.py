"""Gold sets of other tools and of spreadsheets, as they come, with the mistakes people make."""

from __future__ import annotations

import json

import pytest

from kragx import (
    DataError,
    Doc,
    Gold,
    UsageError,
    evaluate,
    read_dataset,
    read_rows,
    validate,
)

COLUMNS = {
    "query_id": "번호",
    "query": "질문",
    "relevant_chunk_ids": "정답 청크",
    "highly_relevant_chunk_ids": "핵심 청크",
    "metadata.difficulty": "난이도",
}
CSV = """번호,질문,정답 청크,핵심 청크,난이도,비고
1,"환불은 며칠, 언제까지 되나요?",c1; c2,c3,easy,
2,"배송비는
누가 내나요?","[[""c4"", ""c5""], ""c6""]",,hard,다시 볼 것
"""


def check_table(dataset):
    """The two questions of the table above."""
    first, second = dataset
    assert first.text == "환불은 며칠, 언제까지 되나요?"
    assert first.gold == (Gold("c3", grade=2.0), Gold("c1"), Gold("c2"))
    assert second.gold == (Gold("c4", alternatives=(Doc("c5"),)), Gold("c6"))
    assert second.metadata["difficulty"] == "hard"
    assert second.metadata["비고"] == "다시 볼 것"


@pytest.mark.filterwarnings("ignore:.*is read as cp949")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
def test_csv_in_each_encoding(tmp_path, encoding):
    """CSV as Excel saves it in Korea is read in each encoding, without being told."""
    path = tmp_path / "gold.csv"
    path.write_text(CSV, encoding=encoding)
    check_table(read_dataset(path, columns=COLUMNS))
    check_table(read_dataset(path, columns=COLUMNS, encoding=encoding))


def test_wrong_encoding(tmp_path):
    """An encoding that does not fit, or does not exist, is named."""
    path = tmp_path / "gold.csv"
    path.write_text(CSV, encoding="cp949")
    with pytest.raises(DataError, match="cannot be decoded as utf-8"):
        read_dataset(path, columns=COLUMNS, encoding="utf-8")
    with pytest.raises(UsageError, match="encoding: 'cp94' is unknown"):
        read_dataset(path, columns=COLUMNS, encoding="cp94")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "empty"),
        ("query_id,query,query_id\n", "stands twice"),
        ("query_id\tquery\trelevant_chunk_ids\n1\tx\ty\tc\n", "a tab or line break needs"),
        ("query_id,query,relevant_chunk_ids\n1,a, b,c1\n", r":2: 4 cells, the header has 3"),
        ("query_id;query;relevant_chunk_ids\n1;a; b;c1\n", "a semicolon or line break needs"),
        ('query_id,query,relevant_chunk_ids\n1,"a,c1\n', "not valid CSV"),
        ("query_id,query,relevant_chunk_ids\n1,a,[c1\n", r":2: relevant_chunk_ids: looks like"),
        ("a,b\n1,2\n", "not recognised"),
        ("query_id,query,relevant_chunk_ids,extra\n1,a,c1,x\n", "extra: unknown field"),
    ],
)
def test_mistakes_in_csv(tmp_path, text, hint):
    """A broken table is named by line, with the remedy."""
    path = tmp_path / "gold.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=hint):
        read_dataset(path)


@pytest.mark.parametrize(
    "text",
    [
        'query_id;query;relevant_chunk_ids\n1;"how; why, when?";"c1;c2"\n2;who?;c3\n',
        '\n"query_id";"query";"relevant_chunk_ids"\n1;"how; why, when?";c1,c2\n2;who?;c3\n',
        "query_id\tquery\trelevant_chunk_ids\n1\thow; why, when?\tc1;c2\n2\twho?\tc3\n",
        'query_id;query;relevant_chunk_ids;"a, b"\n1;"how; why, when?";c1|c2;y\n2;who?;c3;\n',
    ],
)
def test_semicolons(tmp_path, text):
    """Cells separated by ``;`` or tabs are read, as spreadsheets write them."""
    path = tmp_path / "gold.csv"
    path.write_text(text, encoding="utf-8")
    dataset = read_dataset(path, columns={"metadata.notes": "a, b"} if '"a, b"' in text else {})
    assert dataset["1"].text == "how; why, when?"
    assert [[gold.id for gold in query.gold] for query in dataset] == [["c1", "c2"], ["c3"]]


def test_unknown_field_in_columns(tmp_path):
    """A mapping from a field that does not exist names the nearest."""
    path = tmp_path / "gold.csv"
    path.write_text(CSV, encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"columns\.qury: unknown field; perhaps you meant 'query'\?"
    ):
        read_dataset(path, columns={"qury": "질문"})


def test_column_that_does_not_exist(tmp_path):
    """A mapping to a column that the table lacks is named first, with the nearest column."""
    path = tmp_path / "gold.csv"
    path.write_text(CSV, encoding="utf-8")
    with pytest.raises(DataError, match=r"columns\.query: no row .* '질문 '; perhaps .* '질문'"):
        read_dataset(path, columns={**COLUMNS, "query": "질문 "})


def test_excel_and_frames(tmp_path):
    """An Excel file and a DataFrame give what the CSV gives; numbers that are ids stay whole."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    frame = pandas.DataFrame(
        {
            "번호": [1, 2],
            "질문": ["환불은 며칠, 언제까지 되나요?", "배송비는\n누가 내나요?"],
            "정답 청크": ["c1; c2", '[["c4", "c5"], "c6"]'],
            "핵심 청크": ["c3", None],
            "난이도": ["easy", "hard"],
            "비고": [float("nan"), "다시 볼 것"],
        }
    )
    check_table(read_dataset(frame, columns=COLUMNS))
    frame.to_excel(tmp_path / "gold.xlsx", index=False)
    from_file = read_dataset(tmp_path / "gold.xlsx", columns=COLUMNS)
    check_table(from_file)
    assert [query.id for query in from_file] == ["1", "2"]


AUTORAG = {
    "qid": "a1",
    "query": "Who pays the postage?",
    "retrieval_gt": [["p1", "p2"], ["p3"]],
    "generation_gt": ["The shop.", "The seller."],
}


def test_autorag(tmp_path):
    """AutoRAG's nested ids: the outer list is an and, the inner one an or."""
    path = tmp_path / "qa.jsonl"
    path.write_text(json.dumps(AUTORAG), encoding="utf-8")
    dataset = read_dataset(path)
    assert dataset["a1"].gold == (Gold("p1", alternatives=(Doc("p2"),)), Gold("p3"))
    assert dataset["a1"].reference == "The shop."
    result = evaluate(dataset, {"a1": [{"id": "p2"}]}, match="id", metrics=["recall"])
    assert result["recall"] == 0.5


def test_autorag_as_parquet(tmp_path):
    """AutoRAG's own qa.parquet is read as it is."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist([AUTORAG]), tmp_path / "qa.parquet")
    assert read_dataset(tmp_path / "qa.parquet")["a1"].gold[1] == Gold("p3")


RAGAS = [
    {
        "user_input": "Who pays the postage?",
        "reference_contexts": ["The shop pays the postage of a faulty item."],
        "retrieved_contexts": ["Gift cards.", "The shop pays the postage of a faulty item."],
        "reference": "The shop.",
        "response": "The shop pays.",
        "synthesizer_name": "single_hop",
    },
    {
        "user_input": "Do gift cards expire?",
        "reference_contexts": ["Gift cards do not expire."],
        "retrieved_contexts": [],
    },
]


@pytest.mark.parametrize("shape", ["jsonl", "json"])
def test_ragas(tmp_path, shape):
    """Rows of ragas hold gold texts and what was retrieved; what else they hold is kept."""
    path = tmp_path / f"rows.{shape}"
    lines = "\n".join(map(json.dumps, RAGAS)) if shape == "jsonl" else json.dumps(RAGAS)
    path.write_text(lines, encoding="utf-8")
    dataset, run = read_rows(path)
    assert dataset["q1"].gold == (Gold(text="The shop pays the postage of a faulty item."),)
    assert dataset["q1"].metadata["synthesizer_name"] == "single_hop"
    result = evaluate(dataset, run, match="exact", metrics=["mrr"])
    assert result.queries == {"q1": {"mrr": 0.5}, "q2": {"mrr": 0.0}}
    assert read_dataset(RAGAS).queries == dataset.queries


def test_ragas_conversations_are_refused():
    """A row of a conversation says that kragx evaluates single questions."""
    with pytest.raises(DataError, match="single questions"):
        read_dataset([{"user_input": [{"content": "hi"}], "reference_contexts": []}])


LLAMAINDEX = {
    "queries": {"q1": "Do gift cards expire?", "q2": "And vouchers?"},
    "corpus": {"n1": "Gift cards do not expire.", "n2": "Vouchers do."},
    "relevant_docs": {"q1": ["n1"], "q2": ["n2"]},
    "mode": "text",
}


def test_llamaindex(tmp_path):
    """LlamaIndex's evaluation set: gold has its id and its text."""
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(LLAMAINDEX), encoding="utf-8")
    dataset = read_dataset(path)
    assert dataset["q2"].gold == (Gold("n2", "Vouchers do."),)


def test_mistakes_in_llamaindex(tmp_path):
    """Ids that lead nowhere are named by their place."""
    path = tmp_path / "dataset.json"
    broken = {**LLAMAINDEX, "relevant_docs": {"q1": ["n9"], "q9": ["n1"], "q2": "n2"}}
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(DataError, match=r"relevant_docs\.q9: no question .* \(and 2 more"):
        read_dataset(path)


def test_qrels_and_the_competition(tmp_path):
    """TREC qrels, also without their ending, and the competition's two forms are recognised."""
    for name in ("test.qrels", "qrels.txt"):
        (tmp_path / name).write_text("q1 0 d1 2\nq1 0 d2 0\n", encoding="utf-8")
        assert read_dataset(tmp_path / name)["q1"].gold[0] == Gold("d1", grade=2.0)
    (tmp_path / "refs.jsonl").write_text('{"eval_id": 7, "refs": ["a"]}\n', encoding="utf-8")
    assert read_dataset(tmp_path / "refs.jsonl")["7"].gold == (Gold("a"),)
    (tmp_path / "refs.json").write_text('{"7": ["a"], "8": []}', encoding="utf-8")
    assert read_dataset(tmp_path / "refs.json")["7"].gold == (Gold("a"),)


def test_empty_cells_that_list_gold(tmp_path):
    """In every kind of table an empty cell for gold is an empty list, in the first row as well."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {
            "query_id": ["q1", "q2", None],
            "query": ["Is there a shop on the moon?", "Who pays?", None],
            "query_type": ["", "who", None],
            "answerable": ["false", "", None],
            "relevant_chunk_ids": [None, "c1", None],
        }
    )
    frame.to_csv(tmp_path / "set.CSV", index=False)
    frame.to_excel(tmp_path / "set.xlsx", index=False)
    frame.to_parquet(tmp_path / "set.parquet")
    sources = [frame, *(tmp_path / f"set.{kind}" for kind in ("CSV", "xlsx", "parquet"))]
    read = [read_dataset(source) for source in sources]
    assert [(query.id, query.answerable, query.gold) for query in read[0]] == [
        ("q1", False, ()),
        ("q2", None, (Gold("c1"),)),
    ]
    assert len({dataset.content_hash for dataset in read}) == 1


def test_format_is_that_of_the_first_record_with_fields_of_its_own(tmp_path):
    """A question without gold may come first, and says nothing of the format."""
    path = tmp_path / "set.jsonl"
    plain = {"query_id": "q1", "query": "Is there a shop on the moon?"}
    path.write_text(
        f"{json.dumps(plain)}\n{json.dumps({**plain, 'query_id': 'q2', 'gold': [{'id': 'c1'}]})}\n",
        encoding="utf-8",
    )
    assert read_dataset(path)["q2"].gold == (Gold("c1"),)
    lists = {"query_id": "q2", "query": "Who?", "query_type": "who", "relevant_chunk_ids": ["c1"]}
    rows = [{**plain, "relevant_chunk_ids": []}, lists]
    assert read_dataset(rows)["q2"].gold == (Gold("c1"),)
    with pytest.raises(DataError, match="relevant_chunk_ids: missing"):
        read_dataset([plain, lists])


def test_workbooks_that_cannot_be_read(tmp_path):
    """A damaged workbook, and one of an old kind or with a password, are bad data."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    whole = tmp_path / "whole.xlsx"
    pandas.DataFrame({"query_id": range(99), "query": "x", "refs": "c"}).to_excel(whole)
    old = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
    altered = whole.read_bytes().replace(b"PK\x01\x02", b"PK\x01\x03")
    for name, content, hint in (
        ("cut.xlsx", whole.read_bytes()[:2000], "cannot be read as Excel"),
        ("altered.xlsx", altered, "cannot be read as Excel"),
        ("text.xlsx", b"query_id,query", "cannot be read as Excel"),
        ("old.xls", old, "save it as .xlsx, without a password"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name}: .*{hint}"):
            read_dataset(tmp_path / name)


@pytest.mark.parametrize(
    "row", [AUTORAG | {"retrieval_gt": []}, {"user_input": "Who?", "reference_contexts": []}]
)
def test_rows_of_other_tools_may_be_marked(row):
    """`answerable: false` marks a row without gold in the formats of other tools as well."""
    (query,) = read_dataset([row | {"answerable": False}])
    assert query.answerable is False
    assert "answerable" not in query.metadata


def test_llamaindex_marks_beside_its_parts(tmp_path):
    """`answerable` by id; of no question, or no flag, it is an error that names the id."""
    whole = (
        '{"queries": {"q1": "who?", "q2": "why?"}, "corpus": {}, "relevant_docs": {"q2": ["a"]}%s}'
    )
    path = tmp_path / "set.json"
    for flags, answerable in (("", None), (', "answerable": {"q1": false}', False)):
        path.write_text(whole % flags, encoding="utf-8")
        dataset = read_dataset(path)
        assert [query.answerable for query in dataset] == [answerable, None]
    for flags in ('{"q1": "no"}', '{"q7": false}', '{"q2": false}'):
        path.write_text(whole % f', "answerable": {flags}', encoding="utf-8")
        with pytest.raises(DataError, match="answerable"):
            read_dataset(path)


def test_the_competitions_questions_without_gold(tmp_path):
    """Empty refs are the competition's way to say that nothing should be found: no mistake."""
    (tmp_path / "refs.jsonl").write_text(
        '{"eval_id": 7, "refs": ["a"]}\n{"eval_id": 8, "refs": []}\n', encoding="utf-8"
    )
    (tmp_path / "refs.json").write_text('{"7": ["a"], "8": []}', encoding="utf-8")
    hashes = set()
    for name in ("refs.jsonl", "refs.json"):
        found = validate(str(tmp_path / name))
        assert found.n_errors == 0
        assert found.summary["n_unanswerable"] == 1
        hashes |= {found.content_hash, read_dataset(tmp_path / name, "science-qa").content_hash}
    assert len(hashes) == 1


def test_format_by_name(tmp_path):
    """A format that does not exist is answered with the nearest."""
    with pytest.raises(UsageError, match="perhaps you meant 'autorag'"):
        read_dataset(tmp_path / "x.jsonl", format="autorg")


def test_duplicate_ids(tmp_path):
    """A query id that stands twice is named with its first line."""
    path = tmp_path / "qa.jsonl"
    path.write_text(f"{json.dumps(AUTORAG)}\n\n{json.dumps(AUTORAG)}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r":3: query_id: 'a1' stands twice \(first on line 1\)"):
        read_dataset(path)
