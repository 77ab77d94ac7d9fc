"""How the order of retrievers depends on a matcher's setting."""

from kragx.comparison.tuning import matcher_settings, settings

LOW, HIGH = settings("rouge2", {"threshold": [0.4, 0.6]})


def test_an_order_that_stays():
    """It is said, and no setting is called the best."""
    result = matcher_settings(
        "rouge2",
        "mrr@5",
        [(LOW, {"a": 0.9, "b": 0.8}, True), (HIGH, {"a": 0.5, "b": 0.4}, False)],
    )
    assert result.sentence.startswith("The order of retrievers by mrr@5 is the same under all 2")
    assert "labels do" in result.sentence
    assert result.swapped == ()
    assert "0.9000 ★" in str(result)


def test_an_order_that_turns():
    """Who is first depends on the setting, and the pair is named; equal means are one place."""
    result = matcher_settings(
        "rouge2",
        "mrr@5",
        [
            (LOW, {"a": 0.9, "b": 0.8, "c": 0.8}, True),
            (HIGH, {"a": 0.5, "b": 0.6, "c": 0.1}, False),
        ],
    )
    assert result.swapped == (("a", "b"),)
    assert result.settings[0].order == (("a",), ("b", "c"))
    assert "depends on the setting of rouge2: it changes for a and b" in result.sentence


def test_what_cannot_be_compared_under_one_setting_swaps_with_nothing():
    """A retriever without a mean has no place, and one retriever has no order."""
    result = matcher_settings(
        "r", "redundancy@5", [(LOW, {"a": 0.9, "b": 0.8}, False), (HIGH, {"a": 0.1}, False)]
    )
    assert result.settings[0].order == (("b",), ("a",))
    assert result.swapped == ()
    one = matcher_settings("r", "m", [(LOW, {"a": 1.0}, False), (HIGH, {"a": 0.5}, False)])
    assert "one retriever under 2 settings" in one.sentence
    none = matcher_settings("r", "m", [(LOW, {}, False)])
    assert "one retriever" in str(none) or none.sentence
