"""What judging took, what is missing, and how that is said.

Tokens are counted as providers count them, and estimated where they do not. A failed judgement is
counted here, nowhere else, and its kind is put in words here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from kragx.ground.errors import JudgingError
from kragx.ground.json_values import HIDDEN, jsonable_fields
from kragx.ground.printing import joined, message
from kragx.judging.client import FailureKind
from kragx.judging.question import Judgement, Question

_LONGEST = 300

Pattern = tuple[int | str | None, ...]
"""The votes of some judges on one question: a grade, a kind of failure, None where not needed."""


@dataclass
class Spent:
    """What calls used, retries and failures included.

    Attributes:
        n_calls: requests.
        n_calls_without_usage: those that were given up without an answer; what they used, nobody
            knows, and no token of them is counted here.
        n_calls_estimated: those whose tokens are estimates, as the provider does not say.
        prompt_tokens, completion_tokens: as providers count them, estimates included.
        cached_tokens: the part of the prompts that the provider had cached.
    """

    n_calls: int = 0
    n_calls_without_usage: int = 0
    n_calls_estimated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def add(self, addend: Spent) -> None:
        """Count what a call, or another one, counted, too."""
        counts = vars(self)
        for name, count in vars(addend).items():
            counts[name] = counts[name] + count

    def __neg__(self) -> Spent:
        """What takes this off where it is added."""
        return Spent(*(-count for count in vars(self).values()))

    def __add__(self, addend: Spent) -> Self:
        total = type(self)()
        total.add(self)
        total.add(addend)
        return total


class ByName(dict[Any, Any]):
    """Values by name; of two such with the same name the sum is one."""

    def __add__(self, addend: Mapping[Any, Any]) -> ByName:
        both = {name: self[name] + addend[name] for name in self.keys() & addend.keys()}
        return ByName({**self, **addend, **both})


class Firsts(dict[Any, Any]):
    """Values by name; of two such the first stays the first."""

    def __add__(self, addend: Mapping[Any, Any]) -> Firsts:
        return Firsts({**addend, **self})


@dataclass
class Tally(Spent):
    """What judging took, and what is missing.

    Attributes:
        n_judgements: how many were wanted.
        n_missing: those without a grade.
        failures: how many distinct questions have no grade, by what went wrong.
        failure_examples: the first question of each kind (`query_id`, `document_id`), what was
            said of it (`detail`, one line of at most 300 characters), and what to do (`remedy`).
        n_distinct: distinct questions that a judge is needed for.
        n_stored: those that the store answered, and those that another run was asking just then.
        n_human: judgements that people's labels took the place of.
        n_retries: calls that were no first ones.
        n_refused: requests for which the server had no room (429) or was away; no calls.
        dialects: how servers had to be asked for how many grades, where not as usual.
        n_calls_saved: calls that cheaper matchers of a combination made unnecessary.
        judges: of a panel what each judge took; `votes`: how many questions got each row of votes.
    """

    n_judgements: int = 0
    n_missing: int = 0
    failures: Counter[FailureKind] = field(default_factory=Counter)
    failure_examples: Firsts = field(default_factory=Firsts)
    n_distinct: int = 0
    n_stored: int = 0
    n_human: int = 0
    n_retries: int = 0
    n_refused: int = 0
    dialects: Counter[str] = field(default_factory=Counter)
    n_calls_saved: int = field(default=0, metadata=HIDDEN)  # only combinations tell
    judges: ByName = field(default_factory=ByName, metadata=HIDDEN)  # a panel's summary tells
    votes: Counter[Pattern] = field(default_factory=Counter, metadata=HIDDEN)

    also_plain: ClassVar[tuple[str, ...]] = ("coverage",)

    @property
    def record(self) -> dict[str, Any]:
        """What a file keeps; nothing is asked about again, and no call is made."""
        counts = {name: getattr(self, name) for name in ("n_judgements", "n_human", "n_distinct")}
        return {**counts, "n_stored": self.n_distinct, "dialects": dict(self.dialects)}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """What a file has kept."""
        return cls(**{**record, "dialects": Counter(record["dialects"])})

    def calls(self) -> Tally:
        """What was asked and used alone, without what came of it."""
        outcomes: Any = dict.fromkeys(("n_judgements", "n_missing", "n_human"), 0)
        return replace(self, **outcomes, failures=Counter(), failure_examples=Firsts())

    def count(self, questions: Sequence[Question], judgements: Iterable[Judgement]) -> None:
        """Count the judgements of questions; one asked for several of them fails once."""
        failed: dict[str, FailureKind] = {}
        for question, judgement in zip(questions, judgements, strict=True):
            self.n_judgements += 1
            self.n_human += judgement.source == "human"
            self.dialects.update(filter(None, [judgement.dialect]))
            if judgement.failure is not None:
                # Each pair lacks its grade, and the one question for several pairs failed once.
                self.n_missing += 1
                failed[judgement.key] = judgement.failure
                if judgement.failure not in self.failure_examples:
                    self.failure_examples[judgement.failure] = {
                        "query_id": question.query_id,
                        "document_id": question.document_id,
                        "detail": " ".join((judgement.detail or "").split())[:_LONGEST],
                        "remedy": remedy(judgement.failure),
                    }
        self.failures.update(failed.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, failures by name."""
        return jsonable_fields(self)

    @property
    def coverage(self) -> float | None:
        """The share of the judgements that have a grade; None if none was wanted."""
        total = self.n_judgements
        return (total - self.n_missing) / total if total else None


# -- what is missing, in words ---------------------------------------------------------------------

_BY_STATUS: Mapping[int, str] = {
    401: message("check the API key (judge.api_key_env names the variable that holds it)"),
    402: message("raise the quota or add credit with the provider"),
    403: message("check what the API key may use, or what a gateway in between blocks"),
    404: message("check the name of the model (judge.model) and the address (judge.base_url)"),
}
_ANOTHER_TIME = message(
    "run again; if it stays so, take a model or server that keeps to a JSON schema"
)
_KINDS: Mapping[FailureKind, tuple[str, str]] = {
    "refusal": (message("refusal"), message("another model or rubric may help")),
    "length": (
        message("length"),
        message("raise judge.max_output_tokens, or judge shorter chunks"),
    ),
    "content_filter": (
        message("content_filter"),
        message("another provider, or a filter that is set otherwise, may help"),
    ),
    "invalid_json": (message("invalid_json"), _ANOTHER_TIME),
    "out_of_range": (message("out_of_range"), _ANOTHER_TIME),
    "timeout": (message("timeout"), message("raise judge.timeout, or lower judge.concurrency")),
    "rate_limit": (
        message("rate_limit"),
        message("lower judge.concurrency or judge.rpm, or raise the limit with the provider"),
    ),
    "connection": (
        message("connection"),
        message("check the address (judge.base_url), and that the server runs"),
    ),
    "api_error": (
        message("api_error"),
        message("see what the server says; another run asks again"),
    ),
    "not_asked": (message("not_asked"), message("another run asks")),
    "pending": (message("pending"), message("kragx judge collect stores what has been answered")),
}
"""What people call each kind (in English by its name in JSON, to look for it), and its remedy."""


def remedy(kind: FailureKind, status: int | None = None) -> str:
    """What to do about a failure, by its kind and the status of HTTP."""
    by_status = _BY_STATUS.get(status or 0) if kind in ("api_error", "rate_limit") else None
    return by_status or _KINDS[kind][1]


def failure_lines(judging: Mapping[str, Any]) -> Iterator[str]:
    """A line for each kind of failure, the most frequent first: how many, what to do, an example.

    Ids and the provider's words are cut, as a line should be read at a glance.

    Args:
        judging: plain values of a `Tally`.
    """
    for kind, count in sorted(judging["failures"].items(), key=lambda failure: -failure[1]):
        example = judging["failure_examples"][kind]
        ids = {message("query"): example["query_id"], message("document"): example["document_id"]}
        names = [
            message("{what} {id}", what=noun, id=_cut(name, 40))
            for noun, name in ids.items()
            if name is not None
        ]
        words = repr(_cut(example["detail"], 120)) if example["detail"] else ""
        example_text = joined(": ", (joined(", ", names), words))
        yield message(
            "{failed}: {remedy}; such as {example}" if example_text else "{failed}: {remedy}",
            failed=_failed(kind, count),
            remedy=remedy(kind),
            example=example_text,
        )


def failed_kinds(judging: Mapping[str, Any]) -> str:
    """How many judgements failed in which way."""
    return joined(", ", (_failed(kind, n) for kind, n in judging["failures"].items()))


def _failed(kind: FailureKind, count: int) -> str:
    return message("{n} {kind}", n=count, kind=_KINDS[kind][0])


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def check_missing(tally: Tally, judge: Any, further: str = "", n_excused: int = 0) -> None:
    """Refuse a run in which more is missing than allowed, with an example of each kind.

    Args:
        tally: of the run.
        judge: whose `max_missing` is the share that is allowed; a dry run lacks everything.
        further: the last line; empty for where what was judged is.
        n_excused: how many are missing by right.

    Raises:
        JudgingError: more is missing.
    """
    if judge.dry_run or tally.n_missing - n_excused <= judge.max_missing * tally.n_judgements:
        return
    judging = tally.to_dict()
    first = message(
        "{n} of {of} judgements are missing ({kinds}), more than max_missing {most:g} allows:",
        n=tally.n_missing,
        of=tally.n_judgements,
        kinds=failed_kinds(judging),
        most=judge.max_missing,
    )
    further = further or message(
        "What was judged is in {store}: run again to ask for what is missing", store=judge.store
    )
    raise JudgingError(joined("\n  ", [first, *failure_lines(judging), further]))
