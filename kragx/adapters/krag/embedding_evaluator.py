"""K-RAG's evaluator that lets embeddings decide which pairs ROUGE compares."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kragx.adapters.krag.evaluators import (
    Averaging,
    AveragingMethod,
    Criteria,
    Docs,
    MatchingCriteria,
    RougeOfflineRetrievalEvaluators,
)
from kragx.ground.errors import UsageError, nearest
from kragx.matchers import CombinedMatcher, check_threshold, matcher
from kragx.matchers.combine import Step
from kragx.metrics import PROFILES

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
