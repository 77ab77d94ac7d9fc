"""Record what K-RAG 0.0.32's EmbeddingRougeOfflineRetrievalEvaluators returns.

    python3.11 -m venv krag-env && krag-env/bin/pip install krag==0.0.32 nltk
    MPLBACKEND=Agg krag-env/bin/python tests/adapters/krag/record_krag_embedding.py

The class makes its embeddings itself, of one of three packages that need a model or a service. In
their place it is given `examples/ngram_embeddings.py`, which is the same on every machine; all else
is K-RAG's. The output is krag_embedding_goldens.json.
"""

from __future__ import annotations

import itertools
import platform
import random
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import krag.evaluators as krag
from krag.document import KragDocument
from krag_inputs import KO, Input, Lists, hand_inputs, random_inputs
from record_krag import AVERAGING, CRITERIA, KS, METRICS, PACKAGES, TOKENIZERS, Texts, answer, write

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from ngram_embeddings import NgramEmbeddings

GOLDENS = Path(__file__).with_name("krag_embedding_goldens.json")

THRESHOLDS = ((0.3, 0.3), (0.5, 0.5), (0.7, 0.7), (0.2, 0.8), (0.8, 0.2))
"""Of ROUGE and of the similarity."""

SHARED_KIWI = krag.Kiwi()


def evaluator(actual: Lists, predicted: Lists, setting: dict[str, Any]) -> Any:
    """One of K-RAG's evaluators."""
    documents = (
        [[KragDocument(page_content=text) for text in texts] for texts in lists]
        for lists in (actual, predicted)
    )
    return krag.EmbeddingRougeOfflineRetrievalEvaluators(
        *documents,
        match_method=setting["match_method"],
        averaging_method=AVERAGING[setting["averaging"]],
        matching_criteria=CRITERIA[setting["criteria"]],
        rouge_threshold=setting["rouge_threshold"],
        similarity_threshold=setting["similarity_threshold"],
        tokenizer=TOKENIZERS[setting["tokenizer"]],
    )


def settings_of(inputs: list[Input]) -> list[tuple[Input, dict[str, Any]]]:
    """Every input with each method, the other settings by turns; Kiwi for a few of them."""
    rng = random.Random(2049)
    thresholds, averaging = itertools.cycle(THRESHOLDS), itertools.cycle(AVERAGING)
    found = []
    for number, each in enumerate(inputs):
        for method in ("rouge1", "rouge2", "rougeL"):
            rouge, similarity = next(thresholds)
            setting = {
                "match_method": method,
                "tokenizer": "kiwi" if number % 6 == 0 else "whitespace",
                "rouge_threshold": rouge,
                "similarity_threshold": similarity,
                "averaging": next(averaging),
                "criteria": rng.choice(list(CRITERIA)),
            }
            found.append((each, setting))
    return found


def recorded_defaults() -> dict[str, Any]:
    """What K-RAG hands to each kind of embeddings, and its own thresholds."""
    asked: dict[str, Any] = {}

    def noting(name: str) -> Any:
        def make(**options: Any) -> NgramEmbeddings:
            asked[name] = options
            return NgramEmbeddings()

        return make

    kinds = {
        "huggingface": "HuggingFaceEmbeddings",
        "openai": "OpenAIEmbeddings",
        "ollama": "OllamaEmbeddings",
    }
    documents = [[KragDocument(page_content=KO[0])]]
    for kind, name in kinds.items():
        setattr(krag, name, noting(kind))
        made = krag.EmbeddingRougeOfflineRetrievalEvaluators(
            documents, documents, embedding_type=kind, tokenizer=TOKENIZERS["whitespace"]
        )
    thresholds = {"rouge": made.rouge_threshold, "similarity": made.similarity_threshold}
    return {"embeddings": asked, "thresholds": thresholds, "match_method": made.match_method}


def main(path: Path) -> None:
    """Record everything."""
    defaults = recorded_defaults()
    krag.Kiwi = lambda: SHARED_KIWI
    krag.HuggingFaceEmbeddings = lambda **options: NgramEmbeddings()
    numbered = Texts()
    cases = []
    tokens: dict[str, dict[str, list[str]]] = {name: {} for name in TOKENIZERS}
    for (name, actual, predicted), setting in settings_of(hand_inputs() + random_inputs()[:40]):
        made = evaluator(actual, predicted, setting)
        results = {
            "none" if k is None else str(k): {
                metric: answer(getattr(made, method), k) for metric, method in METRICS.items()
            }
            for k in KS
        }
        listed = {"actual": numbered.listed(actual), "predicted": numbered.listed(predicted)}
        cases.append({"name": name, **setting, **listed, "results": results})
        forms, count = made.tokenizer.tokenize_fn, made.scorer._tokenizer.tokenize
        for text in itertools.chain(*actual, *predicted):
            position = str(numbered.position[text])
            tokens[setting["tokenizer"]].setdefault(position, count(forms(text)))
    data = {
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "defaults": defaults,
        "texts": list(numbered.position),
        "tokens": tokens,
        "cases": cases,
    }
    write(data, path)
    print(f"{len(cases)} cases, {len(numbered.position)} texts", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDENS)
