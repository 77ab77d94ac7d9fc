"""`evaluate` and `aevaluate`: what is retrieved by one retriever, or by several, evaluated."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeGuard, TypeVar, Unpack, overload

from kragx.data import Corpus, GoldDataset, Run, Searches, as_corpus, read_dataset, read_run
from kragx.data.foreign import answer_list, chroma_lists
from kragx.data.formats.tabular import is_frame
from kragx.data.reading import are_rows, gold_of, nothing_to_find, shape_of
from kragx.data.scored import are_scores
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run, for_all, ready
from kragx.evaluation.evaluation import Evaluation, need_gold
from kragx.evaluation.inputs import first_failure
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.ground.caller_warnings import about
from kragx.ground.errors import DataError, RetrieverError, UsageError, inside
from kragx.ground.plugins import check_arguments
from kragx.ground.printing import message
from kragx.metrics import MetricLike, NoGold, Profile

if TYPE_CHECKING:
    # It loads the statistics, which one retriever does without
    from kragx.api.evaluations import Evaluations


class Invokable(Protocol):
    """A LangChain retriever or runnable."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Answers a question."""
        raise NotImplementedError


Retriever = Invokable | Callable[..., Any] | Run | str | Path | list[list[Any]]
"""What can be compared with others: a retriever, a `Run`, the path of a file with results, or lists
of documents, one list a query in the order of the gold set."""


class EvaluateOptions(TypedDict, total=False):
    """The options of `evaluate`, which says what they mean."""

    match: object
    profile: str | Profile | None
    no_gold: NoGold | None
    facts_match: object
    relevance_match: object
    budget_tokenizer: object
    forbidden: object
    corpus: object
    workers: object
    name: str | None
    timeout: float | None
    retries: int
    concurrency: int
    runs: int
    stages: bool
    input: Mapping[str, str] | None
    documents: str | None
    text: str | None
    id: str | None
    score: str | None
    metadata: str | Mapping[str, str] | None


_ASKING: Mapping[str, object] = {
    **dict.fromkeys(("timeout", "input", "documents", "text", "id", "score", "metadata")),
    "retries": 0,
    "concurrency": 1,
    "runs": 1,
    "stages": False,
}
"""How a retriever is asked where nobody says it; the other options are None there."""

_OF_MATCH = message("write match={{'method': 'overlap', 'threshold': 0.5}}, which has its options")
_SAID_ELSEWHERE = {
    **dict.fromkeys(("k", "ks", "top_k"), message("write it behind a metric: metrics=['ndcg@5']")),
    **dict.fromkeys(("match_method", "method"), message("write match='rouge2'")),
    **dict.fromkeys(
        ("judge", "model", "llm"),
        message("write match={{'method': 'llm', 'judge': 'gpt-4.1-mini'}}"),
    ),
    **dict.fromkeys(
        ("queries", "questions"),
        message("they belong to the gold: GoldDataset.from_documents(gold, queries)"),
    ),
    "matchers": message("evaluate by one matcher at a time: match='overlap'"),
    **dict.fromkeys(("threshold", "tokenizer", "measure", "id_key"), _OF_MATCH),
}
"""What other tools, and other calls, take as an option of its own, and where it is said here."""

Metrics = MetricLike | Iterable[MetricLike] | None
Call = TypeVar("Call", bound=Callable[..., Any])


def _with_options(call: Call) -> Call:
    """The call with its options in its signature, as help shows it."""
    call_signature = signature(call)
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=_ASKING.get(name), annotation=kind)
        for name, kind in EvaluateOptions.__annotations__.items()
    ]
    # Type checkers read `Unpack`, help and notebooks the signature: neither knows the other's.
    parameters = [*list(call_signature.parameters.values())[:3], *options]
    call.__signature__ = call_signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


@overload
def evaluate(  # type: ignore[overload-overlap]  # every other mapping is one by query id
    dataset: object,
    run: Mapping[str, Retriever],
    metrics: Metrics = None,
    **options: Unpack[EvaluateOptions],
) -> "Evaluations": ...
@overload
def evaluate(
    dataset: object, run: object = None, metrics: Metrics = None, **options: Unpack[EvaluateOptions]
) -> Evaluation: ...
@_with_options
def evaluate(
    dataset: object, run: object = None, metrics: Metrics = None, **options: Unpack[EvaluateOptions]
) -> "Evaluation | Evaluations":
    """Match what was retrieved with the gold and compute the metrics; of several, compare them.

    Args:
        dataset: a `GoldDataset`; the path of a gold file; lists of gold documents, one list a
            query; a mapping from query id to such a list or to ``{document id: grade}``; or what
            another tool holds (`read_dataset`).
        run: what was retrieved: a `Run`; the path of a results file; lists of documents in the
            order of `dataset`; a mapping by query id, to such a list, a database's answer or
            ``{document id: score}``; what another tool holds (`read_dataset`); or a retriever (a
            LangChain retriever or runnable, a vector store, or a function from a question to
            documents), which is asked first, each question once (`runs`: more often). None if
            `dataset` holds both, as the path of a results file does. To compare several, a mapping
            by name each of whose values is one of these.
        metrics: metric strings such as ``ndcg@10``, names of other tools, functions; None for the
            profile's (the usual seven at 10). The verdict of a comparison speaks of the first.
        match: a method name, a mapping of options, an import path, or a matcher; None for the
            profile's (``overlap`` for kragx; ``id`` where one side has ids alone, and no `corpus`).
        profile: fixes what is left open: ``kragx``, ``trec``, ``krag`` or ``science-qa``; None for
            kragx, or for trec where metrics have trec_eval's names (``ndcg_cut_10``).
        no_gold: overrides what the profile does with queries that have no gold.
        facts_match: how the facts of context_completeness are matched, as for `match`; None for as
            gold is.
        relevance_match: the judge of precision_judged, as for `match`; None
            for `match` where that is a judge, else ``llm``.
        budget_tokenizer: what a token is in budgets (``ndcg@500tokens``), as for a match; None for
            ``unicode``.
        forbidden: rules by name that forbid documents by their metadata, beside the gold set's:
            ``{"tenant": {"metadata.tenant": {"not": {"query": "metadata.tenant"}}}}``.
        corpus: where the texts of ids are found, for gold and documents that have none of their
            own: a path (`kragx.read_corpus`), texts by id, or documents with id and text. Matching
            by id needs none. Rules find there what metadata of documents lack.
        workers: how many processes share the matching. None for this process alone, where whatever
            asks an LLM judge stays in any case: it waits for a server and not for the processor.
        name: names the retriever in results; None for its own name, or its file's. Those of a
            comparison are named by the mapping.
        timeout: of a retriever that is asked: seconds after which an attempt has failed; None
            waits for ever.
        retries: how often it is asked a question again after an error, with growing pauses.
        concurrency: how many questions it is asked at once (1; `aevaluate`: 8); more make each
            query's time a time under load.
        runs: how often it is asked all questions, where it answers otherwise each time, as agents
            do: a question's value is its mean over the runs (`Run.reruns`), and intervals and tests
            are of these; how the runs differ stands beside (`Evaluation.several_runs`).
        stages: whether to keep what each step of a LangChain chain returned; a comparison then says
            where the gold is lost (`Evaluations.losses`), as does its page.
        input: of a LangChain runnable or graph whose input is a mapping, what its fields get:
            ``{"messages": "query"}``, ``{"input": "query", "chat_history": "history"}``.
        documents: of a function whose hits are none of the usual documents: where the list of them
            is in its answer, as for `kragx.retrievers.HttpRetriever` (``$.hits[*]``, ``$`` is the
            answer); names are keys or attributes.
        text, id, score, metadata: where these are in a hit (``doc.id``).

    Returns:
        An `Evaluation`; of a comparison `Evaluations`, in which a retriever that failed on some
        question is not comparable, whatever the others' values.

    Raises:
        UsageError: an argument is wrong.
        DataError: the data is; ids without the text that the matcher compares are counted.
        WorkerError: a process that shared the work has died.
        RetrieverError: the retriever, or each of several, failed on every question; the first error
            is quoted.

    Examples:
        >>> from kragx import evaluate
        >>> gold = [["Opened software can be returned within 14 days."]]
        >>> found = [["Gift cards expire.", f"Returns: {gold[0][0]} Keep the slip."]]
        >>> evaluate(gold, found, metrics=["hit_rate@5", "mrr@5"]).mean
        {'hit_rate@5': 1.0, 'mrr@5': 0.5}
        >>> results = evaluate(gold, {"one": found, "other": [[]]}, metrics=["mrr@5"])
        >>> results["other"]["mrr@5"]
        0.0
    """
    return _evaluate(dataset, run, {**options, "metrics": metrics}, retrieve=_retrieve)


@overload
async def aevaluate(  # type: ignore[overload-overlap]
    dataset: object,
    run: Mapping[str, Retriever],
    metrics: Metrics = None,
    **options: Unpack[EvaluateOptions],
) -> "Evaluations": ...
@overload
async def aevaluate(
    dataset: object, run: object = None, metrics: Metrics = None, **options: Unpack[EvaluateOptions]
) -> Evaluation: ...
@_with_options
async def aevaluate(
    dataset: object, run: object = None, metrics: Metrics = None, **options: Unpack[EvaluateOptions]
) -> "Evaluation | Evaluations":
    """`evaluate` for asynchronous code: retrievers are awaited, the rest runs in a thread.

    Several retrievers are asked one after the other, each up to `concurrency` (8) questions at
    once, so that none is timed under the load of another.

    Examples:
        >>> import asyncio
        >>> from kragx import aevaluate
        >>> gold = {"q1": ["the answer"]}
        >>> found = {"q1": ["another text", "the answer"]}
        >>> asyncio.run(aevaluate(gold, found, metrics=["mrr@5"]))["mrr@5"]
        0.5
    """
    from kragx.evaluation.retrieve import aretrieve

    loop, futures, ended = asyncio.get_running_loop(), list[Future[Run]](), False

    def ask(retriever: object, gold: GoldDataset, **asking: Any) -> Run:
        # Cancelling the task does not stop the thread, which would go on to ask the next retriever.
        if ended:
            raise CancelledError
        futures.append(asyncio.run_coroutine_threadsafe(aretrieve(retriever, gold, **asking), loop))
        return futures[-1].result()

    try:
        # Retrievers are awaited in the caller's loop, to which their connections may belong.
        options_of_all = {**options, "metrics": metrics}
        return await asyncio.to_thread(_evaluate, dataset, run, options_of_all, retrieve=ask)
    finally:
        ended = True
        for future in futures:
            future.cancel()  # where somebody cancels the evaluation; else it is done


def _retrieve(retriever: object, gold: GoldDataset, **asking: Any) -> Run:
    from kragx.evaluation.retrieve import retrieve  # which most evaluations do without

    return retrieve(retriever, gold, **asking)


def _evaluate(
    dataset: object, run: object, options: dict[str, Any], *, retrieve: Callable[..., Run]
) -> "Evaluation | Evaluations":
    """`evaluate`, in which `retrieve` asks, as it or `aretrieve` do."""
    if unknown := options.keys() - {"metrics", *EvaluateOptions.__annotations__}:
        for option in unknown & _SAID_ELSEWHERE.keys():
            problem, remedy = message("no option of evaluate"), _SAID_ELSEWHERE[option]
            raise UsageError(problem, field=option, remedy=remedy)
        check_arguments(evaluate, {"dataset": dataset, **options}, "evaluate")
    dataset, measures = gold_of(dataset), dict(options)
    asking: dict[str, Any] = {}
    for option in _ASKING.keys() & measures.keys():
        asking[option] = measures.pop(option)
    name, workers = measures.pop("name", None), measures.pop("workers", None)
    if name is None and shape_of(run) is not None:
        name = getattr(run, "name", None)  # which ranx's have, and what is read of them has not
    corpus = as_corpus(measures.pop("corpus", None))
    several = _by_name(run, dataset)
    if asking and not any(map(is_retriever, [run] if several is None else several.values())):
        _refuse(asking)
    if several is not None and name is not None:
        raise UsageError(
            "{name!r} names one retriever, and several are given, each under its own name",
            field="name",
            remedy="leave it out",
            name=name,
        )
    criteria, retrieve = Criteria.of(**measures), partial(retrieve, **asking)
    if several is not None:
        return _compared(read_dataset(dataset), several, criteria, corpus, workers, retrieve)
    if run is not None and is_retriever(run):
        dataset = read_dataset(dataset)
        check_gold(dataset, criteria)
        dataset = ready(dataset, criteria, corpus)
        run = retrieve(run, dataset, name=name)
    return evaluate_run(
        dataset, run, criteria, corpus=corpus, workers=workers, name=name
    ).answered()


def check_gold(gold: GoldDataset, criteria: Criteria) -> None:
    """Refuse a gold set without gold before anybody is asked."""
    no_gold, judged = criteria.profile.no_gold, criteria.matcher.judges
    is_needed = need_gold(criteria.specs, no_gold, judged)
    if is_needed and not any(query.gold for query in gold):
        raise nothing_to_find(len(gold), gold.name)


def _refuse(asking: Mapping[str, object]) -> None:
    """Raise a `UsageError` where it is said how to ask, and nothing is a retriever."""
    for option, value in asking.items():
        if value != _ASKING[option]:
            raise UsageError(
                "{value!r} says how a retriever is asked, and none is given: what was retrieved "
                "is there already",
                field=option,
                remedy="leave it out, or pass the retriever itself",
                value=value,
            )


def _compared(
    gold: GoldDataset,
    sources: Mapping[str, Any],
    criteria: Criteria,
    corpus: Corpus,
    workers: object,
    retrieve: Callable[..., Run],
) -> "Evaluations":
    """Several retrievers evaluated alike and compared; each is asked once."""
    from kragx.api.evaluations import Evaluations
    from kragx.report.record import Clock

    clock, runs = Clock(), dict[str, Run]()
    check_gold(gold, criteria)
    # What is not asked first, as a wrong file is found at once.
    for name, source in sorted(sources.items(), key=lambda entry: is_retriever(entry[1])):
        if is_retriever(source):
            gold = ready(gold, criteria, corpus)
            with about(name), inside(f"run.{name}", kind=DataError):
                runs[name] = retrieve(source, gold, name=name)
        else:
            with inside(f"run.{name}"):
                runs[name] = replace(read_run(source, gold), name=name)
    runs = {name: runs[name] for name in sources}
    criteria = for_all(criteria, gold, runs.values(), corpus)
    evaluations = []
    for name, run in runs.items():
        with about(name), inside(f"run.{name}", kind=DataError):
            evaluations.append(evaluate_run(gold, run, criteria, corpus=corpus, workers=workers))
    if all(evaluation.unanswered for evaluation in evaluations):
        firsts = (f"{result.name}: {first_failure(result.failures)}" for result in evaluations)
        raise RetrieverError(
            "every retriever failed on every question; {names}", names="; ".join(firsts)
        )
    record = clock.record()
    return Evaluations.of(evaluations, runs=runs, corpus=corpus, criteria=criteria, record=record)


def _by_name(run: object, dataset: object) -> dict[str, Any] | None:
    """What was retrieved by several retrievers, by their names; None where it is that of one.

    A mapping of mappings by query id is of several, unless it has the ids of the gold set itself.

    Raises:
        UsageError: it is a list of retrievers, an empty mapping, or one in which some values are
            all that a retriever returned, or the retriever itself, and others are not.
    """
    if isinstance(run, (list, tuple)) and run and all(map(_is_of_one, run)):
        raise UsageError(
            "{n} retrievers in a list",
            field="run",
            remedy="pass them, or what they returned, by name: {{'bm25': first, 'dense': other}}",
            n=len(run),
        )
    if not isinstance(run, Mapping) or is_retriever(run) or chroma_lists(run) is not None:
        return None
    if are_scores(run):
        return None  # of one retriever, by query and document
    if not run:
        raise UsageError(
            "an empty mapping",
            field="run",
            remedy="pass retrievers by name, {'bm25': retriever}, or lists of documents by query "
            "id",
        )
    # An empty list or mapping may be one retriever's answers as well as those to one question.
    entries = {
        name: entry
        for name, entry in run.items()
        if not isinstance(entry, (list, dict)) or len(entry)
    }
    by_id = {name for name, entry in entries.items() if _are_answers(entry)}
    if by_id:
        # Read only where a mapping of mappings may be of one retriever, by ids of the gold.
        gold = read_dataset(dataset)
        if any(str(name) in gold for name in entries):
            return None
    whole = {name: name in by_id or _is_whole(entry) for name, entry in entries.items()}
    if not any(whole.values()):
        return None
    if not all(whole.values()):
        first, part = (
            next(name for name in whole if whole[name] is flag) for flag in (True, False)
        )
        raise UsageError(
            "{first!r} is a retriever, or all that one returned, and {part!r} is neither",
            field="run",
            remedy="a comparison needs a retriever, a Run, a DataFrame, a path, a mapping by query "
            "id, or lists of documents (one list a query, in the order of the gold set) under "
            "every name, and a mapping by query id one list of documents under each",
            first=first,
            part=part,
        )
    return dict(zip(map(str, run), run.values()))


def _are_answers(value: object) -> bool:
    """Whether a value is a mapping of answers, or of scores by id, by whatever ids.

    A query of Chroma is the answer to one question, or to all of them. An answer is a list of
    documents, or their scores by id; a score itself is a number.
    """
    if chroma_lists(value) is not None:
        return True
    if not isinstance(value, Mapping) or not value or answer_list(value) is not None:
        return False
    return all(
        isinstance(answer, (Mapping, Searches))
        or (isinstance(answer, list) and not any(isinstance(doc, (int, float)) for doc in answer))
        or answer_list(answer) is not None
        for answer in value.values()
    )


def _is_whole(value: object) -> bool:
    """Whether a value is a retriever, or all that one returned."""
    is_named = isinstance(value, (str, Path, Iterator))
    return is_named or _is_of_one(value) or _are_lists(value) or are_rows(value)


def _is_of_one(value: object) -> bool:
    """The same of a value that is no documents of a question in any case."""
    if (shape := shape_of(value)) is not None:
        return "results" in shape.holds
    return not isinstance(value, (list, tuple)) and (
        isinstance(value, Run) or is_retriever(value) or is_frame(value) or are_scores(value)
    )


def _are_lists(value: object) -> TypeGuard[list[Any]]:
    """Whether a value lists documents query by query: a list is no document, but a pair may be."""
    return isinstance(value, list) and any(isinstance(docs, (list, Searches)) for docs in value)
