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
            import yaml

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


RELEVANCE_EN = Rubric(
    id="relevance-en-1",
    asks="relevance",
    language="en",
    instruction=(
        "Grade how useful the document is to somebody who asked the query. Judge what the "
        "document says, not its style, length or tone. If there is a reference answer, it tells "
        "what a right answer contains; the document need not use its words."
    ),
    grades={
        0: "The document has nothing to do with the query.",
        1: "It is about the query's topic, but holds no part of the answer.",
        2: "It holds a part of the answer, or the answer among much else or only by implication.",
        3: "It answers the query directly and completely.",
    },
)

RELEVANCE_KO = Rubric(
    id="relevance-ko-1",
    asks="relevance",
    language="ko",
    instruction=(
        "질문한 사람에게 이 문서가 얼마나 쓸모 있는지 등급을 매기십시오. "
        "문체나 길이, 말투가 아니라 문서에 담긴 내용만 보십시오. "
        "모범 답안이 있으면 올바른 답에 무엇이 들어 있어야 하는지를 알려 주는 것이며, "
        "문서가 같은 표현을 쓸 필요는 없습니다."
    ),
    grades={
        0: "질문과 아무 관련이 없다.",
        1: "질문과 같은 주제를 다루지만 답이 되는 내용은 없다.",
        2: "답의 일부가 있거나, 답이 다른 내용에 묻혀 있거나 미루어 알 수 있을 정도로만 나온다.",
        3: "질문에 직접, 빠짐없이 답한다.",
    },
)

SUPPORT_EN = Rubric(
    id="support-en-1",
    asks="support",
    language="en",
    instruction=(
        "Grade how much of the gold text's information the document carries. Other words, another "
        "order or additional content do not matter; a missing or contradicted fact does."
    ),
    grades={
        0: "None of the gold text's information is in the document.",
        1: "It is about the same matter, but lacks or contradicts what the gold text says.",
        2: "The document carries the main point of the gold text; details are missing.",
        3: "The document carries all of the gold text's information.",
    },
)

SUPPORT_KO = Rubric(
    id="support-ko-1",
    asks="support",
    language="ko",
    instruction=(
        "정답 글에 담긴 정보를 문서가 얼마나 담고 있는지 등급을 매기십시오. "
        "표현이나 순서가 다르거나 다른 내용이 더 있는 것은 상관없습니다. "
        "빠진 사실이나 어긋나는 사실만 따지십시오."
    ),
    grades={
        0: "정답 글의 정보가 문서에 전혀 없다.",
        1: "같은 일을 다루지만 정답 글이 말하는 내용이 없거나 그와 어긋난다.",
        2: "정답 글의 핵심은 있으나 세부 내용이 빠져 있다.",
        3: "정답 글의 정보가 모두 들어 있다.",
    },
)

RUBRICS: Mapping[str, Rubric] = {
    rubric.id: rubric for rubric in (RELEVANCE_EN, RELEVANCE_KO, SUPPORT_EN, SUPPORT_KO)
}
"""The built-in rubrics by id."""

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")


def built_in(asks: Asks, text: str, language: Language | Literal["auto"] = "auto") -> Rubric:
    """The built-in rubric of a question; ``auto`` takes Korean where `text` holds Hangul."""
    if language == "auto":
        language = "ko" if _HANGUL.search(text) else "en"
    return RUBRICS[f"{asks}-{language}-1"]
