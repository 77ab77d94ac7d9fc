"""What is judged, and what became of it: questions and judgements."""

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from kragx.data.text import Mender
from kragx.ground.errors import DataError, shorten
from kragx.judging.client import Counting, FailureKind
from kragx.judging.rubric import Rubric
from kragx.judging.template import shows

# The same question would be answered the same way again; the others may succeed another time.
SETTLED: frozenset[FailureKind] = frozenset({"refusal", "length", "content_filter"})


@dataclass(frozen=True, slots=True)
class Example:
    """A pair that a person has graded; lone surrogates in its texts become U+FFFD.

    Attributes:
        document: the text that was graded.
        grade: the person's.
        query, gold, reference: what it was graded against, as of a `Question`.
        query_id, document_id: where it came from; recorded, but no part of any key.
    """

    document: str
    grade: int
    query: str | None = None
    gold: str | None = None
    reference: str | None = None
    query_id: str | None = field(default=None, compare=False)
    document_id: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _mend(self)

    @property
    def texts(self) -> dict[str, str]:
        """Its texts by name, in the order in which they are shown."""
        return _texts(self)


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to judge; lone surrogates in its texts become U+FFFD.

    Attributes:
        rubric: what is asked and the scale.
        document: the retrieved text.
        query: the query's text (relevance).
        gold: the gold text (support).
        reference: a reference answer, if there is one (relevance), and the rubric's prompt shows
            it: what is not shown is nothing that a judgement depends on.
        facts: what is looked for in the document (holds).
        most: how many facts may be taken from the document (nuggets).
        kind: what is to be asked about the document (questions), in words of the rules.
        query_id, document_id: where it came from; recorded, but no part of the key.
        examples: what the judge is shown before it, and the name of the set they are of.
    """

    rubric: Rubric
    document: str
    query: str | None = None
    gold: str | None = None
    reference: str | None = None
    facts: tuple[str, ...] = ()
    most: int | None = None
    kind: str | None = None
    query_id: str | None = field(default=None, compare=False)
    document_id: str | None = field(default=None, compare=False)
    examples: tuple[Example, ...] = ()
    examples_name: str | None = None

    def __post_init__(self) -> None:
        prompt = self.rubric.prompt
        if prompt is not None and not shows(prompt, "reference"):
            object.__setattr__(self, "reference", None)
        _mend(self)
        object.__setattr__(self, "facts", tuple(map(Mender().mend, self.facts)))

    @property
    def texts(self) -> dict[str, str]:
        """The texts that are judged, by name, in the order in which they are shown."""
        texts = _texts(self)
        document = texts.pop("document")
        facts = [f"{number}. {' '.join(fact.split())}" for number, fact in enumerate(self.facts, 1)]
        if facts:
            texts["facts"] = "\n".join(facts)
        return {**texts, "document": document}


_TEXTS = ("query", "gold", "reference", "document")


def _mend(pair: Example | Question) -> None:
    mend = Mender().mend
    for name, text in _texts(pair).items():
        object.__setattr__(pair, name, mend(text))


def _texts(pair: Example | Question) -> dict[str, str]:
    texts = {name: getattr(pair, name) for name in _TEXTS}
    return {name: text for name, text in texts.items() if text is not None}


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a question: one attempt at it, as a row of the store keeps it.

    A client's `Failure` becomes a judgement without a grade; the match table holds NaN for it.

    Attributes:
        key: the question's key.
        grade: a whole number, or of several judges a mean; None if the judgement failed.
        reason: the judge's, in a few words.
        failure: why there is no grade.
        detail: what the provider or the check said about the failure.
        source: ``judge`` (asked in this run), ``batch`` (collected from one), ``store`` (asked
            before) or ``human`` (a grade that a person gave to its query and document).
        uid: of this attempt, so that a file imported twice adds nothing the second time; empty
            where nothing was asked.
        at: when, in UTC (ISO 8601).
        raw: what the model said, word for word.
        prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens: as `Usage` counts them.
        seconds: that the answer took.
        model, fingerprint: what served it.
        dialect: how its server had to be asked, as `Answer` says it.
        asked_model: the model that was asked for.
        answer: of a question that is answered with a list: ``[[grade, text], ...]`` as JSON; the
            grade is then how many have the top grade.
        expected: the mean of the grades by the model's own probabilities, where these were asked
            for and given.
        output_limit: the most tokens that the answer might have; None where the client set none.
        counting: how the tokens were counted where the provider did not: ``estimate``, by kragx
            from the texts; ``most``, no answer came, and these are the most it can have taken.
    """

    key: str
    grade: float | None = None
    reason: str | None = None
    failure: FailureKind | None = None
    detail: str | None = None
    source: Literal["judge", "batch", "store", "human"] = "judge"
    uid: str = ""
    at: str = ""
    raw: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    seconds: float | None = None
    model: str | None = None
    fingerprint: str | None = None
    dialect: str | None = None
    output_limit: int | None = None
    counting: Counting | None = None
    asked_model: str | None = None
    answer: str | None = None
    expected: float | None = None

    @property
    def entries(self) -> tuple[tuple[float, str], ...]:
        """Grade and text of each thing in an answer that is a list, in their order.

        Raises:
            DataError: it is none that kragx wrote.
        """
        try:
            entries = json.loads(self.answer or "[]")
            # Whatever a file may hold; a grade is no flag, and of a panel perhaps a mean.
            if all(type(grade) in (int, float) and type(text) is str for grade, text in entries):
                return tuple((grade, text) for grade, text in entries)
        except (ValueError, TypeError):
            pass
        raise DataError(f"not a judgement: 'answer' is {shorten(self.answer)}")

    @property
    def score(self) -> float:
        """The grade; NaN if the judgement failed."""
        return math.nan if self.grade is None else self.grade

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the greatest grade that a judge gave; of one judge it is the score."""
        return self.score, self.score

    @property
    def text(self) -> str:
        """The judge's reason; without a grade what went wrong."""
        return self.reason or self.detail or self.failure or ""
