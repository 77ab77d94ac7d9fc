"""How near does coverage come to the truth where words are not written apart?

    python examples/unspaced_runs.py [--run 8] [--short 5]

Chinese, Japanese and Thai texts are cut into chunks of three sizes, some with overlap, at any
character. Gold are passages of 20 to 120 characters; "retrieved" are ten chunks, those that hold
some of the gold among them or not, in any order. A gold character is covered if it lies in one of
the top k chunks; the table has the mean absolute and the worst error of coverage without offsets,
over k = 1, 3, 5, 10, and precision, recall and F1 of the matchers `span` and `overlap` (a pair
truly matches if it shares at least half of either one's characters).
"""

from __future__ import annotations

import argparse
import random
import unicodedata
from pathlib import Path

import numpy as np

from kragx import evaluate, match_pairs
from kragx.tokenizers import UnicodeTokenizer

DATA = Path(__file__).parent / "data" / "unspaced"
KS = (1, 3, 5, 10)
Span = tuple[int, int]


def cases(text: str, draw: random.Random) -> tuple[list[Span], list[list[Span]]]:
    """Gold passages, and for each the ten chunks that were retrieved, as spans of the text."""
    golds, found = [], []
    for size in (30, 60, 120):
        for overlap in (0, size // 5):
            begins = range(draw.randrange(size), len(text) - size, size - overlap)
            chunks = [(begin, begin + size) for begin in begins]
            for _ in range(40):
                length = draw.randrange(20, 120)
                begin = draw.randrange(len(text) - length)
                gold = begin, begin + length
                near = [each for each in chunks if shared(gold, each)]
                kept = draw.sample(near, draw.randrange(len(near) + 1))
                others = [each for each in chunks if each not in near]
                ranked = kept + draw.sample(others, min(10 - len(kept), len(others)))
                draw.shuffle(ranked)
                golds.append(gold)
                found.append(ranked)
    return golds, found


def shared(one: Span, other: Span) -> int:
    """How many characters two spans share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def letters(text: str, span: Span) -> list[int]:
    """The places of the characters with their marks that a span holds, as the tokenizer does."""
    (tokens,) = UnicodeTokenizer().tokens([text[slice(*span)]])
    places, place = [], span[0]
    for token in tokens:
        place = text.index(token, place)
        places.append(place)
        place += len(token)
    return places


def main() -> None:
    """Print a row for each language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=int, default=8)
    parser.add_argument("--short", type=int, default=5)
    args = parser.parse_args()
    for path in sorted(DATA.glob("*.txt")):
        text = unicodedata.normalize("NFKC", path.read_text(encoding="utf-8")).replace("\n", " ")
        golds, found = cases(text, random.Random(7))
        gold_texts = [[text[slice(*gold)]] for gold in golds]
        doc_texts = [[text[slice(*each)] for each in ranked] for ranked in found]
        option = f"offsets=off, run={args.run}, short={args.short}"
        result = evaluate(
            gold_texts, doc_texts, match="text", metrics=[f"coverage@{k}({option})" for k in KS]
        )
        errors = []
        for k, score in zip(KS, result.scores, strict=True):
            for gold, ranked, value in zip(golds, found, score.values, strict=True):
                places = letters(text, gold)
                held = [any(a <= place < b for a, b in ranked[:k]) for place in places]
                errors.append(abs(float(np.mean(held)) - float(value)))
        line = f"{path.stem}  coverage {np.mean(errors):.4f} {np.max(errors):.3f}"
        for match in ("overlap", {"method": "span", "run": args.run, "short": args.short}):
            counts = np.zeros(3)
            for gold, ranked, record in zip(
                golds, found, match_pairs(gold_texts, doc_texts, match=match), strict=True
            ):
                for chunk, (said,) in zip(ranked, record["matched"], strict=True):
                    both = shared(gold, chunk)
                    true = 2 * both >= min(gold[1] - gold[0], chunk[1] - chunk[0])
                    counts += said and true, said, true
            precision, recall = counts[0] / counts[1], counts[0] / counts[2]
            name = match if isinstance(match, str) else match["method"]
            f1 = 2 * counts[0] / (counts[1] + counts[2])
            line += f"  {name} {precision:.3f} {recall:.3f} {f1:.3f}"
        print(line)


if __name__ == "__main__":
    main()
