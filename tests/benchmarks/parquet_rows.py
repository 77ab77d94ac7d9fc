"""Results of any number of questions as Parquet files, for trying what `kragx score --out` takes.

python -m tests.benchmarks.parquet_rows 1000000 data/    # 20 documents of 20,000 chunks each
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from kragx.data import Doc, Gold, Query, Retrieved
from kragx.data.formats.parquet import write_questions
from tests.benchmarks.workloads import Writer

CHUNKS = 20_000
PER_FILE = 50_000


def questions(n: int) -> Iterator[tuple[Query, Retrieved]]:
    """Questions, each with 20 chunks of 60 words and the first 20 words of two of them as gold."""
    writer, rng = Writer("english", seed=17), np.random.default_rng(19)
    chunks = [writer.words(60) for _ in range(CHUNKS)]
    docs = [Doc(text=writer.text(words)) for words in chunks]
    starts = [writer.text(words[:20]) for words in chunks]
    for number in range(n):
        ranked = rng.integers(CHUNKS, size=20).tolist()
        golds = [ranked[rank] for rank in rng.integers(20, size=2).tolist()]
        gold = tuple(Gold(text=f"{starts[own]} g{number}") for own in golds)
        kind = ("lookup", "list", "why")[number % 3]
        query = Query(f"q{number}", gold=gold, query_type=kind)
        yield query, Retrieved(tuple(map(docs.__getitem__, ranked)))


def main() -> None:
    """Write as many as the command line says into the folder that it names."""
    n, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    stream = questions(n)
    for number in range(-(-n // PER_FILE)):
        write_questions(islice(stream, PER_FILE), folder / f"part-{number:05}.parquet")


if __name__ == "__main__":
    main()
