"""Metrics by ragas' names: what to write in kragx, and what kragx does not measure."""

from __future__ import annotations

from kragx.phrase import Phrase
from kragx.printing import phrase

_BY_HITS = phrase(
    "for ragas' metric write 'map(norm=hits)', or 'map', in which gold that is missed counts; "
    "match: llm has a model judge"
)
_RECALL = phrase(
    "for ragas' metric write 'recall', with match: llm to have a model judge, or "
    "'context_completeness' with facts_match: nuggets"
)
_ANSWERS = phrase("it judges answers, and kragx evaluates retrieval alone; stay with ragas for it")

_REMEDIES = {
    "context_precision context_utilization llm_context_precision_with_reference "
    "llm_context_precision_without_reference non_llm_context_precision_with_reference": _BY_HITS,
    "context_recall llm_context_recall context_entity_recall": _RECALL,
    "non_llm_context_recall": phrase("for ragas' metric write 'recall'"),
    "id_based_context_precision": phrase("for ragas' metric write 'precision', with match: id"),
    "id_based_context_recall": phrase("for ragas' metric write 'recall', with match: id"),
    "faithfulness faithfulness_with_hhem answer_relevancy answer_relevance response_relevancy "
    "answer_correctness answer_similarity semantic_similarity factual_correctness "
    "noise_sensitivity response_groundedness answer_accuracy groundedness hallucination bleu rouge "
    "bert_score": _ANSWERS,
}
_BY_NAME = {
    name.replace("_", ""): remedy for names, remedy in _REMEDIES.items() for name in names.split()
}


def remedy_for(name: str) -> Phrase | None:
    """What to write for a metric's or class's name of ragas, in lower case; None for any other."""
    return _BY_NAME.get(name.replace("_", ""))
