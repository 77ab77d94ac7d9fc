"""The one way in for data: a file, table or Python value as a gold set, a run, or both."""

import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, NoneType

from kragx.data.corpus import as_corpus
from kragx.data.foreign import answer_list, chroma_lists
from kragx.data.formats import FORMATS, tabular, trec
from kragx.data.formats.document_rows import Role
from kragx.data.formats.format import STANDS_FOR
from kragx.data.formats.jsonl import file_name
from kragx.data.formats.parquet import is_located
from kragx.data.gold import GoldDataset, Query
from kragx.data.objects import BOTH, SHAPES, Shape
from kragx.data.problems import DataWarning
from kragx.data.released import release_of
from kragx.data.runs import Retrieved, Run
from kragx.data.source import Reading, kind_of_file
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, UsageError, shorten
from kragx.ground.printing import message

_PLAIN = (str, int, float, list, dict, Path, NoneType)
"""What no tool's objects are, and what their lists do not begin with."""


def read_dataset(
    source: object,
    format: str | None = None,  # noqa: A002  # the word of the config and of people
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
    name: str | None = None,
    version: str | None = None,
    corpus: object = None,
    role: Role | None = None,
) -> GoldDataset:
    """Read a gold set: the one way in, for `evaluate` and every command too.

    Args:
        source: the path of a file (JSON Lines, JSON, CSV, TSV, Excel, Parquet, qrels); a DataFrame
            (pandas, Polars) or a `Dataset` of Hugging Face; a list of mappings, a row each; a
            `GoldDataset`; gold documents as `GoldDataset.from_documents` takes them: lists, or a
            mapping by query id; or an object of another tool (`kragx.data.objects`): Qrels of ranx
            or ir_measures, samples of ragas, test cases of DeepEval, examples of LangSmith.
        format: one of `FORMATS`; None recognises it by its fields.
        columns: of tables, for each field the column that holds it:
            ``{"query_id": "번호", "relevant_chunk_ids": "정답"}``.
        encoding: of CSV; None tries UTF-8, then cp949, of which a `DataWarning` tells.
        name: names the set in results; None for the file's name, of a release the gold set's.
        version: the set's version, recorded in results; None for that of a release.
        corpus: gives gold that is named by id alone its text: a path (`read_corpus`), texts by id,
            or documents with id and text. None leaves such gold without.
        role: of a table with a row for each document that may hold ``results`` as well, ``gold``
            says that it is one; without it such a table is an error.

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
    source = gold_of(source)
    if isinstance(source, GoldDataset):
        dataset = source
    # Whoever names a format means rows, whatever they look like.
    elif format is None and _by_query(source):
        dataset = GoldDataset.from_documents(source)  # type: ignore[arg-type]  # it checks them
    else:
        dataset, _ = contents(
            Reading(source, format, columns, encoding=encoding, expected="gold", role=role)
        )
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
    role: Role | None = None,
) -> tuple[GoldDataset, Run]:
    """Read rows that hold both gold and what was retrieved: results files and ragas rows.

    Arguments are those of `read_results`.

    Raises:
        DataError: as `read_dataset`; or no row says what was retrieved.

    Examples:
        >>> from kragx import read_rows
        >>> row = {"retrieved_contexts": ["Seoul"], "reference_contexts": ["Seoul", "the capital"]}
        >>> dataset, run = read_rows([{"user_input": "Which city?", **row}])
        >>> len(next(iter(dataset)).gold), len(run.results)
        (2, 1)
    """
    dataset, run = read_results(source, format, columns, encoding=encoding, role=role)
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
    role: Role | None = None,
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
    return contents(Reading(gold_of(source), format, columns, encoding=encoding, role=role))


def contents(reading: Reading) -> tuple[GoldDataset, Run]:
    """The gold of a source, and its retrieved lists.

    Raises:
        DataError: the source has mistakes.
    """
    rows, problems = list(reading), reading.problems
    problems.refuse()
    dataset = GoldDataset(
        tuple(query for _, query, _ in rows),
        reading.name,
        problems.repair.surrogates,
        encoding=problems.encoding,
        forbidden=reading.forbidden,
    )
    results = {query.id: answer for _, query, answer in rows if answer is not None}
    return dataset, Run(results, reading.name)


def read_run(
    source: object,
    dataset: GoldDataset | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    role: Role | None = None,
) -> Run:
    """Read what was retrieved.

    Args:
        source: the path of a results file or a TREC run; a DataFrame, or a list of mappings, of
            rows as in a results file; a `Run`; lists of documents as `Run.from_documents` takes
            them: in the order of `dataset`, or a mapping by query id; or an object of another tool
            (`kragx.data.objects`): a Run of ranx, ScoredDocs, samples of ragas, test cases of
            DeepEval.
        dataset: the gold set.
        columns: as for `read_dataset`.
        role: the same.

    Raises:
        DataError: the source has mistakes, or holds no retrieved lists; or it says that a question
            stands for other asks than `dataset` does.
        UsageError: it is no run, or has not one list for each query of `dataset`.
    """
    rows, run = read_run_rows(source, dataset, columns, role=role)
    if dataset is not None and dataset.weights is not None and rows is not None:
        _check_asks(dataset, rows)
    return run


def read_run_rows(
    source: object,
    dataset: GoldDataset | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    role: Role | None = None,
) -> tuple[GoldDataset | None, Run]:
    """Read what was retrieved, and its questions; None where the source has none with ids.

    Arguments and errors are those of `read_run`.
    """
    name = getattr(source, "name", None)
    source = results_of(source)
    if isinstance(source, Mapping) and (lists := chroma_lists(source)) is not None:
        source = lists
    if isinstance(source, Run):
        run = source
    elif isinstance(source, (str, Path)) and kind_of_file(source) == "run":
        run = trec.read_run(source)
    elif isinstance(source, Mapping):
        named = name if isinstance(name, str) and name else "run"
        run = Run.from_documents(source, name=named)
    elif isinstance(source, Sequence) and _by_query(source):
        queries = () if dataset is None else dataset.queries
        if dataset is not None and len(source) != len(queries):
            raise UsageError(
                "run: {n_source} lists of retrieved documents for {n_dataset} queries; "
                "pass one for each (an empty list where nothing was found)",
                n_source=len(source),
                n_dataset=len(queries),
            )
        # By position once, here, where both have one length; from here on ids join them.
        ids = map(attrgetter("id"), queries)
        run = Run.from_documents(source if dataset is None else dict(zip(ids, source)))
    else:
        return _rows_and_run(source, dataset, columns, role)
    return None, run if dataset is None else _with_ids_of(dataset, run)


def _rows_and_run(
    source: object,
    dataset: GoldDataset | None,
    columns: Mapping[str, str] | None,
    role: Role | None,
) -> tuple[GoldDataset | None, Run]:
    """The same of a file, a table or a list of rows."""
    if not is_source(source):
        raise UsageError(
            "run: {kind} is no run; pass a Run (kragx.retrieve makes one of a retriever), the path "
            "of a results file, lists of documents, a mapping by query id, or, to evaluate, a "
            "retriever or function itself",
            kind=type(source).__name__,
        )
    reading = Reading(source, columns=columns, expected="results", role=role)
    rows, run = contents(reading)
    if not len(run):
        raise nothing_retrieved(reading.problems.file)
    run = replace(run, n_replaced_surrogates=rows.n_replaced_surrogates)
    if dataset is None:
        return rows, run
    if rows.weights is not None and dataset.weights is None:
        wording = message(
            "{results}: its questions stand for different numbers of asks, which count only where "
            "the gold set says them: {gold} has no weight and inclusion",
            results=rows.name,
            gold=dataset.name,
        )
        warnings.warn(wording, DataWarning, stacklevel=outside())
    texts = {query.id: query.text for query in rows if query.text is not None}
    if reading.problems.n_numbered == len(rows):
        by_question = _by_question(rows, run, dataset)
        if by_question is not run:  # the rows' numbers are ids of nothing then
            return None, _with_ids_of(dataset, by_question, texts)
    return rows, _with_ids_of(dataset, run, texts)


def _check_asks(dataset: GoldDataset, rows: GoldDataset) -> None:
    """Questions stand for the same asks in gold and results, where both say for how many."""
    if all(query.weight == query.inclusion == 1 for query in rows):
        return
    for query in rows:
        for name in STANDS_FOR if query.id in dataset else ():
            wanted, here = getattr(dataset[query.id], name), getattr(query, name)
            if wanted != here:
                raise DataError(
                    "query {id!r} has {name} {wanted:g} in {name_2} and {here:g} in {name_3}",
                    remedy="questions stand for the same asks in both: correct one of them, or "
                    "leave weight and inclusion out of the results",
                    id=query.id,
                    name=name,
                    wanted=wanted,
                    name_2=dataset.name,
                    here=here,
                    name_3=rows.name,
                )


def _by_question(rows: GoldDataset, run: Run, dataset: GoldDataset) -> Run:
    """A run of rows without ids, each with its question as its id, as in tables without ids.

    They keep their numbers where there are no questions on one side, or these are the same in the
    same order.

    Raises:
        DataError: a question stands twice, so that nobody knows which of the gold set is meant.
    """
    texts = [_plain_text(query.text or "") for query in rows]
    asked = {query.id: _plain_text(query.text or "") for query in dataset}
    in_order = all(asked.get(query.id) == text for query, text in zip(rows, texts))
    if in_order or "" in texts or not any(asked.values()):
        return run
    for text, n in Counter(texts).items():
        if n > 1:
            raise DataError(
                "rows without ids ask {question} {n} times",
                path=rows.name,
                remedy="give each row the query_id of its question",
                question=shorten(text),
                n=n,
            )
    answers = run.results
    results = {text: answers[query.id] for query, text in zip(rows, texts) if query.id in answers}
    return replace(run, results=results)


def _with_ids_of(
    dataset: GoldDataset, run: Run, texts: Mapping[str, str] = MappingProxyType({})
) -> Run:
    """A run with the gold set's ids where the two have none in common, by the questions.

    Questions are told by their texts. What the gold set does not ask keeps its own id; any other
    run stays as it is.

    Args:
        dataset: the gold set.
        run: what was retrieved.
        texts: the questions by the run's ids; those that it lacks are questions themselves.
    """
    # One id in common says that ids are meant: the others are missing, or extra.
    if any(map(dataset.__contains__, run.results)):
        return run
    ids: dict[str, list[str]] = {}
    for query in dataset:
        ids.setdefault(_plain_text(query.text or ""), []).append(query.id)
    results: dict[str, Retrieved] = {}
    for question, retrieved in run.results.items():
        for query_id in ids.get(_plain_text(texts.get(question, question)), [question]):
            results.setdefault(query_id, retrieved)
    return replace(run, results=results)


def _plain_text(text: str) -> str:
    """A text however its letters are composed and its words are set apart."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def read_runs(
    paths: Sequence[str | Path],
    dataset: GoldDataset | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    role: Role | None = None,
) -> list[Run]:
    """Read several runs, named apart: by their own names if those differ, else by their files.

    Arguments are those of `read_run`.

    Raises:
        UsageError: two are the same file.
        DataError: as `read_run`.
    """
    runs = [read_run(path, dataset, columns, role=role) for path in paths]
    run_names = [run.name for run in runs]
    names = run_names if len(set(run_names)) == len(run_names) else names_apart(paths)
    return [replace(run, name=name) for run, name in zip(runs, names)]


def names_apart(paths: Sequence[str | Path]) -> list[str]:
    """What tells files apart: their names, with as many of their folders as that takes.

    Raises:
        UsageError: two are the same file.
    """
    if name := named_twice(paths):
        raise UsageError("the file {name} stands twice; name each once", name=name)
    files = [Path(path) for path in paths]
    # As few folders as tell them apart, as names stand in tables.
    for depth in range(max((len(file.parts) for file in files), default=0)):
        folders = [file.parent.parts[-depth:] if depth else () for file in files]
        names = ["/".join((*above, file_name(file))) for above, file in zip(folders, files)]
        if len(set(names)) == len(names):
            return names
    return list(map(str, paths))  # those of other endings


def named_twice(paths: Sequence[str | Path]) -> str:
    """What is named twice, if only by a link or a detour; empty if nothing is."""
    places = [Path(path).resolve() for path in paths]
    return next((str(path) for path, place in zip(paths, places) if places.count(place) > 1), "")


def nothing_retrieved(path: str) -> DataError:
    """The error of a file that should say what was retrieved, and does not."""
    return DataError(
        "no query has 'retrieved'; this is a gold file: name results or a retriever beside it "
        "(of kragx score: --gold FILE RESULTS)",
        path=path,
    )


def nothing_to_find(n: int, path: str) -> DataError:
    """The error of a gold set of n questions where nobody says what should be found."""
    return DataError(
        message("none of the {n} questions has gold, so no metric has a value", n=n)
        if n > 1
        else message("the question has no gold, so no metric has a value"),
        path=path,
        remedy="say in each question's 'gold' what should be found (in ragas' rows: "
        "'reference_contexts'), name a gold set beside the results (--gold), or let a judge grade "
        "what comes (match: llm)",
    )


def shape_of(value: object) -> Shape | None:
    """The shape that a value has, if it is one of these."""
    entry = value[0] if type(value) in (list, tuple) and value else value  # type: ignore[index]
    is_ours = type(entry).__module__.startswith("kragx.") and not isinstance(entry, Query)
    if isinstance(entry, _PLAIN) or is_ours:
        return None
    return next((shape for shape in SHAPES if shape.fits(value)), None)


def _in_plain_values(value: object, side: str) -> object:
    """What is looked for in plain values; any value that has none of the shapes is itself.

    Raises:
        UsageError: it holds the other side alone.
    """
    if isinstance(value, Iterator):
        # ir_measures gives qrels as a stream, which can be looked at once.
        value = list(value)
    shape = shape_of(value)
    if shape is None:
        return value
    if side not in shape.holds:
        (other,) = shape.holds
        place = {"gold": "first, as the gold set", "results": "second, as what was retrieved"}
        raise UsageError(
            "{name} hold {other}",
            field=side,
            remedy="pass them {place}",
            name=shape.name,
            other=other,
            place=place[other],
        )
    return shape.read(value)


gold_of: Callable[[object], object] = partial(_in_plain_values, side="gold")
"""A gold set in plain values (`_in_plain_values`)."""

results_of: Callable[[object], object] = partial(_in_plain_values, side="results")
"""The same of what was retrieved."""


def is_source(value: object) -> bool:
    """Whether a value holds rows: a path, a DataFrame, a list of mappings, or other tools' rows."""
    if (shape := shape_of(value)) is not None:
        return shape.holds == BOTH
    listed = isinstance(value, Sequence) and not _by_query(value)
    return isinstance(value, (str, Path)) or listed or tabular.is_frame(value)


def are_rows(value: object) -> bool:
    """Whether a list holds rows of a format, and no documents."""
    first = value[0] if isinstance(value, (list, tuple)) and value else None
    return isinstance(first, Mapping) and any(form.recognises(first) for form in FORMATS.values())


def _by_query(value: object) -> bool:
    """Whether a Python value lists documents by query, and is not rows of a file's fields."""
    if isinstance(value, Mapping):
        return not FORMATS["llamaindex"].recognises(value)
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return False
    first = value[0] if value else ()
    if isinstance(first, (str, Path)):
        return not is_located(value)
    # A mapping is a row, or ``{document id: grade}``, or a database's answer.
    return (
        not isinstance(first, Mapping)
        or answer_list(first) is not None
        or all(isinstance(grade, (int, float)) for grade in first.values())
    )
