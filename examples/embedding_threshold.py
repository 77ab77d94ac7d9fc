"""Which threshold has the matcher `embedding`, and how often is it right? By encoder and by gold.

    python examples/embedding_threshold.py [--encoder UniversalSentenceEncoder] ...

The gold of both corpora of the examples against chunks, in four kinds of pairs whose truth is known
from where texts stand:

* cut anew: the gold passage, and windows of 200 characters of which 40 are shared. A match shares
  half of the characters of either one.
* in other words: what `examples/data/paraphrases.jsonl` says for the passage, and paragraphs. A
  match holds the passage. (Written for this, by one author.)
* short answer: the first number of the passage with its unit (7일, 30 days), and paragraphs. A
  match holds the passage; other paragraphs with that answer are left out.
* another number: the passage and its paragraph, which is a match; and that paragraph with each
  digit one higher, which is none.

Windows and paragraphs are BM25's ten best for the question, and those that hold the gold, of
questions with one passage. The
threshold is chosen by F1 on four of five folds of the questions and scored on the fifth, as
`kragx threshold calibrate` does, for each kind and for all of them together. Needs the extras
`bm25` and `dense`; E5 takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import run_lengths
from langchain_core.documents import Document

from kragx import GoldDataset, Query, calibrate, read_corpus
from kragx.agreement import Labels
from kragx.retrievers import BM25Retriever, chunked

CORPORA = {"Korean": "consumer_ko", "English": "shop_en"}
ENCODERS = ("UniversalSentenceEncoder", "MultilingualE5")
KINDS = ("cut anew", "in other words", "short answer", "another number")

Case = tuple[str, list[tuple[str, bool]]]
"""A gold text, and texts with whether they are a match."""

_ANSWER = re.compile(r"\d[\d,.]*\s?(?:영업일|개월|[일년주만천원]|[a-z]+)")
_NEXT = str.maketrans("0123456789", "1234567890")


class Chunks:
    """The chunks of a corpus: BM25's best for a question, and those that hold a gold passage."""

    def __init__(self, name: str, size: int | None, overlap: int = 0) -> None:
        corpus = read_corpus(run_lengths.DATA / name / "corpus.jsonl")
        self.chunks = [c for doc in corpus for c in chunked(doc, size=size, overlap=overlap)]
        self.bm25 = BM25Retriever(documents=self.chunks)

    def of(self, query: Query) -> Iterator[tuple[Document, bool]]:
        """Each once, with whether it shares half of the characters of the question's gold."""
        gold = [run_lengths.span(item) for item in query.gold]
        places = {
            doc.id: any(half(item, [doc.metadata["source"], *where(doc)]) for item in gold)
            for doc in self.chunks
        }
        best = {doc.id for doc in self.bm25.invoke(query.text)}
        return ((doc, places[doc.id]) for doc in self.chunks if doc.id in best or places[doc.id])


def half(gold: list[Any], chunk: list[Any]) -> bool:
    """Whether two spans share at least half of the characters of either one."""
    both = min(gold[2], chunk[2]) - max(gold[1], chunk[1]) if gold[0] == chunk[0] else 0
    return both > 0 and 2 * both >= min(gold[2] - gold[1], chunk[2] - chunk[1])


def where(doc: Document) -> tuple[int, int]:
    """The place of a chunk in its source."""
    return doc.metadata["start"], doc.metadata["end"]


def paraphrases() -> list[dict[str, str]]:
    """The gold of some questions in other words."""
    lines = (run_lengths.DATA / "paraphrases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def cases(name: str, kind: str) -> Iterator[tuple[str, Case]]:
    """The questions' ids and pairs of one kind, over a corpus."""
    said = {row["query_id"]: row["text"] for row in paraphrases()}
    windows = Chunks(name, 200, 40) if kind == "cut anew" else Chunks(name, None)
    for query in run_lengths.placed(name):
        if len(query.gold) > 1:
            continue
        passage = query.gold[0].text or ""
        texts = [(doc.page_content, is_match) for doc, is_match in windows.of(query)]
        answer = _ANSWER.search(passage)
        if kind == "cut anew":
            yield query.id, (passage, texts)
        elif kind == "in other words" and query.id in said:
            yield query.id, (said[query.id], texts)
        elif kind == "short answer" and answer:
            short = answer.group()
            yield query.id, (short, [(t, match) for t, match in texts if match or short not in t])
        elif kind == "another number" and answer:
            right = [text for text, is_match in texts if is_match][:1]
            both = [(text, True) for text in right]
            yield query.id, (passage, both + [(text.translate(_NEXT), False) for text in right])


def calibrated(cases: list[tuple[str, Case]], match: dict[str, Any]) -> Any:
    """The threshold of a matcher by the labels of cases; the cases of a question are one query."""
    queries: dict[str, list[Case]] = {}
    for query_id, case in cases:
        queries.setdefault(query_id, []).append(case)
    gold = GoldDataset.from_documents(
        {query_id: [text for text, _ in of_query] for query_id, of_query in queries.items()}
    )
    run, labels = {}, {}
    for query_id, of_query in queries.items():
        found = list(dict.fromkeys(text for _, texts in of_query for text, _ in texts))
        rank = {text: number for number, text in enumerate(found, start=1)}
        run[query_id] = found
        labels |= {
            (query_id, rank[text], number): float(is_match)
            for number, (_, texts) in enumerate(of_query, start=1)
            for text, is_match in texts
        }
    return calibrate(gold, Labels({}, of_gold=labels), run, by="f1", only=[match])


def row(calibration: Any) -> str:
    """Pairs, matches, threshold, precision, recall and F1 with its interval."""
    best, f1 = calibration.chosen, calibration.honest
    counts = f"{calibration.n_pairs:6}{calibration.n_matches:6}"
    threshold = best.match.get("threshold")
    counts += f"{'-' if threshold is None else f'{threshold:.3f}':>8}"
    if f1.value is None:
        return f"{counts}  every pair as it is labelled"
    return (
        f"{counts}{best.precision:7.3f}{best.recall:7.3f}"
        f"   {f1.value:.3f} [{f1.low:.3f}, {f1.high:.3f}]"
    )


def main() -> None:
    """Print a line for each language, encoder and kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", action="append", choices=ENCODERS)
    args = parser.parse_args()
    print("pairs, matches, threshold, precision, recall, F1 [95 %]")
    with TemporaryDirectory() as folder:
        matches: dict[str, dict[str, Any]] = {"overlap": {"method": "overlap"}}
        for encoder in args.encoder or ENCODERS:
            matches[encoder] = {
                "method": "embedding",
                "embeddings": f"encoders:{encoder}",
                "cache": Path(folder) / "vectors.sqlite",
            }
        for language, name in CORPORA.items():
            of_kind = {kind: list(cases(name, kind)) for kind in KINDS}
            of_kind["all"] = [case for of_one in of_kind.values() for case in of_one]
            for kind, pairs in of_kind.items():
                for matcher, match in matches.items():
                    found = row(calibrated(pairs, match))
                    print(f"{language:8} {kind:15} {matcher:25}{found}", flush=True)


if __name__ == "__main__":
    main()
