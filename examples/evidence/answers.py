"""Answers: numbers, words, dates, names, amounts and phrases, put into passages.

An answer is put into one to three of ten passages. A fifth of the others are hard: they hold it
inside a longer word or number (Seoul in Seoulite, 1919 in 11919 or 1,919.5, 5 March in 15 March),
or its parts apart. The rest hold another answer of the same kind, with no part in common.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from .case import Case, Question, ranked, sentence
from .languages import LANGUAGES, Language

N_DOCS = 10
HARD = 5
"""One in so many negatives is hard."""


@dataclass(frozen=True)
class Answer:
    """An answer and what resembles it.

    Attributes:
        text: the answer.
        inside: longer things that the answer is a part of, which are other answers.
        apart: texts that hold its parts between them.
        others: other answers of the kind, none of whose parts is one of its.
    """

    text: str
    inside: tuple[str, ...]
    apart: tuple[str, ...]
    others: tuple[str, ...]


def number(language: Language, rng: random.Random) -> Answer:
    """1919, 480, 12,480 or 36.5, as a language writes them."""
    digits = str.maketrans("0123456789.,", rng.choice(language.numerals))
    kind = rng.choice(("year", "year", "hundreds", "thousands", "decimal"))

    def write(value: int) -> str:
        if kind == "thousands":
            return f"{value:,}"
        return f"{value / 10}" if kind == "decimal" else str(value)

    values = {
        "year": range(1000, 2100),
        "hundreds": range(101, 999),
        "thousands": range(10_001, 999_999),
        "decimal": range(101, 999),
    }[kind]
    value = rng.choice(values)
    value += value % 10 == 0  # 36.50 is 36.5

    def groups(value: int) -> set[int]:
        # Where a space parts thousands, neither part may stand in another number.
        return {value % 1000, value // 1000} if kind == "thousands" else {value}

    others = [v for v in rng.sample(values, 60) if v % 10 and not groups(v) & groups(value)]
    text = write(value)
    if kind == "decimal":
        longer = [f"1{text}", f"7{text}4", f"{text}1"]
    elif kind == "thousands":
        longer = [f"1{text}", f"{text}.5", f"{text},000"]
    else:
        longer = [f"1{text}", f"{text}0", f"7{text}4", f"{text}.5", f"0.{text}", f"{value:,}.5"]
        longer += [f"12,{text}"] if kind == "hundreds" else []
    return Answer(
        text.translate(digits),
        tuple(each.translate(digits) for each in longer),
        (),
        tuple(write(v).translate(digits) for v in others[:N_DOCS]),
    )


def word(language: Language, rng: random.Random) -> Answer:
    """A place or a thing; its longer words, and where no spaces are written its parts."""
    words = language.places + language.nouns
    text = rng.choice(words)
    # A part does not begin with a mark.
    cut = 1
    while cut < len(text) and unicodedata.category(text[cut])[0] == "M":
        cut += 1
    spaced = language.code not in ("zh", "ja", "th")
    return Answer(
        text,
        tuple(longer.replace("{}", text) for longer in language.longer),
        () if spaced or cut == len(text) else (text[:cut], text[cut:]),
        tuple(each for each in rng.sample(words, N_DOCS + 1) if each != text),
    )


def date(language: Language, rng: random.Random) -> Answer:
    """The fifth of a month, and the fifteenth."""
    digits = str.maketrans("0123456789.,", rng.choice(language.numerals))
    form = rng.choice(language.dates)
    day, month, year = rng.randint(1, 28), rng.choice(language.months), rng.randint(1800, 2030)

    def write(day: int, month: str, year: int = year) -> str:
        return form.format(day=day, month=month, year=year).translate(digits)

    other_days = [each for each in range(1, 29) if each != day]
    other_months = [
        rng.choice([each for each in language.months if each != month]) for _ in other_days
    ]
    rng.shuffle(other_days)
    longer = [write(tens + day, month) for tens in (10, 20) if day < 9]
    if month[0] in "12" and month[1:2] and not month[1].isdigit() and form.startswith("{month}"):
        longer.append(write(day, f"1{month}"))  # 1월 5일 in 11월 5일
    years = rng.sample([each for each in range(1800, 2030) if each != year], len(other_days))
    return Answer(
        write(day, month),
        tuple(longer),
        (write(day, other_months[0], years[0]), write(other_days[0], month, years[1])),
        tuple(map(write, other_days[:N_DOCS], other_months, years)),
    )


def person(language: Language, rng: random.Random) -> Answer:
    """A name; others have its given or its family name."""
    family, given = rng.choice(language.family), rng.choice(language.given)
    families = [each for each in language.family if each != family]
    givens = [each for each in language.given if each != given]
    rng.shuffle(families)
    rng.shuffle(givens)

    def write(family: str, given: str) -> str:
        return language.person.format(family=family, given=given)

    return Answer(
        write(family, given),
        (),
        (write(family, givens[0]), write(families[0], given)),
        tuple(map(write, families, givens)),
    )


def amount(language: Language, rng: random.Random) -> Answer:
    """13 dollars and 40 cents."""
    digits = str.maketrans("0123456789.,", rng.choice(language.numerals))
    a, b = rng.randint(11, 98), rng.randint(11, 98)
    firsts = rng.sample([each for each in range(11, 99) if each != a], N_DOCS)
    seconds = rng.sample([each for each in range(11, 99) if each != b], N_DOCS)

    def write(a: int, b: int) -> str:
        return language.amount.format(a=a, b=b).translate(digits)

    return Answer(
        write(a, b),
        (write(100 + a, b), write(700 + a, b)),
        (write(a, seconds[0]), write(firsts[0], b)),
        tuple(map(write, firsts, seconds)),
    )


def phrase(language: Language, rng: random.Random, siblings: bool = False) -> Answer:
    """Six to twelve words; its parts stand apart in phrases of other patterns.

    With `siblings` they stand in phrases of the same pattern, each with every other word kept.
    """
    form = rng.choice(language.phrases)
    forms = [form] if siblings else [each for each in language.phrases if each != form]
    places = rng.sample(language.places, N_DOCS + 1)
    nouns = rng.sample(language.nouns, 16)
    adjectives = rng.sample(language.adjectives, 12)

    def write(form: str, place: str, a1: str, n1: str, a2: str, n2: str) -> str:
        return form.format(place=place, a1=a1, n1=n1, a2=a2, n2=n2)

    def unlike(place: str) -> str:
        (a1, a2), (n1, n2) = rng.sample(adjectives[4:], 2), rng.sample(nouns[4:], 2)
        return write(rng.choice(language.phrases), place, a1, n1, a2, n2)

    (a1, a2, x1, x2), (n1, n2, y1, y2) = adjectives[:4], nouns[:4]
    return Answer(
        write(form, places[0], a1, n1, a2, n2),
        (),
        (
            write(forms[0], places[0], a1, y1, x2, n2),
            write(forms[-1], places[1], x1, n1, a2, y2),
        ),
        tuple(map(unlike, places[1:])),
    )


def siblings(language: Language, rng: random.Random) -> Answer:
    """Phrases whose parts stand in two phrases of the same pattern."""
    return phrase(language, rng, siblings=True)


def passage(texts: tuple[str, ...], language: Language, rng: random.Random) -> str:
    """Each text in a frame of its own, between sentences of coined words."""
    frames = rng.sample(language.frames, len(texts))
    framed = [frame.replace("{}", text) for frame, text in zip(frames, texts)]
    around = [sentence(language, rng) for _ in range(rng.randint(2, 4))]
    for each in framed:
        around.insert(rng.randint(0, len(around)), each)
    return language.space.join(around)


def question(
    answer: Answer, n_hard: int, n_true: int, language: Language, rng: random.Random
) -> Question:
    """An answer in `n_true` of ten passages, and `n_hard` hard ones."""
    docs = [(passage((answer.text,), language, rng), True) for _ in range(n_true)]
    others = iter(answer.others)
    for rank in range(N_DOCS - n_true):
        if rank >= n_hard:
            texts: tuple[str, ...] = (next(others),)
        elif answer.inside and (not answer.apart or rng.random() < 0.5):
            texts = (rng.choice(answer.inside),)
        else:
            texts = answer.apart
        docs.append((passage(texts, language, rng), False))
    return ranked(answer.text, docs, rng)


Kind = Callable[[Language, random.Random], Answer]
ROWS: dict[str, tuple[tuple[Kind, int], ...]] = {
    "answer, 1 token": ((number, 80), (word, 40)),
    "answer, 2-5 tokens": ((date, 60), (person, 40), (amount, 60)),
    "answer, 6-12 tokens": ((phrase, 100),),
}
"""The rows of the card, with the kinds of answers in each and how many of them."""


@cache
def answers(name: str, language: Language, draw: int = 0) -> Case:
    """The questions of a row: no answer twice, and a fifth of all negatives hard."""
    rng = random.Random(f"{name}, {language.code}" + (f", {draw}" if draw else ""))
    questions, negatives = [], 0
    for kind, count in ROWS.get(name, ((siblings, 100),)):
        seen: set[str] = set()
        while len(seen) < count:
            answer = kind(language, rng)
            if answer.text in seen:
                continue
            seen.add(answer.text)
            n_true = rng.randint(1, 3)
            before, negatives = negatives, negatives + N_DOCS - n_true
            n_hard = negatives // HARD - before // HARD
            questions.append(question(answer, n_hard, n_true, language, rng))
    return Case(name, language.code, tuple(questions))


def attached(language: Language) -> Case:
    """Answers that the word before has grown together with, as Arabic writes it."""
    rng = random.Random(f"attached, {language.code}")
    questions = []
    for text in language.places:
        answer = word(language, rng)
        while answer.text != text:
            answer = word(language, rng)
        docs = [
            (f"{sentence(language, rng)}{language.space}{frame.replace('{}', each)}", each == text)
            for each in (text, *answer.others[:5])
            for frame in rng.sample(language.attached, 2)
        ]
        questions.append(ranked(text, docs, rng))
    return Case("answer, a word grown together with it", language.code, tuple(questions))


def every_answer(language: Language, draws: int = 1) -> Case:
    """The answers of all lengths together, drawn so many times."""
    questions = [
        question
        for draw in range(draws)
        for name in ROWS
        for question in answers(name, language, draw).questions
    ]
    return Case("answer, any length", language.code, tuple(questions))


def cases() -> Iterator[Case]:
    """The rows of all languages."""
    yield from map(every_answer, LANGUAGES.values())
    for name in ROWS:
        for language in LANGUAGES.values():
            yield answers(name, language)
    for code in ("ko", "en"):
        yield answers("answer, 6-12 tokens, apart in the same pattern", LANGUAGES[code])
    for language in LANGUAGES.values():
        if language.attached:
            yield attached(language)
