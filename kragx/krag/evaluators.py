"""K-RAG's evaluators, as a thin face over `evaluate`; there is no arithmetic here.

A notebook moves over by changing its import. With ``profile="kragx"`` (the default) the numbers are
kragx's own, with two deviations that keep K-RAG's meaning of the words: precision and F1 divide by
what was retrieved (``over=retrieved``), and a hit needs all gold (``need=all``; PARTIAL: any).
With ``profile="krag"`` they are K-RAG 0.0.32's to the last digit. docs/krag.md lists every
difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kragx.data.gold import GoldDataset
from kragx.data.tokenizers import KragTokenizer
from kragx.errors import UsageError, nearest
from kragx.evaluation.evaluate import evaluate, match_pairs
from kragx.evaluation.evaluation import Evaluation
from kragx.matchers import CombinedMatcher, Matcher, check_threshold, matcher
from kragx.matchers.combine import Step
from kragx.metrics import PROFILES
from kragx.metrics.measurement import MetricWarning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "AveragingMethod",
    "EmbeddingRougeOfflineRetrievalEvaluators",
    "MatchingCriteria",
    "OfflineRetrievalEvaluators",
    "RAGEvaluator",
    "RougeOfflineRetrievalEvaluators",
    "TokenizerType",
]

Docs = Sequence[Sequence[object]]
Values = dict[str, float | None]


class AveragingMethod(Enum):
    """Which averages of recall, precision and F1 are returned."""

    MICRO = "micro"
    MACRO = "macro"
    BOTH = "both"


class MatchingCriteria(Enum):
    """Whether a hit needs all gold documents or any."""

    ALL = "all"
    PARTIAL = "partial"


class TokenizerType(Enum):
    """K-RAG's tokenizers; any tokenizer of `kragx.data.tokenizers` works as well."""

    WHITESPACE = "whitespace"
    KIWI = "kiwi"
    NLTK = "nltk"


class OfflineRetrievalEvaluators:
    """Evaluate retrieved documents against gold ones, by text containment unless told otherwise.

    Args:
        actual_docs: for each query its gold documents; not changed.
        predicted_docs: for each query its retrieved documents, best first; not changed.
        match_method: any method of `kragx.matchers`. Under profile krag it is ignored, as K-RAG
            does: gold texts are looked for in the documents as they are.
        averaging_method: which averages of recall, precision and F1 are returned.
        matching_criteria: whether a hit needs all gold documents or any.
        profile: ``kragx`` or ``krag``.

    Matching happens once, on the first question; every metric and k reads the same table. Setting
    an attribute anew starts over.

    Raises:
        UsageError: an argument is wrong, or the lists have different lengths.
        DataError: the lists are empty or hold something that is no document.
    """

    def __init__(
        self,
        actual_docs: Docs,
        predicted_docs: Docs,
        match_method: str = "text",
        averaging_method: AveragingMethod | str = AveragingMethod.BOTH,
        matching_criteria: MatchingCriteria | str = MatchingCriteria.ALL,
        *,
        profile: str = "kragx",
    ) -> None:
        self.actual_docs = actual_docs
        self.predicted_docs = predicted_docs
        self.match_method = match_method
        self.averaging_method = member(AveragingMethod, averaging_method, "averaging_method")
        self.matching_criteria = member(MatchingCriteria, matching_criteria, "matching_criteria")
        self.profile = _known_profile(profile)
        if not (len(actual_docs) and len(predicted_docs)):
            raise UsageError("actual_docs and predicted_docs must not be empty: a list a query")
        if len(actual_docs) != len(predicted_docs):
            raise UsageError(
                f"predicted_docs: {len(predicted_docs)} lists for {len(actual_docs)} of "
                "actual_docs; pass one for each query (an empty list where nothing was found)"
            )

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; what was found out with the old value is forgotten."""
        super().__setattr__(name, value)
        self.__dict__.pop("evaluation", None)

    @property
    def _match(self) -> Any:
        return "text" if self.profile == "krag" else self.match_method

    @property
    def _gold(self) -> Any:
        return self.actual_docs

    @cached_property
    def evaluation(self) -> Evaluation:
        """What everything here is read from; `with_metrics` asks it for other metrics and k."""
        with warnings.catch_warnings():
            # A number above 1 is warned about when it is asked for, not here.
            warnings.simplefilter("ignore", MetricWarning)
            return self._evaluated()

    def _evaluated(self) -> Evaluation:
        return evaluate(
            self._gold,
            self.predicted_docs,
            match=self._match,
            # K-RAG's nDCG of ROUGE scores fails without gold; it is computed when asked for.
            metrics=[
                self.metric(name, None)
                for name in _METRICS
                if (name, self.profile) != ("ndcg", "krag")
            ],
            profile=self.profile,
        )

    def calculate_hit_rate(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'hit_rate': x}``; for several k ``{k: {'hit_rate': x}}``. None is the whole list."""
        return self._calculate("hit_rate", k)

    def calculate_mrr(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'mrr': x}``."""
        return self._calculate("mrr", k)

    def calculate_recall(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'micro_recall': x, 'macro_recall': y}``."""
        return self._calculate("recall", k)

    def calculate_precision(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'micro_precision': x, 'macro_precision': y}``."""
        return self._calculate("precision", k)

    def calculate_f1_score(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'micro_f1': x, 'macro_f1': y}``; under krag without the keys that would be 0."""
        return self._calculate("f1", k)

    def calculate_map(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'map': x}``."""
        return self._calculate("map", k)

    def calculate_ndcg(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'ndcg': x}``."""
        return self._calculate("ndcg", k)

    def evaluate_all(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """All seven: ``{'hit_rate': {...}, 'mrr': {...}, ..., 'f1_score': {...}, ...}``."""
        result: dict[Any, Any] = for_each_k(k, self._all)
        return result

    def get_metrics_by_averaging_method(self, k: int | None = None) -> str:
        """The seven metrics as text, a line each."""
        labels = zip(_LABELS, self._all(k).values(), strict=True)
        return "\n".join(f"{label} @{k}: {values}" for label, values in labels)

    def visualize_results(self, k: int | None = None) -> Figure:
        """A bar chart of the seven metrics; shown only where a window or notebook can show it.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from kragx.report.plots import metrics_figure

        return metrics_figure(dict(zip(_LABELS, self._all(k).values(), strict=True)), k)

    def text_match(self, actual_text: str, predicted_text: str | Sequence[str]) -> bool:
        """Whether the gold text matches the retrieved one, or any of several."""
        texts = [predicted_text] if isinstance(predicted_text, str) else list(predicted_text)
        profile = PROFILES[self.profile]
        pairs = match_pairs([[actual_text]], [texts], match=self._match, profile=profile)
        return any(any(row) for record in pairs for row in record["matched"])

    def _calculate(self, name: str, k: int | Iterable[int] | None) -> dict[Any, Any]:
        result: dict[Any, Any] = for_each_k(k, lambda cut: self._values([name], cut)[name])
        return result

    def _all(self, k: int | None) -> dict[str, Values]:
        values = self._values(_METRICS, k)
        return {"f1_score" if name == "f1" else name: of for name, of in values.items()}

    def _values(self, names: Sequence[str], k: int | None) -> dict[str, Values]:
        metrics = {name: self.metric(name, k) for name in names}
        found = self.evaluation.with_metrics(metrics.values())
        return {
            name: self._keyed(name, found[metric], found.micro_of(metric))
            for name, metric in metrics.items()
        }

    def metric(self, name: str, k: int | None) -> str:
        """The metric string behind a name: what hit rate, precision and F1 mean here."""
        cut = "" if k is None else f"@{k}"
        if name == "hit_rate":
            need = "all" if self.matching_criteria is MatchingCriteria.ALL else "any"
            return f"hit_rate{cut}(need={need})"
        return f"{name}{cut}" + ("(over=retrieved)" if name in ("precision", "f1") else "")

    def _keyed(self, name: str, macro: float | None, micro: float | None) -> Values:
        if micro is None:
            return {name: macro}
        both = {f"micro_{name}": micro, f"macro_{name}": macro}
        wanted = self.averaging_method.value
        kept = {key: value for key, value in both.items() if wanted in ("both", key[:5])}
        if name == "f1" and self.profile == "krag":
            return {key: value for key, value in kept.items() if value}
        return kept


class RougeOfflineRetrievalEvaluators(OfflineRetrievalEvaluators):
    """The same by ROUGE at or above a threshold.

    Args:
        match_method: ``rouge1``, ``rouge2`` or ``rougeL``.
        threshold: the least score that is a match, in (0, 1].
        tokenizer: a `TokenizerType`, or any tokenizer of `kragx.data.tokenizers`; None for the
            profile's: ``unicode`` under kragx, Kiwi (extra `korean`) under krag.
        measure: ``fmeasure``, ``precision``, ``recall`` or ``overlap``; under krag the first only.
        actual_docs, predicted_docs, averaging_method, matching_criteria, profile: as for
            `OfflineRetrievalEvaluators`.
    """

    def __init__(
        self,
        actual_docs: Docs,
        predicted_docs: Docs,
        match_method: str = "rouge1",
        averaging_method: AveragingMethod | str = AveragingMethod.BOTH,
        matching_criteria: MatchingCriteria | str = MatchingCriteria.ALL,
        threshold: float = 0.5,
        tokenizer: Any = None,
        *,
        measure: str = "fmeasure",
        profile: str = "kragx",
    ) -> None:
        super().__init__(
            actual_docs,
            predicted_docs,
            match_method,
            averaging_method,
            matching_criteria,
            profile=profile,
        )
        methods = ("rouge1", "rouge2", "rougeL")
        if match_method not in methods:
            raise UsageError(
                f"match_method: {match_method!r} is not a ROUGE method; "
                f"{nearest(str(match_method), methods)}"
            )
        if profile == "krag" and measure != "fmeasure":
            raise UsageError(
                f"measure: {measure!r} is not K-RAG's, which knows fmeasure alone; "
                "use profile='kragx'"
            )
        self.threshold = threshold
        self.tokenizer = tokenizer
        self.measure = measure

    @property
    def _match(self) -> Any:
        options: dict[str, Any] = {
            "method": self.match_method,
            "threshold": self.threshold,
            "measure": self.measure,
        }
        if self.tokenizer is not None:
            options["tokenizer"] = self._tokenizer()
        return options

    def _tokenizer(self) -> Any:
        if not isinstance(self.tokenizer, TokenizerType):
            return self.tokenizer
        # NLTK is K-RAG's alone; the other two have a twin in kragx under the same name.
        if self.profile == "krag" or self.tokenizer is TokenizerType.NLTK:
            return KragTokenizer(self.tokenizer.value)
        return self.tokenizer.value


_EMBEDDINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "huggingface": (
        "langchain_huggingface:HuggingFaceEmbeddings",
        {
            "model_name": "jhgan/ko-sroberta-multitask",
            "model_kwargs": {"device": "cpu"},
            "encode_kwargs": {"normalize_embeddings": False},
        },
    ),
    "openai": ("langchain_openai:OpenAIEmbeddings", {"model": "text-embedding-3-small"}),
    "ollama": ("langchain_ollama:OllamaEmbeddings", {"model": "bge-m3"}),
}
"""K-RAG's kinds of embeddings: the class, and what it is made with unless told otherwise."""


class EmbeddingRougeOfflineRetrievalEvaluators(RougeOfflineRetrievalEvaluators):
    """The same by ROUGE among pairs whose embeddings are similar: a cascade that filters.

    Args:
        rouge_threshold: the least ROUGE score that is a match, in (0, 1].
        similarity_threshold: pairs whose cosine similarity is below are none, in (0, 1].
        embedding_type: ``huggingface``, ``openai`` or ``ollama``: a class of langchain-huggingface,
            langchain-openai or langchain-ollama, with K-RAG's default model. Those packages are not
            kragx's; what they load or ask is their affair.
        embedding_config: arguments of that class, over K-RAG's; or of an import path.
        embeddings: any langchain-core `Embeddings`, or an import path, instead of a type.
        cache: an SQLite file that keeps vectors for later runs.
        actual_docs, predicted_docs, match_method, averaging_method, matching_criteria, tokenizer,
            measure, profile: as for `RougeOfflineRetrievalEvaluators`.
    """

    def __init__(
        self,
        actual_docs: Docs,
        predicted_docs: Docs,
        match_method: str = "rouge1",
        averaging_method: AveragingMethod | str = AveragingMethod.BOTH,
        matching_criteria: MatchingCriteria | str = MatchingCriteria.ALL,
        rouge_threshold: float = 0.7,
        similarity_threshold: float = 0.7,
        embedding_type: str = "huggingface",
        embedding_config: Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        *,
        embeddings: Any = None,
        cache: str | Path | None = None,
        measure: str = "fmeasure",
        profile: str = "kragx",
    ) -> None:
        super().__init__(
            actual_docs,
            predicted_docs,
            match_method,
            averaging_method,
            matching_criteria,
            rouge_threshold,
            tokenizer,
            measure=measure,
            profile=profile,
        )
        self.similarity_threshold = similarity_threshold
        args = embedding_config
        if embeddings is None:
            if embedding_type not in _EMBEDDINGS:
                raise UsageError(
                    f"embedding_type: unknown value {embedding_type!r}; "
                    f"{nearest(str(embedding_type), _EMBEDDINGS)}; or pass embeddings="
                )
            embeddings, defaults = _EMBEDDINGS[embedding_type]
            args = {**defaults, **(embedding_config or {})}
        self._similarity = matcher(
            {
                "method": "embedding",
                "embeddings": embeddings,
                "args": args,
                "cache": cache,
                "threshold": similarity_threshold,
            },
            PROFILES[profile].match_options,
        )

    @property
    def rouge_threshold(self) -> float:
        """K-RAG's name for `threshold`."""
        return self.threshold

    @property
    def _match(self) -> Any:
        rouge = matcher(super()._match, PROFILES[self.profile].match_options)
        limit = check_threshold(self.similarity_threshold)
        return CombinedMatcher("cascade", (Step(self._similarity, None, limit), Step(rouge)))


class JudgedRetrievalEvaluators(OfflineRetrievalEvaluators):
    """The same by an LLM judge; `RAGEvaluator` makes it.

    Args:
        dataset: the queries with their gold, or without any to judge relevance.
        predicted_docs: for each query its retrieved documents, best first.
        matcher: the `llm` matcher.
        averaging_method, matching_criteria: as for `OfflineRetrievalEvaluators`.
    """

    def __init__(
        self,
        dataset: GoldDataset,
        predicted_docs: Docs,
        matcher: Matcher,
        averaging_method: AveragingMethod | str = AveragingMethod.BOTH,
        matching_criteria: MatchingCriteria | str = MatchingCriteria.ALL,
    ) -> None:
        super().__init__(
            [query.gold for query in dataset],
            predicted_docs,
            "llm",
            averaging_method,
            matching_criteria,
        )
        self.dataset = dataset
        self.matcher = matcher

    @property
    def _match(self) -> Any:
        return self.matcher

    @property
    def _gold(self) -> Any:
        return self.dataset


class RAGEvaluator:
    """One call for all seven metrics, with whichever evaluator the match method needs.

    Args:
        match_method: ``text``, ``exact``, ``contains``, ``id``, ``rouge1``, ``rouge2``, ``rougeL``,
            ``overlap``, or ``llm`` for an LLM judge (docs/judging.md).
        rouge_threshold: the least ROUGE score that is a match.
        tokenizer: for the ROUGE methods; None for the profile's (``unicode`` under kragx, Kiwi
            under krag).
        measure: for rouge1, rouge2 and rougeL.
        averaging_method: which averages of recall, precision and F1 are returned.
        matching_criteria: whether a hit needs all gold documents or any.
        profile: ``kragx`` or ``krag``.
        judge: for ``llm``: a `kragx.judging.Judge`, a client, a LangChain chat model, a model's
            name or a mapping of options; None for the environment's KRAGX_JUDGE_MODEL.
        mode: for ``llm``: ``support`` (of the gold texts), ``relevance`` (to the queries), or None
            for support where there is gold.

    Raises:
        UsageError: an argument is wrong.
    """

    def __init__(
        self,
        match_method: str = "text",
        rouge_threshold: float = 0.5,
        tokenizer: Any = None,
        measure: str = "fmeasure",
        averaging_method: AveragingMethod | str = AveragingMethod.BOTH,
        matching_criteria: MatchingCriteria | str = MatchingCriteria.ALL,
        profile: str = "kragx",
        *,
        judge: Any = None,
        mode: str | None = None,
    ) -> None:
        if match_method not in _RAG_METHODS:
            raise UsageError(
                f"match_method: unknown method {match_method!r}; "
                f"{nearest(str(match_method), _RAG_METHODS)}"
            )
        _known_profile(profile)
        krag_knows = ("text", "rouge1", "rouge2", "rougeL")
        if profile == "krag" and match_method not in krag_knows:
            raise UsageError(
                f"match_method: K-RAG has no {match_method!r}; use one of "
                f"{', '.join(krag_knows)}, or profile='kragx'"
            )
        self.match_method = match_method
        self.rouge_threshold = rouge_threshold
        self.tokenizer = tokenizer
        self.measure = measure
        self.averaging_method = member(AveragingMethod, averaging_method, "averaging_method")
        self.matching_criteria = member(MatchingCriteria, matching_criteria, "matching_criteria")
        self.profile = profile
        self._matcher: Any = None
        if match_method == "llm":
            spec = {"method": "llm", "judge": judge, "mode": mode or "auto"}
            self._matcher = matcher(spec)
        elif judge is not None or mode is not None:
            raise UsageError(
                f"{'judge' if judge is not None else 'mode'}: belongs to match_method='llm', not "
                f"to {match_method!r}"
            )
        self._evaluator: OfflineRetrievalEvaluators | None = None

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
        evaluator = (
            self._judged(actual_docs, predicted_docs, queries)
            if self.match_method == "llm"
            else self._make(self._needed(actual_docs), predicted_docs)
        )
        result = evaluator.evaluate_all(k)
        if visualize:
            for_each_k(k, evaluator.visualize_results)
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

    def _judged(
        self, actual_docs: Docs | None, predicted_docs: Docs, queries: Sequence[str] | None
    ) -> OfflineRetrievalEvaluators:
        relevance = actual_docs is None or self._matcher.mode == "relevance"
        if relevance and self._matcher.mode == "support":
            raise UsageError("actual_docs: None leaves nothing to support; use mode='relevance'")
        if relevance and queries is None:
            raise UsageError(
                "queries: needed to judge relevance; pass one text for each list of documents"
            )
        without: Docs = [[] for _ in predicted_docs]
        gold = without if relevance or actual_docs is None else actual_docs
        dataset = GoldDataset.from_documents(gold, queries=queries)
        return JudgedRetrievalEvaluators(
            dataset, predicted_docs, self._matcher, self.averaging_method, self.matching_criteria
        )

    def _needed(self, actual_docs: Docs | None) -> Docs:
        if actual_docs is None:
            raise UsageError(
                f"actual_docs: {self.match_method!r} compares with gold documents; only "
                "match_method='llm' works without"
            )
        return actual_docs

    def _make(self, actual_docs: Docs, predicted_docs: Docs) -> OfflineRetrievalEvaluators:
        common = (self.averaging_method, self.matching_criteria)
        if self.match_method in ("text", "exact", "contains", "id"):
            return OfflineRetrievalEvaluators(
                actual_docs, predicted_docs, self.match_method, *common, profile=self.profile
            )
        overlap = self.match_method == "overlap"
        return RougeOfflineRetrievalEvaluators(
            actual_docs,
            predicted_docs,
            "rouge2" if overlap else self.match_method,
            *common,
            threshold=self.rouge_threshold,
            tokenizer=self.tokenizer,
            measure="overlap" if overlap else self.measure,
            profile=self.profile,
        )


_METRICS = ("hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg")
_LABELS = ("Hit Rate", "MRR", "Recall", "Precision", "F1 Score", "MAP", "NDCG")
_RAG_METHODS = ("text", "exact", "contains", "id", "rouge1", "rouge2", "rougeL", "overlap", "llm")


def _known_profile(profile: str) -> str:
    if profile not in ("kragx", "krag"):
        raise UsageError(
            f"profile: {profile!r} is not one that K-RAG's evaluators have, kragx and krag; "
            f"{nearest(str(profile), ('kragx', 'krag'))}"
        )
    return profile


_Member = TypeVar("_Member", bound=Enum)


def member(kind: type[_Member], value: object, name: str) -> _Member:
    """The member of an enum that is meant by itself, its value or its name in any case.

    Raises:
        UsageError: there is none.
    """
    if isinstance(value, kind):
        return value
    values: Mapping[str, _Member] = {each.value: each for each in kind}
    if isinstance(value, str) and value.lower() in values:
        return values[value.lower()]
    raise UsageError(f"{name}: unknown value {value!r}; {nearest(str(value), values)}")


def for_each_k(k: int | Iterable[int] | None, answer: Callable[[int | None], Any]) -> Any:
    """`answer(k)`; for several k a dictionary of the answers."""
    if isinstance(k, str):
        raise UsageError(f"k: a whole number, several of them or None is expected, not {k!r}")
    if k is None or not isinstance(k, Iterable):
        return answer(k)
    return {cut: answer(cut) for cut in k}
