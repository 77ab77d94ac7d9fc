"""Where the time of `kragx score` on a results file goes, stage by stage, in processor time.

python -m tests.benchmarks.stages results.jsonl
"""

from __future__ import annotations

import gc
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from time import process_time

import jiter
import numpy as np

from kragx import evaluate
from kragx.data import Reading, TokenCorpus, UnicodeTokenizer
from kragx.data.lists import InternedTexts, Lists
from kragx.data.tokens import ngram_overlaps

_BATCH = 512
_TURNS = 3


def main() -> None:
    """Print each stage with its time, and how many times that of `json.loads` it is."""
    path = Path(sys.argv[1])
    gc.freeze()
    gc.set_threshold(20_000)  # as of the command
    lines = path.read_bytes().splitlines()
    floor = _seconds(lambda: [json.loads(line) and None for line in lines])
    stages = {"json.loads of each line": floor}
    stages["decoding as kragx does (a key that stands twice is refused)"] = _seconds(
        lambda: [jiter.from_json(line, catch_duplicate_keys=True) and None for line in lines]
    )
    rows = [(query, answer) for _, query, answer in Reading(str(path), strict=True) if answer]

    def looked_up() -> None:
        known = InternedTexts()
        for line in lines:
            record = jiter.from_json(line, catch_duplicate_keys=True)
            known.numbers([entry["text"] for entry in record["gold"] + record["retrieved"]])

    stages["the same, and each text looked up among the known ones"] = _seconds(looked_up)
    stages["reading: the same, with all checks"] = _seconds(
        lambda: [None for _ in Reading(str(path), strict=True).batches()]
    )
    docs = [[doc.text or "" for doc in answer.documents] for _, answer in rows]
    golds = [[gold.text or "" for gold in query.gold] for query, _ in rows]
    distinct = list(dict.fromkeys(chain(*docs, *golds)))
    tokenizer, steps = UnicodeTokenizer(), range(0, len(distinct), 5_000)
    stages["tokenising each distinct text"] = _seconds(
        lambda: [list(tokenizer.tokens(distinct[at : at + 5_000])) and None for at in steps]
    )

    def numbered() -> TokenCorpus:
        corpus = TokenCorpus(tokenizer)
        for at in steps:
            corpus.add(distinct[at : at + 5_000])
        return corpus

    stages["the same, and numbering the tokens"] = _seconds(numbered)
    corpus = numbered()
    stages["shared tokens of every document and gold text"] = _seconds(
        lambda: [
            ngram_overlaps(
                *(_by_row(own[at : at + _BATCH], corpus) for own in (docs, golds)), 2, corpus
            )
            for at in range(0, len(rows), _BATCH)
        ]
    )
    stages["kragx.evaluate, all of it"] = _seconds(lambda: evaluate(str(path)))
    for name, seconds in stages.items():
        print(f"{seconds:8.2f} s {seconds / floor:6.1f}x  {name}")


def _by_row(lists: Sequence[list[str]], corpus: TokenCorpus) -> Lists:
    n_texts = np.fromiter(map(len, lists), np.int64, len(lists))
    return Lists(corpus.texts, corpus.rows([*chain(*lists)]), n_texts)


def _seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_TURNS):
        begin = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
        times.append(process_time() - begin)
    return min(times)


if __name__ == "__main__":
    main()
