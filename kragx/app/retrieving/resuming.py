"""What an interrupted run goes on with: the answers that were kept as they came."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kragx.app.retrieving.fingerprint import Fingerprints, Parts
from kragx.data import GoldDataset, Query, Retrieved, SurrogateRepair
from kragx.data.formats.format import Fields, question_record
from kragx.data.formats.gold import GOLD
from kragx.data.formats.jsonl import make_folder, open_log, read_records, refused, to_json
from kragx.data.problems import Problems
from kragx.ground.errors import DataError
from kragx.ground.printing import joined, listed, message, plural, visible
from kragx.report.record import Kept, day_and_time, now


@dataclass(frozen=True)
class PartialAnswers:
    """The answers that were kept, and what keeps one more.

    Attributes:
        known: those that are taken over, by query id.
        begun: when the run that asked for them began; empty without one.
        n_unused: how many there are that are not taken over, as something has changed.
        changed: what that is: the parts of a fingerprint, or ``questions``.
        keep: keeps one more before the next one is waited for.
        as_read: the answers that were kept now, as a next run would read them: metadata may hold
            what JSON has no form for, and an interruption must change no number.
    """

    known: Mapping[str, Retrieved] = field(default_factory=dict)
    begun: str = ""
    n_unused: int = 0
    changed: tuple[str, ...] = ()
    keep: Callable[[Query, Retrieved], None] = field(default=lambda query, answer: None)
    as_read: dict[str, Retrieved] = field(default_factory=dict)


@contextmanager
def partial_answers(
    path: Path, parts: Parts, dataset: GoldDataset, fresh: bool = False
) -> Iterator[PartialAnswers]:
    """The answers of a retriever as they come, in a file that a next run picks up.

    The first line says what they depend on; where that has changed the file begins anew. A line
    that was cut off when the process was killed is passed over, and failures are not kept: what
    failed is asked again.

    Args:
        path: the file.
        parts: of a fingerprint: what the answers depend on.
        dataset: the questions; an answer is taken over where id and text are the same.
        fresh: take none over, and begin the file anew.

    Raises:
        UsageError: the file cannot be written or removed.
        DataError: it cannot be read.
    """
    answers = PartialAnswers() if fresh else _resumed(path, parts, dataset)
    if not answers.known:
        with refused(path, "removed"):
            path.unlink(missing_ok=True)
    # Retrievers are asked by several threads, and a line must not stand within another.
    lock = threading.Lock()
    make_folder(path.parent)
    with open_log(path) as file:

        def write(record: Mapping[str, Any]) -> str:
            line = SurrogateRepair().text(to_json(record))
            with lock, refused(path, "written"):
                file.write(line + "\n")
                file.flush()
            return line

        def keep(query: Query, retrieved: Retrieved) -> None:
            if retrieved.error is not None:
                return
            question = Query(query.id, query.text, (), history=query.history)
            line = write(question_record(question, retrieved))
            # This run goes on with what a later one would read, so that both have the same results.
            _, answers.as_read[query.id] = _answer(json.loads(line))

        if answers.known:
            file.write("\n")  # behind a line that was cut off
        else:
            write({"begun": now(), "parts": parts})
        yield replace(answers, keep=keep)


def _answer(record: Mapping[str, Any]) -> tuple[Query, Retrieved]:
    """A question and its answer, of a line; a `DataError` if it holds none."""
    fields = Fields(record, GOLD, Problems("answers", strict=True))
    answer = fields.retrieved()
    if answer is None:
        raise DataError("no answer")
    return fields.query(fields.id("query_id"), fields.text("query"), ()), answer


def _resumed(path: Path, parts: Parts, dataset: GoldDataset) -> PartialAnswers:
    """The answers of a file that can be taken over; if there are none, how many cannot and why."""
    answer_of: dict[str, Retrieved] = {}
    answered: set[str] = set()
    before: Parts = {}
    begun = ""
    # Broken lines are passed over: each costs its own question alone.
    for _, record in read_records(path, Problems(str(path))) if path.exists() else ():
        with suppress(DataError, KeyError, TypeError, ValueError):
            if "parts" in record:
                begun = datetime.fromisoformat(record["begun"]).isoformat(timespec="seconds")
                before = {**record["parts"]}
            elif begun:
                query, answer = _answer(record)
                answered.add(query.id)
                asked = dataset[query.id]  # what is not asked any more has no place either
                if (query.text, query.history) == (asked.text, asked.history):
                    answer_of[query.id] = answer
    if before == parts and answer_of:
        return PartialAnswers(answer_of, begun)
    names = [*parts, *(before.keys() - parts.keys())]
    changed = [name for name in names if before.get(name) != parts.get(name)]
    return PartialAnswers({}, begun, len(answered), tuple(changed or ["questions"]))


@dataclass(frozen=True)
class Resumption:
    """How answers are kept as they come, and taken over from an interrupted run.

    Attributes:
        folder: of the results, beside which they are kept.
        fingerprints: say what answers depend on.
        fresh: whether none is taken over.
        say: is told, before a retriever is asked, how many are, or why none is.
    """

    folder: Path
    fingerprints: Fingerprints
    fresh: bool = False
    say: Callable[[str], object] = str

    def kept(self, name: str, runs: Sequence[PartialAnswers], n_queries: int) -> Kept | None:
        """The answers of all runs of a retriever that are taken over, if any; it is said."""
        begun = min(filter(None, (answers.begun for answers in runs)), default="")
        kept = Kept(sum(len(answers.known) for answers in runs), n_queries * len(runs), begun)
        if kept.n_answers:
            self.say(joined(": ", [visible(name), joined("; ", [kept.number, kept.rest])]))
            return kept
        if n_unused := sum(answers.n_unused for answers in runs):
            changed = next(answers.changed for answers in runs if answers.n_unused)
            unused = message(
                "not used: {answers} of an interrupted run that began on {date}, as something "
                "has changed since: {names}; all is asked for now",
                answers=plural(n_unused, "1 answer", "{n} answers"),
                date=day_and_time(begun),
                names=listed([*map(visible, changed)]),
            )
            self.say(joined(": ", [visible(name), unused]))
        return None
