"""A year of questions to a town's handbook, in English and Korean, and people who know the answers.

    python examples/traffic.py log log.jsonl                   # 2,000 questions, as a service logs them
    python examples/traffic.py label RESULTS.jsonl people.qrels      # draws 60 of them, and labels
    python examples/traffic.py truth RESULTS.jsonl             # what nobody knows of real traffic

Every run writes the same. Some questions come often, most once, and each in its season; who is
content seldom says so. The judge of configs/traffic.yaml is a stand-in, too: it knows the answers
and is wrong about one page in seven. docs/traffic.md says what can be said of such traffic.
"""

from __future__ import annotations

import json
import random
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from kragx import read_corpus, read_rows
from kragx.agreement import draw, from_run
from kragx.agreement.sample import sample_path
from kragx.judging import Answer, Usage
from kragx.retrievers import BM25Retriever

CORPUS = Path(__file__).parent / "data" / "agents" / "corpus.jsonl"
PAGES = {page.id: page.text or "" for page in read_corpus(CORPUS)}

PLACES = {
    "pool": ("the swimming pool", "수영장", (6, 7, 8)),
    "library": ("the town library", "시립도서관", range(1, 13)),
    "museum": ("the museum of clocks", "시계박물관", (3, 4, 10, 11)),
    "ferry": ("the ferry to Gull Island", "갈매기섬 배", (5, 6, 7, 8, 9)),
    "sauna": ("the sauna by the lake", "호숫가 찜질방", (11, 12, 1, 2)),
    "skating": ("the ice rink", "스케이트장", (12, 1, 2)),
    "tower": ("the lighthouse tower", "등대 전망대", (5, 9, 10)),
    "zoo": ("the animal park", "동물공원", (4, 5, 6, 7)),
}
"""Each place's names, and when it is asked about."""

COMMON = {
    "en": {
        "hours": ["When does {} open?", "opening hours {}", "How early does {} begin?"],
        "price": ["How much is {}?", "What does a ticket for {} cost?", "price of {} for adults"],
        "day": ["Is {} open at Christmas?", "Can we go to {} on New Year's Day?"],
    },
    "ko": {
        "hours": ["{} 몇 시에 열어요?", "{} 운영시간", "{} 아침 몇 시부터 하나요?"],
        "price": ["{} 얼마예요?", "{} 입장료", "{} 어른 한 사람 요금이 얼마인가요?"],
        "day": ["{} 성탄절에도 하나요?", "설날에 {} 갈 수 있나요?"],
    },
}
RARE = {
    "en": {
        "price": "What do {a} adults and {b} pupils pay for {}?",
        "day": "Is {} open on {a} {month}, or is it shut for the holiday?",
        "hours": "We arrive at {a} in the morning with {b} children. Does {} open before that?",
    },
    "ko": {
        "price": "어른 {a}명 학생 {b}명이 {} 가면 얼마인가요?",
        "day": "{month} {a}일 공휴일에 {} 쉬나요?",
        "hours": "아이 {b}명과 아침 {a}시에 도착해요. {} 그 전에 여나요?",
    },
}
MONTHS = "January February March April May June July August September October November December"
GREETINGS = ("", "", "", "", " Thanks!", " please", " Write to anna.kim@example.com", " 010-2345-6789")


def answers(question: str) -> set[str]:
    """The pages that a question needs: of the place, and of its prices or holidays."""
    language = "ko" if re.search("[가-힣]", question) else "en"
    names = {key: english if language == "en" else korean for key, (english, korean, _) in PLACES.items()}
    (place,) = {f"{language}-{key}" for key, name in names.items() if name in question}
    group = re.search(r"price group (\w)|요금표 (\w)", PAGES[place])
    calendar = re.search(r"calendar (\d)|휴일표 (\d)", PAGES[place])
    letters = dict(zip("가나다라", "abcd"))
    prices = next(filter(None, group.groups())).lower()
    if re.search("open|begin|hours|시간|시에|시부터", question) and not re.search(DAYS, question):
        return {place}
    if re.search(DAYS, question):
        return {place, f"{language}-holidays-{next(filter(None, calendar.groups()))}"}
    return {place, f"{language}-prices-{letters.get(prices, prices)}"}


DAYS = "Christmas|New Year|holiday|성탄절|설날|공휴일"


def asked(rng: random.Random) -> Iterator[tuple[datetime, str]]:
    """2,000 questions with their times; a quarter Korean, two fifths with numbers of their own."""
    start = datetime(2025, 1, 1)
    for minute in sorted(rng.randrange(365 * 24 * 60) for _ in range(2_000)):
        time = start + timedelta(minutes=minute)
        language = rng.choices(["en", "ko"], [3, 1])[0]
        seasons = [10 if time.month in months else 1 for _, _, months in PLACES.values()]
        english, korean, _ = rng.choices([*PLACES.values()], seasons)[0]
        kind = rng.choices(["hours", "price", "day"], [5, 3, 2])[0]
        if rng.random() < 0.6:
            forms = COMMON[language][kind]
            form = rng.choices(forms, [6, 2, 1][: len(forms)])[0]
        else:
            form = RARE[language][kind]
        month = MONTHS.split()[time.month - 1] if language == "en" else f"{time.month}월"
        numbers = {"a": rng.randint(2, 28 if kind == "day" else 11), "b": rng.randint(1, 9)}
        text = form.format(english if language == "en" else korean, month=month, **numbers)
        yield time, (text.lower() if rng.random() < 0.2 and language == "en" and "Gull" not in text else text)


def old(k: int = 3) -> BM25Retriever:
    """The version that answers today: the pages that share most threes of characters."""
    pages = [Document(text, id=name) for name, text in PAGES.items()]
    return BM25Retriever(documents=pages, k=k, tokenizer={"name": "char", "n": 3})


def new(k: int = 3) -> Callable[[str], list[Document]]:
    """A small change: who asks in English for a price gets the list that the best page names."""
    index = old(k)

    def search(question: str) -> list[Document]:
        best, *others = index.invoke(question)
        group = re.search(r"price group (\w)", best.page_content)
        if group is None or not re.search("price|much|cost|pay", question):
            return [best, *others]
        name = f"en-prices-{group[1].lower()}"
        prices = Document(PAGES[name], id=name)
        return [best, prices, *(page for page in others if page.id != name)][:k]

    return search


def log(path: str) -> None:
    """Write the log: what was asked, when, what the service of today retrieved, and thumbs."""
    rng = random.Random(0)
    service = old()
    with Path(path).open("w", encoding="utf-8") as file:
        for time, question in asked(rng):
            pages = service.invoke(question)
            is_lost = not any(page.id in answers(question) for page in pages)
            row = {
                "time": time.isoformat(timespec="minutes"),
                "question": question + rng.choice(GREETINGS),
                "retrieved": [{"id": page.id, "text": page.page_content} for page in pages],
            }
            if rng.random() < (0.3 if is_lost else 0.03):
                row["thumbs"] = "down" if is_lost else "up"
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
