"""Plain tables of questions and passages as gold."""

from __future__ import annotations

import pandas
import pytest

from kragx import DataError, evaluate, read_dataset

PASSAGE = "첫 줄입니다.\n둘째 줄, 쉼표; 그리고 | 막대."


def test_csv_and_excel(tmp_path):
    """A passage is one text whatever stands in it; rows are numbered; other columns are kept."""
    frame = pandas.DataFrame(
        {"question": ["a?", "b?", "c?"], "answer_passage": [PASSAGE, "b", None], "team": [*"xyz"]}
    )
    frame.to_csv(tmp_path / "gold.csv", index=False)
    frame.to_excel(tmp_path / "gold.xlsx", index=False)
    for source in (frame, tmp_path / "gold.csv", tmp_path / "gold.xlsx"):
        dataset = read_dataset(source)
        assert [query.id for query in dataset] == ["q1", "q2", "q3"]
        assert [[gold.text for gold in query.gold] for query in dataset] == [[PASSAGE], ["b"], []]
        assert dataset["q2"].metadata == {"team": "y"}


@pytest.mark.parametrize("of_krag", [True, False])
def test_lists_of_passages(tmp_path, of_krag):
    """A list is its texts, also as Python and pandas write it into a cell, as K-RAG's tables have.

    Whatever else begins with a bracket is a passage. What a column is called is said by name.
    """
    lists = [["첫째, 글", "it's"], [], ["[표 1] 요금"], ["[1]"]]
    cells = [str(lists[0]), "[]", "[표 1] 요금", "[1]"] if of_krag else lists
    frame = pandas.DataFrame({"question": [*"abcd"], "context": cells, "source": [*"wxyz"]})
    with pytest.raises(DataError, match=r"as read_dataset\(\.\.\., columns={'question': "):
        read_dataset(frame)
    frame.to_csv(tmp_path / "gold.csv", index=False)
    for source in (frame, tmp_path / "gold.csv"):
        dataset = read_dataset(source, columns={"answer_passage": "context"})
        assert [[gold.text for gold in query.gold] for query in dataset] == lists


def test_named_columns(tmp_path):
    """Korean columns are mapped, and the gold is found where a document holds it."""
    path = tmp_path / "gold.csv"
    path.write_text("번호,질문,정답\nn7,며칠?,14일 이내\n", encoding="cp949")
    columns = {"query_id": "번호", "question": "질문", "answer_passage": "정답"}
    dataset = read_dataset(path, columns=columns, encoding="cp949")
    result = evaluate(dataset, {"n7": ["환불은 14일 이내에 합니다"]}, metrics=["hit_rate@1"])
    assert result["hit_rate@1"] == 1.0


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("질문,정답", "--column 'answer_passage=정답'"),
        ("query", r"--column answer_passage=\.\.\."),
        ("물음,답변 문단", r"--column question=\.\.\. --column 'answer_passage=답변 문단'"),
    ],
)
def test_an_unknown_table_says_how_to_name_its_columns(tmp_path, header, options):
    """What is not understood is answered with the columns that are there, and how to name them."""
    path = tmp_path / "gold.csv"
    path.write_text(f"{header}\n" + ",".join(["x y"] * (header.count(",") + 1)) + "\n", "utf-8")
    names = ", ".join(map(repr, header.split(",")))
    with pytest.raises(DataError, match=f"its fields are {names}; .* {options} \\("):
        read_dataset(path)


@pytest.mark.parametrize(
    "header",
    ["질문,answer_passage,난이도", "Query,Answer Passage,난이도", "question,answer-passage,난이도"],
)
def test_columns_called_nearly_as_fields(tmp_path, header):
    """Capitals, spaces and hyphens make no difference, and a question has several names."""
    path = tmp_path / "gold.csv"
    path.write_text(f"{header}\n며칠?,14일 이내,하\n", encoding="utf-8")
    (query,) = read_dataset(path)
    assert (query.text, query.gold[0].text) == ("며칠?", "14일 이내")
    assert query.metadata == {"난이도": "하"}


def test_a_question_beside_ids(tmp_path):
    """A table of chunk ids may call its question as one of passages does; two are told apart."""
    path = tmp_path / "gold.csv"
    path.write_text('Query ID,질문,Relevant Chunk IDs\n7,며칠?,"c1, c2"\n', encoding="utf-8")
    (query,) = read_dataset(path)
    assert (query.id, query.text, [gold.id for gold in query.gold]) == ("7", "며칠?", ["c1", "c2"])
    assert [*read_dataset(path, columns={"question": "질문"})] == [query]
    path.write_text("question,Question,answer_passage,Weight\na?,b?,c,heavy\n", encoding="utf-8")
    query = read_dataset(path)["q1"]
    assert (query.text, query.metadata) == ("a?", {"Question": "b?", "Weight": "heavy"})


def test_a_column_that_is_not_there_is_named_with_the_nearest(tmp_path):
    """A misspelt column is the error, not the fields that the table has once it is mapped."""
    path = tmp_path / "gold.csv"
    path.write_text("질문,정답 근거\n며칠?,14일 이내\n", encoding="utf-8-sig")
    said = r"columns\.answer_passage: .*'정답근거'; perhaps you meant '정답 근거'"
    with pytest.raises(DataError, match=said):
        read_dataset(path, columns={"question": "질문", "answer_passage": "정답근거"})


@pytest.mark.parametrize("field", ["question", "query", "user_input"])
def test_a_column_of_questions_that_is_not_there(tmp_path, field):
    """It is named, and not the row that lacks a question because of it."""
    gold = {"question": "answer_passage", "query": "relevant_chunk_ids"}
    columns = {field: "질문내용", gold.get(field, "reference_contexts"): "정답"}
    path = tmp_path / "gold.csv"
    path.write_text("번호,질문 내용,정답\nq1,며칠?,14일\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=rf"columns\.{field}: .*'질문내용'; perhaps you meant '질문 내용'"
    ):
        read_dataset(path, columns=columns | {"query_id": "번호"})


def test_a_title_above_the_header(tmp_path):
    """A sheet whose first line is a title is answered with what stands where names must."""
    path = tmp_path / "gold.csv"
    path.write_text("검색 평가,,\n질문,정답,비고\n며칠?,14일 이내,\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1 must name the columns: it is '검색 평가'"):
        read_dataset(path, columns={"question": "질문", "answer_passage": "정답"})


def test_without_a_question(tmp_path):
    """A row whose question is missing is an error with its line."""
    path = tmp_path / "gold.csv"
    path.write_text("question,answer_passage\nwhy?,a\n,b\n")
    with pytest.raises(DataError, match=r"gold.csv:3: question: missing; a question needs its"):
        read_dataset(path)
