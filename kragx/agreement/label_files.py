"""Labels in files, in memory and in judgement stores, as rows of a key and a grade.

| format   | what                                                                               |
|----------|------------------------------------------------------------------------------------|
| `matrix` | JSON Lines as ``kragx match`` writes them: query_id, matched (n x m), corrected    |
| `store`  | a judgement store: a judge's grades and people's                                   |
| `gold`   | TREC qrels, a gold or results file of any format: the grades of its gold           |

A label is 0 or 1, true or false, or a grade.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Literal, cast

from kragx.data import Doc, Gold, GoldDataset, normalise
from kragx.data.documents import clean_id
from kragx.data.formats.jsonl import ending, open_bytes, read_records
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, UsageError, inside, nearest, shorten
from kragx.judging import Store
from kragx.judging.rubric import RUBRICS, is_file, key_of, read_rubric, wording_of
from kragx.judging.store import Address, is_url
from kragx.judging.store.qrels import (
    NO_EXAMPLES,
    Choice,
    examples_of,
    graded_once,
    graded_records,
    grades,
)

Pair = tuple[str, str]
"""A query id and a document id."""

Key = tuple[str, str | int, str | int | None]
"""What a label is of: a query, a document and a gold item, None for any of them.

Document and gold item are named (`document_name`), or numbered by their places from 1 on.
"""

Row = tuple[Key, float]

Side = Literal["human", "judge"]

_SQLITE = b"SQLite format 3\x00"


def label_format(source: object) -> str:
    """The format of a file of labels, or other source; what is no other is a gold set.

    Raises:
        DataError: the file cannot be read.
    """
    if not isinstance(source, (str, Path)) or str(source) == "-":
        return "gold"
    if is_url(source):
        return "store"
    path = Path(source)
    with open_bytes(path) as file:
        start = file.read(16)
    if start == _SQLITE:
        return "store"
    is_json = start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")
    if not is_json or ending(path) == ".json":
        return "gold"
    _, record = next(read_records(path), (0, {}))
    return "matrix" if "matched" in record else "gold"


def of_matrix(path: Path) -> Iterator[Row]:
    """The labels of pairs by their places, as ``kragx match`` writes them; null is not known."""
    for line, record in read_records(path):
        with inside(path=f"{path}:{line}"):
            with inside("query_id"):
                query_id = clean_id(record.get("query_id"), SurrogateRepair())
            if query_id is None:
                raise DataError("{name!r} is missing", name="query_id")
            rows = record.get("matched")
            if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
                raise DataError("'matched' must be a list of lists, not {rows}", rows=shorten(rows))
            for rank, row in enumerate(rows, start=1):
                for gold, value in enumerate(row, start=1):
                    if value is None:
                        continue
                    if not isinstance(value, (int, float)) or not isfinite(value):
                        raise DataError(
                            "'matched' holds 0 or 1, true or false, grades or null, not {value}",
                            value=shorten(value),
                        )
                    yield (query_id, rank, gold), float(value)


def document_name(doc: Doc | Gold) -> str:
    """How labels call a document: its id, else ``text-`` and the start of its text's SHA-256."""
    return doc.id if doc.id is not None else f"text-{key_of(doc.text or '')[:16]}"


def text_name(text: str | None) -> str:
    """How labels call what has this text, however it is spaced or composed."""
    return document_name(Doc(text=normalise(text or "")))


def of_dataset(dataset: GoldDataset, name: str) -> Iterator[Row]:
    """The grades of gold and of its alternatives; `name` is what an error calls the dataset.

    Raises:
        DataError: no query has gold.
    """
    if not any(query.gold for query in dataset):
        raise DataError("there is no label in it: neither gold nor 'matched'", path=name)
    for query in dataset:
        for gold in query.gold:
            docs = (gold,) if gold.id is not None or gold.text is not None else ()
            for doc in (*docs, *gold.alternatives):
                yield (query.id, document_name(doc), None), gold.grade


# -- judgement stores ------------------------------------------------------------------------------


def check_choice(choice: Mapping[str, object]) -> None:
    """Raise a `TypeError` for an argument that no `Choice` has, as Python does of any other."""
    names = Choice.__annotations__
    for name in choice:
        if name not in names:
            raise TypeError(f"unexpected keyword argument {name!r}; {nearest(name, names)}")


def of_store(
    address: Address, side: Side | None, choice: Choice, *, expected: bool = False
) -> tuple[list[Row], float | None]:
    """People's labels in a store, or its judge's grades, or whatever calibrates a match.

    Args:
        address: of the store.
        side: whose labels; None for grades of support, which are of a document and a gold text;
            without any, of relevance, with people's in their place. Both are named by their texts,
            which other results have under other ids.
        choice: of the judge's grades.
        expected: whether the grades that probabilities expect are wanted, and a panel's mean.

    Returns:
        The labels, and the least grade that is a match by the judge's rubric, None if nobody knows.

    Raises:
        DataError: there is no such store, or nothing of the kind in it.
        UsageError: several models or rubrics graded, or both questions were asked: these are not
            one set of labels.
    """
    with Store(address, make=False) as store:
        if side is None:
            labels = _of_judge_and_people(store, choice)
        elif side == "judge":
            labels = _of_pairs(grades_by(store, choice, expected=expected))
        else:
            labels = _of_pairs(store.labels())
        if not labels and side == "human":
            raise DataError(
                "{address}: the store holds no human label; bring some in: kragx judge store "
                "import HUMAN.qrels",
                address=address,
            )
        return labels, _match_from(store, side, choice.get("rubric"))


def _match_from(store: Store, side: Side | None, rubric: str | None) -> float | None:
    if rubric is not None and is_file(rubric):
        return read_rubric(rubric).match_from
    if side is not None:  # labels that are held against others, as they are
        return 2.0
    questions = [record["question"] for record in store.records() if "grade" in record]
    ids = {wording_of(question) for question in questions if question}
    # All built-in rubrics begin to match at 2; of another the store has no more than the id.
    return 2.0 if {*(ids if rubric is None else [rubric])} <= RUBRICS.keys() else None


def grades_by(store: Store, choice: Choice, *, expected: bool = False) -> dict[Pair, float]:
    """The grades of a store's judge alone."""
    mode = choice.get("asks") or asked_in(store)
    return grades(store, expected=expected, **cast("Choice", {**choice, "asks": mode}))


def _of_pairs(labels: Mapping[Pair, float]) -> list[Row]:
    return [((*pair, None), float(grade)) for pair, grade in labels.items()]


def _of_judge_and_people(store: Store, choice: Choice) -> list[Row]:
    kinds = ("support", "relevance") if choice.get("asks") is None else (choice["asks"],)
    by_kind = (graded_once(store, {**choice, "asks": kind}) for kind in kinds)
    answers = next(filter(None, by_kind), [])
    is_support = bool(answers) and answers[0].question["asks"] == "support"
    people = {} if is_support else store.labels()
    labels: dict[Key, float] = {}
    for answer in answers:
        document = text_name(answer.question["document"])
        gold = text_name(answer.question["gold"]) if is_support else None
        for query_id, doc_id in answer.pairs:
            if (query_id, doc_id) not in people:
                key = query_id, document, gold
                labels[key] = max(labels.get(key, answer.grade), answer.grade)
    return [*labels.items(), *_of_pairs(people)]


def asked_in(store: Store) -> str:
    """What the judge of a store was asked: relevance, support, or a `UsageError` if both."""
    # What has no pairs was asked by a probe.
    questions = [record["question"] for record in store.records() if record["pairs"]]
    kinds = {question["asks"] for question in questions if question}
    if len(kinds) > 1:
        raise UsageError(
            "--asks: the judge of {address} was asked for {names}; name one of them",
            address=store.address,
            names=" and ".join(sorted(kinds)),
        )
    return str(next(iter(kinds), "relevance"))


def examples_shown(source: object, choice: Choice) -> str | None:
    """The name of the examples that a store's judge was shown.

    Those that are chosen, else the only ones there are; None for none. Of any other source of
    labels nobody knows.
    """
    names: set[str] = set()
    if label_format(source) == "store":
        with Store(cast("str | Path", source), make=False) as store:
            mode = choice.get("asks") or asked_in(store)
            records = graded_records(store, {**choice, "asks": mode, "examples": None})
            names = {examples_of(record["question"]) for record in records} - {NO_EXAMPLES}
    examples = choice.get("examples") or (names.pop() if len(names) == 1 else None)
    return None if examples == NO_EXAMPLES else examples
