"""The option `numbers: alike` of matchers that compare tokens."""

from __future__ import annotations

import pytest

from kragx import explain
from kragx.data.amounts import RULES
from kragx.errors import UsageError
from kragx.matchers import matcher

PASSAGE = (
    "계약금 {} 계약을 맺은 날부터 {} 이내에 매수인의 계좌로 지급하여야 하며 지연하면 이자를 더한다."
)


def decided(gold: str, *docs: str, method: str, **options: object) -> list[bool]:
    """Which documents match a gold text, beside a question of another amount."""
    other = PASSAGE.format("700만원은", "십일")
    pairs = explain(
        [[gold], [other]], [docs, [other]], query_id="q1", match={"method": method, **options}
    )
    return [pairs.pair(rank=rank, gold=1).matched for rank in range(1, len(docs) + 1)]


@pytest.mark.parametrize("method", ["overlap", "phrase", "span", "rouge2"])
def test_gold_is_found_however_its_amount_is_written(method: str) -> None:
    """보증금 300만원 is 보증금 삼백만 원, not dollars nor 350만원; without it nothing is."""
    docs = "보증금 삼백만 원", "보증금 300만 달러", "보증금 350만원"
    assert decided("보증금 300만원", *docs, method=method, numbers="alike") == [True, False, False]
    assert not any(decided("보증금 300만원", *docs, method=method))


@pytest.mark.parametrize("method", ["overlap", "span"])
def test_siblings_are_apart_however_their_amount_is_written(method: str) -> None:
    """A passage with the same amounts written otherwise is the gold; one with another amount, that
    other texts have, is a sibling in either writing, though read as it stands one is taken for it.
    """
    gold = PASSAGE.format("300만원은", "삼십일")
    docs = [
        PASSAGE.format(*amounts)
        for amounts in (
            ("3,000,000원은", "30일"),
            ("삼백만 원은", "30 일"),
            ("7,000,000원은", "삼십일"),
            ("칠백만 원은", "30일"),
            ("500만 원은", "삼십일"),
            ("5,000,000원은", "30일"),
        )
    ]
    alike = decided(gold, *docs, method=method, numbers="alike")
    assert alike == [True, True, False, False, False, False]
    assert decided(gold, *docs, method=method) != alike


def test_a_result_says_how_numbers_were_read() -> None:
    """Read alike, by the version of the rules; as they are written, nothing is said."""
    alike = matcher({"method": "overlap", "numbers": "alike"})
    assert alike.settings["numbers"] == {"name": "alike", "version": RULES}
    assert "numbers" not in matcher("overlap").settings
    with pytest.raises(UsageError, match="numbers"):
        matcher({"method": "phrase", "numbers": "equal"})
