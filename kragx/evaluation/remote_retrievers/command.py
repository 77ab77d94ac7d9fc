"""Retrievers that are programs in any language: questions and answers as lines of JSON."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any, ClassVar, Self
from weakref import finalize

from kragx.data import Doc
from kragx.evaluation.answers import QUOTED, AnswerPaths
from kragx.ground.errors import DataError, KragxError, RetrieverError, UsageError, shorten
from kragx.ground.options import (
    a_path,
    check_options,
    is_text,
    optional,
    some_seconds,
    texts_by_name,
)
from kragx.ground.printing import message
from kragx.ground.secrets import Secrets

MOST_BYTES = 32 << 20
"""Of one answer."""

GRACE = 2.0
"""Seconds that a program has to end by itself once its input has ended, and again once told to."""

_LINES, _LONGEST = 20, 500
"""Of what it wrote to standard error the lines that are shown, and the bytes of each."""

_PATHS = AnswerPaths(documents="documents")
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has none


def _command(value: Any) -> Any:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not value or not all(isinstance(part, str) for part in value):
        remedy = ""
        with suppress(ValueError):  # a quotation mark without its other one
            if is_text(value):
                remedy = message("perhaps you meant {name!r}?", name=shlex.split(value))
        raise UsageError(
            message("a list of texts is expected, not {value}", value=shorten(value)), remedy=remedy
        )
    return tuple(value)


@dataclass(frozen=True, eq=False)
class CommandRetriever:
    """A program that answers questions: one process, started at the first question.

        with CommandRetriever(["./search", "--k", "10"]) as search:
            result = kragx.evaluate("gold.jsonl", search)

    It gets a line of JSON for each question on its standard input, ``{"id": "1", "query": "..."}``
    (and ``"history": [{"role": ..., "content": ...}]`` where something was said before it),
    and writes a line for each to its standard output, in any order::

        {"id": "1", "documents": [{"id": "d7", "text": "...", "score": 1.5, "metadata": {}}]}
        {"id": "2", "error": "the index is locked"}

    A document needs `id` or `text`. Whatever else it has to say belongs to standard error, whose
    last lines are shown when the program dies. It must read its input line by line (mawk does with
    ``-W interactive``), flush its output after each line, and go on until its input ends. Then it
    has `GRACE` seconds to end, before its whole process group is terminated. Ctrl-C in the terminal
    does not reach it; kragx ends it.

    Attributes:
        command: the program and its arguments; no shell reads them.
        cwd: the folder in which it is started; None for the current one.
        env: environment variables beside those that are set.
        timeout: seconds for each answer, the program's start included.

    Raises:
        UsageError: an option is wrong, or there is no such program.
    """

    command: Annotated[Sequence[str], _command]
    cwd: Annotated[str | Path | None, optional(a_path)] = None
    env: Annotated[Mapping[str, str] | None, optional(texts_by_name)] = field(
        default=None, repr=False
    )
    timeout: Annotated[float, some_seconds] = 300.0
    _processes: list["_Process"] = field(default_factory=list, init=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        check_options(self)
        folder, program = Path(self.cwd or ".").absolute(), self.command[0]
        path = {**os.environ, **(self.env or {})}.get("PATH")
        name = str(folder / program) if os.path.dirname(program) else program  # noqa: PTH120
        if shutil.which(name, path=path) is None:
            raise UsageError(
                "there is no program {name} that can be executed", field="command", name=name
            )

    @property
    def name(self) -> str:
        """What names it in results: the program's own name."""
        return Path(self.command[0]).name

    @property
    def run_settings(self) -> dict[str, Any]:
        """What results record: the command, without what is secret."""
        return {"command": Secrets.of().masked(list(self.command))}

    takes_history: ClassVar[bool] = True

    def invoke(
        self, question: str, config: object = None, *, history: Sequence[Mapping[str, str]] = ()
    ) -> list[Doc]:
        """The ranked documents for a question; `config`, which LangChain passes, is not used.

        Args:
            question: what is asked.
            config: not used.
            history: what was said before it.

        Raises:
            RetrieverError: the program has died, does not answer in time, or says that it failed.
            DataError: it answers with something else than documents.
        """
        context = {"history": list(history)} if history else {}
        with self._lock:
            if not self._processes:
                process = _Process(self.command, self.cwd, {**os.environ, **(self.env or {})})
                self._processes.append(process)
                finalize(self, process.end)  # at the latest when Python ends
            (process,) = self._processes
        return process.ask({"query": question, **context}, self.timeout)

    def close(self) -> None:
        """End the program, if it runs."""
        with self._lock:
            for process in self._processes:
                process.end()
            self._processes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Process:
    """A running program, and the questions that it has not answered yet."""

    def __init__(
        self, command: Sequence[str], cwd: str | Path | None, env: Mapping[str, str]
    ) -> None:
        self._shown = shlex.join(command[:1])
        self._pending: dict[int, Future[list[Doc]]] = {}
        self._count, self._death = 0, ""
        self._lock = threading.Lock()
        self._last_lines: deque[str] = deque(maxlen=_LINES)
        self._to_write: SimpleQueue[bytes | None] = SimpleQueue()
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        try:
            # A group of its own: what it starts itself ends with it.
            self._popen = subprocess.Popen(  # type: ignore[call-overload]
                list(command), cwd=cwd, env=env, start_new_session=True, **pipes
            )
        except OSError as error:
            raise RetrieverError(
                "{shown} cannot be started: {strerror}", shown=self._shown, strerror=error.strerror
            ) from error
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._hear, self._read, self._write)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, question: Mapping[str, object], timeout: float) -> list[Doc]:
        """The documents for a question, once the program has answered, as `invoke` has them."""
        with self._lock:
            if self._death:
                raise RetrieverError(self._death)
            # Within the lock: once the program has died no question may begin to wait for it.
            self._count = number = self._count + 1
            answer = self._pending[number] = Future()
            line = json.dumps({"id": str(number), **question}, ensure_ascii=False)
            self._to_write.put(line.encode("utf-8", "replace") + b"\n")
        try:
            return answer.result(timeout)
        except TimeoutError:
            raise RetrieverError(
                "{shown} gave no answer within {timeout:g} s",
                remedy="a program must read line by line, and flush its output after each",
                shown=self._shown,
                timeout=timeout,
            ) from None
        finally:
            self._pending.pop(number, None)

    def end(self) -> None:
        """Have it end: by the end of its input, else by signals to its whole group."""
        self._to_write.put(None)
        for sign in (None, signal.SIGTERM, _KILL):
            if sign is not None:
                self._signal(sign)
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(GRACE)
                break
        self._signal(_KILL)  # what it has left behind
        for thread in self._threads[:2]:
            thread.join(GRACE)

    def _signal(self, sign: int) -> None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._popen.pid, sign)
            else:
                self._popen.terminate()

    def _write(self) -> None:
        """In a thread of its own: a program that reads nothing blocks nobody who waits."""
        with suppress(OSError, ValueError), self._popen.stdin as pipe:  # who reads sees its death
            while (line := self._to_write.get()) is not None:
                pipe.write(line)
                pipe.flush()

    def _hear(self) -> None:
        with suppress(OSError, ValueError), self._popen.stderr as pipe:
            while line := pipe.readline(_LONGEST):
                if text := line.decode("utf-8", "replace").strip():
                    self._last_lines.append(text)

    def _read(self) -> None:
        """Hand each answer to whoever waits for it, until there are no more."""
        with suppress(OSError, ValueError), self._popen.stdout as pipe:
            while line := pipe.readline(MOST_BYTES):  # a longer one is no answer, in pieces
                if line.strip():
                    self._hand_over(line)
        death = self._last_words()
        with self._lock:
            self._death = death
        self._to_write.put(None)
        self._fail(RetrieverError(death))

    def _last_words(self) -> str:
        """Why there are no more answers."""
        try:
            code = self._popen.wait(GRACE)
            ending = f"ended with exit code {code}"
            ending += ", though it must go on until its input ends" if code == 0 else ""
            with suppress(ValueError):  # a signal's number is negative there
                ending = f"was ended by {signal.Signals(-code).name}"
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGTERM)
            ending = "closed its output"
        # What it wrote last to standard error may not have been read yet.
        self._threads[0].join(GRACE)
        if lines := "\n  ".join(self._last_lines):
            ending += f"; its last words on standard error:\n  {lines}"
        return f"{self._shown} {ending}"

    def _fail(self, error: Exception) -> None:
        for answer in [*self._pending.values()]:
            if not answer.done():
                answer.set_exception(error)

    def _hand_over(self, line: bytes) -> None:
        try:
            text = line.decode("utf-8-sig")
            record = json.loads(text)
            number = int(str(record["id"]))
            if not 0 < number <= self._count:
                raise ValueError(number)
        except (ValueError, KeyError, TypeError, RecursionError):
            # Whose answer it is cannot be told: all that wait for one have to know.
            start = line[: 4 * QUOTED].decode("utf-8", "replace").strip()[:QUOTED]
            self._fail(
                DataError(
                    "{command} wrote what is no answer to a question: {start!r}",
                    remedy='an answer is a line {{"id": ..., "documents": [...]}} with the id of '
                    "its question; all else belongs to standard error",
                    command=self._shown,
                    start=start,
                )
            )
            return
        answer = self._pending.get(number)
        if answer is None or answer.done():
            return  # nobody waits for it any longer
        try:
            if (problem := record.get("error")) is not None:
                raise RetrieverError("{shown}: {why}", shown=self._shown, why=problem)
            answer.set_result(_PATHS.read_json(text, f"{self._shown} answered", strings=False))
        except KragxError as error:
            answer.set_exception(error)
