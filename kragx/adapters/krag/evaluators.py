"""K-RAG's evaluators, as a thin face over `evaluate`; there is no arithmetic here.

A notebook moves over by changing its import. With ``profile="kragx"`` (the default) the numbers are
kragx's own, with two deviations that keep K-RAG's meaning of the words: precision and F1 divide by
what was retrieved (``over=retrieved``), and a hit needs all gold (``need=all``; PARTIAL: any).
With ``profile="krag"`` they are K-RAG 0.0.32's to the last digit. docs/krag.md
lists every difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from kragx.api.evaluate import evaluate
from kragx.api.pairs import match_pairs
from kragx.data import GoldDataset, KragTokenizer
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import UsageError, nearest, shorten
from kragx.ground.options import check_options, one_of
from kragx.ground.printing import Line, Part, Shown
from kragx.matchers import CombinedMatcher, check_threshold, label, matcher
from kragx.matchers.combine import Step
from kragx.metrics import METRICS, PROFILES, MetricScores, MetricWarning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Docs = Sequence[Sequence[object]]
Values = dict[str, float | None]

KRAG_METRICS: Final[Mapping[str, str]] = {
    "hit_rate": "Hit Rate",
    "mrr": "MRR",
    "recall": "Recall",
    "precision": "Precision",
    "f1_score": "F1 Score",
    "map": "MAP",
    "ndcg": "NDCG",
}
"""K-RAG's names of its metrics, each with its label, in K-RAG's order."""

ROUGE_METHODS: Final = ("rouge1", "rouge2", "rougeL")


class _Choice(Enum):
    """A choice whose members are meant by themselves, or by their values in any case."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        # Enum asks here before it raises a ValueError, which would name no remedy.
        members = {member.value: member for member in cls}
        if str(value).lower() not in members:
            raise UsageError(
                "unknown value {value!r}; {hint}", value=value, hint=nearest(str(value), members)
            )
        return members[str(value).lower()]


class AveragingMethod(_Choice):
    """Which averages of recall, precision and F1 are returned.

    Examples:
        >>> from kragx import AveragingMethod
        >>> AveragingMethod("macro").name
        'MACRO'
    """

    MICRO = "micro"
    MACRO = "macro"
    BOTH = "both"


class MatchingCriteria(_Choice):
    """Whether a hit needs all gold documents or any.

    Examples:
        >>> from kragx import MatchingCriteria
        >>> [criterion.value for criterion in MatchingCriteria]
        ['all', 'partial']
    """

    ALL = "all"
    PARTIAL = "partial"


class TokenizerType(Enum):
    """K-RAG's tokenizers; any tokenizer of `kragx.data.tokenizers` works as well.

    Examples:
        >>> from kragx import TokenizerType
        >>> TokenizerType("kiwi").name
        'KIWI'
    """

    WHITESPACE = "whitespace"
    KIWI = "kiwi"
    NLTK = "nltk"


Averaging = Annotated[AveragingMethod | str, AveragingMethod]
Criteria = Annotated[MatchingCriteria | str, MatchingCriteria]
ProfileName = Annotated[str, one_of("kragx", "krag")]


@dataclass(eq=False, repr=False)
class OfflineRetrievalEvaluators(Shown):
    """Evaluate retrieved documents against gold ones, by text containment unless told otherwise.

    Args:
        actual_docs: for each query its gold documents; not changed.
        predicted_docs: for each query its retrieved documents, best first; not changed.
        match_method: any method of `kragx.matchers`. Under profile krag it is ignored, as K-RAG
            does: gold texts are looked for in the documents as they are.
        averaging_method: which averages of recall, precision and F1 are returned.
        matching_criteria: whether a hit needs all gold documents or any.
        profile: ``kragx`` or ``krag``.
        corpus: has the texts of documents that are named by id alone (``{"id": "c7"}``): a path,
            texts by id, or documents.

    Matching happens once, on the first question; every metric and k reads the same table. Setting
    an attribute anew starts over.

    Raises:
        UsageError: an argument is wrong, or the lists have different lengths.
        DataError: the lists are empty or hold something that is no document.

    Examples:
        >>> from kragx import OfflineRetrievalEvaluators
        >>> gold, found = [["the answer"]], [["another text", "here is the answer"]]
        >>> OfflineRetrievalEvaluators(gold, found).calculate_mrr(k=2)
        {'mrr': 0.5}
    """

    actual_docs: Docs | GoldDataset
    predicted_docs: Docs
    match_method: Any = "text"
    averaging_method: Averaging = AveragingMethod.BOTH
    matching_criteria: Criteria = MatchingCriteria.ALL
    # What stands above is called by position as in K-RAG; what kragx adds is named.
    _: KW_ONLY
    profile: ProfileName = "kragx"
    corpus: Any = None
    _evaluation: Evaluation | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_options(self)
        for name in ("actual_docs", "predicted_docs"):
            # A generator has no length to compare, and nothing left when an attribute is set anew.
            if not isinstance(docs := getattr(self, name), Sized):
                raise UsageError(
                    "{name}: {docs} is no list; pass a list a query", name=name, docs=shorten(docs)
                )
        n_gold, n_predicted = len(self.actual_docs), len(self.predicted_docs)
        if not (n_gold and n_predicted):
            raise UsageError("actual_docs and predicted_docs must not be empty: a list a query")
        if n_gold != n_predicted:
            raise UsageError(
                "predicted_docs: {n_predicted} lists for {n_gold} of actual_docs; pass one for "
                "each query (an empty list where nothing was found)",
                n_predicted=n_predicted,
                n_gold=n_gold,
            )

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; what was found out with the old value is forgotten."""
        super().__setattr__(name, value)
        # Setting that one must not forget it again, which would set it again, and so on for ever.
        if name != "_evaluation":
            self._evaluation = None

    @property
    def _match(self) -> Any:
        return "text" if self.profile == "krag" else self.match_method

    def describe(self) -> Iterator[Part]:
        """The numbers asked for last; before any, what it matches by: nothing is matched here."""
        if self._evaluation is not None:
            yield from self._evaluation.describe()
        else:
            yield Line(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(match: {label(self._match)}; profile: {self.profile})"

    @property
    def evaluation(self) -> Evaluation:
        """The numbers asked for last, as kragx has them; before any question, of whole lists."""
        if self._evaluation is not None:
            return self._evaluation
        # K-RAG's nDCG of ROUGE scores fails without gold; it is computed when asked for.
        names = [name for name in KRAG_METRICS if (name, self.profile) != ("ndcg", "krag")]
        with warnings.catch_warnings():
            # A number above 1 is warned about when it is asked for, not here.
            warnings.simplefilter("ignore", MetricWarning)
            return self.measured(names, [None])

    def measured(self, names: Iterable[str], ks: Sequence[int | None]) -> Evaluation:
        """K-RAG's metrics at each k, in that order; what was matched once is not matched again."""
        metrics = [self._metric(name, k) for k in ks for name in names]
        self._evaluation = (
            evaluate(
                self.actual_docs,
                self.predicted_docs,
                match=self._match,
                metrics=metrics,
                profile=self.profile,
                corpus=self.corpus,
            )
            if self._evaluation is None
            else self._evaluation.with_metrics(metrics)
        )
        return self._evaluation

    def calculate_hit_rate(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'hit_rate': x}``; for several k ``{k: {'hit_rate': x}}``. None is the whole list."""
        return self._calculate(k, "hit_rate")

    def calculate_mrr(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'mrr': x}``."""
        return self._calculate(k, "mrr")

    def calculate_recall(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'micro_recall': x, 'macro_recall': y}``."""
        return self._calculate(k, "recall")

    def calculate_precision(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'micro_precision': x, 'macro_precision': y}``."""
        return self._calculate(k, "precision")

    def calculate_f1_score(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'micro_f1': x, 'macro_f1': y}``; under krag without the keys that would be 0."""
        return self._calculate(k, "f1_score")

    def calculate_map(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'map': x}``."""
        return self._calculate(k, "map")

    def calculate_ndcg(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """``{'ndcg': x}``."""
        return self._calculate(k, "ndcg")

    def evaluate_all(self, k: int | Iterable[int] | None = None) -> dict[Any, Any]:
        """All seven: ``{'hit_rate': {...}, 'mrr': {...}, ..., 'f1_score': {...}, ...}``."""
        return self._calculate(k, *KRAG_METRICS)

    def get_metrics_by_averaging_method(self, k: int | None = None) -> str:
        """The seven metrics as text, a line each: K-RAG's own in every language, as code reads it.

        ``print`` of the evaluator itself speaks the reader's.
        """
        return "\n".join(f"{label} @{k}: {values}" for label, values in self._labelled(k).items())

    def visualize_results(self, k: int | None = None) -> Figure:
        """A bar chart of the seven metrics; shown only where a window or notebook can show it.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from kragx.report.figures.bars import metrics_figure

        return metrics_figure(self._labelled(k), k)

    def text_match(self, actual_text: str, predicted_text: str | Sequence[str]) -> bool:
        """Whether the gold text matches the retrieved one, or any of several."""
        texts = [predicted_text] if isinstance(predicted_text, str) else list(predicted_text)
        profile = PROFILES[self.profile]
        pairs = match_pairs([[actual_text]], [texts], match=self._match, profile=profile)
        return any(any(row) for record in pairs for row in record["matched"])

    def averages(self, name: str, scores: MetricScores | None) -> Values:
        """A metric's values by K-RAG's keys: one, or the averages asked for of one that is pooled.

        Without scores every value is None.
        """
        metric = name.removesuffix("_score")
        mean = None if scores is None else scores.mean
        if not METRICS[metric].pooled:
            return {metric: mean}
        averages = {"micro": None if scores is None else scores.micro, "macro": mean}
        method = AveragingMethod(self.averaging_method).value
        return {f"{kind}_{metric}": averages[kind] for kind in averages if method in (kind, "both")}

    def _metric(self, name: str, k: int | None) -> str:
        """The metric string of a name: what hit rate, precision and F1 mean here."""
        metric = name.removesuffix("_score")
        needs_all = MatchingCriteria(self.matching_criteria) is MatchingCriteria.ALL
        of_krag = {"need": "all" if needs_all else "any", "over": "retrieved"}
        options_of_metric = METRICS[metric].options
        options = ", ".join(
            f"{key}={value}" for key, value in of_krag.items() if key in options_of_metric
        )
        cut = "" if k is None else f"@{k}"
        return f"{metric}{cut}({options})" if options else f"{metric}{cut}"

    def _calculate(self, k: int | Iterable[int] | None, *names: str) -> dict[Any, Any]:
        """The values of each name, of a single one alone; for several k a dictionary of them."""
        ks = cuts(k)
        scores = iter(self.measured(names, ks).scores if ks else ())
        by_k: dict[Any, Any] = {}
        for cut in ks:
            values = {name: self.averages(name, next(scores)) for name in names}
            # K-RAG leaves out the key of an F1 whose precision and recall are both 0.
            if self.profile == "krag" and "f1_score" in values:
                f1 = values["f1_score"]
                values["f1_score"] = {key: value for key, value in f1.items() if value}
            by_k[cut] = values if len(names) > 1 else values[names[0]]
        return by_k if isinstance(k, Iterable) else by_k[k]

    def _labelled(self, k: int | None) -> dict[str, Values]:
        return {KRAG_METRICS[name]: values for name, values in self.evaluate_all(k).items()}


@dataclass(eq=False, repr=False)
class RougeOfflineRetrievalEvaluators(OfflineRetrievalEvaluators):
    """The same by ROUGE at or above a threshold.

    What is not listed here is as for `OfflineRetrievalEvaluators`.

    Args:
        match_method: ``rouge1``, ``rouge2`` or ``rougeL``.
        threshold: the least score that is a match, in (0, 1].
        tokenizer: a `TokenizerType`, or any tokenizer of `kragx.data.tokenizers`; None for the
            profile's: ``unicode`` under kragx, Kiwi (extra `korean`) under krag.
        measure: ``fmeasure``, ``precision``, ``recall`` or ``overlap``; under krag the first only.

    Examples:
        >>> from kragx import RougeOfflineRetrievalEvaluators
        >>> gold, found = [["the old red door"]], [["a blue sky", "an old red door"]]
        >>> RougeOfflineRetrievalEvaluators(gold, found, match_method="rouge1").calculate_mrr(k=2)
        {'mrr': 0.5}
    """

    match_method: Annotated[str, one_of(*ROUGE_METHODS)] = "rouge1"
    threshold: float = 0.5
    tokenizer: Any = None
    _: KW_ONLY
    measure: str = "fmeasure"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile == "krag" and self.measure != "fmeasure":
            raise UsageError(
                "measure: {measure!r} is not K-RAG's, which knows fmeasure alone; "
                "use profile='kragx'",
                measure=self.measure,
            )

    @property
    def _match(self) -> Any:
        tokenizer = self.tokenizer
        if isinstance(tokenizer, TokenizerType):
            # NLTK is K-RAG's alone; the other two have a twin in kragx under the same name.
            of_krag = self.profile == "krag" or tokenizer is TokenizerType.NLTK
            tokenizer = KragTokenizer(tokenizer.value) if of_krag else tokenizer.value
        return {
            "method": self.match_method,
            "threshold": self.threshold,
            "measure": self.measure,
            **({} if tokenizer is None else {"tokenizer": tokenizer}),
        }


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

    What is not listed here is as for `RougeOfflineRetrievalEvaluators`.

    Args:
        rouge_threshold: the least ROUGE score that is a match, in (0, 1].
        similarity_threshold: pairs whose cosine similarity is below are none, in (0, 1].
        embedding_type: ``huggingface``, ``openai`` or ``ollama``: a class of langchain-huggingface,
            langchain-openai or langchain-ollama, with K-RAG's default model. Those packages are not
            kragx's; what they load or ask is their affair.
        embedding_config: arguments of that class, over K-RAG's; or of an import path.
        embeddings: any langchain-core `Embeddings`, or an import path, instead of a type.
        cache: an SQLite file that keeps vectors for later runs.

    Examples:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from kragx import EmbeddingRougeOfflineRetrievalEvaluators
        >>> gold, found = [["the old red door"]], [["a blue sky", "the old red door"]]
        >>> embeddings = DeterministicFakeEmbedding(size=8)
        >>> evaluator = EmbeddingRougeOfflineRetrievalEvaluators(gold, found, embeddings=embeddings)
        >>> evaluator.calculate_mrr(k=2)
        {'mrr': 0.5}
    """

    # Written out: K-RAG's arguments stand in another order than the fields of the class above.
    def __init__(
        self,
        actual_docs: Docs,
        predicted_docs: Docs,
        match_method: str = "rouge1",
        averaging_method: Averaging = AveragingMethod.BOTH,
        matching_criteria: Criteria = MatchingCriteria.ALL,
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
        corpus: Any = None,
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
            corpus=corpus,
        )
        self.similarity_threshold = similarity_threshold
        args = embedding_config
        if embeddings is None:
            if embedding_type not in _EMBEDDINGS:
                raise UsageError(
                    "embedding_type: unknown value {embedding_type!r}; {hint}; or pass embeddings=",
                    embedding_type=embedding_type,
                    hint=nearest(str(embedding_type), _EMBEDDINGS),
                )
            embeddings, defaults = _EMBEDDINGS[embedding_type]
            args = {**defaults, **(embedding_config or {})}
        # Made once, while `_match` is asked for again and again: models take long to load.
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
        # Read anew, as it may have been set since. It accepts no pair: that is for ROUGE.
        limit = check_threshold(self.similarity_threshold)
        return CombinedMatcher("cascade", (Step(self._similarity, None, limit), Step(rouge)))


def cuts(k: int | Iterable[int] | None) -> list[int | None]:
    """The cut-offs that K-RAG's `k` names, each once: one, several, or None for whole lists."""
    # A text can be gone through, too: "10" would be the cut-offs "1" and "0".
    if isinstance(k, str):
        raise UsageError("k: a whole number, several of them or None is expected, not {k!r}", k=k)
    return list(dict.fromkeys(k)) if isinstance(k, Iterable) else [k]
