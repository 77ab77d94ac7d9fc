"""The labels of a sample, given in a workshop, as the qrels that a judge is compared with."""

from collections.abc import Mapping
from pathlib import Path

from kragx.agreement.label_files import Label, Pair
from kragx.agreement.labels import Scale, collected
from kragx.agreement.sample import Sample
from kragx.data.formats.jsonl import open_text
from kragx.data.formats.trec import iter_qrels
from kragx.errors import DataError, UsageError
from kragx.workshop.state.state import State


def labels_in(path: Path, scale: Scale) -> dict[Pair, int]:
    """The labels that a file has by now, in its order; none if it is new.

    Raises:
        DataError: it holds a label off the scale, or two different ones of a pair.
        UsageError: its name is that of a compressed one.
    """
    if path.suffix == ".gz":
        raise UsageError(f"{path}: labels are not compressed; name a file without .gz")
    labels = []
    for number, query, document, grade in iter_qrels(path) if path.exists() else ():
        if grade not in scale:
            raise DataError(
                f"{path}:{number}: the label {grade:g} is not on the scale of "
                f"{scale}; name the scale it belongs to with --scale, or another file"
            )
        labels.append(Label(grade, query, doc_id=document, place=f"line {number}"))
    grades = collected(labels, str(path)).grades if labels else {}
    return {pair: int(grade) for pair, grade in grades.items()}


def grades_of(state: State, person: str) -> dict[Pair, int]:
    """What somebody says of pairs now, by their uid."""
    grades = {}
    for pair, by_person in state.judgements.items():
        judgement = by_person[person][-1] if by_person.get(person) else None
        if judgement is not None and judgement.grade is not None:
            grades[pair] = judgement.grade
    return grades


def write_labels(path: Path, scale: Scale, sample: Sample, grades: Mapping[Pair, int]) -> int:
    """Write what somebody says of a sample; labels of other pairs stay in the file. How many.

    Raises:
        DataError, UsageError: as `labels_in`, or the file cannot be written.
    """
    pairs = {item.ids for item in sample.items}
    labels = {pair: grade for pair, grade in labels_in(path, scale).items() if pair not in pairs}
    new_grades = {pair: grade for pair, grade in grades.items() if pair in pairs}
    with open_text(path) as file:
        file.writelines(
            f"{query} 0 {document} {grade}\n"
            for (query, document), grade in (labels | new_grades).items()
        )
    return len(new_grades)
