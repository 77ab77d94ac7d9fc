"""Tuning: which setting of a grid to take, how sure that is, and what each axis does."""

from kragx.comparison.tuning.choosing import (
    as_measured as as_measured,
    costs_of as costs_of,
    drawn as drawn,
    first_that_chooses as first_that_chooses,
    halved as halved,
    tuned as tuned,
    tuning_of as tuning_of,
)
from kragx.comparison.tuning.grid import (
    GRID as GRID,
    MAX_SETTINGS as MAX_SETTINGS,
    Setting as Setting,
    has_grid as has_grid,
    read_grid as read_grid,
    settings as settings,
    size as size,
    spread as spread,
    value_label as value_label,
)
from kragx.comparison.tuning.tuning import (
    SHOWN as SHOWN,
    Curve,
    HeldOut,
    Point,
    SettingResult,
    Tuning,
)

__all__ = ["Curve", "HeldOut", "Point", "SettingResult", "Tuning"]
