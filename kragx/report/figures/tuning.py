"""A grid: the metric along each axis, and quality against context with its front."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.comparison.tuning import Curve, SettingResult, Tuning
from kragx.data import file_names
from kragx.ground.printing import in_language, phrase
from kragx.report.figures.drawing import INK, colour, drawing, marker, panels, save_all, unit_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tuning_figures(
    tunings: Sequence[Tuning], folder: str | Path, *, language: str | None = None
) -> list[Path]:
    """Draw what each grid came to, as PNG and SVG; nothing of one where nothing was compared.

    Args:
        tunings: one for each matcher.
        folder: where to write; with several matchers each has a folder of its own in it.
        language: of titles and labels: ``en`` or ``ko``; None for the one that results are shown
            in (KRAGX_LANG).

    Returns:
        The files.

    Raises:
        MissingExtraError: matplotlib or koreanize-matplotlib is not installed.
        UsageError: there is no such language, or the folder cannot be made.
    """
    written: list[Path] = []
    names = file_names(tuning.match for tuning in tunings)
    with drawing("figures", language) if tunings else nullcontext():
        for tuning, name in zip(tunings, names, strict=True):
            if (figure := _figure(tuning)) is not None:
                place = Path(folder, name if len(tunings) > 1 else "")
                written += save_all({"tuning": figure}, place)
    return written


def _figure(tuning: Tuning) -> Figure | None:
    mains = tuning.curves
    sized = [
        setting
        for setting in tuning.settings
        if setting.tokens is not None and setting.mean is not None
    ]
    count = len(mains) + bool(sized)
    if not count:
        return None
    title = phrase(
        "{metric} along each axis, with {share} % intervals",
        metric=tuning.metric,
        share=round(100 * tuning.confidence),
    )
    figure, axes = panels(title, count, 2, 5.2, 3.3)
    for panel, curve in zip(axes, mains):
        _curve(panel, curve, tuning.metric)
    if sized:
        _context(axes[-1], sized, tuning)
    return figure


def _curve(panel: Axes, curve: Curve, metric: str) -> None:
    places = range(len(curve.points))
    means = [point.mean for point in curve.points]
    panel.plot(places, means, color=colour(0), linewidth=1, marker=marker(0))
    for place, point in zip(places, curve.points):
        if point.low is not None and point.high is not None:
            panel.vlines(place, point.low, point.high, color=colour(0), linewidth=2.5, alpha=0.5)
    labels = [f"{point.value}{' ▼' * point.told_apart}" for point in curve.points]
    panel.set_xticks(list(places), labels)
    panel.set(title=curve.label, ylabel=metric, xlim=(-0.5, len(labels) - 0.5))
    unit_axis(panel, means, "y", room=1.05)


def _context(panel: Axes, sized: Sequence[SettingResult], tuning: Tuning) -> None:
    for setting in sized:
        faint = 0.35 if setting.told_apart else 1.0
        shape = "D" if setting.on_front else "o"
        panel.scatter(
            [setting.tokens or 0], [setting.mean or 0], color=colour(0), marker=shape, alpha=faint
        )
        if setting.name == tuning.take:
            point = (setting.tokens or 0, setting.mean or 0)
            panel.annotate(
                in_language(phrase("take")),
                point,
                (0, 9),
                textcoords="offset points",
                ha="center",
                color=INK,
            )
    panel.set(
        title=in_language(phrase("Quality against context")),
        xlabel=in_language(phrase("tokens of context")),
        ylabel=in_language(phrase("{metric}, questions that choose", metric=tuning.metric)),
    )
    panel.set_xlim(left=0)
    unit_axis(panel, [setting.mean for setting in sized], "y", room=1.05)
