"""Rubrics: what a judge is asked, and what each grade means.

Two questions can be judged. *Relevance*: how well does a document serve a query (and a reference
answer, if there is one)? *Support*: does a document carry the information of a gold text? Both
have a rubric in English and one in Korean, on a scale of 0 to 3. A rubric's id names its wording: a
changed wording gets a new id, so that grades of different wordings are never mixed.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Literal

import yaml

from kragx.errors import DataError, UsageError, nearest
from kragx.plugins import check_options

Asks = Literal["relevance", "support"]
Language = Literal["en", "ko"]


@dataclass(frozen=True)
class Rubric:
    """One question to a judge with its scale.

    Attributes:
        id: names this wording, for example ``support-en-1``; part of every judgement's key.
        asks: ``relevance`` (query, document) or ``support`` (gold text, document).
        instruction: what the judge is told to do.
        grades: what each grade means; whole numbers from 0 to the top, none left out.
        cut: the least grade that is a match; None for 2, or the top of a shorter scale.
        language: of the words around the texts: ``en`` or ``ko``.

    Raises:
        UsageError: a field is wrong.
    """

    id: str
    asks: Asks
    instruction: str
    grades: Mapping[int, str]
    cut: int | None = None
    language: Language = "en"

    def __post_init__(self) -> None:
        where = f"rubric {self.id!r}"
        if not isinstance(self.id, str) or not self.id.strip():
            raise UsageError("rubric.id: a rubric needs an id that names its wording")
        try:
            check_options(self)
        except UsageError as error:
            raise UsageError(f"{where}, {error}") from None
        if not isinstance(self.instruction, str) or not self.instruction.strip():
            raise UsageError(f"{where}, instruction: say what is to be judged")
        expected = list(range(len(self.grades)))
        if len(expected) < 2 or sorted(self.grades) != expected:
            raise UsageError(
                f"{where}, grades: {sorted(self.grades)} is no scale; explain every whole number "
                "from 0 to the top grade, at least 0 and 1"
            )
        if self.cut is not None and self.cut not in expected[1:]:
            raise UsageError(f"{where}, cut: {self.cut!r} must be a grade from 1 to {self.top}")

    @property
    def top(self) -> int:
        """The highest grade."""
        return max(self.grades)

    @property
    def match_from(self) -> int:
        """The least grade that is a match."""
        return min(2, self.top) if self.cut is None else self.cut


def read_rubric(source: object) -> Rubric:
    """A rubric from a mapping or a YAML file; a `Rubric` is returned as it is.

    The file holds ``id``, ``asks``, ``instruction``, ``grades`` (``{0: ..., 1: ...}``) and, if
    wanted, ``cut`` and ``language``.

    Raises:
        DataError: the file cannot be read.
        UsageError: what it says is no rubric.
    """
    match source:
        case Rubric():
            return source
        case str() | Path():
            try:
                return read_rubric(yaml.safe_load(Path(source).read_text(encoding="utf-8-sig")))
            except OSError as error:
                raise DataError(f"{source}: cannot be read: {error.strerror or error}") from None
            except (UnicodeDecodeError, yaml.YAMLError) as error:
                raise DataError(f"{source}: not a YAML file in UTF-8: {error}") from None
        case Mapping():
            names = [field.name for field in fields(Rubric)]
            for name in source:
                if name not in names:
                    hint = nearest(str(name), names)
                    raise UsageError(f"rubric.{name}: unknown field; {hint}")
            for field in fields(Rubric):
                if field.default is MISSING and field.name not in source:
                    raise UsageError(f"rubric.{field.name}: missing; it is required")
            if not isinstance(source["grades"], Mapping):
                raise UsageError("rubric.grades: a mapping {0: meaning, 1: meaning, ...} is needed")
            try:
                grades = {int(grade): str(words) for grade, words in source["grades"].items()}
            except (TypeError, ValueError):
                raise UsageError("rubric.grades: every grade must be a whole number") from None
            return Rubric(**{**source, "grades": grades})
    raise UsageError(
        f"rubric: {type(source).__name__} is no rubric; pass a Rubric, a mapping, or the path of "
        "a YAML file"
    )


RUBRICS: Mapping[str, Rubric] = {
    path.stem: read_rubric(path)
    for path in sorted((Path(__file__).parent / "rubrics").glob("*.yaml"))
}
"""The built-in rubrics by id, which is the name of their file in the folder `rubrics`."""

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")


def built_in(asks: Asks, text: str, language: Language | Literal["auto"] = "auto") -> Rubric:
    """The built-in rubric of a question; ``auto`` takes Korean where `text` holds Hangul."""
    if language == "auto":
        language = "ko" if _HANGUL.search(text) else "en"
    return RUBRICS[f"{asks}-{language}-1"]
