"""Questions and judgements out of a workshop and back: nothing is lost, nothing comes in halves."""

import csv
import json
import random
import unicodedata
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from kragx.data import Doc
from kragx.errors import DataError, UsageError
from kragx.workshop.exchange.exporting import ExportSource, export_file
from kragx.workshop.exchange.importing import import_file
from kragx.workshop.names import the_person
from kragx.workshop.state.records import (
    MARKS,
    Judgement,
    Person,
    Question,
    SuggestedDocument,
)
from kragx.workshop.state.state import State
from kragx.workshop.state.store import RecordStore
from tests.thoroughness import examples

TEXT_OF = {
    "d1": "청약철회는 7일 안에 한다. 서면이 늦었다면 그날부터 센다.",
    "d2": '@골뱅이로 시작하는 글, "따옴표"와\n줄바꿈',
    "007": "번호가 아이디인 글",
    "=d 4": "아이디에 빈칸이 있는 글 😀",
}
DOCS = {name: Doc(name, text) for name, text in TEXT_OF.items()}
GRADES = {0: "", 1: "", 2: "", 3: ""}
JIMIN, HANEUL = Person(uid="p1", name="지민", role="owner"), Person(uid="p2", name="하늘")
WHEN = Question(uid="q1", person="p1", text="며칠 안에 되나요?", query_type="일반")
SIGN = Question(uid="q2", person="p2", text="=1+1은 얼마인가요?", answerable=False)
SUFFIX = {"csv": ".csv", "jsonl": ".jsonl", "quepid": ".csv", "qrels": ".qrels"}


def said(uid: str, grade: int | None = None, **fields: object) -> Judgement:
    """A judgement of the first question and document by the first person."""
    own = {"question": "q1", "document": "d1", "person": "p1", "grade": grade}
    return Judgement(uid=uid, **{**own, **fields})


@pytest.fixture
def opened(tmp_path):
    """Opens the state of a workshop by name, with these records."""
    with ExitStack() as stack:

        def open_(name: str, *records: object) -> State:
            state = State(stack.enter_context(RecordStore(tmp_path / f"{name}.sqlite")))
            state.add(records)
            return state

        yield open_


def out(state: State, form: str, path: Path, person: str | None = None):
    """Export a workshop; gives the file and what was said."""
    file = path / f"out-{form}{SUFFIX.get(form, '.json')}"
    return file, export_file(ExportSource(state, DOCS, GRADES, person), form, file)


def back(state: State, file: Path, **options: object):
    """Import a file."""
    return import_file(ExportSource(state, DOCS, GRADES), file, **options)


def edited(file: Path, change) -> Path:
    """The rows of a CSV file as a spreadsheet program saves them, after a change."""
    with file.open(encoding="utf-8-sig", newline="") as opened_:
        rows = list(csv.DictReader(opened_))
    rows = change(rows) or rows
    with file.open("w", encoding="utf-8-sig", newline="") as opened_:
        writer = csv.DictWriter(opened_, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def folded(state: State) -> tuple[object, ...]:
    """What a workshop holds."""
    return (
        state.people,
        state.questions,
        {
            pair: {who: rows for who, rows in own.items() if rows}
            for pair, own in state.judgements.items()
        },
        {pair: rows for pair, rows in state.decisions.items() if rows},
        {who: rows for who, rows in state.history.items() if rows},
        {
            (question, document, who): rows
            for question, own in state.marks.items()
            for document, people in own.items()
            for who, rows in people.items()
            if rows
        },
        {who: rows for who, rows in state.marked.items() if rows},
    )


ODD = ("=1+1", "'=x", "-5", "+", "@a", " = b", 'a,b;"c"\nd\r\ne\rf', " ", "😀", "\ufeffx", "\t-x")
TEXTS = st.one_of(
    st.sampled_from([*ODD, "환불", unicodedata.normalize("NFD", "환불")]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12),
)
FILLED = TEXTS.filter(str.strip)
OPTIONAL = st.none() | TEXTS.filter(bool)


@st.composite
def workshops(draw) -> list[object]:
    """The records of a workshop: wordings, suggestions, judgements of all kinds, decisions."""
    people = [Person(name=draw(FILLED), role=draw(st.sampled_from(["owner", "file"])))]
    people += [Person(name=draw(FILLED)) for _ in range(draw(st.integers(0, 2)))]
    who = st.sampled_from([one.uid for one in people])
    questions = [
        Question(
            person=draw(who),
            text=draw(FILLED),
            origin=draw(st.sampled_from(["hand", "model"])),
            state=draw(st.sampled_from(["open", "dropped"])),
            note=draw(TEXTS),
            query_type=draw(OPTIONAL),
            difficulty=draw(OPTIONAL),
            reference=draw(OPTIONAL),
            answerable=draw(st.none() | st.booleans()),
            sources=tuple(draw(st.lists(TEXTS, max_size=2))),
            gold=tuple(
                draw(
                    st.lists(st.fixed_dictionaries({"id": FILLED, "grade": st.just(2)}), max_size=1)
                )
            ),
            metadata=draw(st.dictionaries(TEXTS, TEXTS | st.integers() | st.none(), max_size=2)),
            forbidden=draw(st.sampled_from([None, (), ({"id": "d1", "why": "tenant"},)])),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    ids = st.sampled_from([one.uid for one in questions])
    docs = st.sampled_from([*DOCS, "gone"])
    suggested = [
        SuggestedDocument(
            question=draw(ids),
            document=draw(docs),
            origin="retriever",
            detail=draw(TEXTS),
            score=0.1,
        )
        for _ in range(draw(st.integers(0, 2)))
    ]
    judgements = []
    for _ in range(draw(st.integers(0, 8))):
        kinds = ["grade", "grade", "unusable", "later", "undone", "forbidden", "allowed"]
        kind = draw(st.sampled_from(kinds))
        is_mark = kind in MARKS or (kind == "undone" and draw(st.booleans()))
        judgements.append(
            Judgement(
                question=draw(ids),
                document=draw(docs),
                person=draw(who),
                kind=kind,
                grade=draw(st.integers(0, 3)) if kind == "grade" else None,
                is_decision=not is_mark and draw(st.booleans()),
                why=draw(FILLED) if is_mark else "",
                spans=draw(st.sampled_from([(), ((0, 4),), ((0, 2), (3, 9))])),
                note=draw(TEXTS),
                purpose=draw(st.sampled_from(["", "search"])),
            )
        )
    reworded = [replace(questions[0], text=draw(FILLED), at="2031-01-01T00:00:00.000+00:00")]
    return [*people, *questions, *suggested, *judgements, *draw(st.sampled_from([[], reworded]))]


@pytest.mark.integration
@examples(80)
@given(workshops(), st.randoms(use_true_random=False))
def test_nothing_is_lost_on_the_way_back(records, rng):
    """Out and into a new workshop: JSON Lines hold all records, a sheet in any order what counts.

    The same file again, and into where it came from, adds nothing.
    """
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        first, by_json, by_sheet = (
            State(stack.enter_context(RecordStore(folder / f"{one}.sqlite"))) for one in "ajc"
        )
        first.add(records)
        file, _ = out(first, "jsonl", folder)
        back(by_json, file)
        assert list(by_json.store.after({})) == list(first.store.after({}))
        sheet, _ = out(first, "csv", folder)
        edited(sheet, lambda rows: rng.shuffle(rows[len(first.people) + len(first.questions) :]))
        back(by_sheet, sheet)
        assert folded(by_sheet) == folded(first)
        before = list(first.store.after({}))
        for again in (file, sheet):
            back(first, again)
        assert list(first.store.after({})) == before
        back(by_sheet, file)  # now with suggestions and earlier wordings
        assert folded(by_sheet) == folded(first)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_packed_export_is_read_again(opened, tmp_path, form):
    """A name that ends with .gz is that of a gzip file, both ways."""
    state = opened("a", JIMIN, WHEN, said("j1", 1))
    file = tmp_path / f"out.{form}.gz"
    export_file(ExportSource(state, DOCS, GRADES), form, file)
    assert file.read_bytes().startswith(b"\x1f\x8b")
    other = opened("b")
    back(other, file)
    assert folded(other) == folded(state)


def test_a_sheet_is_filled_in(opened, tmp_path):
    """Changed rows become new judgements of the same person, those without uid of who is named.

    Rows that were deleted are left alone; the sheet that comes a second time adds nothing.
    """
    state = opened("a", JIMIN, HANEUL, WHEN, SIGN, said("j1", 1), said("j2", 2, document="d2"))
    sheet, _ = out(state, "csv", tmp_path)

    def fill(rows):
        first = next(row for row in rows if row["uid"] == "j1")
        first |= {"grade": "3", "note": "다시 봄", "evidence": "[[0, 5]]"}
        new = dict.fromkeys(first, "") | {"question": "=1+1은 얼마인가요?", "document": "007"}
        new["question"] = f"'{new['question']}"  # as the sheet shows it
        return [row for row in rows if row["uid"] != "j2"] + [
            new | {"person": "하늘", "grade": "later"}
        ]

    edited(sheet, fill)
    result = back(state, sheet)
    assert result.counts == {"judgements": 2}
    newest = state.newest(("q1", "d1"), "p1")
    assert (newest.grade, newest.note, newest.spans, newest.purpose) == (
        3,
        "다시 봄",
        ((0, 5),),
        "import",
    )
    assert [one.grade for one in state.judgements["q1", "d1"]["p1"]] == [1, 3]
    assert state.newest(("q2", "007"), "p2").kind == "later"
    assert state.newest(("q1", "d2"), "p1").grade == 2
    assert not back(state, sheet).counts


def test_marks_go_both_ways(opened, tmp_path):
    """A mark of a sheet is one person's, stands beside the grade, and a row takes it back."""
    state = opened(
        "a", JIMIN, HANEUL, WHEN, said("j1", 1), said("m1", kind="forbidden", why="stale")
    )
    sheet, _ = out(state, "csv", tmp_path)

    def fill(rows):
        mark = next(row for row in rows if row["uid"] == "m1")
        assert (mark["grade"], mark["why"]) == ("forbidden", "stale")
        new = dict.fromkeys(mark, "") | {"question": WHEN.text, "document": "d1", "person": "하늘"}
        mark["grade"] = "undone"
        return [*rows, new | {"grade": "forbidden"}, new | {"grade": "2"}]

    edited(sheet, fill)
    assert back(state, sheet).counts["judgements"] == 3
    assert state.mark(("q1", "d1"), "p1") is None
    mark = state.mark(("q1", "d1"), "p2")
    assert (mark.kind, mark.why) == ("forbidden", "forbidden")
    grades = [state.newest(("q1", "d1"), person).grade for person in ("p1", "p2")]
    assert grades == [1, 2]
    assert not back(state, sheet).counts
    edited(
        sheet, lambda rows: [row | {"why": "stale"} if row["uid"] == "j1" else row for row in rows]
    )
    with pytest.raises(DataError, match="why: grade is not said with the kind 'stale'"):
        back(state, sheet)


def test_wrong_rows_are_all_said_and_nothing_is_imported(opened, tmp_path):
    """Each with line, field, value and what to do; one right row among them does not come in."""
    state = opened("a", JIMIN, WHEN, said("j1", 1), said("j2", 1, document="d2"))
    sheet, _ = out(state, "csv", tmp_path)
    rows = [
        {"grade": "4", "document": "d1"},
        {"grade": "good", "document": "d1"},
        {"grade": "2", "document": "7"},
        {"grade": "2", "document": "d1", "evidence": "[[0, 9999]]"},
        {"grade": "2", "document": "d1", "person": "지만"},
        {"grade": "2", "document": "d1", "question": "없는 질문"},
        {"grade": "3", "document": "007"},
    ]
    usual = {"question": WHEN.text, "person": "지민"}
    edited(sheet, lambda old: old + [dict.fromkeys(old[0], "") | usual | row for row in rows])
    before = list(state.store.after({}))
    with pytest.raises(DataError) as error:
        back(state, sheet)
    text = str(error.value)
    assert "out-csv.csv:row 7: grade: 'good' is no grade; write a number of the scale" in text
    edited(sheet, lambda old: [row for row in old if row["grade"] != "good"])
    with pytest.raises(DataError) as error:
        back(state, sheet)
    text = str(error.value)
    assert text.startswith("5 mistakes; nothing was imported")
    for words in (
        "csv:row 6: grade: 4 is not on the scale; write 0 to 3",
        "csv:row 7: document: '7': the corpus has no such document",
        "csv:row 8: spans: [0, 9999] is no stretch of a text of ",
        "csv:row 9: person: nobody is called '지만'; valid: 지민; or name --person",
        "csv:row 10: question: '없는 질문': no question has this text",
    ):
        assert words in text
    assert list(state.store.after({})) == before


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("forbidden", '[{"role": "user"}]', "unknown field"),
        ("gold", '[{"text": 5}]', "a text must be a string"),
        ("inclusion", "0", "above 0 and at most 1"),
        ("weight", "-1", "weight"),
    ],
)
def test_what_no_gold_set_could_hold_does_not_come_in(opened, tmp_path, column, cell, problem):
    """It would end every release from then on, as nothing is ever removed."""
    state = opened("a", JIMIN, WHEN)
    sheet, _ = out(state, "csv", tmp_path)
    edited(sheet, lambda rows: rows[1].update({column: cell}))
    with pytest.raises(DataError, match=f"row 3.*{problem}"):
        back(state, sheet)
    assert state.questions["q1"] == WHEN


def test_what_a_spreadsheet_makes_of_ids_does_no_harm(opened, tmp_path):
    """The row's uid says which document was meant; without it an id that is none is refused."""
    state = opened("a", JIMIN, WHEN, said("j1", 1, document="007"))
    sheet, _ = out(state, "csv", tmp_path)
    edited(sheet, lambda rows: rows[-1].update(document="7", grade="2"))
    assert back(state, sheet).counts == {"judgements": 1}
    assert state.newest(("q1", "007"), "p1").grade == 2
    edited(sheet, lambda rows: rows[-1].update(document="d1", grade="3"))
    with pytest.raises(DataError, match="or add a row without uid"):
        back(state, sheet)


def test_nobody_gets_rights_by_a_sheet(opened, tmp_path):
    """Who fills in a sheet gets neither the owner's rights by it nor back a link that is gone."""
    state = opened("a", JIMIN, HANEUL, WHEN, said("j1", 1))
    sheet, _ = out(state, "csv", tmp_path)
    edited(sheet, lambda rows: [r | ({"role": "owner"} if r["role"] else {}) for r in rows])
    with pytest.raises(DataError, match="role: no file changes what somebody may do"):
        back(state, sheet)
    file, _ = out(state, "jsonl", tmp_path)
    state.add([replace(HANEUL, state="gone")])
    back(state, file)
    assert (state.people[HANEUL.uid].role, state.people[HANEUL.uid].state) == ("annotator", "gone")


def test_two_rows_of_a_uid_are_one(opened, tmp_path):
    """A row copied with a uid that is new here is a mistake, not one judgement of two."""
    state = opened("a", JIMIN, WHEN)
    row = {
        "record": "judgement",
        "uid": "copied-row",
        "question": unicodedata.normalize("NFD", WHEN.text),
    }
    file = tmp_path / "rows.jsonl"
    rows = [row | {"person": "지민", "document": doc, "grade": 1} for doc in ("d1", "d2")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="line 2: uid: two rows say something else"):
        back(state, file)
    file.write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[0]) + "\n")
    back(state, file)
    assert [*state.judgements] == [(WHEN.uid, "d1")]


def test_gold_that_the_corpus_lacks_is_named(opened, tmp_path):
    """As where a workshop is made of it: no id that is gone comes into a release without a word."""
    state, file = opened("a", JIMIN, WHEN), tmp_path / "gold.jsonl"
    file.write_text(json.dumps({"query_id": "n", "query": "?", "gold": [{"id": "d0"}]}))
    assert "'d0' (query 'n', gold 1)" in str(back(state, file))


def test_a_row_takes_its_judgement_back(opened, tmp_path):
    """The grade 'undone' in the newest row brings the one before it back, once."""
    state = opened("a", JIMIN, WHEN, said("j1", 1), said("j2", 3))
    sheet, _ = out(state, "csv", tmp_path)
    edited(sheet, lambda rows: rows[-1].update(grade="undone"))
    assert (back(state, sheet).counts, back(state, sheet).counts) == ({"judgements": 1}, {})
    assert state.newest(("q1", "d1"), "p1").uid == "j1"


def test_what_a_spreadsheet_cannot_save_changes_nothing(opened, tmp_path):
    """Question marks of cp949 and other line breaks are no new wording and no note."""
    question = replace(WHEN, text="며칠 안에\r\n되나요? 😀", metadata={"글": "😀"})
    state = opened("a", JIMIN, question, said("j1", 1, note="앞 — ✓ 😀"))
    sheet, _ = out(state, "csv", tmp_path)
    text = sheet.read_text("utf-8-sig").replace("\r\n", "\n").replace("😀", "??")
    sheet.write_bytes(text.replace("—", "?").replace("✓", "?").encode("cp949"))
    with pytest.warns(UserWarning, match="cp949"):
        result = back(state, sheet)
    assert not result.counts


def test_what_changed_meanwhile_is_not_overwritten(opened, tmp_path):
    """A row whose question was reworded, or whose pair was judged again, since then is refused."""
    state = opened("a", JIMIN, WHEN, said("j1", 1))
    sheet, _ = out(state, "csv", tmp_path)
    state.add([replace(WHEN, text="언제까지?", at="2031-01-01T00:00:00.000+00:00"), said("j2", 0)])
    assert not back(state, sheet).counts
    assert state.questions["q1"].text == "언제까지?"

    def change(rows):
        rows[1]["query_type"], rows[2]["grade"] = "다른", "3"

    edited(sheet, change)
    with pytest.raises(DataError) as error:
        back(state, sheet)
    assert "was changed in the workshop after this file was written" in str(error.value)
    assert "the same person has judged this pair again since" in str(error.value)


def test_a_question_is_reworded_in_its_row(opened, tmp_path):
    """Its own row changes it, once; a judgement's row says that this is not the place."""
    state = opened("a", JIMIN, WHEN, said("j1", 1))
    sheet, _ = out(state, "csv", tmp_path)
    edited(sheet, lambda rows: rows[2].update(question="다른 말"))
    with pytest.raises(DataError, match="reword a question in its own row"):
        back(state, sheet)
    edited(sheet, lambda rows: rows[1].update(question="다른 말", difficulty="hard"))
    assert (back(state, sheet).counts, back(state, sheet).counts) == ({"questions": 1}, {})
    assert (state.questions["q1"].text, state.questions["q1"].difficulty) == ("다른 말", "hard")


def test_a_sheet_of_ones_own(opened, tmp_path):
    """A table with question, document and grade alone is enough; its judgements are a file's."""
    state = opened("a", JIMIN, WHEN)
    sheet = tmp_path / "mine.csv"
    sheet.write_bytes("question,document,grade\r\n며칠 안에 되나요?,d1,2\r\n".encode("cp949"))
    with pytest.warns(UserWarning, match="cp949"):
        result = back(state, sheet)
    assert result.counts == {"people": 1, "judgements": 1}
    people = [(person.name, person.role) for person in state.people.values()]
    assert people == [("지민", "owner"), ("mine.csv", "file")]
    with pytest.warns(UserWarning, match="cp949"):
        assert back(state, sheet, person="하늘").counts["judgements"] == 1
    new = the_person("하늘", state.people.values(), "--person").uid
    assert state.newest(("q1", "d1"), new).grade == 2


def test_new_questions_of_a_log_or_a_gold_set_come_in(opened, tmp_path):
    """Those whose ids are new, with their grades; a row that names no document is a question."""
    state = opened("a", JIMIN, WHEN)
    file = tmp_path / "asked.jsonl"
    gold = [
        {"query_id": q, "query": f"{q}?", "gold": [{"id": "d1", "grade": 2}], "weight": 3}
        for q in ("q1", "q9")
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in gold))
    assert back(state, file).counts == {
        "people": 1,
        "questions": 1,
        "candidates": 1,
        "judgements": 1,
    }
    assert (state.questions["q1"], state.questions["q9"].weight) == (WHEN, 3)
    (row,) = state.judgements["q9", "d1"].values()
    assert (row[-1].grade, state.people[row[-1].person].name) == (3, "asked.jsonl")
    assert not back(state, file).counts
    sheet = tmp_path / "mine.csv"
    sheet.write_text("question\nWhat is it?\nWhy?\n")
    assert back(state, sheet).counts == {"people": 1, "questions": 2}
    assert not back(state, sheet).counts
    sheet.write_text("question,document,grade,note\n,,,only a note\n")
    with pytest.raises(DataError, match="'' is no grade"):
        back(state, sheet)


def test_a_table_of_ids_is_told_what_is_needed(opened, tmp_path):
    """A column of another name: what a judgement needs; with that ids alone do."""
    state = opened("a", JIMIN, WHEN)
    sheet = tmp_path / "mine.csv"
    sheet.write_text("query_id,doc_id,grade\nq1,d1,2\n")
    with pytest.raises(DataError, match="needs question or question_uid, document and grade; "):
        back(state, sheet)
    sheet.write_text("question_uid,document,grade\nq1,d1,2\nq1,d2,5\nq9,d1,1\n")
    with pytest.raises(DataError, match="2 mistakes"):
        back(state, sheet)
    sheet.write_text("question_uid,document,grade\nq1,d1,2\n")
    assert back(state, sheet).counts["judgements"] == 1


def test_no_cell_is_a_formula(opened, tmp_path):
    """No cell begins as a formula does, whatever the texts are."""
    note = said("j1", 1, note="=HYPERLINK(1)", document="d2")
    state = opened("a", JIMIN, WHEN, SIGN, note, said("j2", 1, document="=d 4"))
    for form in ("csv", "quepid"):
        file, _ = out(state, form, tmp_path)
        raw = file.read_bytes()
        assert raw.startswith(b"\xef\xbb\xbf") == (form == "csv")
        with file.open(encoding="utf-8-sig", newline="") as opened_:
            cells = [cell for row in csv.reader(opened_) for cell in row]
        assert [cell for cell in cells if cell.startswith(tuple("=+-@"))] == []
        assert "null" not in cells


def test_qrels_hold_what_people_agree_on(opened, tmp_path):
    """One grade a pair, by decision where they differ; the rest is said; ids need no spaces."""
    state = opened(
        "a",
        *(JIMIN, HANEUL, WHEN, SIGN),
        *(said("j1", 1), said("j2", 1, person="p2")),
        *(said("j3", 1, document="d2"), said("j4", 2, document="d2", person="p2")),
        said("j5", kind="unusable", document="007"),
    )
    file, result = out(state, "qrels", tmp_path)
    assert file.read_text() == "q1 0 d1 1\n"
    assert str(result).startswith(f"written: {file} (grades: 1)")
    assert result.remarks[:2] == (
        "1 pairs that people grade differently and nobody has decided",
        "1 pairs that are unusable",
    )
    assert out(state, "qrels", tmp_path, "p2")[0].read_text() == "q1 0 d1 1\nq1 0 d2 2\n"
    state.add([said("j6", 3, document="d2", is_decision=True)])
    assert "q1 0 d2 3\n" in out(state, "qrels", tmp_path)[0].read_text()
    state.add([said("j7", 2, document="=d 4")])
    with pytest.raises(DataError, match="'=d 4'; a TREC file needs one"):
        out(state, "qrels", tmp_path)


def test_quepid_knows_questions_by_their_text(opened, tmp_path):
    """query,docid,rating; a question without ratings has a line, as Quepid's own export has."""
    state = opened("a", JIMIN, WHEN, SIGN, said("j1", 3))
    file, _ = out(state, "quepid", tmp_path)
    assert file.read_text() == "query,docid,rating\n며칠 안에 되나요?,d1,3\n =1+1은 얼마인가요?,,\n"


def test_label_studio_holds_grades_evidence_and_notes(opened, tmp_path):
    """Pairs to judge are tasks, and what was said of them annotations."""
    state = opened(
        "a",
        *(JIMIN, WHEN, said("j1", 2, spans=((0, 5),), note="앞 문장")),
        SuggestedDocument(question="q1", document="d2", origin="retriever"),
    )
    file, result = out(state, "labelstudio", tmp_path)
    tasks = json.loads(file.read_text())
    assert [len(task["annotations"]) for task in tasks] == [0, 1] or len(tasks) == 2
    assert (tmp_path / "out-labelstudio.json.xml").read_text().count("<Choice ") == 6
    assert result.counts == {"tasks": 2, "annotations": 1}
    (annotation,) = (note for task in tasks for note in task["annotations"])
    values = [result["value"] for result in annotation["result"]]
    assert values[0] == {"choices": ["2"]}
    assert (values[1]["start"], values[1]["end"], values[2]) == (0, 5, {"text": ["앞 문장"]})


@pytest.mark.parametrize(
    "raw",
    [
        '{"record": 1}',
        '{"record": "release"}',
        '{"data": 1}',
        "{",
        '{"record": "person", "nme": "a"}',
        '{"record": "judgement", "uid": 3}',
        '{"record": "person", "name": "a\\u0000"}',
    ],
)
def test_what_is_no_export_is_refused(opened, tmp_path, raw):
    """Every broken file is an error of data, and leaves the workshop as it was."""
    state = opened("a", JIMIN, WHEN)
    file = tmp_path / "x.jsonl"
    file.write_text(raw)
    with pytest.raises((DataError, UsageError)):
        back(state, file)
    assert len(list(state.store.after({}))) == 2


def test_other_files_are_refused(opened, tmp_path):
    """A file that is neither an export nor what a move left is refused."""
    state = opened("a", JIMIN, WHEN)
    for name, text in (("x.dat", "question_uid,document,grade"), ("x.jsonl", '{"query": "a"}')):
        (tmp_path / name).write_text(f"{text}\n")
        with pytest.raises(UsageError, match="neither an export"):
            back(state, tmp_path / name)


ODD = (None, True, -1, 2.5, 10**400, "", "a\0b", [], ["x"], [[]], {}, {"a": {"b": [1]}}, [{"a": 1}])
JUDGED = 3  # the line of the judgement
PLACES = [
    ((JUDGED, "at"), []),
    ((0, "uid"), {"a": 1}),
    ((JUDGED, "question"), [1]),
]


def changed(file, path, new) -> None:
    """Put a value at a place of a file of JSON Lines: the number of its line, then keys."""
    lines = inner = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(("path", "new"), PLACES)
def test_values_of_another_kind(opened, tmp_path, path, new):
    """What is of another kind than it was exported is said with its place; nothing comes in."""
    source = opened("a", JIMIN, HANEUL, WHEN, said("j1", 2, note="n", spans=((0, 3),)))
    file, _ = out(source, "jsonl", tmp_path)
    changed(file, path, new)
    other = opened("b")
    with pytest.raises(DataError, match="nothing was imported"):
        back(other, file)
    assert not other.questions


@pytest.mark.integration
def test_values_of_any_kind_anywhere(opened, tmp_path):
    """Whatever stands at whatever place: it is taken, or refused as bad data."""
    records = (JIMIN, HANEUL, WHEN, said("j1", 2, note="n", spans=((0, 3),)))
    file, _ = out(opened("a", *records), "jsonl", tmp_path)
    text = file.read_text(encoding="utf-8")

    def places(value, path=()):
        yield path
        if isinstance(value, (dict, list)):
            for key in value if isinstance(value, dict) else range(len(value)):
                yield from places(value[key], (*path, key))

    lines = [json.loads(line) for line in text.splitlines()]
    cases = [(path, new) for path in places(lines) for new in ODD if path]
    target = opened("b")
    for path, new in random.Random(0).sample(cases, 150):
        file.write_text(text, encoding="utf-8")
        changed(file, path, new)
        with suppress(DataError, UsageError):
            back(target, file)
