"""How often does a matcher take the gold of another question for the right one?

    python examples/gold_siblings.py [FILE ...]

Prints a row for each gold set: the example sets of this repository, texts made from templates
(`template_corpora.py`), and each FILE, a gold or results file. Where it is a tenth of the questions
and three or more, the result of an evaluation and its verdict say so.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from template_corpora import CORPORA, N_DOCUMENTS

from kragx import GoldDataset, read_dataset
from kragx.matchers import matcher
from kragx.matchers.gold_siblings import GoldSample, gold_siblings

MATCHERS = ("rouge1", "rouge2", "rougeL")
DATA = Path(__file__).parent / "data"


def gold_sets(files: list[str]) -> Iterator[tuple[str, GoldDataset]]:
    """Each with its name."""
    korean = DATA / "consumer_ko"
    yield "consumer_ko", read_dataset(korean / "goldset.jsonl", corpus=korean / "corpus.jsonl")
    yield "shop_en", read_dataset(DATA / "shop_en" / "gold.jsonl")
    for file in files:
        yield Path(file).stem, read_dataset(file)
    for name, make in CORPORA.items():
        rng = random.Random(f"7 {name}")
        texts = [[make(rng)[:300]] for _ in range(N_DOCUMENTS)]
        yield name, GoldDataset.from_documents(texts)


def main() -> None:
    """Print the table."""
    print("| gold set | questions |", " | ".join(MATCHERS), "|")
    for name, dataset in gold_sets(sys.argv[1:]):
        sample = GoldSample.of(dataset)
        shares = []
        for match in map(matcher, MATCHERS):
            known = gold_siblings(sample, match)
            shares.append(f"{(known.scores >= match.threshold).mean():.3f}")
        print(f"| {name} | {len(known.scores)} |", " | ".join(shares), "|")


if __name__ == "__main__":
    main()
