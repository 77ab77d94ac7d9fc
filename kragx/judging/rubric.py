"""Rubrics: what a judge is asked, and what each grade means.

Two questions can be judged. *Relevance*: how well does a document serve a query (and a reference
answer, if there is one)? *Support*: does a document carry the information of a gold text? Both
have a rubric in English and one in Korean, on a scale of 0 to 3. A rubric's id names its wording: a
changed wording gets a new id, so that grades of different wordings are never mixed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

from kragx.data.formats.jsonl import read_text
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.errors import DataError, UsageError, inside
from kragx.plugins import check_options, fitting, from_options, is_text

Asks = Literal["relevance", "support"]
Language = Literal["en", "ko"]


def _scale(grades: Any) -> dict[int, str]:
    if not isinstance(grades, Mapping):
        raise UsageError("a mapping {0: meaning, 1: meaning, ...} is needed")
    try:
        scale = {int(grade): str(words) for grade, words in grades.items()}
    except (TypeError, ValueError):
        raise UsageError("every grade must be a whole number") from None
    if len(scale) < 2 or sorted(scale) != list(range(len(scale))):
        raise UsageError(
            f"{sorted(scale)} is no scale",
            remedy="explain every whole number from 0 to the top grade, at least 0 and 1",
        )
    return scale


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

    id: Annotated[str, fitting(is_text, "a rubric needs an id that names its wording")]
    asks: Asks
    instruction: Annotated[str, fitting(is_text, "say what is to be judged")]
    grades: Annotated[Mapping[int, str], _scale]
    cut: int | None = None
    language: Language = "en"

    def __post_init__(self) -> None:
        check_options(self)
        if self.cut is not None and self.cut not in range(1, self.top + 1):
            raise UsageError(f"{self.cut!r} must be a grade from 1 to {self.top}", field="cut")

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
    if isinstance(source, Rubric):
        return source
    path = str(source) if isinstance(source, (str, Path)) else ""
    if path:
        try:
            source = yaml.load(read_text(path), Loader)
        except yaml.YAMLError as error:
            raise DataError(yaml_problem(error), path=path) from None
    with inside("rubric", path=path):
        if isinstance(source, Mapping):
            return from_options(Rubric, source)
        remedy = "pass a Rubric, a mapping, or the path of a YAML file"
        raise UsageError(f"{type(source).__name__} is no rubric", remedy=remedy)


RUBRICS: Mapping[str, Rubric] = {
    path.stem: read_rubric(path)
    for path in sorted((Path(__file__).parent / "rubrics").glob("*.yaml"))
}
"""The built-in rubrics by id, which is the name of their file in the folder `rubrics`."""

_WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


def words_around(rubric: Rubric) -> Mapping[str, str]:
    """The words around what is judged, in the rubric's language.

    What ``words.yaml`` has for a question alone, under its name, goes before what it has for all.
    """
    words: Mapping[str, Any] = _WORDS[rubric.language]
    return {**words, **words.get(rubric.asks, {})}


_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")


def built_in(asks: Asks, text: str, language: Language | Literal["auto"] = "auto") -> Rubric:
    """The built-in rubric of a question; ``auto`` takes Korean where `text` holds Hangul."""
    if language == "auto":
        language = "ko" if _HANGUL.search(text) else "en"
    return RUBRICS[f"{asks}-{language}-1"]
