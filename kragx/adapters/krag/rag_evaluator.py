"""`RAGEvaluator`: one call for K-RAG's seven metrics, whatever the match method."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from kragx.adapters.krag.evaluators import (
    ROUGE_METHODS,
    Averaging,
    AveragingMethod,
    Criteria,
    Docs,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    ProfileName,
    RougeOfflineRetrievalEvaluators,
    cuts,
)
from kragx.data import GoldDataset
from kragx.ground.errors import UsageError
from kragx.ground.options import check_options
from kragx.ground.printing import Line, Part, Shown
from kragx.matchers import matcher


@dataclass(eq=False, repr=False)
class RAGEvaluator(Shown):
    """One call for all seven metrics, with whichever evaluator the match method needs.

    Args:
        match_method: any method of `kragx.matchers`, such as ``text``, ``id``, ``rouge2``,
            ``overlap`` or, for an LLM judge (docs/judge.md), ``llm``; with options of its own
            ``{"method": "id", "id_key": "doc_id"}``. Under krag ``text`` or a ROUGE method.
        rouge_threshold: the least score that is a match, as K-RAG calls it; also of ``overlap``.
        tokenizer: for the ROUGE methods and ``overlap``; None for the profile's (of ROUGE
            ``unicode`` under kragx, Kiwi under krag).
        measure: for rouge1, rouge2 and rougeL.
        averaging_method: which averages of recall, precision and F1 are returned.
        matching_criteria: whether a hit needs all gold documents or any.
        profile: ``kragx`` or ``krag``.
        judge: for ``llm``: a `kragx.judging.Judge`, a client, a LangChain chat model, a model's
            name or a mapping of options; None for the environment's KRAGX_JUDGE_MODEL.
        mode: for ``llm``: ``support`` (of the gold texts), ``relevance`` (to the queries), or None
            for support where there is gold.
        corpus: has the texts of documents that are named by id alone, as for
            `OfflineRetrievalEvaluators`.
        threshold: `rouge_threshold` by the name that it has in `RougeOfflineRetrievalEvaluators`;
            of other methods their own, of ``llm`` the least grade that is a match. None for
            `rouge_threshold`, or the method's usual one.

    Raises:
        UsageError: an argument is wrong.

    Examples:
        >>> from kragx import RAGEvaluator
        >>> gold, found = [["the answer"]], [["another text", "here is the answer"]]
        >>> RAGEvaluator(match_method="text").evaluate_all(gold, found, k=2)["mrr"]
        {'mrr': 0.5}
    """

    match_method: Any = "text"
    rouge_threshold: float = 0.5
    tokenizer: Any = None
    measure: str = "fmeasure"
    averaging_method: Averaging = AveragingMethod.BOTH
    matching_criteria: Criteria = MatchingCriteria.ALL
    profile: ProfileName = "kragx"
    _: KW_ONLY
    judge: Any = None
    mode: str | None = None
    corpus: Any = None
    threshold: float | None = None
    _matcher: Any = field(default=None, init=False)
    _evaluator: OfflineRetrievalEvaluators | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_options(self)
        of_krag = ("text", *ROUGE_METHODS)
        if self.profile == "krag" and self.match_method not in of_krag:
            raise UsageError(
                "match_method: K-RAG has no {match_method!r}; use one of "
                "{names}, or profile='kragx'",
                match_method=self.match_method,
                names=", ".join(of_krag),
            )
        # A dataclass keeps a default on its class: that very number contradicts nothing.
        usual = type(self).rouge_threshold
        if self.threshold is not None and self.rouge_threshold not in (usual, self.threshold):
            raise UsageError(
                "threshold: {threshold!r} and rouge_threshold={rouge_threshold!r} are "
                "one setting; give one of them",
                threshold=self.threshold,
                rouge_threshold=self.rouge_threshold,
            )
        if self.match_method != "llm" and (self.judge is not None or self.mode is not None):
            raise UsageError(
                "{value}: belongs to match_method='llm', not to {match_method!r}",
                value="judge" if self.judge is not None else "mode",
                match_method=self.match_method,
            )
        if self.match_method not in ROUGE_METHODS:
            # A judge is made once and not a call: its store and budget are for all calls.
            self._matcher = matcher(self._spec, field="match_method")

    def evaluate_all(
        self,
        actual_docs: Docs | None,
        predicted_docs: Docs,
        k: int | Iterable[int] | None = 10,
        visualize: bool = False,
        *,
        queries: Sequence[str] | None = None,
    ) -> dict[Any, Any]:
        """Evaluate these documents; nothing is kept from an earlier call.

        Args:
            actual_docs: for each query its gold documents; None with ``llm`` judges relevance to
                the queries, without gold.
            predicted_docs: for each query its retrieved documents, best first.
            k: a cut-off, several of them, or None for the whole lists.
            visualize: also draw `visualize_results` (for each k).
            queries: for each query its text; needed to judge relevance.

        Returns:
            ``{"hit_rate": {"hit_rate": x}, "mrr": {"mrr": x}, "recall": {"micro_recall",
            "macro_recall"}, "precision": {...}, "f1_score": {"micro_f1", "macro_f1"}, "map":
            {"map": x}, "ndcg": {"ndcg": x}}``; for several k ``{k: {...}}``.
        """
        evaluator = self._evaluator_of(actual_docs, predicted_docs, queries)
        result = evaluator.evaluate_all(k)
        if visualize:
            for cut in cuts(k):
                evaluator.visualize_results(cut)
        # Last, so that a call that fails leaves the numbers of the one before it.
        self._evaluator = evaluator
        return result

    def get_evaluator(self) -> OfflineRetrievalEvaluators:
        """The evaluator of the last `evaluate_all`.

        Raises:
            UsageError: there was none.
        """
        if self._evaluator is None:
            raise UsageError("get_evaluator: nothing was evaluated yet; call evaluate_all first")
        return self._evaluator

    def describe(self) -> Iterator[Part]:
        """The numbers of the last call; before any, what it matches by."""
        yield from [Line(repr(self))] if self._evaluator is None else self._evaluator.describe()

    def __repr__(self) -> str:
        return f"RAGEvaluator(match_method={self.match_method!r}, profile={self.profile!r})"

    @property
    def _limit(self) -> float:
        return self.rouge_threshold if self.threshold is None else self.threshold

    @property
    def _spec(self) -> dict[str, Any]:
        """What stands for the matcher, but for ROUGE, which has a class of its own."""
        method = self.match_method
        spec = method if isinstance(method, Mapping) else {"method": method}
        options = {"threshold": self.threshold, "judge": self.judge, "mode": self.mode}
        if method == "overlap":
            options = {"threshold": self._limit, "tokenizer": self.tokenizer}
        return {**spec, **{name: value for name, value in options.items() if value is not None}}

    def _evaluator_of(
        self, actual_docs: Docs | None, predicted_docs: Docs, queries: Sequence[str] | None
    ) -> OfflineRetrievalEvaluators:
        common: dict[str, Any] = {
            "averaging_method": self.averaging_method,
            "matching_criteria": self.matching_criteria,
            "profile": self.profile,
            "corpus": self.corpus,
        }
        golds: Docs | GoldDataset | None = actual_docs
        if self.match_method == "llm":
            golds = self._judged(actual_docs, predicted_docs, queries)
        if golds is None:
            raise UsageError(
                "actual_docs: {match_method!r} compares with gold documents; only "
                "match_method='llm' works without",
                match_method=self.match_method,
            )
        if self.match_method not in ROUGE_METHODS:
            return OfflineRetrievalEvaluators(golds, predicted_docs, self._matcher, **common)
        return RougeOfflineRetrievalEvaluators(
            golds,
            predicted_docs,
            self.match_method,
            threshold=self._limit,
            tokenizer=self.tokenizer,
            measure=self.measure,
            **common,
        )

    def _judged(
        self, actual_docs: Docs | None, predicted_docs: Docs, queries: Sequence[str] | None
    ) -> GoldDataset:
        """What a judge is asked about: the gold, or without any the relevance to the queries."""
        mode = self._matcher.mode
        if actual_docs is None and mode == "support":
            raise UsageError("actual_docs: None leaves nothing to support; use mode='relevance'")
        if actual_docs is None or mode == "relevance":
            if queries is None:
                raise UsageError(
                    "queries: needed to judge relevance; pass one text for each list of documents"
                )
            # Without gold a judge grades relevance: where that is asked, what is given goes.
            actual_docs = [[] for _ in predicted_docs]
        return GoldDataset.from_documents(actual_docs, queries=queries)
