"""What is judged, by which key it is known, and what became of it.

A question's key is a hash of everything that the judgement depends on.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from kragx.data import Query
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, shorten
from kragx.ground.secrets import BareUrl
from kragx.judging.client import Counting, FailureKind
from kragx.judging.rubric import Rubric, canonical_json, key_of
from kragx.judging.template import names_in

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
        _repair(self)

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
        if prompt is not None and "reference" not in names_in(prompt):
            object.__setattr__(self, "reference", None)
        _repair(self)
        object.__setattr__(self, "facts", tuple(map(SurrogateRepair().text, self.facts)))

    @property
    def texts(self) -> dict[str, str]:
        """The texts that are judged, by name, in the order in which they are shown."""
        texts = _texts(self)
        facts = [f"{number}. {' '.join(fact.split())}" for number, fact in enumerate(self.facts, 1)]
        if facts:  # which stand before the document
            texts |= {"facts": "\n".join(facts), "document": texts.pop("document")}
        return texts


_TEXTS = ("query", "gold", "reference", "document")


def _repair(pair: Example | Question) -> None:
    repair = SurrogateRepair().text
    for name, text in _texts(pair).items():
        object.__setattr__(pair, name, repair(text))


def _texts(pair: Example | Question) -> dict[str, str]:
    return {name: text for name in _TEXTS if (text := getattr(pair, name)) is not None}


def gold_texts(query: Query) -> list[str]:
    """The texts that answer a query."""
    return [gold.text for gold in query.gold if gold.grade > 0 and gold.text]


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
        raise DataError("not a judgement: 'answer' is {answer}", answer=shorten(self.answer))

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


def in_batch(key: str, where: str) -> Judgement:
    """What stands for the answer that a batch is yet to give."""
    return Judgement(key, failure="pending", detail=where)


# -- votes ---------------------------------------------------------------------------------------

Decide = Literal["median", "majority", "mean"]


def decided(grades: Sequence[float], rule: Decide) -> float:
    """What some grades (at least one) come to.

    ``median``: the middle one, the lower of two; so it is a match, at whatever cut, exactly where
    more than half of the grades are. ``majority``: the most frequent one; of several equally
    frequent ones the median. ``mean``: their mean.
    """
    if rule == "mean":
        return sum(grades) / len(grades)
    ordered = sorted(grades)
    if rule == "majority":
        counts = Counter(ordered)
        highest = max(counts.values())
        ordered = [grade for grade, count in counts.items() if count == highest]
    return ordered[(len(ordered) - 1) // 2]


def settled_grade(grades: Sequence[float], n_open: int, rule: Decide, top: int) -> float | None:
    """What grades come to whatever further ones will be; None if these can change it.

    Args:
        grades: that are known.
        n_open: how many are not.
        rule: how they are decided.
        top: the highest grade there is.
    """
    if not grades:
        return None
    if not n_open:
        return decided(grades, rule)
    if rule == "majority":  # the next can at best all be for the second
        (first, n_first), *rest = Counter(grades).most_common(2)
        second = rest[0][1] if rest else 0
        return first if n_first - second > n_open else None
    low, high = (decided([*grades, *[grade] * n_open], rule) for grade in (0, top))
    return low if low == high else None


def n_needed(n_judges: int, rule: Decide) -> int:
    """How many judges must be asked in any case; that many of one mind decide."""
    return n_judges if rule == "mean" else n_judges // 2 + 1


# -- keys ------------------------------------------------------------------------------------------

PROMPT_VERSION = 1
"""Part of every key; counts up with any change of words.yaml, or of the fences or the schema.

Not with what `escape_control_tokens` breaks up: keys hold texts as they were retrieved, and a
grade that was given before a token's family was known stays the grade of its text; `repeat` asks
anew.
"""

EXAMPLES_VERSION = 1
"""The same for the words around examples; a part of the keys of questions that come with some."""

_OF_LISTS = ("facts", "most", "kind")  # in keys only where they are asked for
_LIMITS = frozenset(
    {
        *("max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens"),
        *("max_tokens_to_sample", "num_predict", "n_predict"),
    }
)
"""What clients and servers call the most tokens that an answer may have."""
_NO_MATTER = _LIMITS | {"timeout", "request_timeout"}
"""Settings that only say when to give up: an answer that is complete does not depend on them."""
_NESTED = frozenset({"args", "extra_body", "model_kwargs", "generation_config", "options"})
"""Settings that hold others; deeper ones (``reasoning: {max_tokens: ...}``) steer the model."""


def essential(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A client's settings without what only bounds an answer, or logs in: what keys know of it."""
    bare: dict[str, Any] = {}
    for name, value in settings.items():
        if name in _NESTED and isinstance(value, Mapping):
            if inner := essential(value):
                bare[name] = inner
        elif name == "base_url" and isinstance(value, str):
            bare[name] = BareUrl(value)
        elif name not in _NO_MATTER:
            bare[name] = value
    return bare


def output_limit(settings: Mapping[str, Any]) -> int | None:
    """The most tokens that an answer may have under a client's settings; None if they do not say.

    Of several limits the highest: which of them a server keeps to is its own affair.
    """
    # Ollama's -1 and -2 are no limits, nor is a flag.
    limits = [
        value
        for name, value in settings.items()
        if name in _LIMITS and type(value) is int and value > 0
    ]
    nested = (settings[name] for name in _NESTED & settings.keys())
    limits += filter(None, (output_limit(inner) for inner in nested if isinstance(inner, Mapping)))
    return max(limits, default=None)


def material(
    question: Question, client: Mapping[str, Any], repeat: int, rubric: Mapping[str, str]
) -> dict[str, Any]:
    """Everything that a judgement depends on, and nothing else (no rank, retriever or id).

    Args:
        question: what is judged.
        client: what is `essential` of the client's settings.
        repeat: which repeat it is.
        rubric: the `digest` of the question's rubric.
    """
    about = {
        "asks": question.rubric.asks,
        **{name: getattr(question, name) for name in _TEXTS},
        **{name: value for name in _OF_LISTS if (value := getattr(question, name))},
        "rubric": dict(rubric),
        "prompt": PROMPT_VERSION,
        "client": client,
        "repeat": repeat,
    }
    # What is new enters only where it is used, so that earlier keys stay what they are.
    if question.examples:
        digests = [digest_of_example(example) for example in question.examples]
        name = question.examples_name
        about["examples"] = {"name": name, "prompt": EXAMPLES_VERSION, "shown": digests}
    return about


@lru_cache(maxsize=4096)  # a few examples stand in every question
def digest_of_example(example: Example) -> str:
    """What the key of a question knows of an example: a digest of its texts and grade."""
    texts = (example.query, example.gold, example.reference, example.document, example.grade)
    return key_of(canonical_json(texts))[:16]


def question_of(about: Mapping[str, Any], rubric: Rubric) -> Question:
    """The question that has this material, but for where it came from.

    Args:
        about: as `material` gives it.
        rubric: the question's, of which the material only has a digest.
    """
    texts: dict[str, Any] = {name: about.get(name) for name in _TEXTS}
    fields = {name: about[name] for name in _OF_LISTS if name in about}
    return Question(rubric, **texts, **{**fields, "facts": tuple(about.get("facts", ()))})
