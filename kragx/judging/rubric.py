"""Rubrics: what a judge is asked, and what each grade means.

Of documents two things can be judged. *Relevance*: how well does a document serve a query (and a
reference answer, if there is one)? *Support*: does a document carry the information of a gold text?
Both have a rubric in English and one in Korean, on a scale of 0 to 3; so have the other questions
(`Asks`), on their own scales. A rubric's id names its wording: a changed wording gets a new id, so
that grades of different wordings are never mixed.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

from kragx.data.formats.jsonl import read_text
from kragx.data.korean import HANGUL
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.options import check_options, fitting, from_options, is_text, optional
from kragx.ground.printing import message
from kragx.judging.template import check_prompt, read_prompt

Asks = Literal["relevance", "support", "nuggets", "holds", "questions", "need"]
LISTED: frozenset[Asks] = frozenset({"nuggets", "holds", "questions"})
"""What is answered with a list: a grade and a text for each of several things."""
OF_DOCUMENTS: frozenset[Asks] = frozenset({"relevance", "support"})
"""What people grade, too, and matchers ask."""
_FAMILIES: tuple[frozenset[Asks], ...] = (OF_DOCUMENTS, frozenset({"nuggets", "holds"}))
Language = Literal["en", "ko"]

_MOST = 101  # grades of a scale: 0 to 100


def _scale(grades: Any) -> dict[int, str]:
    if isinstance(grades, str) and (ends := re.fullmatch(r"(\d{1,3})-(\d{1,3})", grades.strip())):
        grades = dict.fromkeys(range(int(ends[1]), int(ends[2]) + 1), "")
    if not isinstance(grades, Mapping):
        raise UsageError("a mapping {0: meaning, 1: meaning, ...} is needed")
    try:
        scale = {int(grade): "" if words is None else str(words) for grade, words in grades.items()}
    except (TypeError, ValueError):
        raise UsageError("every grade must be a whole number") from None
    whole = range(min(scale, default=0), max(scale, default=0) + 1)
    if not 2 <= len(scale) <= _MOST or whole.start != 0 or sorted(scale) != list(whole):
        raise UsageError(
            "{value} is no scale",
            remedy="explain every whole number from 0 to the top grade, 2 to {most} of them",
            value=shorten(sorted(scale)),
            most=_MOST,
        )
    return scale


@dataclass(frozen=True)
class Rubric:
    """One question to a judge with its scale.

    Attributes:
        id: names this wording, for example ``support-en-1``; part of every judgement's key.
        asks: ``relevance`` (query, document) or ``support`` (gold text, document); ``nuggets``
            (query, text: which facts does an answer need?) or ``holds`` (facts, context: which of
            them does it hold?), whose top grades mean vital and supported; ``questions`` (text:
            what would somebody ask?), whose grades 0 to 2 are easy, medium and hard, or ``need``
            (a query [, its answer]: does it need documents at all?).
        instruction: what the judge is told to do; empty where the prompt says it.
        grades: what each grade means; whole numbers from the lowest to the top, none left out.
            ``"0-3"`` where the prompt says what they mean.
        cut: the least grade that is a match; None for 2 of 0 to 3, and for the upper of two.
            Any other scale names its own, but where a list is answered with.
        language: of the words around the texts: ``en`` or ``ko``.
        prompt: a Jinja2 template of the user's message instead of kragx's own, or the path of one;
            see `kragx.judging.template`.

    Raises:
        UsageError: a field is wrong.
    """

    id: Annotated[str, fitting(is_text, "a rubric needs an id that names its wording")]
    asks: Asks
    instruction: str
    grades: Annotated[Mapping[int, str], _scale]
    cut: int | None = None
    language: Language = "en"
    prompt: Annotated[str | None, optional(read_prompt)] = None

    def __post_init__(self) -> None:
        check_options(self)
        if not isinstance(self.instruction, str) or not (self.prompt or self.instruction.strip()):
            raise UsageError("say what is to be judged", field="instruction")
        top = self.top
        if self.cut is None and self.asks not in LISTED and top not in (1, 3):
            raise UsageError(
                "missing; a scale of 0 to {top} has no usual one",
                field="cut",
                remedy="name the least grade that is a match",
                top=top,
            )
        if self.cut is not None and self.cut not in range(1, top + 1):
            raise UsageError(
                "{cut!r} must be a grade from 1 to {top}", field="cut", cut=self.cut, top=top
            )
        if self.prompt is not None:
            with inside("prompt"):
                check_prompt(self.prompt, self.asks, self.words)
        elif not all(self.grades.values()):
            raise UsageError("say what each grade means, or in a 'prompt'", field="grades")

    @property
    def words(self) -> dict[str, str]:
        """What the judge is told of the rubric: the ``instruction``, and a line for each grade."""
        lines = [f"{grade}: {meaning}" for grade, meaning in sorted(self.grades.items())]
        grades = "\n".join(lines) if any(self.grades.values()) else ""
        return {"instruction": self.instruction.strip(), "grades": grades}

    @property
    def top(self) -> int:
        """The highest grade; the lowest is 0, nothing at all."""
        return max(self.grades)

    @property
    def match_from(self) -> int:
        """The least grade that is a match."""
        return min(2, self.top) if self.cut is None else self.cut


def read_rubric(source: object) -> Rubric:
    """A rubric from a mapping or a YAML file; a `Rubric` is returned as it is.

    The file holds ``id``, ``asks``, ``instruction``, ``grades`` (``{0: ..., 1: ...}``) and, if
    wanted, ``cut``, ``language`` and ``prompt``, whose path is relative to the file.

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
        if isinstance(source, Mapping) and isinstance(prompt := source.get("prompt"), str):
            with inside("rubric.prompt"):  # whose path is relative to the file
                beside = prompt if "{{" in prompt else Path(path).parent / prompt
                source = {**source, "prompt": read_prompt(beside)}
    with inside("rubric", path=path):
        if isinstance(source, Mapping):
            said_by_prompt = {"instruction": ""} if source.get("prompt") else {}
            return from_options(Rubric, {**said_by_prompt, **source})
        remedy = message("pass a Rubric, a mapping, or the path of a YAML file")
        raise UsageError(message("{kind} is no rubric", kind=type(source).__name__), remedy=remedy)


def as_asked(rubric: Mapping[str, Any]) -> Rubric:
    """A rubric that was asked by before, as its answers are read: by its scale.

    Its prompt may be that of somebody else's store, and is not rendered.
    """
    grades = {int(grade): words or "-" for grade, words in rubric["grades"].items()}
    instruction = rubric["instruction"] or "-"
    return Rubric(
        rubric["id"], rubric["asks"], instruction, grades, max(grades), rubric["language"]
    )


RUBRICS: Mapping[str, Rubric] = {
    path.stem: read_rubric(path)
    for path in sorted((Path(__file__).parent / "rubrics").glob("*.yaml"))
}
"""The built-in rubrics by id, which is the name of their file in the folder `rubrics`."""

_WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


def akin(first: str, second: str) -> bool:
    """Whether a judge's own rubric that asks the one is a mistake, or right, where the other is."""
    return first == second or any({first, second} <= family for family in _FAMILIES)


def words_around(rubric: Rubric) -> Mapping[str, Any]:
    """The words around what is judged, in the rubric's language.

    What ``words.yaml`` has for a question alone, under its name, goes before what it has for all.
    """
    words: Mapping[str, Any] = _WORDS[rubric.language]
    return {**words, **words.get(rubric.asks, {})}


def built_in(asks: Asks, text: str, language: Language | Literal["auto"] = "auto") -> Rubric:
    """The built-in rubric of a question; ``auto`` takes Korean where `text` holds Hangul."""
    if language == "auto":
        language = "ko" if HANGUL.search(text) else "en"
    return RUBRICS[f"{asks}-{language}-1"]


# -- digests ---------------------------------------------------------------------------------------


def key_of(canonical: str) -> str:
    """The key of a question's canonical JSON: its SHA-256 in hexadecimal."""
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON in one form: keys sorted, no white space, Unicode as it is."""
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def digest(rubric: Rubric) -> dict[str, str]:
    """A rubric as it enters the key: its id, and a digest of its words.

    A user may change a rubric's words and forget its id; the digest does not.
    """
    prompt = [] if rubric.prompt is None else [rubric.prompt]
    content = canonical_json([rubric.instruction, sorted(rubric.grades.items()), *prompt])
    return {"id": rubric.id, "language": rubric.language, "digest": key_of(content)[:16]}


# -- in which words a stored question was asked --------------------------------------------------


def wording_of(question: Mapping[str, Any]) -> str:
    """What names the words that a stored question was asked in: its rubric's id, and a digest.

    An id is its user's to give, and words are changed without a new one: what was asked in other
    words is other grades all the same, and never mixed with them. Those of kragx have an id each.
    """
    rubric = question.get("rubric", {})
    name, words_digest = str(rubric.get("id", "?")), str(rubric.get("digest", ""))
    return name if name in RUBRICS else f"{name}@{words_digest[:8]}"


def name_of_rubric(rubric: str) -> str:
    """What names a rubric: its id; of its file, the id with the words that it has now.

    Raises:
        DataError, UsageError: the file cannot be read, or holds no rubric.
    """
    return wording_of({"rubric": digest(read_rubric(rubric))}) if is_file(rubric) else rubric


def is_file(rubric: str) -> bool:
    """Whether a rubric is named by its file."""
    return rubric.endswith((".yaml", ".yml"))
