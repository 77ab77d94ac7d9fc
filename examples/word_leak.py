"""How much easier for BM25 is a question in its source's own words?

    python examples/word_leak.py

The questions of `examples/data` by their word leak, the share of their content words that the gold
has, and all of them put in the words of the text: the gold passage in the question's place. Needs
the extras `bm25` and `korean`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kragx import GoldDataset, evaluate, read_dataset
from kragx.ground.printing import Table, number, percent, show
from kragx.retrievers import BM25Retriever
from kragx.workshop.questions import leak, mean_leak

DATA = Path(__file__).parent / "data"
TOKENIZERS = {"consumer_ko": "kiwi", "shop_en": "unicode"}
METRICS = ["hit_rate@1", "hit_rate@5", "mrr@10"]


def leaks_of(dataset: GoldDataset) -> dict[str, float | None]:
    """The share of each question's content words that stand in its gold texts, by its id."""
    return {
        query.id: leak(
            query.text, [doc.text for item in query.gold for doc in (item, *item.alternatives)]
        )
        for query in dataset
        if query.gold
    }


def wordings(dataset: GoldDataset) -> dict[str, GoldDataset]:
    """The questions in parts by their leak, all as they are asked, and all as they stand there."""
    asked = [query for query in dataset if query.gold]  # what nothing answers has no leak
    leaks = {query_id: share or 0 for query_id, share in leaks_of(dataset).items()}
    parts = {
        "leak below 30%": [query for query in asked if leaks[query.id] < 0.3],
        "leak of 30% to 60%": [query for query in asked if 0.3 <= leaks[query.id] < 0.6],
        "leak from 60% on": [query for query in asked if leaks[query.id] >= 0.6],
        "as they are asked": asked,
        "in the gold's words": [replace(query, text=query.gold[0].text) for query in asked],
    }
    return {name: replace(dataset, queries=tuple(part)) for name, part in parts.items()}


def main() -> dict[str, list[str]]:
    """Ask BM25 each part, and print one table."""
    rows: dict[str, list[str]] = {}
    for corpus, tokenizer in TOKENIZERS.items():
        retriever = BM25Retriever.from_corpus(
            str(DATA / corpus / "corpus.jsonl"), chunk_size=300, tokenizer=tokenizer
        )
        for name, part in wordings(read_dataset(str(DATA / corpus / "gold.jsonl"))).items():
            mean = evaluate(part, retriever, match="overlap", metrics=METRICS).mean
            values = [number(mean[metric]) for metric in METRICS]
            rows[f"{corpus}, {name}"] = [
                str(len(part)),
                percent(mean_leak(leaks_of(part).values()), 0),
                *values,
            ]
    show(
        [Table(("questions", "n", "leak", *METRICS), [[name, *row] for name, row in rows.items()])]
    )
    return rows


if __name__ == "__main__":
    main()
