"""kragx evaluates retrievers for RAG: which one finds the evidence, how sure are we, and why.

    from kragx import evaluate

    result = evaluate(gold_documents, retrieved_documents, match="overlap", metrics=["ndcg@10"])
    result.print()

Everything is loaded on first use, so that importing kragx costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kragx.agreement import Agreement as Agreement
    from kragx.agreement import agree as agree
    from kragx.agreement import read_labels as read_labels
    from kragx.agreement.calibration import Calibration as Calibration
    from kragx.agreement.calibration import calibrate as calibrate
    from kragx.comparison import Comparison as Comparison
    from kragx.comparison import compare as compare
    from kragx.comparison.flips import flips as flips
    from kragx.data.documents import Doc as Doc
    from kragx.data.formats.gold import write_gold as write_gold
    from kragx.data.formats.gold import write_goldset as write_goldset
    from kragx.data.formats.gold import write_results as write_results
    from kragx.data.gold import Gold as Gold
    from kragx.data.gold import GoldDataset as GoldDataset
    from kragx.data.gold import Query as Query
    from kragx.data.reading import read_corpus as read_corpus
    from kragx.data.reading import read_dataset as read_dataset
    from kragx.data.reading import read_gold as read_gold
    from kragx.data.reading import read_results as read_results
    from kragx.data.reading import read_rows as read_rows
    from kragx.data.runs import Retrieved as Retrieved
    from kragx.data.runs import Run as Run
    from kragx.data.tokenizers import Tokenizer as Tokenizer
    from kragx.data.tokenizers import tokenizer as tokenizer
    from kragx.data.validation import validate as validate
    from kragx.errors import ConfigError as ConfigError
    from kragx.errors import DataError as DataError
    from kragx.errors import KragxError as KragxError
    from kragx.errors import MissingExtraError as MissingExtraError
    from kragx.errors import UsageError as UsageError
    from kragx.evaluation.evaluate import aevaluate as aevaluate
    from kragx.evaluation.evaluate import evaluate as evaluate
    from kragx.evaluation.evaluate import match_pairs as match_pairs
    from kragx.evaluation.evaluate import pooled as pooled
    from kragx.evaluation.evaluation import Evaluation as Evaluation
    from kragx.evaluation.explain import explain as explain
    from kragx.evaluation.explanation import Explanation as Explanation
    from kragx.evaluation.retrieve import aretrieve as aretrieve
    from kragx.evaluation.retrieve import retrieve as retrieve
    from kragx.evaluation.sweep import Sweep as Sweep
    from kragx.evaluation.sweep import sweep as sweep
    from kragx.krag.document import KragDocument as KragDocument
    from kragx.krag.embedding_evaluator import (
        EmbeddingRougeOfflineRetrievalEvaluators as EmbeddingRougeOfflineRetrievalEvaluators,
    )
    from kragx.krag.evaluators import AveragingMethod as AveragingMethod
    from kragx.krag.evaluators import MatchingCriteria as MatchingCriteria
    from kragx.krag.evaluators import OfflineRetrievalEvaluators as OfflineRetrievalEvaluators
    from kragx.krag.evaluators import (
        RougeOfflineRetrievalEvaluators as RougeOfflineRetrievalEvaluators,
    )
    from kragx.krag.evaluators import TokenizerType as TokenizerType
    from kragx.krag.rag_evaluator import RAGEvaluator as RAGEvaluator
    from kragx.matchers import Matcher as Matcher
    from kragx.matchers import matcher as matcher
    from kragx.report.figures.comparison import write_figures as write_figures
    from kragx.report.figures.sweep import sweep_figure as sweep_figure
    from kragx.report.html_page.page import write_html as write_html

_PUBLIC = {
    "agreement": ("Agreement", "agree", "read_labels"),
    "agreement.calibration": ("Calibration", "calibrate"),
    "comparison": ("Comparison", "compare"),
    "comparison.flips": ("flips",),
    "data.documents": ("Doc",),
    "data.formats.gold": ("write_gold", "write_goldset", "write_results"),
    "data.gold": ("Gold", "GoldDataset", "Query"),
    "data.reading": ("read_corpus", "read_dataset", "read_gold", "read_results", "read_rows"),
    "data.runs": ("Retrieved", "Run"),
    "data.tokenizers": ("Tokenizer", "tokenizer"),
    "data.validation": ("validate",),
    "errors": ("ConfigError", "DataError", "KragxError", "MissingExtraError", "UsageError"),
    "evaluation.evaluate": ("aevaluate", "evaluate", "match_pairs", "pooled"),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.explain": ("explain",),
    "evaluation.explanation": ("Explanation",),
    "evaluation.retrieve": ("aretrieve", "retrieve"),
    "evaluation.sweep": ("Sweep", "sweep"),
    "krag.document": ("KragDocument",),
    "krag.embedding_evaluator": ("EmbeddingRougeOfflineRetrievalEvaluators",),
    "krag.evaluators": (
        "AveragingMethod",
        "MatchingCriteria",
        "OfflineRetrievalEvaluators",
        "RougeOfflineRetrievalEvaluators",
        "TokenizerType",
    ),
    "krag.rag_evaluator": ("RAGEvaluator",),
    "matchers": ("Matcher", "matcher"),
    "report.figures.comparison": ("write_figures",),
    "report.figures.sweep": ("sweep_figure",),
    "report.html_page.page": ("write_html",),
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  # type checkers read the imports above


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kragx")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'kragx' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kragx.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
