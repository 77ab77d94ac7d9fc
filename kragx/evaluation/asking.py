"""`Asking`: how a retriever is asked, and where its answers have what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kragx.data import RUNS_OR_REPEAT, Query, Retrieved
from kragx.evaluation.answers import AnswerPaths
from kragx.ground.errors import UsageError, nearest
from kragx.ground.options import check_options, fitting, optional, some_seconds, whole

_MAPPING = fitting(
    lambda value: isinstance(value, Mapping),
    "a mapping is expected, such as {{'question': 'query'}}, not {!r}",
)


@dataclass(frozen=True)
class Asking(AnswerPaths):
    """How a retriever is asked, and where its answers have what (`AnswerPaths`).

    Attributes:
        concurrency: how many questions at once; more than 1 makes each query's time a time under
            load.
        timeout: seconds after which an attempt has failed; None waits for ever.
        retries: how often a question is asked again after an error, with growing pauses.
        on_error: ``record`` a query that failed and go on, or ``stop``.
        warmup: how many questions are asked first without being counted or timed.
        repeat: of one run, how often each question is asked to take its time, which is the median;
            its answer is the first.
        runs: how often all questions are asked; each answer counts, and a question's value is the
            mean over its runs (`Run.reruns`): for agents, which search otherwise each time.
        callbacks: LangChain callback handlers, for example of a tracing tool.
        input: of a LangChain runnable whose input is a mapping, what its fields get: ``query``,
            ``history`` (a list of mappings with role and content), for example
            ``{"input": "query", "chat_history": "history"}``. None gives it the question alone.
        stages: whether to keep what each step of a LangChain chain returned (`Retrieved.stages`).
        mask: what becomes of the text of a failure before anybody reads it.
        known: of each run what is answered already, by query id; it is not asked again.
        on_answer: of each run what is told each new answer as it comes, from whatever thread it
            comes in.
    """

    concurrency: Annotated[int, whole(1)] = 1
    timeout: Annotated[float | None, optional(some_seconds)] = None
    retries: Annotated[int, whole(0)] = 0
    on_error: Literal["record", "stop"] = "record"
    warmup: Annotated[int, whole(0)] = 0
    repeat: Annotated[int, whole(1)] = 1
    runs: Annotated[int, whole(1)] = 1
    callbacks: Sequence[Any] = ()
    input: Annotated[Mapping[str, str] | None, optional(_MAPPING)] = None
    stages: bool = False
    mask: Callable[[str], str] = str
    known: Sequence[Mapping[str, Retrieved]] = ()
    on_answer: Sequence[Callable[[Query, Retrieved], None]] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """What results record of how answers are read."""
        return {"answer": self.paths} if self.paths else {}

    def __post_init__(self) -> None:
        check_options(self)
        if self.runs > 1 and self.repeat > 1:
            raise UsageError(RUNS_OR_REPEAT, field="repeat", remedy="give runs or repeat")
        for name in ("score", "metadata") if self.are_plain else ():
            if (path := getattr(self, name)) is not None:
                raise UsageError(
                    "{place!r} is read only where text or id say what a document is",
                    field=name,
                    remedy="name one of these, too",
                    place=path,
                )
        for name, kind in (self.input or {}).items():
            if kind not in INPUTS:
                raise UsageError(
                    "unknown value {kind!r}; {hint}",
                    field=f"input.{name}",
                    kind=kind,
                    hint=nearest(kind, INPUTS),
                )


INPUTS = ("query", "history")
"""What a field of a mapping that a runnable takes may get."""
