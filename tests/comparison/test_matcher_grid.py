"""How the order of retrievers depends on a matcher's setting."""

import pytest

from kragx import UsageError
from kragx.comparison.threshold_study import sweep_of_grid
from kragx.comparison.tuning import settings
from kragx.report.figures.comparison import sweep_figure

LOW, HIGH = (own.name for own in settings("rouge2", {"threshold": [0.4, 0.6]}))


def test_an_order_that_stays():
    """It is said, and no setting is called the best."""
    result = sweep_of_grid(
        "rouge2", "mrr@5", [(LOW, {"a": 0.9, "b": 0.8}), (HIGH, {"a": 0.5, "b": 0.4})]
    )
    assert result.sentence.startswith("The order of retrievers by mrr@5 is the same under all 2")
    assert "labels do" in result.sentence
    assert result.of_grid.swapped == ()
    assert "0.9000" in str(result)


def test_an_order_that_turns():
    """Who is first depends on the setting, and the pair is named."""
    result = sweep_of_grid(
        "rouge2",
        "mrr@5",
        [(LOW, {"a": 0.9, "b": 0.8, "c": 0.8}), (HIGH, {"a": 0.5, "b": 0.6, "c": 0.1})],
    )
    assert result.of_grid.swapped == (("a", "b"),)
    assert "depends on the setting of rouge2: it changes for a and b" in result.sentence


def test_what_cannot_be_compared_under_one_setting_swaps_with_nothing():
    """A retriever without a mean has no place, and one retriever has no order."""
    result = sweep_of_grid("r", "redundancy@5", [(LOW, {"a": 0.9, "b": 0.8}), (HIGH, {"a": 0.1})])
    assert result.of_grid.swapped == ()
    one = sweep_of_grid("r", "m", [(LOW, {"a": 1.0}), (HIGH, {"a": 0.5})])
    assert "one retriever under 2 settings" in one.sentence
    none = sweep_of_grid("r", "m", [(LOW, {})])
    assert "one retriever" in str(none) or none.sentence


def test_a_grid_is_no_figure():
    """Its settings stand in a table; what is drawn are thresholds."""
    pytest.importorskip("matplotlib")
    with pytest.raises(UsageError, match="there is nothing to draw"):
        sweep_figure(sweep_of_grid("rouge2", "mrr@5", [(LOW, {"a": 0.9})]))
