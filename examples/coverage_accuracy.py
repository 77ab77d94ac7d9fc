"""How near does coverage from texts alone come to the truth? Errors against character offsets.

    python examples/coverage_accuracy.py RESULTS.jsonl TRUTH.jsonl [--places] [--edit 0.05]
        [--chunks 200] [--tokenizer unicode]

TRUTH.jsonl has a line for each query of RESULTS.jsonl, in one of three forms:

* spans, ``{"query_id", "gold_spans": [[source, start, end], ...], "chunk_spans": [...]}`` and, for
  ``--places``, ``"gold_places": [[[source, start, end], ...], ...]``, every place where a gold text
  stands;
* character offsets, ``{"query_id", "gold_chars": [...], "overlap_chars": [[...], ...]}``;
* decisions, ``{"query_id", "matched": [[true, false], ...]}``, as ``kragx match RESULTS.jsonl --out
  TRUTH.jsonl`` writes them to be corrected by hand.

The truth of spans: a gold token is covered if it lies wholly in the union of the top k chunks'
spans; the retrieved tokens are those of that union, and those outside the gold's spans are beside
the point. Tokens are what coverage counts: words, and letters where the gold is mostly Hangul, but
for ``--tokenizer unicode``, which counts words there too. The other two know less. Offsets do not
say which parts of a gold item two chunks share: it lies between the greatest share and the sum of
them, and the error is the distance to that. A decision says that a gold item is carried or not: 1
or 0. Of these only coverage is measured.

Queries without gold are left out.
``--edit 0.05`` replaces one in twenty words of each gold text first (the truth stays), and the
options are compared with and without bridging; with ``--mixed`` a third of those words is replaced,
a third left out, and a word is put in behind the rest. A Korean word makes room for one as long.

``--chunks 200`` first cuts what was retrieved into chunks of up to 200 characters, at other places
than before, in the order in which it was retrieved: at white space, as splitters do, or with
``--within-words`` wherever 200 characters end.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kragx import evaluate

KS = (1, 3, 5, 10)
# Words as the tokenizer has them: numbers whole, and a character each of Chinese, kana and Thai.
APART = (
    "\u0e00-\u0e4f\u0e5a-\u0eff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
# 1,000, 3,5 and 1.234,5; a point between digits never parts a number.
WITH_COMMA = (
    r"(?<!\d)(?<!\d[.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d{1,2}|0,\d+|\d{1,3}(?:\.\d{3})+,\d+)"
    r"(?![.,]?\d)"
)
WORD = re.compile(rf"[{APART}](?<=\w)|(?:{WITH_COMMA}|[^\W_{APART}]|(?<=\d)\.(?=\d))+")
LETTER = re.compile(r"[^\W_]")
HANGUL = re.compile("[가-힣]")
Span = tuple[Any, int, int]


def counted(records: Iterable[dict[str, Any]], tokenizer: str) -> re.Pattern[str]:
    """What coverage counts: letters where the gold is mostly Hangul and no tokenizer is named."""
    texts = [gold["text"] for record in records for gold in record["gold"]]
    n_hangul, n_letters = (
        sum(len(pattern.findall(text)) for text in texts)
        for pattern in (HANGUL, re.compile(r"[^\W\d_]"))
    )
    return LETTER if tokenizer == "auto" and 2 * n_hangul > n_letters else WORD


def tokens_of(text: str, token: re.Pattern[str]) -> list[tuple[int, int]]:
    """Where each token begins and ends; a written-out line end is white space."""
    plain = re.sub(r"\\[nrt]", "  ", text)
    return [(found.start(), found.end()) for found in token.finditer(plain)]


def union_of(spans: list[Span]) -> dict[Any, list[list[int]]]:
    """By source the stretches that some spans hold together."""
    union: defaultdict[Any, list[list[int]]] = defaultdict(list)
    for source, start, end in sorted(map(tuple, spans)):
        stretches = union[source]
        if stretches and start <= stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], end)
        else:
            stretches.append([start, end])
    return union


def holds(union: dict[Any, list[list[int]]], source: Any, start: int, end: int) -> bool:
    """Whether a stretch lies wholly in a union."""
    return any(first <= start and end <= last for first, last in union.get(source, ()))


def true_coverage(
    record: dict[str, Any], truth: dict[str, Any], k: int, places: bool, token: re.Pattern[str]
) -> tuple[float, float]:
    """The least and the greatest that the coverage at k can truly be, mean over the gold items."""
    if "chunk_spans" in truth:
        share = coverage_of_spans(record, truth, k, places, token)
        return share, share
    if "matched" in truth:
        carried = np.array(truth["matched"][:k], float).reshape(-1, len(record["gold"]))
        share = float(carried.max(axis=0, initial=0.0).mean())
        return share, share
    shared = np.array(truth["overlap_chars"][:k], float).reshape(-1, len(record["gold"]))
    shares = shared / np.array(truth["gold_chars"], float)
    least, greatest = shares.max(axis=0, initial=0.0), np.minimum(shares.sum(axis=0), 1.0)
    return float(least.mean()), float(greatest.mean())


def coverage_of_spans(
    record: dict[str, Any], truth: dict[str, Any], k: int, places: bool, token: re.Pattern[str]
) -> float:
    """The share of gold tokens in the union of the top k spans, mean over the gold items."""
    union = union_of(truth["chunk_spans"][:k])
    shares = []
    for at, gold in enumerate(record["gold"]):
        standing = truth["gold_places"][at] if places else [truth["gold_spans"][at]]
        tokens = tokens_of(gold["text"], token)
        covered = sum(
            any(holds(union, source, start + first, start + last) for source, start, _ in standing)
            for first, last in tokens
        )
        shares.append(covered / len(tokens))
    return float(np.mean(shares))


def true_density_and_iou(
    record: dict[str, Any], truth: dict[str, Any], k: int, token: re.Pattern[str]
) -> tuple[float, float]:
    """Gold tokens in the union over its tokens, and over those and the rest of the gold."""
    union = union_of(truth["chunk_spans"][:k])
    gold_spans = union_of(truth["gold_spans"])
    gold: set[Span] = set()
    for (source, start, _), each in zip(truth["gold_spans"], record["gold"], strict=True):
        gold |= {
            (source, start + first, start + last) for first, last in tokens_of(each["text"], token)
        }
    retrieved: set[Span] = set()
    for (source, start, _), doc in zip(truth["chunk_spans"][:k], record["retrieved"]):
        retrieved |= {
            (source, start + first, start + last) for first, last in tokens_of(doc["text"], token)
        }
    # Where chunks overlap, one may have a part of a word that the other has whole.
    whole: list[Span] = []
    for span in sorted(retrieved, key=lambda span: (str(span[0]), span[1], -span[2])):
        if not (whole and whole[-1][0] == span[0] and span[2] <= whole[-1][2]):
            whole.append(span)
    covered = sum(holds(union, *span) for span in gold)
    beside = sum(
        not any(start < last and first < end for first, last in gold_spans.get(source, ()))
        for source, start, end in whole
    )
    return (
        covered / (covered + beside) if covered + beside else 0.0,
        covered / (len(gold) + beside),
    )


def edited(
    records: list[dict[str, Any]], share: float, mixed: bool = False, seed: int = 5
) -> list[dict[str, Any]]:
    """The records with that share of the words of each gold text replaced, or edited in any way."""
    draw, syllables = random.Random(seed), random.Random(seed)

    def word(found: re.Match[str]) -> str:
        if draw.random() >= share:
            return found[0]
        new = f"edit{draw.randrange(10**6)}"
        if HANGUL.match(found[0]):
            new = "".join(chr(syllables.randint(ord("가"), ord("힣"))) for _ in found[0])
        return draw.choice((new, "", f"{found[0]} {new}")) if mixed else new

    return [
        {
            **record,
            "gold": [
                {**gold, "text": WORD.sub(word, gold["text"].replace("\\n", "\n"))}
                for gold in record["gold"]
            ],
        }
        for record in records
    ]


def cut_anew(
    record: dict[str, Any], truth: dict[str, Any], size: int, within_words: bool
) -> tuple[Any, Any]:
    """A record and its truth with chunks of another size of what was retrieved."""
    draw = random.Random(record["query_id"])
    letters: defaultdict[Any, dict[int, tuple[str, int]]] = defaultdict(dict)
    documents = zip(truth["chunk_spans"], record["retrieved"], strict=True)
    for rank, ((source, start, end), doc) in enumerate(documents):
        if len(doc["text"]) == end - start:
            for at, letter in enumerate(doc["text"], start):
                letters[source].setdefault(at, (letter, rank))
    chunks = []
    for source, held in letters.items():
        for start, end in union_of([(source, at, at + 1) for at in held])[source]:
            stretch = "".join(held[at][0] for at in range(start, end))
            begin, stop = 0, draw.randrange(size // 2, size)
            while begin < len(stretch):
                # As splitters do: the chunk ends at the last white space that fits.
                space = 0 if within_words else stretch.rfind(" ", begin, stop) + 1
                stop = space if space and stop < len(stretch) else min(stop, len(stretch))
                rank = min(held[start + at][1] for at in range(begin, stop))
                span = [source, start + begin, start + stop]
                chunks.append((rank, str(source), span, {"text": stretch[begin:stop]}))
                begin, stop = stop, stop + size
    chunks.sort(key=lambda chunk: (chunk[0], chunk[1], chunk[2][1]))
    return (
        {**record, "retrieved": [chunk[3] for chunk in chunks]},
        {**truth, "chunk_spans": [chunk[2] for chunk in chunks]},
    )


def a_file(name: str) -> Path:
    """A file that is named on the command line."""
    if not Path(name).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {name}")
    return Path(name)


def by_query(path: Path) -> dict[str, dict[str, Any]]:
    """The records of a JSON Lines file by query id."""
    with path.open(encoding="utf-8") as lines:
        return {record["query_id"]: record for record in map(json.loads, lines)}


def line(name: str, found: list[np.ndarray], true: list[np.ndarray]) -> str:
    """Mean absolute error, worst error and bias at each k; the truth: least, greatest (n x 2)."""
    cells = []
    for values, expected in zip(found, true, strict=True):
        error = values - values.clip(*expected.T)
        cells.append(f"{np.abs(error).mean():.4f} {np.abs(error).max():.3f} {error.mean():+.4f}")
    return f"{name:<34}" + " | ".join(cells)


def main() -> None:
    """Print a line for each measure and way of reading."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=a_file)
    parser.add_argument("truth", type=a_file)
    parser.add_argument("--places", action="store_true", help="any place of the gold text counts")
    parser.add_argument("--run", type=int, nargs="+", default=[8], help="the least run, or several")
    parser.add_argument("--chunks", type=int, help="cut what was retrieved into this size first")
    parser.add_argument("--within-words", action="store_true", help="cut words too")
    parser.add_argument("--edit", type=float, default=0.0, help="share of gold words to replace")
    parser.add_argument("--mixed", action="store_true", help="leave words out and put some in too")
    parser.add_argument("--seed", type=int, default=5, help="of the words that are edited")
    parser.add_argument("--tokenizer", default="auto", choices=["auto", "unicode"])
    args = parser.parse_args()
    records, truths = by_query(args.results), by_query(args.truth)
    if unknown := [query_id for query_id in records if query_id not in truths]:
        parser.error(f"{args.truth} has no line for {unknown[0]!r} of {args.results}")
    pairs = [(record, truths[name]) for name, record in records.items() if record.get("gold")]
    has_spans = all("chunk_spans" in truth for _, truth in pairs)
    if not has_spans and (args.chunks or args.places):
        parser.error(f"--chunks and --places need spans, which {args.truth} does not hold")
    if args.chunks:
        pairs = [cut_anew(*each, args.chunks, args.within_words) for each in pairs]
    kept = [record for record, _ in pairs]
    token = counted(kept, args.tokenizer)
    coverage = [
        np.array([true_coverage(*each, k, args.places, token) for each in pairs]) for k in KS
    ]
    true = {"coverage": coverage}
    if has_spans and not (args.places or args.edit):
        both = [np.array([true_density_and_iou(*each, k, token) for each in pairs]) for k in KS]
        for at, name in enumerate(("density", "iou")):
            true[name] = [each[:, [at, at]] for each in both]
    least, greatest = np.array([each.mean(axis=0).round(4) for each in coverage]).T.tolist()
    at_most = "" if greatest == least else f" to {greatest}"
    print(f"true coverage at {KS}: {least}{at_most}")
    print("mean absolute error, worst error, bias at each k")
    changed = edited(kept, args.edit, args.mixed, args.seed) if args.edit else kept
    golds = {record["query_id"]: record["gold"] for record in changed}
    found = {record["query_id"]: record.get("retrieved") or [] for record in kept}
    for run in args.run:
        for bridge in (0, 2) if args.edit else (0,):
            chosen = f"(run={run}, bridge={bridge})"
            options = f"{chosen[:-1]}, tokenizer={args.tokenizer})"
            metrics = [f"{name}@{k}{options}" for name in true for k in KS]
            result = evaluate(golds, found, match="span", metrics=metrics)
            for at, name in enumerate(true):
                values = [each.values for each in result.scores[at * len(KS) : (at + 1) * len(KS)]]
                print(line(f"{name}{chosen}", values, true[name]))


if __name__ == "__main__":
    main()
