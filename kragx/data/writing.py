"""The one way out for data: a gold set, and what was retrieved, as files that are read back."""

from collections.abc import Iterable
from itertools import chain, starmap
from pathlib import Path

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import STANDS_FOR, Question, question_record, rules_record
from kragx.data.formats.jsonl import write_records
from kragx.data.formats.parquet import is_parquet, write_questions
from kragx.data.gold import GoldDataset
from kragx.data.reading import read_dataset, read_run
from kragx.data.search_records import SEARCHES
from kragx.data.weights import weights_of
from kragx.ground.errors import UsageError


def write_gold(dataset: object, path: str | Path) -> None:
    """Write a gold file that `read_gold` reads back as the same queries; Parquet by its ending.

    `dataset` is as for `evaluate`.

    Examples:
        >>> from kragx import GoldDataset, read_gold, write_gold
        >>> dataset = GoldDataset.from_documents([["Seoul"]], queries=["Which city?"])
        >>> write_gold(dataset, "gold.jsonl")
        >>> read_gold("gold.jsonl").queries == dataset.queries
        True
    """
    gold = read_dataset(dataset)
    _write(((query, None) for query in gold), path, gold, results=False)


def write_results(dataset: object, run: object, path: str | Path) -> None:
    """Write a results file: the gold set with what the run retrieved; Parquet by its ending.

    `dataset` and `run` are as for `evaluate`, but for retrievers, of which `retrieve` makes runs.

    Raises:
        UsageError: the run holds several, of which a file has one.

    Examples:
        >>> from kragx import evaluate, write_results
        >>> write_results([["Seoul"]], [["Busan", "Seoul"]], "results.jsonl")
        >>> evaluate("results.jsonl", metrics=["mrr@5"])["mrr@5"]
        0.5
    """
    gold = read_dataset(dataset)
    run = read_run(run, gold)
    if run.reruns:
        raise UsageError(
            "{name!r} was asked {n_every} times, and a file holds the answers of one",
            field="run",
            remedy="write each of run.every; Run.repeated makes one run of what is read of them",
            name=run.name,
            n_every=len(run.every),
        )
    searches = any(answer.searches or not answer.has_list for answer in run.results.values())
    questions = ((query, run.results.get(query.id)) for query in gold)
    _write(questions, path, gold, searches=searches)


def _write(
    questions: Iterable[Question],
    path: str | Path,
    dataset: GoldDataset,
    *,
    results: bool = True,
    searches: bool = False,
) -> None:
    if is_parquet(path):
        is_said = {
            FORBIDDEN: any(query.forbidden is not None for query in dataset),
            **dict.fromkeys(STANDS_FOR, weights_of(dataset) is not None),
            SEARCHES: searches,
        }
        beside = [name for name, flag in is_said.items() if flag]
        write_questions(questions, path, results=results, beside=beside, rules=dataset.forbidden)
    else:
        records = starmap(question_record, questions)
        write_records(chain(rules_record(dataset.forbidden), records), path)
