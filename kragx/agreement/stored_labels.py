"""Labels of a judgement store: its judge's grades, and people's."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from kragx.agreement.label_files import Label, Pair, Side, label_format
from kragx.errors import DataError, UsageError, nearest
from kragx.judging import Store
from kragx.judging.keys import built_in_of, is_file, wording_of
from kragx.judging.rubric import read_rubric
from kragx.judging.store import Address, is_url
from kragx.judging.store.qrels import (
    Choice,
    examples_of,
    graded_once,
    graded_records,
    grades,
)


def check_choice(choice: Mapping[str, object]) -> None:
    """Raise a `TypeError` for an argument that no `Choice` has, as Python does of any other."""
    names = Choice.__annotations__
    for name in choice:
        if name not in names:
            raise TypeError(f"unexpected keyword argument {name!r}; {nearest(name, names)}")


def of_store(
    address: Address, side: Side | None, choice: Choice, *, expected: bool = False
) -> Iterator[Label]:
    """People's labels in a store, or its judge's grades, or whatever calibrates a match.

    Args:
        address: of the store.
        side: whose labels; None for grades of support, which are of a document and a gold text;
            without any, of relevance, with people's in their place.
        choice: of the judge's grades.
        expected: whether the grades that probabilities expect are wanted, and a panel's mean.

    Raises:
        DataError: there is no such store, or nothing of the kind in it.
        UsageError: several models or rubrics graded, or both questions were asked: these are not
            one set of labels.
    """
    with Store(address, make=False) as store:
        if side is None:
            yield from _of_judge_and_people(store, choice)
        elif side == "judge":
            yield from _of_pairs(grades_by(store, choice, expected=expected))
        elif people := store.labels():
            yield from _of_pairs(people)
        else:
            raise DataError(
                f"{address}: the store holds no human label; bring some in: kragx judge store "
                "import HUMAN.qrels"
            )


def grades_by(store: Store, choice: Choice, *, expected: bool = False) -> dict[Pair, float]:
    """The grades of a store's judge alone."""
    meant: Choice = {**choice, "asks": choice.get("asks") or asked_in(store)}
    return grades(store, expected=expected, **meant)


def _of_pairs(labels: Mapping[Pair, float]) -> Iterator[Label]:
    for (query_id, doc_id), grade in labels.items():
        yield Label(float(grade), query_id, doc_id=doc_id)


def _of_judge_and_people(store: Store, choice: Choice) -> Iterator[Label]:
    kinds = ("support", "relevance") if choice.get("asks") is None else (choice["asks"],)
    by_kind = (graded_once(store, {**choice, "asks": kind}) for kind in kinds)
    graded = next(filter(None, by_kind), [])
    support = any(answer.question["asks"] == "support" for answer in graded)
    people = {} if support else store.labels()
    for answer in graded:
        document, gold = answer.question["document"], answer.question["gold"]
        if support:
            yield Label(answer.grade, doc_text=document, gold_text=gold)
            continue
        for query_id, doc_id in answer.pairs:
            if (query_id, doc_id) not in people:
                yield Label(answer.grade, query_id, doc_text=document)
    yield from _of_pairs(people)


def asked_in(store: Store) -> str:
    """What the judge of a store was asked: relevance, support, or a `UsageError` if both."""
    # What has no pairs was asked by a probe.
    questions = [record["question"] for record in store.records() if record["pairs"]]
    kinds = {question["asks"] for question in questions if question}
    if len(kinds) > 1:
        raise UsageError(
            f"--asks: the judge of {store.address} was asked for {' and '.join(sorted(kinds))}; "
            "name one of them"
        )
    return str(next(iter(kinds), "relevance"))


def examples_shown(source: object, choice: Choice) -> set[str]:
    """The names of the examples that grades of a store's judge were given with.

    `NO_EXAMPLES` for none; of any other source of labels there is no name.
    """
    if not isinstance(source, (str, Path)):
        return set()
    if not is_url(source) and label_format(Path(source)) != "store":
        return set()
    with Store(source, make=False) as store:
        asked_type = choice.get("asks") or asked_in(store)
        meant: Choice = {**choice, "asks": asked_type, "examples": None}
        return {examples_of(record["question"]) for record in graded_records(store, meant)}


def cut_of(address: Address, side: Side | None, rubric: str | None) -> float | None:
    """The least grade that is a match by the rubric of a store's judge; None if nobody knows."""
    if rubric is not None and is_file(rubric):
        return read_rubric(rubric).match_from
    if side is not None:  # labels that are held against others, as they are
        return 2.0
    with Store(address, make=False) as store:
        questions = [record["question"] for record in store.records() if "grade" in record]
    ids = {wording_of(question)[0] for question in questions if question}
    rubrics = map(built_in_of, ids if rubric is None else [rubric])
    return None if None in rubrics else 2.0
