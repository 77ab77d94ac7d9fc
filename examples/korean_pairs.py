"""What does each matcher make of 300 Korean pairs? Its errors, kind by kind.

    python examples/korean_pairs.py

`examples/data/korean_pairs.jsonl` has a pair a line: a gold text, a document, the kind and the
label (1 where the document holds the gold text, or half of it, however it is written). Documents
beside the same gold text are what one question has retrieved. Negatives differ from the gold in one
number, date, name, unit or negation, or hold a word that is written as a number is.

The table of docs/evidence/matchers.md is what this prints: 19→0 are the errors of a matcher as it
is, and with `numbers: alike`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from kragx import match_pairs

DATA = Path(__file__).parent / "data" / "korean_pairs.jsonl"
WITH_NUMBERS, WITHOUT = ("overlap", "span", "phrase", "rouge2"), ("text",)


def pairs() -> list[dict[str, Any]]:
    """Every pair, in the order of the file."""
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def decisions(match: object) -> dict[str, bool]:
    """By the id of a pair whether a matcher takes it for a match."""
    by_gold = defaultdict[str, list[dict[str, Any]]](list)
    for pair in pairs():
        by_gold[pair["gold"]].append(pair)
    golds = [[gold] for gold in by_gold]
    retrieved = [[pair["document"] for pair in group] for group in by_gold.values()]
    return {
        pair["id"]: matched
        for group, row in zip(by_gold.values(), match_pairs(golds, retrieved, match=match))
        for pair, (matched,) in zip(group, row["matched"])
    }


def column(match: object) -> dict[str, str]:
    """By kind how many of its pairs a matcher gets wrong; and its precision and recall."""
    decided = decisions(match)
    wrong = dict.fromkeys(kinds(), 0)
    for pair in pairs():
        wrong[pair["kind"]] += decided[pair["id"]] != pair["label"]
    both = sum(decided[pair["id"]] for pair in pairs() if pair["label"])
    n_true = sum(pair["label"] for pair in pairs())
    shares = {"precision": both / sum(decided.values()), "recall": both / n_true}
    return {kind: str(n) for kind, n in wrong.items()} | {
        name: f"{share:.3f}".removeprefix("0") for name, share in shares.items()
    }


def kinds() -> dict[str, int]:
    """How many pairs each kind has, matches first."""
    counts = defaultdict[tuple[int, str], int](int)
    for pair in pairs():
        counts[1 - pair["label"], pair["kind"]] += 1
    return {kind: n for (_, kind), n in sorted(counts.items())}


def main() -> list[str]:
    """Print the table, and return its rows."""
    columns = [column(name) for name in (*WITH_NUMBERS, *WITHOUT)]
    alike = [column({"method": name, "numbers": "alike"}) for name in WITH_NUMBERS]
    rows = []
    for kind, n in (kinds() | dict.fromkeys(("precision", "recall"), len(pairs()))).items():
        cells = [before[kind] for before in columns]
        for place, after in enumerate(alike):
            cells[place] += f"→{after[kind]}"
        rows.append(f"| `{kind}` | {' | '.join((str(n), *cells))} |")
    print("| kind | pairs |", *(f"`{name}` |" for name in (*WITH_NUMBERS, *WITHOUT)))
    print("\n".join(rows))
    return rows


if __name__ == "__main__":
    main()
