"""How well does a matcher agree with the truth? Precision, recall, F1 and kappa over pairs.

    python examples/matcher_agreement.py RESULTS.jsonl TRUTH.jsonl [--match overlap] ...
    python examples/matcher_agreement.py --card

The second command prints the card of docs/evidence/matchers.md anew: texts in eight languages that
`examples/evidence` makes, with the truth known from where each gold text was put.

TRUTH.jsonl has a line for each query of RESULTS.jsonl, in one of two forms:

* ``{"query_id", "matched": [[true, false], ...]}``: retrieved documents down, gold items across, as
  ``kragx match RESULTS.jsonl --out TRUTH.jsonl`` writes it with the texts; correct it by hand;
* character offsets, ``{"query_id", "chunk_chars": [...], "gold_chars": [...], "overlap_chars":
  [[...], ...]}``: a pair is a true match if the two share at least half of either one's
  characters; ``--truth anywhere`` reads ``overlap_chars_any`` instead, where every place at which
  the gold text stands counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage_accuracy

from kragx import match_pairs

MATCHERS = {
    "rouge2 fmeasure .5": {"method": "rouge2", "threshold": 0.5},
    "rouge2 fmeasure .8": {"method": "rouge2", "threshold": 0.8},
    "text": "text",
    "contains": "contains",
    "overlap": "overlap",
}


def truth_of(record: dict[str, Any], offsets: str) -> list[list[bool]]:
    """Which pairs truly match, n x m."""
    if "matched" in record:
        return record["matched"]
    return [
        [
            shared >= 0.5 * chunk or shared >= 0.5 * gold
            for shared, gold in zip(row, record["gold_chars"], strict=True)
        ]
        for row, chunk in zip(record[offsets], record["chunk_chars"], strict=True)
    ]


def decisions(
    results: Path, truth: dict[str, list[list[bool]]], match: object, corpus: Path | None = None
) -> Iterator[tuple[bool, bool]]:
    """(decided, true) for every pair of every query."""
    for record in match_pairs(str(results), match=match, corpus=corpus):
        expected = truth[record["query_id"]]
        for decided_row, true_row in zip(record["matched"], expected, strict=True):
            yield from zip(decided_row, true_row, strict=True)


def agreement(pairs: list[tuple[bool, bool]]) -> dict[str, float]:
    """Precision, recall, F1 and Cohen's kappa of yes-or-no decisions."""
    both = sum(decided and true for decided, true in pairs)
    said = sum(decided for decided, _ in pairs)
    true = sum(true for _, true in pairs)
    n = len(pairs)
    observed = sum(decided == true for decided, true in pairs) / n
    by_chance = (said * true + (n - said) * (n - true)) / n**2
    return {
        "precision": both / said if said else 0.0,
        "recall": both / true if true else 0.0,
        "f1": 2 * both / (said + true) if said + true else 0.0,
        "kappa": (observed - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0,
    }


def main() -> None:
    """Print a line for each matcher."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=coverage_accuracy.a_file, nargs="?")
    parser.add_argument("truth_file", type=coverage_accuracy.a_file, metavar="truth", nargs="?")
    parser.add_argument("--card", action="store_true", help="print the card of evidence")
    parser.add_argument("--truth", choices=["location", "anywhere"], default="location")
    parser.add_argument(
        "--match", action="append", help='a name, or JSON such as \'{"method": "rouge1"}\''
    )
    parser.add_argument("--corpus", type=Path, help="file or folder with the texts of ids")
    args = parser.parse_args()
    if args.card:
        from evidence import card, cases  # noqa: PLC0415  # it stands beside this file

        for line in card.lines(cases(), card.MATCHERS):
            print(line, flush=True)
        return
    if args.truth_file is None:
        parser.error("RESULTS.jsonl and TRUTH.jsonl, or --card")
    offsets = "overlap_chars" if args.truth == "location" else "overlap_chars_any"
    with args.truth_file.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    truth = {record["query_id"]: truth_of(record, offsets) for record in records}
    chosen = (
        {text: json.loads(text) if text.startswith("{") else text for text in args.match}
        if args.match
        else MATCHERS
    )
    print(f"{'matcher':<24}precision  recall     f1  kappa")
    for name, match in chosen.items():
        found = agreement(list(decisions(args.results, truth, match, args.corpus)))
        print(
            f"{name:<24}{found['precision']:9.3f}{found['recall']:8.3f}"
            f"{found['f1']:7.3f}{found['kappa']:7.3f}"
        )


if __name__ == "__main__":
    main()
