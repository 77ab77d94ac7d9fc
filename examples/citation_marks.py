"""How often is a number in brackets taken for what it is: a citation mark, or an index of code?

    python examples/citation_marks.py

Code is Python's own standard library, in chunks of 300 characters. Prose is kragx's documentation
in English, with citation marks behind words of four letters and more, as chunks and as short gold.
A number behind a space is neither.
"""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from broken_texts import prose

from kragx.metrics.spans.reading import without_markup

_MARK = re.compile(r"(?<=\S)\[(\d{1,3})\]")


def code() -> Iterator[str]:
    """The modules of the standard library, in chunks."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py")):
        if "site-packages" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            yield from (text[start : start + 300] for start in range(0, len(text), 300))


def cited(text: str) -> list[str]:
    """The words of a text, some with a mark behind them and before what ends a sentence."""
    draw = random.Random(0)
    return [
        re.sub(r"(?<=[a-z]{4})(?=[.,]?\Z)", f"[{draw.randrange(1, 100)}]", word)
        if draw.random() < 0.15
        else word
        for word in text.split(" ")
    ]


def left_out(texts: Iterable[str]) -> tuple[int, int]:
    """How many numbers in brackets are left out of texts, and how many there are."""
    n_left_out = n_marks = 0
    for text in texts:
        n = len(_MARK.findall(text))
        n_marks += n
        n_left_out += n - len(_MARK.findall(without_markup(text))) if n else 0
    return n_left_out, n_marks


def main() -> None:
    """Print how many are left out of code, of chunks of prose, and of short gold."""
    words = cited(prose("en"))
    whole = " ".join(words)
    texts: dict[str, Iterable[str]] = {
        "code": code(),
        "prose, chunks": (whole[start : start + 300] for start in range(0, len(whole), 300)),
    }
    for n in (3, 5, 10, 20):
        texts[f"prose, {n} words"] = [
            " ".join(words[start : start + n]) for start in range(0, len(words), n)
        ]
    for name, of_kind in texts.items():
        n_left_out, n_marks = left_out(of_kind)
        print(f"{name:<16}{n_left_out:6,} of {n_marks:6,} {n_left_out / n_marks:7.2%}")


if __name__ == "__main__":
    main()
