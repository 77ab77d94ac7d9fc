"""From the retrievers of a config to what they return; their answers are kept as they come."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from kragx.app.config import RetrieverConfig, files_of
from kragx.app.result_folder.atomic_folder import beside, listed
from kragx.app.retrieving.fingerprint import Fingerprints, Parts
from kragx.app.retrieving.making import all_makers, made
from kragx.data import GoldDataset, Query, Retrieved, Run, SurrogateRepair, read_run
from kragx.data.formats.format import Fields, question_record
from kragx.data.formats.gold import GOLD
from kragx.data.formats.jsonl import make_folder, open_log, read_records, refused, to_json
from kragx.data.problems import Problems
from kragx.evaluation.retrieve import retrieve
from kragx.ground.errors import DataError, KragxError, UsageError, inside
from kragx.ground.printing import joined, message, visible
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
    answers = PartialAnswers() if fresh else _kept(path, parts, dataset)
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


def _kept(path: Path, parts: Parts, dataset: GoldDataset) -> PartialAnswers:
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
class Keeping:
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
                answers=message("1 answer" if n_unused == 1 else "{n} answers", n=n_unused),
                date=day_and_time(begun),
                names=listed(map(visible, changed)),
            )
            self.say(joined(": ", [visible(name), unused]))
        return None


def retrieve_all(
    retrievers: Mapping[str, RetrieverConfig],
    dataset: GoldDataset,
    *,
    progress: bool | None = None,
    keeping: Keeping | None = None,
) -> tuple[dict[str, Run], dict[str, Kept]]:
    """What each retriever returns to each question, asked or read from a file.

    What can be wrong is found before the first question is asked: import paths, arguments, files.

    Args:
        retrievers: by name, as the config has them.
        dataset: the questions.
        progress: whether to show progress on standard error; None for only on a terminal.
        keeping: how answers are kept as they come; None keeps none.

    Returns:
        The runs, and how many of their answers were kept from an interrupted run, where any were.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: a file is bad, or a failure is to end the run.
    """
    # All are made known first: a typing error in the last one is not found after hours.
    makers = all_makers(retrievers)
    for name in makers if keeping is not None else ():
        # As it was imported, before hours of asking in which it may be edited.
        keeping.fingerprints.code(retrievers[name])  # type: ignore[union-attr]
    runs = {
        name: _read(name, config, dataset)
        for name, config in retrievers.items()
        if not config.is_asked
    }
    kept_of: dict[str, Kept] = {}
    files = files_of(retrievers)
    for name, of_retriever in makers.items():
        config = retrievers[name]
        try:
            with ExitStack() as within:
                retriever, options = made(name, config, of_retriever, within)
                options["progress"] = progress
                answers: list[PartialAnswers] = []
                if keeping is not None:
                    parts, folder = keeping.fingerprints.of(config), beside(keeping.folder)
                    for file in files[name]:
                        path = folder / "answers" / f"{file}.jsonl"
                        log = partial_answers(path, parts, dataset, keeping.fresh)
                        answers.append(within.enter_context(log))
                    if (kept := keeping.kept(name, answers, len(dataset))) is not None:
                        kept_of[name] = kept
                run = _asked(retriever, dataset, answers, options)
        except (ImportError, KragxError) as error:
            problem = error if isinstance(error, KragxError) else UsageError(str(error))
            raise problem.within(f"retrievers.{name}") from error
        runs[name] = replace(run, settings=config.settings)
    # In the order of the config, whichever were read from files and whichever asked.
    return {name: runs[name] for name in retrievers}, kept_of


def asker(
    name: str, config: RetrieverConfig
) -> Callable[[GoldDataset, Callable[[Query, Retrieved], None]], Run]:
    """Something that asks one retriever again and again; it is made once, at the first time.

    It is called with the questions, and with what is told each answer as it comes.

    Questions are asked once, without a warm-up: it is of what is found, not of times. It raises
    what `retrieve_all` does.
    """
    # Not before: loading an index takes long, and perhaps nobody ever asks.
    made_once = cache(lambda: made(name, config, all_makers({name: config})[name]))
    read: list[Run] = []

    def ask(dataset: GoldDataset, on_answer: Callable[[Query, Retrieved], None]) -> Run:
        if not config.is_asked:
            read[:] = read or [_read(name, config, dataset)]
            return read[0]
        retriever, options = made_once()
        single = {"progress": False, "warmup": 0, "repeat": 1, "runs": 1, "on_error": "record"}
        return retrieve(retriever, dataset, **options | single, on_answer=[on_answer])

    return ask


def _read(name: str, config: RetrieverConfig, dataset: GoldDataset) -> Run:
    """What files say that a retriever returned, each in a run."""
    source = "results" if config.run is None else "run"
    with inside(f"retrievers.{name}.{source}", kind=DataError):
        runs = [read_run(file, dataset, config.columns) for file in config.files]
    run = Run.repeated(replace(run, name=name) for run in runs)
    return replace(run, settings=config.settings)


def _asked(
    retriever: Any,
    dataset: GoldDataset,
    answers: Sequence[PartialAnswers],
    options: Mapping[str, Any],
) -> Run:
    """What a retriever answers in each run to what is not answered yet; with what is."""
    known = [of_run.known for of_run in answers]
    keep = [of_run.keep for of_run in answers]
    run = retrieve(retriever, dataset, **options, known=known, on_answer=keep)
    if not answers:
        return run
    return Run.repeated(
        replace(single, results={**single.results, **of_run.as_read})
        for single, of_run in zip(run.every, answers)
    )
