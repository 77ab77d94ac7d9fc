"""Tables with a row for each document."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, UsageError, evaluate, read_dataset, read_results
from kragx.data.reading import read_run

GOLD = """query_id,question,answer_passage
q1,Can I return opened software?,Opened software can be returned within 14 days
q2,Do gift cards expire?,Gift cards do not expire
"""
RANKED = """query_id,Rank,Text,source
q1,2,Gift cards are sold here.,a
q2,1,Delivery takes two days.,b
q1,1,Returns: opened software can be returned within 14 days.,c
"""


@pytest.fixture
def write(tmp_path: Path):
    """Write a file; its path."""

    def call(text: str, name: str = "found.csv") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return call


def test_by_rank(write):
    """Documents stand by their ranks, whatever the order of rows; other columns are metadata."""
    run = read_run(write(RANKED))
    assert [*run] == ["q1", "q2"]
    first, second = run.results["q1"].documents
    assert first.text == "Returns: opened software can be returned within 14 days."
    assert (first.metadata, second.metadata) == ({"source": "c"}, {"source": "a"})


def test_by_score(write):
    """Without ranks the highest score is first; rows of one score stay in order."""
    text = "qid,score,chunk_id,chunk\nq1,.5,b,x\nq1,.9,a,y\nq1,.5,c,z\n"
    documents = read_run(write(text)).results["q1"].documents
    assert [(doc.id, doc.text, doc.score) for doc in documents] == [
        ("a", "y", 0.9),
        ("b", "x", 0.5),
        ("c", "z", 0.5),
    ]


def test_rows_of_json(write):
    """A row for each document is read alike from CSV, JSON Lines and JSON, as gold and results."""
    rows = [("q1", "b", 0.5), ("q1", "a", 0.9), ("q2", "c", 0.1)]
    for number, read in (("score", read_run), ("grade", read_dataset)):
        names = ("query_id", "doc_id", number)
        records = [dict(zip(names, row)) for row in rows]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        table = "\n".join(",".join(map(str, row)) for row in (names, *rows))
        files = write(table), write(lines, "found.jsonl"), write(json.dumps(records), "found.json")
        first, *others = [[*read(file)] for file in files]
        assert others == [first, first]
    results = write("".join(json.dumps({"query_id": q, "doc_id": "a"}) + "\n" for q in "xyx"))
    gold = {"x": {"a": 1}, "y": {"b": 1}}
    assert evaluate(gold, results, match="id", metrics=["mrr"], workers=2)["mrr"] == 0.5


def test_rows_of_json_that_are_not_alike(write):
    """A field that the first row lacks is one; a question with its list among rows is refused."""
    rows = [{"query_id": "q", "doc_id": "a", "score": 0.1}]
    rows += [{"query_id": "q", "doc_id": "b", "score": 0.5}]
    late = [{"query_id": "q", "doc_id": "a"}, {"query_id": "q", "doc_id": "b", "text": "x"}]
    nested = {"query_id": "r", "retrieved": [{"id": "c"}]}
    lines = ["\n".join(map(json.dumps, each)) for each in (rows, late, [*rows, nested])]
    (ranked,) = read_run(write(lines[0], "rows.jsonl")).results.values()
    assert [doc.id for doc in ranked.documents] == ["b", "a"]
    (texts,) = read_run(write(lines[1], "late.jsonl")).results.values()
    assert [doc.text for doc in texts.documents] == [None, "x"]
    with pytest.raises(DataError, match=r"mixed\.jsonl:1: doc_id: unknown field"):
        read_run(write(lines[2], "mixed.jsonl"))


def test_the_same_as_in_json_lines(write):
    """Two files, a table and JSON Lines, with the same content have the same numbers."""
    lines = [
        {
            "query_id": "q1",
            "retrieved": [
                "Returns: opened software can be returned within 14 days.",
                "Gift cards are sold here.",
            ],
        },
        {"query_id": "q2", "retrieved": ["Delivery takes two days."]},
    ]
    for line in lines:
        line["retrieved"] = [{"text": text} for text in line["retrieved"]]
    gold = write(GOLD, "gold.csv")
    by_line = write("".join(json.dumps(line) + "\n" for line in lines), "found.jsonl")
    table, json_lines = (evaluate(gold, path) for path in (write(RANKED), by_line))
    assert table.queries == json_lines.queries
    assert table["mrr@10"] == 0.5


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_questions_without_ids(write, form):
    """A table without ids joins by its questions, in Korean too, however letters are composed."""
    gold = read_dataset(
        write("question,answer_passage\n상품권에 유효 기간이 있나요?,없습니다\n", "gold.csv")
    )
    question = unicodedata.normalize(form, "상품권에  유효 기간이 있나요?")
    run = read_run(write(f"질문,순위,내용\n{question},1,없습니다\n"), gold)
    assert [*run] == ["q1"]
    assert run.results["q1"].documents[0].text == "없습니다"


def test_a_question_that_the_gold_set_lacks(write):
    """It is left out and counted; the others join. One that is there twice has its list twice."""
    gold = write(GOLD + "q3,Do gift cards expire?,Gift cards do not expire\n", "gold.csv")
    rows = (
        "question,rank,text\nWho are you?,1,x\nDo gift cards expire?,1,Gift cards do not expire\n"
    )
    evaluation = evaluate(gold, write(rows), metrics=["mrr@5"])
    assert evaluation.counts["n_extra"] == evaluation.counts["n_missing"] == 1
    values = {query_id: of_query["mrr@5"] for query_id, of_query in evaluation.queries.items()}
    assert values == {"q1": 0, "q2": 1, "q3": 1}


def test_questions_that_are_not_in_the_gold_set(write):
    """Where no question is in the gold set, that is said."""
    gold = write(GOLD, "gold.csv")
    with pytest.raises(DataError, match="none of its 1 query ids is in the gold set"):
        evaluate(gold, write("question,rank,text\nWho are you?,1,x\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query_id,rank,text\nq1,1,a\nq1,1,b\n", "rank: 1 stands twice for the question"),
        ("query_id,rank,text\nq1,first,a\n", "rank: must be a number, not 'first'"),
        ("query_id,rank,text\nq1,,a\n", "rank: missing"),
        ("query_id,rank,doc_id\nq1,1,a\nq1,2,\n", ":3: doc_id: missing; a document needs a text"),
        ("query_id,score,text\nq1,.5,a\nq1,,b\n", ":3: score: missing"),
        ("query_id,rank,text\n,1,a\n", "query_id: missing; of which question is it?"),
        ("user,rank,text\nu,1,a\n", r"for example --column question=\.\.\. \("),
        (
            "query_id,query,rank,text\nq1,a,1,x\nq1,b,2,y\n",
            ":3: query: 'b' here, and 'a' on line 2; a question has one query",
        ),
        (
            "query_id,rank,score,text\nq1,1,.9,a\nq1,2,.8,b\nq2,1,.1,a\nq2,2,.5,b\n",
            ":5: score: 0.5 behind 0.1: ranks and scores disagree; say which of them counts, "
            "--column rank=rank or --column score=score",
        ),
        ("query_id,rank,text\n", "the file holds no query"),
        (
            "search_query,position,snippet\na,1,x\n",
            r"for example --column question=\.\.\. --column text=\.\.\. \(",
        ),
        ("query,doc_id,grade\na,x,1\n", "grades, and neither ranks nor scores"),
    ],
)
def test_mistakes(write, text, message):
    """What cannot be a list of documents is said, with its line and column."""
    with pytest.raises(DataError, match=message):
        read_run(write(text))


def test_rows_of_questions_stay(write):
    """A column called rank does not make a table of questions one of documents."""
    text = "question,answer_passage,rank,id\nWhat?,Something that is long enough,1,x\n"
    (query,) = read_dataset(write(text))
    assert (query.text, query.metadata["rank"]) == ("What?", "1")


@given(st.permutations(range(6)))
def test_order_of_rows_never_matters(order):
    """With ranks, rows in any order are the same run."""
    rows = [
        {"query_id": f"q{n % 2}", "rank": n // 2 + 1, "text": f"document {n}"} for n in range(6)
    ]
    documents = read_run([rows[n] for n in order]).results
    for query_id, odd in (("q0", 0), ("q1", 1)):
        texts = [doc.text for doc in documents[query_id].documents]
        assert texts == [f"document {n}" for n in range(odd, 6, 2)]


def gold_of(source, **options):
    """The grades of each question's documents, by id or text."""
    dataset = read_dataset(source, **options)
    return {
        query.id: {gold.id or gold.text: gold.grade for gold in query.gold} for query in dataset
    }


def ids_of(source, **options):
    """What was retrieved for each question, by id."""
    run = read_run(source, **options)
    return {query: [doc.id for doc in answer.documents] for query, answer in run.results.items()}


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,grade\nq1,a,2\nq1,b,0\nq2,,\n",
        "qid;docno;label\nq1;a;2\nq1;b;0\nq2;;\n",
        "query-id,corpus-id,score\nq1,a,2\nq1,b,0\nq2,,\n",
        "query,docid,rating\nq1,a,2\nq1,c,\nq1,b,0\nq2\n",  # Quepid's, c has no rating
    ],
)
def test_gold(write, text):
    """Grades by document are gold: kragx', PyTerrier's, BEIR's and Quepid's names for columns."""
    assert gold_of(write(text)) == {"q1": {"a": 2, "b": 0}, "q2": {}}


def test_gold_with_texts(write):
    """A table of texts and grades, tabs between them, is gold that is matched by text."""
    path = write("질문\t본문\t등급\nq\tx\t2\nq\ty\t1\n", "gold.tsv")
    assert gold_of(path) == {"q": {"x": 2, "y": 1}}
    assert read_dataset(path)["q"].text == "q"


def test_one_document_has_one_grade(write):
    """A second grade for the same document is an error that names both lines."""
    with pytest.raises(DataError, match=r":3: rating: 0 here, and 2 on line 2 for the same docum"):
        read_dataset(write("query,docid,rating\nq,a,2\nq,a,0\n"))


def test_judged_lists(write):
    """Ranks and grades in one table are both: what is only judged, or only retrieved, is."""
    path = write("query_id,rank,doc_id,grade\nq,2,b,0\nq,1,a,2\nq,,c,1\nq,3,d,\nnone,,,\n")
    dataset, run = read_results(path)
    assert gold_of(path) == {"q": {"b": 0, "a": 2, "c": 1}, "none": {}}
    assert ids_of(path) == {"q": ["a", "b", "d"], "none": []}
    assert evaluate(path, match="id", metrics=["recall@3"]).queries["q"] == {"recall@3": 0.5}
    assert (len(dataset), [*run]) == (2, ["q", "none"])


WHOLE = "query_id,doc_id,score\nq,a,1\nq,b,3\n"


@pytest.mark.parametrize("read", [read_dataset, read_run, read_results, evaluate])
def test_what_may_be_either_is_asked_back(write, read):
    """Whole scores without ranks may be grades, wherever the table is given."""
    with pytest.raises(DataError, match=r"'score' may be grades or scores: say --as gold or --as"):
        read(write(WHOLE))


def test_what_was_asked_is_answered(write):
    """A role or a named column settles it, as gold and as results."""
    path, grades, order = write(WHOLE), {"q": {"a": 1, "b": 3}}, {"q": ["b", "a"]}
    assert gold_of(path, role="gold") == gold_of(path, columns={"grade": "score"}) == grades
    assert ids_of(path, role="results") == ids_of(path, columns={"score": "score"}) == order
    assert not len(read_results(path, role="gold")[1])
    assert [*read_results(path, role="results")[1]] == ["q"]


@pytest.mark.parametrize(
    "text",
    [
        "query-id,corpus-id,score\nq,a,.5\n",
        "query_id,doc_id,relevance\nq,a,.5\n",
        "query_id,doc_id,score\nq,a,.5\n",
        "query_id,rank,doc_id\nq,1,a\n",
    ],
)
def test_gold_is_never_guessed(write, text):
    """Fractions under BEIR's header or as relevance are asked back, as are ranks and scores."""
    path = write(text)
    with pytest.raises(DataError, match="--as gold"):
        read_dataset(path)
    assert gold_of(path, role="gold")["q"].keys() == {"a"}


def test_order_of_rows(write):
    """Without any number rows stand in their order where results are expected, else are asked."""
    path = write("query_id,doc_id\nq,b\nq,a\n")
    assert ids_of(path) == {"q": ["b", "a"]}
    assert gold_of(path) == {"q": {"b": 1, "a": 1}}
    with pytest.raises(DataError, match="may be gold or results: say --as"):
        read_results(path)


def test_named_columns(write):
    """`columns` names rank, score, text, id and grade; one that is not there is an error."""
    path = write("search_query,place,weight,snippet,key\nq,2,.1,x,a\nq,1,.2,y,b\n")
    columns = {"query": "search_query", "rank": "place", "score": "weight", "text": "snippet"}
    (run,) = read_run(path, columns=columns | {"doc_id": "key"}).results.values()
    assert [(doc.id, doc.text, doc.score) for doc in run.documents] == [
        ("b", "y", 0.2),
        ("a", "x", 0.1),
    ]
    with pytest.raises(DataError, match=r"columns\.rank: no column 'plase'; perhaps .* 'place'"):
        read_run(path, columns=columns | {"rank": "plase"})
    with pytest.raises(UsageError, match=r"columns\.snippet: unknown field"):
        read_run(path, columns={"snippet": "text"})


def test_rank_or_score(write):
    """Where both are there and disagree, the one that is named counts; distances only rise."""
    path = write("query_id,rank,score,doc_id\nq,1,.1,a\nq,2,.9,b\nq,3,.5,c\n")
    assert ids_of(path, columns={"rank": "rank"}) == {"q": ["a", "b", "c"]}
    assert ids_of(path, columns={"score": "score"}) == {"q": ["b", "c", "a"]}
    rising = write("query_id,rank,score,doc_id\nq,1,.1,a\nq,2,.5,b\np,1,.2,c\np,2,.2,d\n")
    assert ids_of(rising) == {"q": ["a", "b"], "p": ["c", "d"]}


@pytest.mark.filterwarnings("ignore:retrieved texts that can match nothing")
def test_a_chunk_in_which_nothing_stands(write):
    """It has its rank, as in JSON Lines."""
    gold = write(GOLD, "gold.csv")
    text = "Gift cards do not expire"
    lines = [{"query_id": "q2", "retrieved": [{"text": ""}, {"text": text}]}]
    by_line = write("".join(json.dumps(line) + "\n" for line in lines), "found.jsonl")
    table = write(f"query_id,rank,text\nq2,1,\nq2,2,{text}\n")
    assert evaluate(gold, table).queries == evaluate(gold, by_line).queries
    assert evaluate(gold, table, metrics=["mrr@2"]).queries["q2"] == {"mrr@2": 0.5}


def test_gold_by_question_and_results_by_id(write):
    """Quepid's gold has questions alone; results with ids and questions join it by these."""
    gold = write("query,docid,rating\ngift  card,a,1\n", "gold.csv")
    found = write("query_id,query,rank,doc_id\n7,gift card,1,a\n")
    assert evaluate(gold, found, match="id", metrics=["mrr@5"])["mrr@5"] == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from("pq"), st.sampled_from("abcdef"), st.sampled_from([0.0, 0.5, 1.5])
        ),
        min_size=1,
        unique_by=lambda row: row[:2],
    )
)
def test_by_a_slow_reference(rows):
    """A question's documents are those of its rows, the highest score first, then by row."""
    table = [{"query_id": query, "doc_id": doc, "score": score} for query, doc, score in rows]
    expected = {
        query: [
            doc
            for value in (1.5, 0.5, 0.0)
            for q, doc, score in rows
            if (q, score) == (query, value)
        ]
        for query, *_ in rows
    }
    assert ids_of(table, role="results") == expected
    by_doc = {query: {doc: score for q, doc, score in rows if q == query} for query, *_ in rows}
    assert gold_of(table, columns={"grade": "score"}) == by_doc


def test_gold_that_is_expected(write):
    """Questions with their passages are gold where gold is expected, each question once or not."""
    gold = write("question,passage\nDo gift cards expire?,Gift cards do not expire\n", "gold.csv")
    found = write("query,rank,text\nDo gift cards expire?,1,Gift cards do not expire\n")
    assert evaluate(gold, found, metrics=["recall@1"])["recall@1"] == 1
    with pytest.raises(DataError, match="not recognised"):
        read_dataset(write("question,content,answer\nWhat?,a text,an answer\n", "other.csv"))


def test_by_distance(write):
    """Without rank and score the nearest stands first, whatever the order of rows."""
    rows = ["q,far,0.9", "q,near,0.1", "q,between,0.5"]
    for order in (rows, rows[::-1]):
        run = read_run(write("\n".join(["query_id,doc_id,distance", *order])))
        assert [doc.id for doc in run["q"].documents] == ["near", "between", "far"]
        assert run["q"].documents[0].metadata["distance"] == 0.1


def test_decimal_commas(write):
    """A comma in a number is an error that says what to write, not a question back."""
    with pytest.raises(DataError, match=r"csv:2: score: must be a number, not '0,87'; write dec"):
        read_run(write("query_id;doc_id;score\nq1;a;0,87\nq1;b;0,91\n"))


@pytest.mark.parametrize(
    ("cells", "problem"),
    [({"grade": " "}, None), ({"doc_id": ["a"], "grade": 1}, "an id must be a string")],
)
def test_rows_of_python_are_read_as_those_of_tables(cells: dict[str, object], problem: str | None):
    """A blank cell is none, and what is no id is said, also where a list of rows is given."""
    rows = [{"query": "a?", "doc_id": "a", "grade": 1}, {"query": "a?", "doc_id": "b", **cells}]
    if problem is None:
        assert [gold.id for gold in read_dataset(rows).queries[0].gold] == ["a"]
    else:
        with pytest.raises(DataError, match=problem):
            read_dataset(rows)
