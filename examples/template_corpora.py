# ruff: noqa: E501
"""How well does a matcher tell apart texts that were made from one template?

    python examples/template_corpora.py [--match overlap] [--match '{"method": ...}'] ...

Makes policies and product pages in Korean and English, and generated code: 40 documents each that
differ in names, numbers and a clause here and there. Gold is cut from them at one size and chunks
at another, and a retriever answers with chunks of the same place of other documents as well. What
is true follows from where each text was cut: from the same document, sharing at least half of the
characters of either one.
"""

from __future__ import annotations

import argparse
import json
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from kragx import match_pairs

N_DOCUMENTS = 40
SIZES = ((150, 300), (300, 300), (600, 300), (1200, 500), (400, 1000))
"""Characters of the gold and of the retrieved chunks."""

MATCHERS: dict[str, object] = {
    "overlap": "overlap",
    "overlap, siblings together": {"method": "overlap", "siblings": "together"},
    "span": "span",
    "text": "text",
}


def policy_ko(rng: random.Random) -> str:
    """A company's policy of returns, in Korean."""
    name = rng.choice(["한빛", "미래", "가람", "누리", "보람", "새솔", "청운", "해든"])
    name += rng.choice(["마트", "상점", "몰", "스토어", "백화점", "상사", "유통", "살림"])
    person = rng.choice("김이박최정강조윤") + rng.choice(["민수", "서연", "지훈", "하은", "도윤"])
    days, fee, free = rng.randint(5, 45), rng.randint(20, 60) * 100, rng.randint(3, 12) * 10000
    city = rng.choice(["서울", "부산", "대구", "광주", "대전", "울산", "수원", "전주", "청주"])
    clause = rng.choice(["", "", "주말과 공휴일은 이 기간에 넣지 않습니다. "])
    return (
        f"{name} 교환 및 반품 정책. 이 정책은 {name}에서 구입한 모든 상품에 적용됩니다. "
        f"고객은 상품을 받은 날부터 {days}일 안에 반품을 신청할 수 있습니다. {clause}"
        f"단순 변심으로 반품할 때의 배송비는 {fee}원이며 고객이 부담합니다. 상품에 하자가 있으면 "
        f"{name} 고객 센터가 왕복 배송비를 모두 부담합니다. {free}원 이상 주문하면 처음 배송은 "
        f"무료입니다. 반품한 상품은 {city} 물류 센터에서 검사하고, 검사가 끝난 날부터 "
        f"{rng.randint(2, 14)}영업일 안에 결제한 수단으로 환불합니다. 포장을 뜯은 소프트웨어와 식품은 "
        f"반품할 수 없습니다. 교환은 같은 상품으로만 {rng.randint(1, 5)}번까지 할 수 있고, 재고가 "
        f"없으면 {rng.randint(1, 9)}일 안에 알려 드립니다. 문의는 {name} 담당자 {person}에게 평일 "
        f"{rng.randint(8, 10)}시부터 {rng.randint(16, 20)}시까지 "
        f"{rng.randint(200, 999)}-{rng.randint(1000, 9999)}번으로 하시면 됩니다. 이 정책은 "
        f"{rng.randint(2019, 2025)}년 {rng.randint(1, 12)}월 {rng.randint(1, 28)}일부터 시행하며, "
        f"바꿀 때에는 시행 {rng.randint(7, 30)}일 전에 {name} 누리집에 알립니다. 회원 등급이 높은 "
        f"고객은 구매 금액의 {rng.randint(1, 9)}퍼센트를 적립금으로 받고, 적립금은 "
        f"{rng.randint(6, 36)}개월 동안 쓸 수 있습니다. 적립금을 현금으로 바꿀 수는 없으며, 반품하면 "
        f"그 상품으로 받은 적립금은 {rng.randint(1, 6)}일 뒤에 사라집니다."
    )


def policy_en(rng: random.Random) -> str:
    """An employer's policy of leave."""
    name = rng.choice(
        ["Northwind", "Bluefield", "Harbour", "Maple", "Granite", "Lakeside", "Orchard"]
    )
    name += " " + rng.choice(["Logistics", "Foods", "Textiles", "Motors", "Instruments", "Paper"])
    person = rng.choice(["Dana", "Robin", "Alex", "Kim", "Jo"]) + " "
    person += rng.choice(["Weaver", "Okafor", "Lindt", "Moreau", "Sato", "Novak", "Birch"])
    clause = rng.choice(["", "", "Public holidays are not counted as days of leave. "])
    return (
        f"{name} leave policy. This policy applies to everyone employed by {name} under a permanent "
        f"contract. Each employee has {rng.randint(18, 32)} days of paid leave in a calendar year. "
        f"{clause}Up to {rng.randint(2, 12)} days that were not taken may be carried over, and they "
        f"lapse on {rng.randint(1, 28)} {rng.choice(['March', 'April', 'May', 'June'])}. Leave of more "
        f"than {rng.randint(4, 14)} days in a row needs the approval of {person}, who answers within "
        f"{rng.randint(2, 9)} working days. Whoever falls ill during their leave sends a certificate "
        f"to the {name} office by the {rng.randint(2, 5)}th day of the illness, and the days are "
        f"credited. Parents may take {rng.randint(8, 40)} weeks of leave after the birth of a child, "
        f"{rng.randint(2, 8)} of them at full pay. Unpaid leave is possible for up to "
        f"{rng.randint(1, 12)} months after {rng.randint(1, 6)} years with the company. During that "
        f"time {name} goes on paying {rng.randint(20, 90)} percent of the health insurance. Requests "
        f"are made in the staff portal at least {rng.randint(10, 45)} days ahead. In the first "
        f"{rng.randint(2, 9)} months leave can be taken only in agreement with {person}. Questions are "
        f"answered on extension {rng.randint(1000, 9999)} from {rng.randint(7, 10)} a.m. The policy "
        f"has been in force since {rng.randint(1, 28)} January {rng.randint(2015, 2025)} and is "
        f"reviewed every {rng.randint(12, 48)} months by the {name} works council."
    )


def product_ko(rng: random.Random) -> str:
    """A product's page, in Korean: fields and sentences."""
    name = rng.choice(["바람", "구름", "하늘", "노을", "이슬", "샘물"]) + " "
    name += rng.choice(["청정기", "가습기", "제습기", "선풍기", "온풍기"])
    name += f" {rng.choice('ABCDEF')}{rng.randint(100, 990)}"
    return (
        f"{name}\n색상: {rng.choice(['흰색', '검은색', '회색', '연두색', '남색'])}\n"
        f"무게: {rng.randint(20, 95) / 10}kg\n크기: {rng.randint(20, 60)} x {rng.randint(20, 60)} x "
        f"{rng.randint(30, 99)}cm\n소비 전력: {rng.randint(15, 90)}W\n소음: {rng.randint(19, 55)}dB\n"
        f"{name} 제품은 최대 {rng.randint(15, 90)}제곱미터의 공간에서 쓸 수 있습니다. 필터는 "
        f"{rng.randint(3, 18)}개월마다 바꾸어 주시고, 물통의 용량은 {rng.randint(10, 80) / 10}리터입니다. "
        f"앱을 설치하면 {rng.randint(1, 12)}시간 단위로 예약할 수 있습니다. 보증 기간은 구입한 날부터 "
        f"{rng.randint(12, 60)}개월이며, 부품은 {rng.randint(3, 10)}년 동안 보관합니다. {name}의 전원을 "
        f"켠 뒤 {rng.randint(10, 90)}초가 지나면 자동으로 작동합니다. 수리는 가까운 "
        f"{rng.choice(['서울', '부산', '인천', '대전', '광주', '제주'])} 서비스 센터에 맡기시고, 출장비는 "
        f"{rng.randint(10, 40) * 1000}원입니다. 어린이 잠금 단추를 {rng.randint(2, 9)}초 동안 누르면 "
        f"조작이 잠깁니다."
    )


def product_en(rng: random.Random) -> str:
    """A product's page: fields and sentences."""
    name = rng.choice(["Alto", "Brisk", "Cinder", "Delta", "Ember"])
    name += " " + rng.choice(["kettle", "toaster", "blender", "grill", "steamer"])
    name += f" {rng.choice('KLMNPT')}{rng.randint(10, 990)}"
    return (
        f"{name}\nColour: {rng.choice(['white', 'black', 'steel', 'red', 'dark green'])}\n"
        f"Weight: {rng.randint(8, 60) / 10} kg\nPower: {rng.randint(6, 30) * 100} W\n"
        f"Capacity: {rng.randint(5, 40) / 10} l\nThe {name} is made for up to {rng.randint(2, 12)} "
        f"people and is ready in {rng.randint(1, 9)} minutes. Its cord is {rng.randint(60, 200)} cm "
        f"long and winds up into the base. Clean the {name} with warm water after {rng.randint(2, 30)} "
        f"uses, and never put the base into the dishwasher. The guarantee of {rng.randint(12, 84)} "
        f"months begins on the day of purchase. Spare parts are kept for {rng.randint(4, 15)} years "
        f"and are sent within {rng.randint(2, 10)} days. When nobody touches it for "
        f"{rng.randint(2, 30)} minutes the {name} switches itself off. It holds the temperature at "
        f"{rng.randint(60, 99)} degrees for {rng.randint(10, 90)} minutes. Returns are free within "
        f"{rng.randint(14, 100)} days if the box holds all {rng.randint(3, 9)} parts."
    )


def code(rng: random.Random) -> str:
    """Generated functions that create, read, change and delete rows of one table."""
    name = rng.choice(["user", "order", "invoice", "ticket", "parcel", "branch", "supplier", "tag"])
    name += rng.choice(["", "_note", "_line", "_group", "_address", "_event", "_plan", "_draft"])
    name = rng.choice(["", "old_", "daily_", "shared_", "web_", "staff_"]) + name
    a, b, c = rng.sample(
        ["title", "amount", "status", "owner", "due", "colour", "weight", "phone", "rank"], 3
    )
    kind = name.title().replace("_", "")
    return (
        f"def create_{name}(db, {a}, {b}):\n"
        f'    """Insert a new {name} and return its id."""\n'
        f"    if not {a}:\n        raise ValueError('{a} is needed')\n"
        f"    row = db.execute(\n"
        f"        'INSERT INTO {name} ({a}, {b}) VALUES (?, ?) RETURNING id', ({a}, {b})\n    )\n"
        f"    db.commit()\n    return row.fetchone()[0]\n\n\n"
        f"def get_{name}(db, {name}_id):\n"
        f'    """Read one {name} by its id; None if there is none."""\n'
        f"    row = db.execute('SELECT id, {a}, {b}, {c} FROM {name} WHERE id = ?', ({name}_id,))\n"
        f"    found = row.fetchone()\n    return {kind}(*found) if found else None\n\n\n"
        f"def list_{name}s(db, limit={rng.randint(2, 40) * 5}):\n"
        f'    """Read the newest rows of {name}, the last one first."""\n'
        f"    rows = db.execute('SELECT id, {a} FROM {name} ORDER BY {c} DESC LIMIT ?', (limit,))\n"
        f"    return [{kind}(*row) for row in rows.fetchall()]\n\n\n"
        f"def update_{name}(db, {name}_id, {b}):\n"
        f'    """Change {b} of one {name}; False if there is none."""\n'
        f"    done = db.execute('UPDATE {name} SET {b} = ? WHERE id = ?', ({b}, {name}_id))\n"
        f"    db.commit()\n    return done.rowcount == 1\n\n\n"
        f"def delete_{name}(db, {name}_id):\n"
        f'    """Delete one {name}; False if there is none."""\n'
        f"    done = db.execute('DELETE FROM {name} WHERE id = ?', ({name}_id,))\n"
        f"    db.commit()\n    return done.rowcount == 1\n"
    )


CORPORA = {
    "policies, Korean": policy_ko,
    "policies, English": policy_en,
    "products, Korean": product_ko,
    "products, English": product_en,
    "code": code,
}


@dataclass(frozen=True)
class Piece:
    """A part of a document: which one, from which character to which one."""

    document: int
    start: int
    end: int

    def shared(self, other: Piece) -> int:
        """How many characters stand in both."""
        if self.document != other.document:
            return 0
        return max(0, min(self.end, other.end) - max(self.start, other.start))

    def matches(self, other: Piece) -> bool:
        """Whether they share at least half of the characters of either one."""
        shorter = min(self.end - self.start, other.end - other.start)
        return 2 * self.shared(other) >= shorter


def pieces(texts: list[str], size: int, overlap: int) -> list[Piece]:
    """Windows of so many characters; the last one of a text may be shorter, by half at most."""
    return [
        Piece(document, start, min(start + size, len(text)))
        for document, text in enumerate(texts)
        for start in range(0, len(text), size - overlap)
        if start == 0 or len(text) - start >= size / 2
    ]


@dataclass(frozen=True)
class Retrieval:
    """Questions with one gold text each, ten retrieved texts, and the truth.

    Attributes:
        gold: a list of one text for each question.
        retrieved: a list of ten texts or fewer for each.
        truth: whether each of them comes from where the gold text does.
    """

    gold: list[list[str]]
    retrieved: list[list[str]]
    truth: list[list[bool]]


def retrieval(kind: str, gold_size: int, chunk_size: int, *, seed: int = 7) -> Retrieval:
    """Answers that hold chunks of the same place of sibling documents, in any order."""
    rng = random.Random(f"{seed} {kind} {gold_size} {chunk_size}")
    texts = [CORPORA[kind](rng) for _ in range(N_DOCUMENTS)]
    chunks = pieces(texts, chunk_size, chunk_size // 6)
    found = Retrieval([], [], [])
    for document in range(N_DOCUMENTS):
        own = [piece for piece in pieces(texts, gold_size, 0) if piece.document == document]
        gold = rng.choice(own)

        def same_place(chunk: Piece, gold: Piece = gold) -> bool:
            return gold.matches(Piece(gold.document, chunk.start, chunk.end))

        right = [chunk for chunk in chunks if chunk.matches(gold)]
        alike = [chunk for chunk in chunks if chunk.document != document and same_place(chunk)]
        other = [chunk for chunk in chunks if not same_place(chunk)]
        answer = rng.sample(right, min(len(right), 2)) if rng.random() < 0.8 else []
        answer += rng.sample(alike, min(len(alike), 7))
        answer += rng.sample(other, min(len(other), 10 - len(answer)))
        rng.shuffle(answer)
        found.gold.append([texts[document][gold.start : gold.end]])
        found.retrieved.append([texts[c.document][c.start : c.end] for c in answer])
        found.truth.append([chunk.matches(gold) for chunk in answer])
    return found


def decided(corpus: Retrieval, match: object) -> Iterator[list[bool]]:
    """For each question, which of its documents match."""
    for record in match_pairs(corpus.gold, corpus.retrieved, match=match):
        yield [row[0] for row in record["matched"]]


def agreement(pairs: list[tuple[bool, bool]]) -> tuple[float, float, float]:
    """Precision, recall and F1 of pairs of what was decided and what is true."""
    both = sum(decided and true for decided, true in pairs)
    said, true = (sum(column) for column in zip(*pairs, strict=True))
    return both / max(said, 1), both / max(true, 1), 2 * both / max(said + true, 1)


def mrr(answers: list[list[bool]]) -> float:
    """The mean of 1 / rank of the first match."""
    firsts = [answer.index(True) + 1 if True in answer else 0 for answer in answers]
    return sum(1 / first for first in firsts if first) / len(firsts)


def main() -> None:
    """Print a line for each corpus and matcher, over all sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", action="append", help="a name, or JSON")
    parser.add_argument("--sizes", action="store_true", help="a line for each size too")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    chosen = (
        {text: json.loads(text) if text.startswith("{") else text for text in args.match}
        if args.match
        else MATCHERS
    )
    warnings.simplefilter("ignore")
    print(f"{'corpus':<28}{'matcher':<28}precision  recall     f1    mrr  true mrr")
    for kind in CORPORA:
        corpora = {size: retrieval(kind, *size, seed=args.seed) for size in SIZES}
        for name, match in chosen.items():
            said = {size: list(decided(corpus, match)) for size, corpus in corpora.items()}
            groups = {"": SIZES}
            if args.sizes:
                groups = {f" {gold}/{chunk}": ((gold, chunk),) for gold, chunk in SIZES} | groups
            for label, sizes in groups.items():
                answers = [answer for size in sizes for answer in said[size]]
                truth = [true for size in sizes for true in corpora[size].truth]
                pairs = [pair for a, t in zip(answers, truth) for pair in zip(a, t, strict=True)]
                precision, recall, f1 = agreement(pairs)
                print(
                    f"{kind + label:<28}{name:<28}{precision:9.3f}{recall:8.3f}"
                    f"{f1:7.3f}{mrr(answers):7.3f}{mrr(truth):10.3f}"
                )


if __name__ == "__main__":
    main()
