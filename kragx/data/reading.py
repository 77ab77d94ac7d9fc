"""The one way in for data: a file, table or Python value as a gold set, a run, or both."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kragx.data.corpus import as_corpus
from kragx.data.formats import FORMATS, tabular, trec
from kragx.data.formats.jsonl import file_name
from kragx.data.formats.located import is_located
from kragx.data.gold import GoldDataset
from kragx.data.released import release_of
from kragx.data.runs import Retrieved, Run
from kragx.data.source import Reading, kind_of_file
from kragx.errors import DataError, UsageError
from kragx.printing import phrase


def read_dataset(
    source: object,
    format: str | None = None,  # noqa: A002  # the word of the config and of people
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
    name: str | None = None,
    version: str | None = None,
    corpus: object = None,
) -> GoldDataset:
    """Read a gold set: the one way in, for `evaluate` and every command too.

    Args:
        source: the path of a file (JSON Lines, JSON, CSV, TSV, Excel, Parquet, qrels); a DataFrame
            (pandas, Polars) or a `Dataset` of Hugging Face; a list of mappings, a row each; a
            `GoldDataset`; or gold documents as `GoldDataset.from_documents` takes them: lists, or a
            mapping by query id.
        format: one of `FORMATS`; None recognises it by its fields.
        columns: of tables, for each field the column that holds it:
            ``{"query_id": "번호", "relevant_chunk_ids": "정답"}``.
        encoding: of CSV; None tries UTF-8, then cp949, of which a `DataWarning` tells.
        name: names the set in results; None for the file's name, of a release the gold set's.
        version: the set's version, recorded in results; None for that of a release.
        corpus: gives gold that is named by id alone its text: a path (`read_corpus`), texts by id,
            or documents with id and text. None leaves such gold without.

    Raises:
        DataError: the source has mistakes; the first is named, and how many more there are. Or
            gold has no text and is not in the corpus; such ids are counted. Or the file is a
            release, and its content is not what was released.
        UsageError: an unknown format, field or encoding, or no source of gold.
        MissingExtraError: the file needs a package that is not installed.

    Examples:
        >>> from kragx import read_dataset
        >>> rows = [{"query_id": "q1", "query": "Which city?", "gold": [{"text": "Seoul"}]}]
        >>> dataset = read_dataset(rows, version="2026-11")
        >>> dataset["q1"].text, dataset.version
        ('Which city?', '2026-11')
    """
    if isinstance(source, GoldDataset):
        dataset = source
    elif format is None and _by_query(source):
        dataset = GoldDataset.from_documents(source)  # type: ignore[arg-type]  # it checks them
    else:
        dataset, _ = read_results(source, format, columns, encoding=encoding)
        if (release := release_of(source)) is not None:
            dataset = release.of(dataset, version)
    if corpus is not None:
        dataset = as_corpus(corpus).gold(dataset, needed_by="")
    if name is None and version is None:
        return dataset
    return replace(dataset, name=name or dataset.name, version=version or dataset.version)


def read_rows(
    source: object,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
) -> tuple[GoldDataset, Run]:
    """Read rows that hold both gold and what was retrieved: results files and ragas rows.

    Raises:
        DataError: as `read_dataset`; or no row says what was retrieved.

    Examples:
        >>> from kragx import read_rows
        >>> row = {"retrieved_contexts": ["Seoul"], "reference_contexts": ["Seoul", "the capital"]}
        >>> dataset, run = read_rows([{"user_input": "Which city?", **row}])
        >>> len(next(iter(dataset)).gold), len(run.results)
        (2, 1)
    """
    dataset, run = read_results(source, format, columns, encoding=encoding)
    if not len(run):
        raise nothing_retrieved(str(source) if isinstance(source, (str, Path)) else dataset.name)
    return dataset, run


def read_gold(path: str | Path, *, corpus: object = None) -> GoldDataset:
    """Read a gold file; a results file serves too, its retrieved lists are passed over.

    `corpus` gives texts to gold that is named by id alone, as for `read_dataset`.

    Examples:
        >>> from kragx import GoldDataset, read_gold, write_gold
        >>> write_gold(GoldDataset.from_documents([["Seoul"]]), "gold.jsonl")
        >>> read_gold("gold.jsonl")["q1"].gold[0].text
        'Seoul'
    """
    return read_dataset(path, corpus=corpus)


def read_results(
    source: object,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
) -> tuple[GoldDataset, Run]:
    """Read a results file: its gold and its retrieved lists, of which there may be none.

    Arguments and errors are those of `read_dataset`.

    Examples:
        >>> from kragx import read_results
        >>> row = {"query_id": "q1", "gold": [{"text": "Seoul"}], "retrieved": [{"text": "Busan"}]}
        >>> dataset, run = read_results([row])
        >>> run.results["q1"].documents[0].text
        'Busan'
    """
    reading = Reading(source, format, columns, encoding=encoding)
    rows = list(reading)
    reading.problems.refuse()
    queries = tuple(query for _, query, _ in rows)
    results = {query.id: answer for _, query, answer in rows if answer is not None}
    problems = reading.problems
    surrogates, guessed = problems.mender.surrogates, problems.encoding
    dataset = GoldDataset(queries, reading.name, surrogates, encoding=guessed)
    return dataset, Run(results, reading.name)


def read_run(source: object, dataset: GoldDataset | None = None) -> Run:
    """Read what was retrieved.

    Args:
        source: the path of a results file or a TREC run; a DataFrame, or a list of mappings, of
            rows as in a results file; a `Run`; or lists of documents as `Run.from_documents` takes
            them: in the order of `dataset`, or a mapping by query id.
        dataset: the gold set.

    Raises:
        DataError: the source has mistakes, or holds no retrieved lists.
        UsageError: it is no run, or has not one list for each query of `dataset`.
    """
    run = _run_of(source, dataset)
    return run if dataset is None else _with_ids_of(dataset, run)


def _run_of(source: object, dataset: GoldDataset | None) -> Run:
    """What was retrieved, with the ids that its source has."""
    if isinstance(source, Run):
        return source
    if isinstance(source, (str, Path)) and kind_of_file(source) == "run":
        return trec.read_run(source)
    if isinstance(source, Mapping) and not tabular.is_splits(source):
        return Run.from_documents(source)
    if isinstance(source, Sequence) and _by_query(source):
        if dataset is not None and len(source) != len(dataset):
            raise UsageError(
                f"run: {len(source)} lists of retrieved documents for {len(dataset)} queries; "
                "pass one for each (an empty list where nothing was found)"
            )
        ids = [query.id for query in dataset or ()]
        return Run.from_documents(dict(zip(ids, source)) if ids else source)
    if not is_source(source):
        raise UsageError(
            f"run: {type(source).__name__} is no run; pass a Run, the path of a results file, "
            "lists of documents, a mapping by query id, a LangChain retriever (of a vector store: "
            "store.as_retriever()), or a function"
        )
    rows, run = read_rows(source)
    return replace(run, n_replaced_surrogates=rows.n_replaced_surrogates)


def _with_ids_of(dataset: GoldDataset, run: Run) -> Run:
    """A run whose ids are the questions, as in a table without ids, with the gold set's ids.

    What the gold set does not ask keeps its own; any other run stays as it is.
    """
    if any(query_id in dataset for query_id in run):
        return run
    ids: dict[str, list[str]] = {}
    for query in dataset:
        ids.setdefault(_plain_text(query.text or ""), []).append(query.id)
    results: dict[str, Retrieved] = {}
    for question, retrieved in run.results.items():
        for query_id in ids.get(_plain_text(question), [question]):
            results.setdefault(query_id, retrieved)
    return replace(run, results=results)


def _plain_text(text: str) -> str:
    """A text however its letters are composed and its words are set apart."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def read_runs(paths: Sequence[str | Path]) -> list[Run]:
    """Read several runs, named apart: by their own names if those differ, else by their files.

    Raises:
        UsageError: two are the same file.
        DataError: as `read_run`.
    """
    runs = [read_run(path) for path in paths]
    run_names = [run.name for run in runs]
    names = run_names if len(set(run_names)) == len(run_names) else names_apart(paths)
    return [replace(run, name=name) for run, name in zip(runs, names)]


def names_apart(paths: Sequence[str | Path]) -> list[str]:
    """What tells files apart: their names, with as many of their folders as that takes.

    Raises:
        UsageError: two are the same file.
    """
    if name := named_twice(paths):
        raise UsageError(f"the file {name} stands twice; name each once")
    files = [Path(path) for path in paths]
    for depth in range(max((len(file.parts) for file in files), default=0)):
        folders = [file.parent.parts[-depth:] if depth else () for file in files]
        names = ["/".join((*above, file_name(file))) for above, file in zip(folders, files)]
        if len(set(names)) == len(names):
            return names
    return list(map(str, paths))  # those of other endings


def named_twice(paths: Sequence[str | Path]) -> str:
    """What is named twice, by both names if they differ: a link and a detour lead to one place."""
    names: dict[Path, str] = {}
    for name in map(str, paths):
        place = Path(name).resolve()
        if place in names:
            return name if names[place] == name else f"{names[place]} (also named {name})"
        names[place] = name
    return ""


def nothing_retrieved(path: str) -> DataError:
    """The error of a file that should say what was retrieved, and does not."""
    return DataError(
        phrase(
            "no query has 'retrieved'; this is a gold file, so name a run or retriever as well, or "
            "pass a results file"
        ),
        path=path,
    )


def is_source(value: object) -> bool:
    """Whether a value holds rows: a path, a DataFrame, or a list of mappings."""
    listed = isinstance(value, Sequence) and not _by_query(value)
    return isinstance(value, (str, Path)) or listed or tabular.is_table(value)


def _by_query(value: object) -> bool:
    """Whether a Python value lists documents by query, and is not rows of a file's fields."""
    if isinstance(value, Mapping):
        return not (tabular.is_splits(value) or FORMATS["llamaindex"].recognises(value))
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or is_located(value):
        return False
    first = value[0] if value else ()
    # A mapping is a row, or ``{document id: grade}``.
    return not isinstance(first, Mapping) or all(
        isinstance(grade, (int, float)) for grade in first.values()
    )
