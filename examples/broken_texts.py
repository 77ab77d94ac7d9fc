"""How well do matchers agree with the truth when texts are broken?

    python examples/broken_texts.py [--case "ocr 3 %"] [--match overlap] [--both] [--seed 0]

Prose of kragx's own documentation, in English and Korean, is the source. Gold is cut from it as it
is; the chunks come from a copy that was broken on its way: spaces lost or put in, words cut at line
ends, characters misread, or Markdown, HTML and citation marks put around. `--both` breaks the gold
too, by itself. A pair truly matches if the two share at least half of the characters of either one,
counted in the source. Every draw is seeded.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import unicodedata
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path

from kragx import match_pairs

DOCS = Path(__file__).resolve().parent.parent / "docs"
CHUNK = 300
GOLD = (80, 150, 300, 600)

Broken = list[str]
"""What stands for each character of the source."""


def prose(language: str) -> str:
    """The sentences of the documentation that hold no markup and no code."""
    sentences: list[str] = []
    for path in sorted(DOCS.glob("*.md")):
        if path.name.endswith(".ko.md") != (language == "ko"):
            continue
        text = re.sub(r"```.*?```", "\n\n", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for paragraph in text.split("\n\n"):
            flat = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", " ".join(paragraph.split()))
            sentences += (
                sentence
                for sentence in re.split(r"(?<=\.)\s", flat)
                if len(sentence) >= 30 and not re.search(r"[\[\]<>*`|_{}#=\\&]", sentence)
            )
    return " ".join(dict.fromkeys(sentences))


# -- what breaks a text: from its characters to what stands for each ---------------------------


def lost(share: float) -> Callable[[str, random.Random], Broken]:
    """A share of the spaces is lost."""
    return lambda text, draw: [
        "" if char == " " and draw.random() < share else char for char in text
    ]


def split(share: float) -> Callable[[str, random.Random], Broken]:
    """Spaces are put in after a share of the letters."""
    return lambda text, draw: [
        char + " " * (char.isalpha() and draw.random() < share) for char in text
    ]


def lines(text: str, draw: random.Random) -> Broken:
    """Lines of 40 characters; a word at the end is cut, with a hyphen in Latin script."""
    out, width = [], 0
    for place, char in enumerate(text):
        width += 1
        inner = text[place - 1 : place + 3]
        if width >= 40 and char == " ":
            out.append("\n")
            width = 0
        elif width >= 40 and inner.isalpha():
            out.append(char + ("-\n" if char.isascii() else "\n"))
            width = 0
        else:
            out.append(char)
    return out


ALIKE = dict(zip("lIoOeaihnmucsgtfbdqrvwBSZ5", "1l0Qcalbhnvoe9fthclgpnvuy8525S"))


def misread(char: str, draw: random.Random) -> str:
    """Another character in place of one, or none, or a speck beside it."""
    chance = draw.random()
    if chance < 0.1:
        return ""
    if chance < 0.2:
        return char + draw.choice(".,'-")
    if "가" <= char <= "힣":
        initial, vowel, final = list(unicodedata.normalize("NFD", char)) + [""] * (
            3 - len(unicodedata.normalize("NFD", char))
        )
        which = draw.randrange(3)
        if which == 0:
            initial = chr(draw.randrange(0x1100, 0x1113))
        elif which == 1:
            vowel = chr(draw.randrange(0x1161, 0x1176))
        else:
            final = chr(draw.randrange(0x11A8, 0x11C3))
        return unicodedata.normalize("NFC", initial + vowel + final)
    if char.isalnum():
        return ALIKE.get(char) or draw.choice("abcdefghijklmnopqrstuvwxyz")
    return draw.choice(" .,")


def ocr(share: float) -> Callable[[str, random.Random], Broken]:
    """A share of the characters is misread."""
    return lambda text, draw: [
        misread(char, draw) if draw.random() < share else char for char in text
    ]


def around(text: str, draw: random.Random, share: float, mark: Callable[[str], str]) -> Broken:
    """Put marks around a share of the words, without their particles in Korean."""
    out = list(text)
    for word in re.finditer(r"[^\W\d_]{2,}", text):
        if draw.random() < share:
            end = word.end()
            if not word[0].isascii() and len(word[0]) > 2:
                end -= 1
            before, after = mark(text[word.start() : end]).split("\0")
            out[word.start()] = before + out[word.start()]
            out[end - 1] += after
    return out


def addresses(draw: random.Random) -> str:
    """A web address of a page that nobody has."""
    parts = "".join(draw.choice("abcdefghijklmnoprstuvw-") for _ in range(draw.randrange(12, 40)))
    return f"https://www.example.org/{parts}?id={draw.randrange(10**6)}"


def markdown(text: str, draw: random.Random) -> Broken:
    """Links, emphasis, code marks, and headings now and then."""

    def mark(word: str) -> str:
        chance = draw.random()
        if chance < 0.5:
            return f"[\0]({addresses(draw)})"
        return draw.choice(["**\0**", "*\0*", "`\0`", "~~\0~~"])

    out = around(text, draw, 0.15, mark)
    for sentence in re.finditer(r"(?<=\. )\S", text):
        if draw.random() < 0.3:
            out[sentence.start()] = (
                draw.choice(["\n\n## ", "\n* ", "\n> ", "\n1. "]) + out[sentence.start()]
            )
    return out


def html(text: str, draw: random.Random) -> Broken:
    """Paragraphs, links, emphasis, entities, comments, a style sheet now and then."""

    def mark(word: str) -> str:
        chance = draw.random()
        if chance < 0.4:
            return f'<a class="ref" href="{addresses(draw)}" title="page">\0</a>'
        name = draw.choice(["b", "em", "strong", "i", "code"])
        return draw.choice(
            [f"<{name}>\0</{name}>", f'<span class="w-{draw.randrange(99)}">\0</span>']
        )

    out = around(text, draw, 0.1, mark)
    for sentence in re.finditer(r"(?<=\. )\S", text):
        if draw.random() < 0.3:
            start = draw.choice(
                ["</p>\n<p>", '</p><div class="body">', "<br/>", "<!-- next -->", "</li><li>"]
            )
            out[sentence.start()] = start + out[sentence.start()]
    return [
        {"'": "&#39;", '"': "&quot;"}.get(piece, piece)
        if piece != " "
        else ("&nbsp;" if draw.random() < 0.05 else " ")
        for piece in out
    ]


def cited(text: str, draw: random.Random) -> Broken:
    """Citation marks after words and sentences, as encyclopedias have them."""
    out = list(text)
    for word in re.finditer(r"[^\W\d_]{4,}|[.,]", text):
        if draw.random() < 0.12:
            n = draw.randrange(1, 60)
            raised = str(n).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
            out[word.end() - 1] += draw.choice([f"[{n}]", f"[{n}][{n + 1}]", raised])
    return out


CASES: dict[str, Callable[[str, random.Random], Broken]] = {
    "as it is": lambda text, draw: list(text),
    "10 % of spaces lost": lost(0.1),
    "30 % of spaces lost": lost(0.3),
    "all spaces lost": lost(1.0),
    "5 % more spaces": split(0.05),
    "cut at line ends": lines,
    "ocr 3 %": ocr(0.03),
    "ocr 10 %": ocr(0.10),
    "Markdown": markdown,
    "HTML": html,
    "citation marks": cited,
}


def pairs(
    text: str, case: str, seed: int, n_queries: int, *, both: bool, chunk: int = CHUNK
) -> tuple[list[list[str]], list[list[str]], list[list[bool]]]:
    """Gold and chunks of each query, and which of them truly match.

    A chunk's last sixth is the beginning of the next one.
    """
    draw = random.Random(f"{case} {seed}")
    pieces = CASES[case](text, draw)
    own = CASES[case](text, draw) if both else list(text)
    ends = list(accumulate(map(len, pieces)))
    whole = "".join(pieces)
    chunks = []
    for begin in range(0, len(whole) - chunk, chunk - chunk // 6):
        first, last = bisect_left(ends, begin + 1), bisect_left(ends, begin + chunk)
        chunks.append((whole[begin : begin + chunk], first, last + 1))
    golds, docs, truth = [], [], []
    for _ in range(n_queries):
        size = draw.choice(GOLD)
        begin = draw.randrange(len(text) - size)
        end = begin + size
        near = [n for n, (_, first, last) in enumerate(chunks) if first < end and begin < last]
        near = near[:6] + draw.sample(range(len(chunks)), 10)
        listed = [chunks[n] for n in dict.fromkeys(near)][:10]
        golds.append(["".join(own[begin:end])])
        docs.append([chunk for chunk, _, _ in listed])
        truth.append(
            [
                2 * (min(last, end) - max(first, begin)) >= min(last - first, size)
                for _, first, last in listed
            ]
        )
    return golds, docs, truth


def f1(decided: Iterable[bool], true: Iterable[bool]) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    both = said = right = 0
    for yes, truly in zip(decided, true, strict=True):
        both += yes and truly
        said += yes
        right += truly
    return both / max(said, 1), both / max(right, 1), 2 * both / max(said + right, 1)


def main() -> None:
    """Print a line for each case and language, a column for each matcher."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--match", action="append", help="a name, or JSON")
    parser.add_argument("--both", action="store_true", help="break the gold as well")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    broken = '{"method": "overlap", "tokenizer": {"name": "char", "n": 3, "spaces": "ignored"}}'
    specs = args.match or ["overlap", broken, "span"]
    for n, spec in enumerate(specs, 1):
        print(f"({n}) {spec}")
    header = "  ".join(f"({n}) P    R   F1 warns" for n in range(1, len(specs) + 1))
    print(f"{'F1':<24}{header}")
    for language in ("ko", "en"):
        text = prose(language)
        for case in args.case or CASES:
            golds, docs, truth = pairs(text, case, args.seed, args.queries, both=args.both)
            cells = []
            for spec in specs:
                match = json.loads(spec) if spec.startswith("{") else spec
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    records = list(match_pairs(golds, docs, match=match))
                decided = [row[0] for record in records for row in record["matched"]]
                p, r, f = f1(decided, [yes for of_query in truth for yes in of_query])
                cells.append(f"{p:.3f} {r:.3f} {f:.3f} {'*' if said else ' '}")
            print(f"{language} {case:<21}{'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
