"""kragx evaluates retrievers for RAG: which one finds the evidence, how sure are we, and why.

    from kragx import evaluate

    result = evaluate(gold_documents, retrieved_documents, match="overlap", metrics=["ndcg@10"])
    result.print()

Everything is loaded on first use, so that importing kragx costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kragx.adapters.krag.document import KragDocument as KragDocument
    from kragx.adapters.krag.evaluators import (
        AveragingMethod as AveragingMethod,
        EmbeddingRougeOfflineRetrievalEvaluators as EmbeddingRougeOfflineRetrievalEvaluators,
        MatchingCriteria as MatchingCriteria,
        OfflineRetrievalEvaluators as OfflineRetrievalEvaluators,
        RougeOfflineRetrievalEvaluators as RougeOfflineRetrievalEvaluators,
        TokenizerType as TokenizerType,
    )
    from kragx.adapters.krag.rag_evaluator import RAGEvaluator as RAGEvaluator
    from kragx.agreement import Agreement as Agreement, agree as agree, read_labels as read_labels
    from kragx.agreement.calibration import Calibration as Calibration, calibrate as calibrate
    from kragx.api.diff import diff as diff
    from kragx.api.evaluate import aevaluate as aevaluate, evaluate as evaluate
    from kragx.api.evaluations import Evaluations as Evaluations
    from kragx.api.pairs import match_pairs as match_pairs
    from kragx.comparison import Comparison as Comparison, compare as compare
    from kragx.comparison.lists import ListDiff as ListDiff
    from kragx.comparison.threshold_study import Sweep as Sweep, sweep as sweep
    from kragx.data import (
        Doc as Doc,
        Forbidden as Forbidden,
        Gold as Gold,
        GoldDataset as GoldDataset,
        Query as Query,
        Retrieved as Retrieved,
        Run as Run,
        Search as Search,
        Searches as Searches,
        Stage as Stage,
        Tokenizer as Tokenizer,
        read_corpus as read_corpus,
        read_dataset as read_dataset,
        read_gold as read_gold,
        read_results as read_results,
        read_rows as read_rows,
        tokenizer as tokenizer,
    )
    from kragx.data.validation import Validation as Validation, validate as validate
    from kragx.data.writing import write_gold as write_gold, write_results as write_results
    from kragx.evaluation.calls.recorder import (
        record_searches as record_searches,
        searched as searched,
    )
    from kragx.evaluation.evaluation import Evaluation as Evaluation
    from kragx.evaluation.explain import explain as explain
    from kragx.evaluation.explanation import Explanation as Explanation
    from kragx.evaluation.pools import pooled as pooled
    from kragx.evaluation.retrieve import aretrieve as aretrieve, retrieve as retrieve
    from kragx.evaluation.stage_losses import (
        StageLosses as StageLosses,
        stage_losses as stage_losses,
    )
    from kragx.ground.errors import (
        ConfigError as ConfigError,
        DataError as DataError,
        KragxError as KragxError,
        MissingExtraError as MissingExtraError,
        RetrieverError as RetrieverError,
        UntrustedError as UntrustedError,
        UsageError as UsageError,
    )
    from kragx.matchers import Matcher as Matcher, matcher as matcher
    from kragx.report.figures.comparison import (
        sweep_figure as sweep_figure,
        write_figures as write_figures,
    )
    from kragx.report.html_page.page import (
        write_diff_html as write_diff_html,
        write_html as write_html,
    )

_PUBLIC = {
    "agreement": ("Agreement", "agree", "read_labels"),
    "agreement.calibration": ("Calibration", "calibrate"),
    "api.diff": ("diff",),
    "api.evaluate": ("aevaluate", "evaluate"),
    "api.evaluations": ("Evaluations",),
    "api.pairs": ("match_pairs",),
    "comparison": ("Comparison", "compare"),
    "comparison.lists": ("ListDiff",),
    "comparison.threshold_study": ("Sweep", "sweep"),
    "data": (
        "Doc",
        "Forbidden",
        "Gold",
        "GoldDataset",
        "Query",
        "Retrieved",
        "Run",
        "Search",
        "Searches",
        "Stage",
        "Tokenizer",
        "read_corpus",
        "read_dataset",
        "read_gold",
        "read_results",
        "read_rows",
        "tokenizer",
    ),
    "data.validation": ("Validation", "validate"),
    "data.writing": ("write_gold", "write_results"),
    "ground.errors": (
        "ConfigError",
        "DataError",
        "KragxError",
        "MissingExtraError",
        "RetrieverError",
        "UntrustedError",
        "UsageError",
    ),
    "evaluation.calls.recorder": ("record_searches", "searched"),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.explain": ("explain",),
    "evaluation.explanation": ("Explanation",),
    "evaluation.pools": ("pooled",),
    "evaluation.retrieve": ("aretrieve", "retrieve"),
    "evaluation.stage_losses": ("StageLosses", "stage_losses"),
    "adapters.krag.document": ("KragDocument",),
    "adapters.krag.evaluators": (
        "AveragingMethod",
        "EmbeddingRougeOfflineRetrievalEvaluators",
        "MatchingCriteria",
        "OfflineRetrievalEvaluators",
        "RougeOfflineRetrievalEvaluators",
        "TokenizerType",
    ),
    "adapters.krag.rag_evaluator": ("RAGEvaluator",),
    "matchers": ("Matcher", "matcher"),
    "report.figures.comparison": ("sweep_figure", "write_figures"),
    "report.html_page.page": ("write_diff_html", "write_html"),
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
