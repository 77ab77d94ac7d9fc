"""What `record_krag.py` asks K-RAG: texts, and lists of gold and retrieved ones."""

from __future__ import annotations

import random

Lists = list[list[str]]
Input = tuple[str, Lists, Lists]

KO = [
    "주문하신 상품은 결제 후 이틀 안에 발송됩니다.",
    "환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다.",
    "비밀번호를 잊으셨다면 로그인 화면에서 재설정을 눌러 주세요.",
    "정수기 필터는 여섯 달마다 교체하는 것이 좋습니다.",
    "배송지를 바꾸려면 출고 전에 고객센터로 연락해 주세요.",
    "구독을 해지해도 남은 기간 동안 서비스를 계속 쓸 수 있습니다.",
    "제품을 떨어뜨려 생긴 파손은 무상 수리 대상이 아닙니다.",
    "쿠폰은 한 번의 주문에 한 장만 사용할 수 있습니다.",
]
EN = [
    "Your parcel ships within two business days after payment.",
    "Refunds are issued three days after we inspect the returned item.",
    "Tap the reset link on the sign-in page if you forgot your password.",
    "Replace the water filter every six months for the best taste.",
    "Contact support before dispatch to change the delivery address.",
    "You can keep using the service until the paid period ends.",
    "Accidental drops are not covered by the free repair warranty.",
    "Only one coupon may be applied to each order.",
]
MIX = [
    "앱의 Settings 메뉴에서 Dark Mode를 켤 수 있습니다.",
    "USB-C 케이블은 25W 고속 충전을 지원합니다.",
    "Premium 요금제는 월 9900원이며 언제든 cancel 할 수 있습니다.",
    "Order 번호 KR-2048은 내일 도착 예정입니다.",
]
BASE = KO + EN + MIX
_WORDS = (
    "kettle lamp chair phone cable mouse radio printer tablet "
    "camera router speaker charger helmet blanket toaster pillow "
    "bottle wallet jacket ladder hammer mirror carpet basket"
)
WORDS = _WORDS.split()


def variants(i: int) -> dict[str, str]:
    """Texts around base sentence i: equal, longer, shorter, re-cased, re-spaced, re-ordered."""
    s, other, third = BASE[i], BASE[(i + 3) % len(BASE)], BASE[(i + 11) % len(BASE)]
    w = s.split()
    return {
        "same": s,
        "plus": s + " " + other,
        "tail": "[안내] " + other + " " + s,
        "three": " ".join([third, s, other]),
        "cut": " ".join(w[:-1]),
        "half": " ".join(w[: (len(w) + 1) // 2]),
        "upper": s.upper(),
        "spaced": "  " + "\n ".join(w[:3]) + "\t" + " ".join(w[3:]) + " ",
        "turned": " ".join(w[len(w) // 2 :] + w[: len(w) // 2]),
        "bare": s.rstrip("."),
        "twice": s + "\n" + s,
    }


V = [variants(i) for i in range(len(BASE))]
EMPTY, BLANK = "", " \n\t "


def overlap_pair(m: int, a: int, b: int) -> tuple[str, str]:
    """Two texts of a and b different words, m of them shared and in the same order."""
    gold = WORDS[:a]
    chunk = WORDS[:m] + [f"spare{j}" for j in range(b - m)]
    return " ".join(gold), " ".join(chunk)


def hand_inputs() -> list[Input]:
    """Inputs by hand: a name, the gold texts and the retrieved ones of each query."""
    v = V
    out = []

    def add(name: str, actual: Lists, predicted: Lists) -> None:
        out.append(("hand/" + name, actual, predicted))

    add("three_chunks_contain_one_gold", [[KO[0]]], [[v[0]["plus"], v[0]["tail"], v[0]["three"]]])
    add(
        "three_chunks_contain_one_gold_en", [[EN[0]]], [[v[8]["plus"], v[8]["tail"], v[8]["twice"]]]
    )
    add(
        "several_chunks_then_noise",
        [[EN[1]]],
        [[v[9]["plus"], KO[3], v[9]["tail"], EN[6], v[9]["same"], MIX[0], v[9]["three"]]],
    )
    add("one_chunk_contains_two_golds", [[KO[1], KO[4]]], [[KO[1] + " " + KO[4], KO[6]]])
    add(
        "one_chunk_contains_two_golds_late",
        [[EN[2], EN[5], EN[7]]],
        [[KO[2], EN[0], EN[2] + " " + EN[5], EN[7]]],
    )
    add("nothing_matched_disjoint", [[KO[0]], [EN[0]]], [[EN[3], EN[7]], [KO[3], KO[7], MIX[3]]])
    add("nothing_matched_some_overlap", [[EN[4]]], [[EN[0], EN[3], EN[6]]])
    add("nothing_matched_some_overlap_ko", [[KO[7]]], [[KO[5], KO[3], KO[2], KO[6]]])
    add("one_chunk_slight_overlap", [[EN[1]]], [[EN[0]]])
    add("all_perfect", [[KO[0]], [EN[0], EN[1]], [MIX[0]]], [[KO[0]], [EN[0], EN[1]], [MIX[0]]])
    add("gold_last", [[MIX[2]]], [[KO[0], EN[3], KO[5], MIX[1], EN[6], MIX[2]]])
    add("empty_gold_one_of_two", [[], [KO[2]]], [[KO[2], KO[3]], [KO[3], KO[2]]])
    add("empty_gold_only", [[]], [[EN[0], EN[1]]])
    add("empty_pred_one_of_two", [[KO[2]], [EN[2], EN[3]]], [[], [EN[3], EN[0]]])
    add("empty_pred_only", [[EN[2]]], [[]])
    add("both_empty_one_of_two", [[], [EN[5]]], [[], [v[13]["bare"], EN[5]]])
    add("both_empty_only", [[]], [[]])
    add("empty_gold_and_empty_pred_apart", [[], [KO[1]], [KO[6]]], [[KO[6]], [], [KO[6], KO[1]]])
    add("empty_string_gold", [[EMPTY]], [[KO[0], EN[0]]])
    add("empty_string_gold_and_real", [[EMPTY, KO[0]]], [[EN[0], KO[0], KO[3]]])
    add("empty_string_pred", [[KO[0]]], [[EMPTY, KO[0], EMPTY]])
    add("empty_string_both", [[EMPTY]], [[EMPTY]])
    add(
        "empty_string_both_mixed",
        [[EMPTY, EN[3]], [EN[4]]],
        [[EN[0], EMPTY, EN[3]], [EMPTY, EMPTY]],
    )
    add("blank_string_both", [[BLANK], [BLANK, EN[0]]], [[EMPTY, BLANK], [EN[0] + BLANK, " "]])
    add("empty_string_gold_no_pred", [[EMPTY], [KO[0]]], [[], [KO[0]]])
    add("duplicated_pred", [[EN[6]]], [[EN[6], EN[6], EN[0], EN[6]]])
    add("duplicated_gold", [[EN[6], EN[6]]], [[EN[0], EN[6]]])
    add("duplicated_both", [[KO[5], KO[5], KO[1]]], [[KO[5], KO[5], KO[5], KO[1], KO[1]]])
    add("more_golds_than_preds", [[KO[0], KO[1], KO[2], KO[3]]], [[KO[1], KO[0]]])
    add(
        "many_preds_few_golds",
        [[MIX[1], EN[7]]],
        [
            [
                KO[0],
                MIX[1],
                EN[0],
                EN[1],
                v[15]["plus"],
                KO[3],
                EN[4],
                KO[5],
                MIX[3],
                EN[6],
                EN[7],
                v[17]["tail"],
            ]
        ],
    )
    add(
        "lengths_differ",
        [[KO[0]], [KO[1], EN[1]], [MIX[0], MIX[1], MIX[2]]],
        [[KO[3], KO[0]], [EN[1], KO[1], KO[2], EN[3], KO[6], EN[7]], [MIX[1]]],
    )
    add(
        "case_and_space",
        [[EN[0], KO[4]], [MIX[0]]],
        [
            [v[8]["upper"], v[8]["spaced"], v[4]["spaced"], EN[0].lower()],
            [v[16]["upper"], v[16]["spaced"]],
        ],
    )
    add(
        "word_order",
        [[EN[3]], [KO[5]], [MIX[3]]],
        [[v[11]["turned"]], [v[5]["turned"]], [v[19]["turned"]]],
    )
    add(
        "chunk_shorter_than_gold",
        [[v[1]["plus"]], [v[10]["plus"]]],
        [[v[1]["same"], v[1]["half"]], [v[10]["cut"], v[10]["half"], v[10]["same"]]],
    )
    add(
        "punctuation_ends",
        [[v[9]["bare"], v[2]["bare"]]],
        [[EN[1], KO[2], EN[1] + "!!", "(" + v[2]["bare"] + ")"]],
    )
    add(
        "stemming",
        [["shipped orders arriving", "payments returned quickly"]],
        [
            [
                "shipping order arrives",
                "payment returning quick",
                "ship ordered arrive",
                "returns pay",
            ]
        ],
    )
    add(
        "single_tokens",
        [["refund"], ["환불"], ["a"]],
        [["refund", "refunds"], ["환불", "환불은"], ["a b", "b", "a"]],
    )
    add(
        "repeated_tokens",
        [["check check check order"]],
        [["check order", "check check", "order check check check check"]],
    )
    add(
        "one_line_and_many",
        [["반품 접수는 앱에서 합니다.\n사진을 함께 올려 주세요."]],
        [
            [
                "반품 접수는 앱에서 합니다. 사진을 함께 올려 주세요.",
                "사진을 함께 올려 주세요.\n반품 접수는 앱에서 합니다.",
            ]
        ],
    )
    add(
        "unusual_letters",
        [["Café 쿠폰 ＡＢＣ １２３ 😀 확인"], ["İstanbul 배송 STRASSE straße"]],
        [
            ["café 쿠폰 abc 123 😀 확인", "CAFÉ 쿠폰 ＡＢＣ １２３ 😀 확인"],
            [
                "istanbul 배송 strasse STRASSE",
                "İSTANBUL 배송 STRASSE STRAßE",
                "배송\u200b조회\u00a0주문\u3000확인",
            ],
        ],
    )
    # F exactly at a threshold as a fraction; in doubles 2PR/(P+R) may land just under it.
    for t, trips in (
        ("30", [(3, 4, 16), (3, 10, 10), (3, 5, 15)]),
        ("50", [(6, 11, 13), (4, 5, 11), (1, 2, 2), (7, 8, 20)]),
        ("80", [(6, 7, 8), (8, 9, 11), (4, 5, 5), (4, 4, 6), (12, 14, 16)]),
    ):
        pairs = [overlap_pair(*x) for x in trips]
        add("at_threshold_" + t, [[p[0]] for p in pairs], [[p[1]] for p in pairs])
    add(
        "at_threshold_bigrams",
        [[" ".join(WORDS[:8])], [" ".join(WORDS[:12])], [" ".join(WORDS[:6])]],
        [
            [" ".join([*WORDS[:7], "spare0", "spare1"])],
            [" ".join([*WORDS[:7], *(f"spare{j}" for j in range(7))])],
            [" ".join([*WORDS[:5], "spare0"])],
        ],
    )
    return out


def random_inputs(n: int = 42, seed: int = 32) -> list[Input]:
    """Inputs by a seeded random number generator, of the same shape."""
    rng = random.Random(seed)
    out = []
    for r in range(n):
        actual, predicted = [], []
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
            topics = rng.sample(range(len(BASE)), 3)
            near = [t for i in topics for t in V[i].values()]
            if rng.random() < 0.15:
                near += [EMPTY, EMPTY, BLANK]
            far = [
                V[i][key]
                for i in rng.sample(range(len(BASE)), 4)
                for key in ("same", "plus", "half")
            ]
            n_gold = rng.choices([0, 1, 2, 3, 4], [1, 7, 5, 3, 1])[0]
            n_pred = rng.choices([0, 1, 2, 3, 4, 6, 8, 12], [1, 2, 3, 4, 4, 4, 2, 1])[0]
            golds = [rng.choice([V[i]["same"] for i in topics] * 2 + near) for _ in range(n_gold)]
            preds = [rng.choice(near if rng.random() < 0.7 else far) for _ in range(n_pred)]
            actual.append(golds)
            predicted.append(preds)
        out.append((f"random/{r:02}", actual, predicted))
    return out
