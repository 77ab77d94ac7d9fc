"""What labelled questions stand for: their asks, and the chances by which people got them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kragx.agreement.label_files import label_format
from kragx.agreement.sample import drawing_of
from kragx.data import GoldDataset, read_dataset
from kragx.ground.errors import DataError
from kragx.ground.printing import phrase
from kragx.judging.store import is_url
from kragx.metrics import Bools, Floats


@dataclass(frozen=True)
class Drawing:
    """How labelled questions were drawn of all.

    Attributes:
        asks: how many asks each question stands for; None where all are alike.
        chances: of each drawn question its chance to be; None where all had the same.
        notes: where the asks are from, or that nobody knows them.
    """

    asks: Mapping[str, float] | None = None
    chances: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, human: object, questions: object) -> "Drawing":
        """From the sample beside people's labels, or from how they and all questions were drawn.

        Args:
            human: people's labels, as for `read_labels`.
            questions: a `GoldDataset` or its path, with ``weight`` and ``inclusion``; or None.
                Where it says no weights, those count by which the sample was drawn.

        Raises:
            DataError: the labels were drawn as stratified pairs, or a question's chance to be
                labelled is greater than that to be there.
        """
        of_all, of_people = _dataset(questions), _dataset(human)
        drawn = drawing_of(human)
        chances = drawn.get("chances")
        if drawn.get("design") == "stratified" and chances is None:
            raise DataError(
                f"{human}: a stratified sample, with as many pairs of rare grades as of frequent "
                "ones, says nothing of a retriever's lists as they are",
                remedy="label whole queries (kragx judge label --queries 30)",
            )
        if chances is None and of_people is not None:
            there = {} if of_all is None else {q.id: q.inclusion for q in of_all}
            chances = {q.id: q.inclusion / there.get(q.id, 1.0) for q in of_people}
        if chances is not None and max(chances.values(), default=0) > 1 + 1e-9:
            name = max(chances, key=chances.__getitem__)
            raise DataError(
                f"question {name!r}: people's labels have a greater chance of having been drawn "
                "than the question itself",
                field="inclusion",
                remedy="give both files the questions of one drawing",
            )
        chances = chances if chances and len({*chances.values()}) > 1 else None
        if asks := {} if of_all is None else _asks(of_all):
            return cls(asks, chances)
        if asks := drawn.get("weights", {}):
            note = phrase("questions count by their asks, as the sample beside the labels has them")
            return cls(asks, chances, (note,))
        is_by_asks = chances is not None and drawn.get("design") == "queries"
        return cls(None, chances, (_unknown_asks(),) if is_by_asks else ())

    def weights(self, queries: Sequence[str]) -> Floats | None:
        """(q) how many asks each query stands for.

        Raises:
            DataError: the questions lack one.
        """
        if self.asks is None:
            return None
        return np.array([_known(self.asks, query, "is judged, and") for query in queries])

    def options(self, queries: Sequence[str], labelled: Bools) -> dict[str, Any]:
        """Weights and chances as `prediction_powered` takes them, the labelled queries first.

        Where people have labelled fewer than were drawn, each had so much less of a chance.
        """
        order = np.argsort(~labelled, kind="stable")
        weights = self.weights(queries)
        chances = None
        if self.chances is not None:
            names = [query for query, is_labelled in zip(queries, labelled) if is_labelled]
            drawn = [_known(self.chances, name, "is labelled, and") for name in names]
            chances = np.minimum(np.array(drawn), 1) * min(1, len(names) / len(self.chances))
        return {"weights": None if weights is None else weights[order], "chances": chances}


def _asks(dataset: GoldDataset) -> dict[str, float]:
    """How many asks each question stands for; nothing where all are alike."""
    weights = dataset.weights
    return {} if weights is None else dict(zip([q.id for q in dataset], weights.tolist()))


def _unknown_asks() -> str:
    return phrase(
        "means of questions, not of asks: the labelled ones were drawn by their asks, and nothing "
        "says how many each stands for; name the file that does (--questions FILE)"
    )


def _known(values: Mapping[str, float], query: str, what: str) -> float:
    if query not in values:
        raise DataError(
            f"question {query!r} {what} nothing says how many asks it stands for or what its "
            "chance of having been drawn was",
            remedy="name the questions (--questions FILE) that were judged, and the labels of one "
            "drawing",
        )
    return values[query]


def _dataset(source: object) -> GoldDataset | None:
    """The gold set that something is, or is the path of; None for other labels."""
    if isinstance(source, GoldDataset):
        return source
    if not isinstance(source, (str, Path)) or is_url(source):
        return None
    return read_dataset(source) if label_format(Path(source)) == "gold" else None
