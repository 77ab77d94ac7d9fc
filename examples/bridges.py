"""Shall the matcher span bridge gaps? F1 where words of the gold were edited, and where not.

    python examples/bridges.py [RESULTS.jsonl TRUTH.jsonl] [--chunks 150]

The corpora of the examples are cut into chunks of three sizes, with and without overlap. The gold
is what stands in their gold files; its words are then replaced, one in twenty or one in ten, which
changes the texts but not where they stand. A chunk truly matches if it shares at least half of the
characters of either one. With files such as `coverage_accuracy.py` reads the same for their gold,
as retrieved and cut anew (``--chunks``), by any place of the gold text. Siblings are together, but
for the last two columns. Needs the extra `bm25`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import coverage_accuracy
import run_lengths

from kragx import match_pairs, retrieve
from kragx.retrievers import BM25Retriever

SHARES = (0.0, 0.05, 0.1)
BRIDGES = (0, 1, 2, 3)
Case = tuple[dict[str, Any], list[list[list[bool]]]]


def half(gold: list[Any], chunk: list[Any]) -> bool:
    """Whether two spans share at least half of the characters of either one."""
    both = min(gold[2], chunk[2]) - max(gold[1], chunk[1]) if gold[0] == chunk[0] else 0
    return both > 0 and 2 * both >= min(gold[2] - gold[1], chunk[2] - chunk[1])


def of_corpus(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Records and their truth for a corpus of the examples."""
    gold = run_lengths.placed(name)
    for size in (100, 200, 400):
        for overlap in (0, size // 5):
            retriever = BM25Retriever.from_corpus(
                str(run_lengths.DATA / name / "corpus.jsonl"),
                chunk_size=size,
                chunk_overlap=overlap,
            )
            answers = retrieve(retriever, gold, progress=False)
            for query in gold:
                docs = answers[query.id].documents
                yield (
                    {
                        "query_id": f"{query.id} {size} {overlap}",
                        "gold": [{"text": item.text} for item in query.gold],
                        "retrieved": [{"text": doc.text} for doc in docs],
                    },
                    {
                        "gold_places": [[run_lengths.span(item)] for item in query.gold],
                        "chunk_spans": [run_lengths.span(doc) for doc in docs],
                    },
                )


def f1(records: list[dict[str, Any]], truths: list[dict[str, Any]], match: Any) -> float:
    """F1 over all pairs."""
    both = said = true = 0
    golds = {record["query_id"]: record["gold"] for record in records}
    found = {record["query_id"]: record["retrieved"] for record in records}
    for truth, result in zip(truths, match_pairs(golds, found, match=match), strict=True):
        for chunk, row in zip(truth["chunk_spans"], result["matched"], strict=True):
            for places, decided in zip(truth["gold_places"], row, strict=True):
                matches = any(half(place, chunk) for place in places)
                both, said, true = both + (decided and matches), said + decided, true + matches
    return 2 * both / (said + true)


def main() -> None:
    """Print a row for each corpus and share of edited words."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=coverage_accuracy.a_file, nargs="*", help="results and truth")
    parser.add_argument("--chunks", type=int, help="cut what was retrieved into this size first")
    args = parser.parse_args()
    if args.files:
        read = [
            [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
            for path in args.files
        ]
        pairs = list(zip(*read, strict=True))
        if args.chunks:
            pairs = [coverage_accuracy.cut_anew(*pair, args.chunks, False) for pair in pairs]
        sets = {args.files[0].stem: pairs}
    else:
        sets = {name: list(of_corpus(name)) for name in ("consumer_ko", "shop_en")}
    # A word of the document where the gold has an invented one tells them apart by default.
    together = {"siblings": "together"}
    matches = [{"method": "span", "bridge": bridge, **together} for bridge in BRIDGES]
    matches += [{"method": "overlap", **together}, {"method": "span"}, {"method": "overlap"}]
    head = (*(f"bridge {n}" for n in BRIDGES), "overlap", "span, apart", "overlap, apart")
    print(f"{'':<20}  " + "  ".join(f"{name:>8}" for name in head))
    for name, pairs in sets.items():
        records, truths = [record for record, _ in pairs], [truth for _, truth in pairs]
        for share in SHARES:
            changed = coverage_accuracy.edited(records, share) if share else records
            row = [f1(changed, truths, match) for match in matches]
            print(f"{name:<14} {share:5.0%}  " + "".join(f"{value:8.3f}  " for value in row))


if __name__ == "__main__":
    main()
