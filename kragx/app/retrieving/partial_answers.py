"""The answers of a retriever as they come, kept so that an interrupted run goes on from them."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kragx.app.retrieving.fingerprint import Fingerprint
from kragx.data import GoldDataset, Mender, Query, Retrieved, as_docs, as_turns
from kragx.data.documents import clean_seconds
from kragx.data.formats.jsonl import make_folder, open_log, read_records, refused, to_json
from kragx.data.formats.records import answer_record
from kragx.data.problems import Problems
from kragx.data.search_records import SEARCHES, as_searches
from kragx.data.stages import NumberedDocs, as_stages
from kragx.ground.errors import DataError
from kragx.report.record import UNFINISHED, Kept, now


def partial_path(folder: Path, file: str) -> Path:
    """Where the answers of a retriever are kept while it is asked."""
    return folder / UNFINISHED / "answers" / f"{file}.jsonl"


@dataclass(frozen=True)
class Unused:
    """Answers of an interrupted run that are not taken over.

    Attributes:
        n_answers: how many.
        changed: what is not as it was when they were asked for: the parts of a `Fingerprint`, or
            ``questions``.
        begun: when that run began to ask; None if it did not say.
    """

    n_answers: int
    changed: tuple[str, ...]
    begun: str | None


@dataclass(frozen=True)
class PartialAnswers:
    """The answers that were kept, and what keeps one more.

    Attributes:
        known: those that are taken over, by query id.
        kept: how many they are, and from when.
        unused: if none is taken over, those that might have been.
        n_broken: how many lines cannot be read, as one that was cut off by a kill.
        keep: keeps one more before the next one is waited for.
        as_read: of answers that were kept now those that a next run would read otherwise, as their
            metadata holds what JSON has no form for: an interruption must change no number.
    """

    known: Mapping[str, Retrieved]
    kept: Kept
    unused: Unused | None
    n_broken: int
    keep: Callable[[Query, Retrieved], None]
    as_read: Mapping[str, Retrieved]


@contextmanager
def partial_answers(
    path: Path, fingerprint: Fingerprint, dataset: GoldDataset, fresh: bool = False
) -> Iterator[PartialAnswers]:
    """The answers of a retriever as they come, in a file that a next run picks up.

    Each line says by hashes what its answer depends on, and the line with which a run begins what
    these are made of. So the file grows, whatever changes: what is taken back finds its answers
    again. A line that was cut off when the process was killed is passed over, and failures are not
    kept: what failed is asked again.

    Args:
        path: the file.
        fingerprint: what the answers depend on.
        dataset: the questions; an answer is taken over where id and text are the same.
        fresh: take none over, and begin the file anew.

    Raises:
        UsageError: the file cannot be written or removed.
        DataError: it cannot be read.
    """
    answers, times = fingerprint.keys
    if fresh:
        with refused(path, "removed"):
            path.unlink(missing_ok=True)
    answers_kept, counts, unused, n_broken = _read(path, fingerprint, dataset)
    # Retrievers are asked by several threads, and a line must not stand within another.
    lock = threading.Lock()
    as_read: dict[str, Retrieved] = {}
    make_folder(path.parent)
    with open_log(path) as file:

        def write(record: Mapping[str, Any], before: str = "") -> str:
            line = Mender().mend(to_json(record))
            with lock, refused(path, "written"):
                file.write(before + line + "\n")
                file.flush()
            return line

        def keep(query: Query, retrieved: Retrieved) -> None:
            if retrieved.error is not None:
                return
            question: dict[str, Any] = {"query_id": query.id, "query": query.text}
            if query.history:
                question["history"] = [turn.to_dict() for turn in query.history]
            line = write({"of": [answers, times], **question, **answer_record(retrieved)})
            # What a later run would read of it: if that is not what was answered, this run goes on
            # with what the file has, so that both have the same results.
            answer_again = _answer(json.loads(line))
            with suppress(Exception):  # whatever foreign values raise when they are compared
                if answer_again == retrieved:
                    return
            as_read[query.id] = answer_again

        begun = {"begun": now(), "of": [answers, times], "parts": fingerprint.answers}
        write(begun, "\n" if file.tell() else "")  # behind a line that was cut off
        yield PartialAnswers(answers_kept, counts, unused, n_broken, keep, as_read)


def _answer(record: Mapping[str, Any]) -> Retrieved:
    has_list = "retrieved" in record or SEARCHES not in record
    docs = as_docs(record["retrieved"], Mender(), "retrieved") if has_list else ()
    numbered = NumberedDocs(docs, Mender(), distinct=SEARCHES in record)
    searches = as_searches(record.get(SEARCHES, []), numbered, Mender())
    stages = as_stages(record.get("stages", []), numbered, Mender())
    seconds = clean_seconds(record.get("seconds"))
    return Retrieved(docs, seconds, stages=stages, searches=searches, has_list=has_list)


def _untimed(answer: Retrieved) -> Retrieved:
    searches = tuple(replace(search, seconds=None) for search in answer.searches)
    return replace(answer, seconds=None, searches=searches)


def _read(
    path: Path, fingerprint: Fingerprint, dataset: GoldDataset
) -> tuple[dict[str, Retrieved], Kept, Unused | None, int]:
    """The answers of a file that can be taken over; if there are none, how many cannot and why.

    The last number is that of the lines that cannot be read.
    """
    answers, times = fingerprint.keys
    answer_of: dict[str, Retrieved] = {}
    n_broken = 0
    n_of: dict[str, set[str]] = {}  # ids that were answered, by what their answers depend on
    begun: dict[str, str] = {}
    parts: dict[str, Mapping[str, str]] = {}
    problems = Problems(str(path))
    for _, record in read_records(path, problems) if path.exists() else ():
        try:
            key, key_of_times = record["of"]
            if "parts" in record:
                datetime.fromisoformat(record["begun"])
                parts[key] = {**record["parts"]}
                begun.setdefault(key, record["begun"])
                continue
            query_id, answer = record["query_id"], _answer(record)
            wording = record["query"], as_turns(record.get("history", []), Mender())
            query = dataset[query_id] if key == answers and query_id in dataset else None
            if query is not None and wording == (query.text, query.history):
                is_timed = key_of_times == times
                answer_of[query_id] = answer if is_timed else _untimed(answer)
            n_of.setdefault(key, set()).add(query_id)
        except (DataError, KeyError, TypeError, ValueError):
            n_broken += 1
    n_broken += len(problems.found)
    n_edited = sum(query_id in dataset for query_id in n_of.get(answers, set()) - answer_of.keys())
    n_untimed = sum(answer.seconds is None for answer in answer_of.values())
    counts = Kept(len(answer_of), len(dataset), begun.get(answers), n_untimed, n_edited)
    if answer_of or not n_of:
        return answer_of, counts, None, n_broken
    last = answers if answers in n_of else [*n_of][-1]
    before, after = parts.get(last, {}), fingerprint.answers
    names = [*after, *(before.keys() - after.keys())]
    changed = [name for name in names if before.get(name) != after.get(name)]
    unused = Unused(len(n_of[last]), tuple(changed or ["questions"]), begun.get(last))
    return {}, counts, unused, n_broken
