"""A year of questions to a town's handbook, and somebody who knows the answers.

    python examples/traffic.py log log.jsonl                 # 2,000 questions, as services log them
    python examples/traffic.py label people.qrels RESULTS.jsonl ...  # draws 60 of them, and labels
    python examples/traffic.py settle FOLDER QUESTIONS.jsonl judged.jsonl    # what differs
    python examples/traffic.py truth RESULTS.jsonl           # what nobody knows of real traffic

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
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from kragx import read_corpus, read_dataset, read_rows
from kragx.agreement import draw, from_run
from kragx.data.formats.jsonl import write_records
from kragx.judging import Answer, Request, Usage
from kragx.retrievers import BM25Retriever

CORPUS = Path(__file__).parent / "data" / "agents" / "corpus.jsonl"
PAGES = {page.id or "": page.text or "" for page in read_corpus(CORPUS)}

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
"""Each place's names, and the months in which it is asked about most."""

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
ADDED = (*[""] * 7, " Thanks!", " My mail: anna.kim@example.com", " Call 010-2345-6789.")
_HOLIDAY = re.compile("christmas|new year|holiday|성탄절|설날|공휴일")
_PRICE = re.compile("price|much|cost|pay|얼마|입장료")


def answers(question: str) -> set[str]:
    """The pages that a question needs: the place's, and that of its prices or holidays."""
    text = question.lower()
    language, column = ("ko", 1) if re.search("[가-힣]", text) else ("en", 0)
    place = next(key for key, names in PLACES.items() if names[column].lower() in text)
    page = PAGES[f"{language}-{place}"]
    needed = {f"{language}-{place}"}
    if _HOLIDAY.search(text):
        needed.add(f"{language}-holidays-{re.findall(r'(?:calendar|휴일표) (.)', page)[0]}")
    elif _PRICE.search(text):
        letter = re.findall(r"(?:group|요금표) (.)", page)[0]
        needed.add(f"{language}-prices-{'abcd'['ABCD가나다라'.index(letter) % 4]}")
    return needed


def asked(rng: random.Random) -> Iterator[tuple[datetime, str]]:
    """2,000 questions with their times; a quarter Korean, two fifths with numbers of their own."""
    start = datetime(2025, 1, 1)
    for minute in sorted(rng.randrange(365 * 24 * 60) for _ in range(2_000)):
        time = start + timedelta(minutes=minute)
        language = rng.choices(["en", "ko"], [3, 1])[0]
        seasons = [10 if time.month in months else 1 for *_, months in PLACES.values()]
        english, korean, _ = rng.choices([*PLACES.values()], seasons)[0]
        kind = rng.choices(["hours", "price", "day"], [5, 3, 2])[0]
        form = RARE[language][kind]
        if rng.random() < 0.6:
            form = rng.choices(COMMON[language][kind], [6, 2, 1][: len(COMMON[language][kind])])[0]
        month = MONTHS.split()[time.month - 1] if language == "en" else f"{time.month}월"
        numbers = {"a": rng.randint(2, 28 if kind == "day" else 11), "b": rng.randint(1, 9)}
        text = form.format(english if language == "en" else korean, month=month, **numbers)
        yield time, text.lower() if rng.random() < 0.2 else text


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
        if group is None or not _PRICE.search(question.lower()):
            return [best, *others]
        name = f"en-prices-{group[1].lower()}"
        prices = Document(PAGES[name], id=name)
        return [best, prices, *(page for page in others if page.id != name)][:k]

    return search


class Judge:
    """A stand-in that knows the answers, and is wrong about one page in seven."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What an answer depends on."""
        return {"provider": "example", "base_url": None, "model": "wrong-one-in-seven"}

    async def ask(self, request: Request) -> Answer:
        """Grade 3 for a page that the question needs, else 0; or the other way."""
        fences = re.compile(r"<<<(\w+) (\w+)>>>\n(.*?)\n<<<end \2>>>", re.DOTALL)
        texts = {name: text for name, _, text in fences.findall(request.messages[-1][1])}
        is_right = texts["document"] in {PAGES[name] for name in answers(texts["query"])}
        is_wrong = zlib.crc32((texts["query"] + texts["document"]).encode()) % 7 == 0
        grade = 3 if is_right != is_wrong else 0
        return Answer(json.dumps({"reason": "is it needed?", "grade": grade}), Usage(10, 5))


def log(path: str) -> None:
    """Write the log: what was asked, when, what the service of today retrieved, and thumbs."""
    rng = random.Random(0)
    service = old()
    with Path(path).open("w", encoding="utf-8") as file:
        for time, question in asked(rng):
            pages = service.invoke(question)
            is_content = answers(question) <= {page.id for page in pages}
            row = {
                "time": time.isoformat(timespec="minutes"),
                "question": question + rng.choice(ADDED),
                "retrieved": [{"id": page.id, "text": page.page_content} for page in pages],
            }
            if rng.random() < (0.03 if is_content else 0.15):
                row["thumbs"] = "up" if is_content else "down"
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def label(qrels: str, *results: str) -> None:
    """Draw 60 questions as `kragx judge label --queries 60` does, and label as one who knows."""
    sources = [read_rows(path) for path in results]
    weights = {query.id: query.weight for dataset, _ in sources for query in dataset}
    pairs = {pair.ids: pair for source in sources for pair in from_run(*source, 3)}
    sample = draw([*pairs.values()], queries=60, weights=weights)
    sample.write(Path(f"{qrels}.sample.jsonl"))
    lines = [
        f"{pair.query_id} 0 {pair.document_id} {3 * (pair.document_id in answers(pair.query))}\n"
        for pair in sample.items
    ]
    Path(qrels).write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} pages of 60 questions labelled in {qrels}")


def settle(folder: str, questions: str, judgements: str, n: int = 10) -> None:
    """Judge what came or went, of the first questions of a `kragx diff --workshop`, in order."""
    texts = {query.id: query.text or "" for query in read_dataset(questions)}
    _, *lot = map(json.loads, Path(folder, "lot.jsonl").read_text(encoding="utf-8").splitlines())
    records: list[dict[str, Any]] = []
    for row in lot[:n]:
        question = row["query_id"]
        needed = answers(texts[question])
        records.append({"record": "question", "uid": question, "question": texts[question]})
        records += (
            {"record": "judgement", "question": question, "document": page, "grade": grade}
            for page in sorted({*row["old"]} ^ {*row["new"]})
            for grade in [3 * (page in needed)]
        )
    write_records(records, Path(judgements))
    print(f"{len(records) - n} pages of {n} questions judged in {judgements}")


def truth(results: str) -> float:
    """precision@3 of the retriever over all asks, as whoever knows every answer has it."""
    dataset, run = read_rows(results)
    found = [
        (query.weight, len(answers(query.text or "") & {doc.id for doc in run[query.id].documents}))
        for query in dataset
    ]
    return sum(weight * n for weight, n in found) / (3 * sum(weight for weight, _ in found))


def main() -> None:
    """Do what the command line says."""
    match sys.argv[1:]:
        case ["log", path]:
            log(path)
        case ["label", qrels, *results] if results:
            label(qrels, *results)
        case ["settle", folder, questions, judgements]:
            settle(folder, questions, judgements)
        case ["truth", results]:
            print(f"precision@3 over all asks: {truth(results):.4f}")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
