"""How the order of retrievers depends on a matcher's setting."""

from importlib.util import find_spec

import pytest

from kragx.comparison.threshold_study import sweep_of_grid
from kragx.comparison.tuning import settings
from kragx.report.figures.studies import sweep_figure

LOW, HIGH = settings("rouge2", {"threshold": [0.4, 0.6]})


def test_an_order_that_stays():
    """It is said, and no setting is called the best."""
    result = sweep_of_grid(
        "rouge2",
        "mrr@5",
        [(LOW, {"a": 0.9, "b": 0.8}, True), (HIGH, {"a": 0.5, "b": 0.4}, False)],
    )
    assert result.sentence.startswith("The order of retrievers by mrr@5 is the same under all 2")
    assert "labels do" in result.sentence
    assert result.of_grid.swapped == ()
    assert "0.9000 ★" in str(result)


def test_an_order_that_turns():
    """Who is first depends on the setting, and the pair is named; equal means are one place."""
    result = sweep_of_grid(
        "rouge2",
        "mrr@5",
        [
            (LOW, {"a": 0.9, "b": 0.8, "c": 0.8}, True),
            (HIGH, {"a": 0.5, "b": 0.6, "c": 0.1}, False),
        ],
    )
    assert result.of_grid.swapped == (("a", "b"),)
    assert result.of_grid.orders[0] == (("a",), ("b", "c"))
    assert "depends on the setting of rouge2: it changes for a and b" in result.sentence


def test_what_cannot_be_compared_under_one_setting_swaps_with_nothing():
    """A retriever without a mean has no place, and one retriever has no order."""
    result = sweep_of_grid(
        "r", "redundancy@5", [(LOW, {"a": 0.9, "b": 0.8}, False), (HIGH, {"a": 0.1}, False)]
    )
    assert result.of_grid.orders[0] == (("b",), ("a",))
    assert result.of_grid.swapped == ()
    one = sweep_of_grid("r", "m", [(LOW, {"a": 1.0}, False), (HIGH, {"a": 0.5}, False)])
    assert "one retriever under 2 settings" in one.sentence
    none = sweep_of_grid("r", "m", [(LOW, {}, False)])
    assert "one retriever" in str(none) or none.sentence
    lost = sweep_of_grid("r", "m", [(LOW, {"a": 1.0, "b": 0.5}, True), (HIGH, {}, False)])
    assert lost.of_grid.orders == ((("a",), ("b",)), ())
    assert "1.0000 ★" in str(lost)
    assert [*lost.rows()][1] == {
        "retriever": "a",
        "match": "r",
        "setting": "rouge2[threshold=0.6]",
        "m": None,
    }


@pytest.mark.integration
def test_a_grid_is_drawn_as_a_sweep(tmp_path):
    """Over the threshold alone along it, over something else side by side; nothing is chosen."""
    pytest.importorskip("matplotlib")
    if find_spec("koreanize_matplotlib") is None:
        pytest.skip("needs the extra 'plot'")
    means = {"a": 0.9, "b": 0.8}
    along = sweep_of_grid("rouge2", "mrr@5", [(LOW, means, True), (HIGH, means, False)])
    assert along.thresholds == (0.4, 0.6)
    (panel,) = sweep_figure(along, tmp_path / "along.svg").axes
    assert [line.get_xdata().tolist() for line in panel.lines] == [[0.4, 0.6]] * 2
    under = [(setting, means, True) for setting in settings("rouge2", {"measure": ["r", "p"]})]
    beside = sweep_of_grid("rouge2", "mrr@5", under)
    assert beside.thresholds == ()
    (panel,) = sweep_figure(beside, tmp_path / "beside.svg").axes
    named = [label.get_text() for label in panel.get_xticklabels()]
    assert named == ["rouge2[measure=r]", "rouge2[measure=p]"]
