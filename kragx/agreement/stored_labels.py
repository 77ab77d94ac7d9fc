"""Labels of a judgement store: its judge's grades, and people's."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from kragx.agreement.label_files import Label, Pair, Side, label_format
from kragx.errors import DataError, UsageError, nearest
from kragx.judging import Store
from kragx.judging.rubric import read_rubric
from kragx.judging.store import Address, is_url
from kragx.judging.store.qrels import examples_of, graded_once, grades, models_of
from kragx.judging.store.wordings import built_in_of, is_file, is_named, named, wording_of


class Choice(TypedDict, total=False):
    """Which grades of a judgement store are meant; all of them where nothing is named.

    Attributes:
        asks: ``relevance``, or ``support``, where a document's grade is its best over the query's
            gold texts; None for what the judge was asked.
        model: those of this model, or of a panel as results name it, ``median of a, b, c``.
        rubric: those by this rubric.
        examples: those with the examples of this name; ``none`` for those without any.
    """

    asks: str | None
    model: str | None
    rubric: str | None
    examples: str | None


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
    return grades(
        store,
        asks=choice.get("asks") or asked_in(store),
        model=choice.get("model"),
        rubric=choice.get("rubric"),
        examples=choice.get("examples"),
        human=False,
        expected=expected,
    )


def _of_pairs(labels: Mapping[Pair, float]) -> Iterator[Label]:
    for (query_id, doc_id), grade in labels.items():
        yield Label(float(grade), query_id, doc_id=doc_id)


def _of_judge_and_people(store: Store, choice: Choice) -> Iterator[Label]:
    asked_type = choice.get("asks")
    selection = (choice.get("model"), choice.get("rubric"), choice.get("examples"))
    kinds = ("support", "relevance") if asked_type is None else (asked_type,)
    graded = next(filter(None, (graded_once(store, kind, *selection) for kind in kinds)), [])
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


def _judged(store: Store) -> Iterator[Mapping[str, Any]]:
    """The records of what the judge of a store was asked about pairs; none of a probe's."""
    return (record for record in store.records() if record["question"] and record["pairs"])


def asked_in(store: Store) -> str:
    """What the judge of a store was asked: relevance, support, or a `UsageError` if both."""
    kinds = {record["question"]["asks"] for record in _judged(store)}
    if len(kinds) > 1:
        raise UsageError(
            f"--asks: the judge of {store.address} was asked for {' and '.join(sorted(kinds))}; "
            "name one of them"
        )
    return str(next(iter(kinds), "relevance"))


def examples_in(store: Store, choice: Choice) -> set[str]:
    """The names of the examples that grades of a judge were given with; `NO_EXAMPLES` for none."""
    asked_type, models = choice.get("asks") or asked_in(store), models_of(choice.get("model"))
    rubric = choice.get("rubric")
    rubric_name = None if rubric is None else named(rubric)
    return {
        examples_of(question)
        for record in _judged(store)
        if "grade" in record
        and (question := record["question"])["asks"] == asked_type
        and (models is None or question["client"].get("model") in models)
        and (rubric_name is None or is_named(wording_of(question), rubric_name))
    }


def examples_shown(source: object, choice: Choice) -> set[str]:
    """The names of the examples with which a store's judge graded; none of any other source."""
    if not isinstance(source, (str, Path)):
        return set()
    if not is_url(source) and label_format(Path(source)) != "store":
        return set()
    with Store(source, make=False) as store:
        return examples_in(store, choice)


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
