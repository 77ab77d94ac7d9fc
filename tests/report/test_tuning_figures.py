"""Figures of grids."""

from importlib.util import find_spec

import numpy as np
import pytest

from kragx.comparison.tuning import Rules, Tried, settings, tuned
from kragx.errors import UsageError
from kragx.report.figures.studies import tuning_figures

pytestmark = pytest.mark.skipif(
    not (find_spec("matplotlib") and find_spec("koreanize_matplotlib")), reason="extra plot"
)


def tuning(match="overlap"):
    """Four settings of two axes."""
    rng = np.random.default_rng(0)
    grid = settings("검색기", {"크기": [150, 300], "k": [5, 10]})
    tried = [
        Tried(own, own.name, rng.random(40), own.values["크기"] * own.values["k"]) for own in grid
    ]
    return tuned(tried, Rules("ndcg@10", match, resamples=200))


@pytest.mark.integration
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_same_data_give_the_same_files(tmp_path, language):
    """A picture and a drawing for each matcher, twice the same, in both languages."""
    both = [tuning(), tuning("exact")]
    one, other = (tuning_figures(both, tmp_path / name, language=language) for name in "ab")
    assert [path.relative_to(tmp_path / "a").as_posix() for path in one] == [
        "overlap/tuning.png",
        "overlap/tuning.svg",
        "exact/tuning.png",
        "exact/tuning.svg",
    ]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_nothing_to_draw_and_no_such_language(tmp_path):
    """Without settings no file is written; another language is an error."""
    assert tuning_figures([tuned([], Rules("m"))], tmp_path) == []
    assert tuning_figures([], tmp_path) == []
    with pytest.raises(UsageError):
        tuning_figures([tuning()], tmp_path, language="fr")
