"""Charts: what is drawn, that nothing overlaps, Korean without system fonts, no state left."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import matplotlib
import pandas as pd
import pytest
from matplotlib import font_manager, pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from kragx.adapters.krag.evaluators import OfflineRetrievalEvaluators
from kragx.adapters.krag.rag_evaluator import RAGEvaluator
from kragx.ground.errors import MissingExtraError, UsageError, installing
from kragx.report.figures import bars as charts, drawing
from kragx.report.figures.bars import comparison_figure, metrics_figure
from tests.thoroughness import some

PLOT = re.escape(installing("plot"))

VALUES: dict[str, dict[str, float | None]] = {
    "Hit Rate": {"hit_rate": 1.0},
    "MRR": {"mrr": 0.8125},
    "Recall": {"micro_recall": 0.6666, "macro_recall": 0.75},
    "Precision": {"micro_precision": 0.0, "macro_precision": 0.25},
    "F1 Score": {"micro_f1": 0.95, "macro_f1": 0.99},
    "MAP": {"map": 0.5},
    "NDCG": {"ndcg": 0.7},
}
KOREAN = [
    "형태소 분석을 쓰는 이름이 아주 긴 검색기",
    "벡터 검색",
    "BM25",
    "a" * 60,
    "cost $5 or $6",
]


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    """A backend without windows, and no figure of another test."""
    before = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    pyplot.close("all")
    yield
    pyplot.switch_backend(before)


def means(names: list[str], k: int = 5, **columns: list[Any]) -> pd.DataFrame:
    """A table of averages for these retrievers."""
    values = [0.1 + 0.8 * at / max(1, len(names) - 1) for at in range(len(names))]
    table = {f"{metric}@{k}": values for metric in ("hit_rate", "mrr", "micro_f1", "map", "ndcg")}
    return pd.DataFrame({**table, **columns}, index=pd.Index(names, name="retriever"))


def bars(axes: Any) -> list[Rectangle]:
    """The bars of a panel in the order of drawing."""
    return [bar for container in axes.containers for bar in container]


def heights(axes: Any) -> list[float]:
    """The heights of a panel's bars."""
    return [bar.get_height() for bar in bars(axes)]


def shown(figure: Figure) -> list[Text]:
    """Every text that the figure shows."""
    FigureCanvasAgg(figure).draw()
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip()
    ]


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """The texts of a figure that overlap each other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown(figure)]
    pairs = []
    for (one, first), (other, second) in combinations(boxes, 2):
        width = min(first.x1, second.x1) - max(first.x0, second.x0)
        height = min(first.y1, second.y1) - max(first.y0, second.y0)
        if width > 0.5 and height > 0.5:
            pairs.append((one, other))
    return pairs


def outside(figure: Figure) -> list[str]:
    """The texts that stick out of a figure."""
    found = []
    for text in shown(figure):
        box = text.get_window_extent()
        if box.x0 < 0 or box.y0 < 0 or box.x1 > figure.bbox.width or box.y1 > figure.bbox.height:
            found.append(text.get_text())
    return found


class TestMetricsFigure:
    """metrics_figure."""

    def test_a_bar_for_each_value(self) -> None:
        """Every value has a bar of its height with the value written above it."""
        figure = metrics_figure(VALUES, 5)
        (axes,) = figure.axes
        values = [value for of in VALUES.values() for value in of.values()]
        assert heights(axes) == values
        FigureCanvasAgg(figure).draw()
        for bar, value, text in zip(bars(axes), values, axes.texts, strict=True):
            assert text.get_text() == f"{value:.3f}"
            above, below = text.get_window_extent(), bar.get_window_extent()
            assert above.y0 >= below.y1
            assert (above.x0 + above.x1) / 2 == pytest.approx((below.x0 + below.x1) / 2, abs=1)

    def test_labels(self) -> None:
        """Title with k, both axes, each metric and the legend are labelled."""
        figure = metrics_figure(VALUES, 7)
        (axes,) = figure.axes
        assert "k = 7" in figure.get_suptitle()
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert [label.get_text() for label in axes.get_xticklabels()] == list(VALUES)
        (legend,) = figure.legends
        kinds = [text.get_text().split()[0] for text in legend.get_texts()]
        assert kinds == ["mean", "micro:", "macro:"]

    def test_whole_lists(self) -> None:
        """Without k the title says so, and does not show None."""
        title = metrics_figure(VALUES, None).get_suptitle()
        assert "whole lists" in title
        assert "None" not in title

    def test_colours(self) -> None:
        """Micro and macro averages have one colour each, single values a third; the legend's."""
        figure = metrics_figure(VALUES, 5)
        colours: dict[str, set[str]] = {"mean": set(), "micro": set(), "macro": set()}
        names = [name for of in VALUES.values() for name in of]
        for bar, name in zip(bars(figure.axes[0]), names, strict=True):
            kind = name.split("_")[0]
            colours[kind if kind in colours else "mean"].add(to_hex(bar.get_facecolor()))
        assert all(len(found) == 1 for found in colours.values())
        assert len(set.union(*colours.values())) == 3
        legend = [to_hex(patch.get_facecolor()) for patch in figure.legends[0].get_patches()]
        assert legend == [found.pop() for found in colours.values()]

    def test_micro_left_of_macro(self) -> None:
        """The two averages of a metric stand side by side around its label, micro first."""
        axes = metrics_figure(VALUES, 5).axes[0]
        micro, macro = bars(axes)[2:4]
        assert micro.get_x() + micro.get_width() <= macro.get_x()
        assert (micro.get_x() + macro.get_x() + macro.get_width()) / 2 == pytest.approx(2)

    def test_one_average_alone(self) -> None:
        """With macro averages alone, these stand in the middle and micro is not in the legend."""
        figure = metrics_figure({"MRR": {"mrr": 0.5}, "Recall": {"macro_recall": 0.4}}, 3)
        bar = bars(figure.axes[0])[1]
        assert bar.get_x() + bar.get_width() / 2 == pytest.approx(1)
        assert len(figure.legends[0].get_texts()) == 2

    def test_from_0_to_1(self) -> None:
        """The axis starts at 0 and ends with the tick 1, however small the values."""
        axes = metrics_figure({"MRR": {"mrr": 0.01}}, 5).axes[0]
        assert axes.get_ylim()[0] == 0
        assert max(axes.get_yticks()) == 1
        assert axes.get_ylim()[1] >= 1
        assert not axes.lines

    def test_above_1(self) -> None:
        """A value above 1 is drawn whole, and a line marks 1."""
        axes = metrics_figure({**VALUES, "MAP": {"map": 3.0}}, 5).axes[0]
        assert axes.get_ylim()[1] > 3
        (line,) = axes.lines
        assert set(line.get_ydata()) == {1.0}

    @pytest.mark.parametrize("of", [{"f1": None}, {"f1": float("nan")}, {}])
    def test_no_value(self, of: dict[str, float | None]) -> None:
        """A metric without value keeps its place, with a dash and no bar to see."""
        axes = metrics_figure({"MRR": {"mrr": 0.5}, "F1 Score": of}, 5).axes[0]
        assert heights(axes) == [0.5, 0]
        assert [text.get_text() for text in axes.texts] == ["0.500", "-"]

    @pytest.mark.integration
    @pytest.mark.parametrize("top", [1.0, 3.0])
    def test_no_overlap(self, top: float) -> None:
        """No two texts overlap and none sticks out, up to the highest values."""
        figure = metrics_figure({**VALUES, "NDCG": {"ndcg": top}}, 5)
        assert overlapping(figure) == []
        assert outside(figure) == []


class TestComparisonFigure:
    """comparison_figure."""

    @pytest.mark.parametrize("count", some([1, 2, 3, 9], 4))
    def test_a_panel_a_metric_a_bar_a_retriever(self, count: int) -> None:
        """There is a panel for each metric and no other, in each a bar with value a retriever."""
        table = means([f"검색기 {at}" for at in range(count)])
        figure = comparison_figure(table, 5)
        assert [axes.get_title("left") for axes in figure.axes] == [
            "hit_rate", "mrr", "micro_f1", "map", "ndcg"
        ]  # fmt: skip
        for axes in figure.axes:
            assert [bar.get_width() for bar in bars(axes)] == pytest.approx(table["mrr@5"].tolist())
            assert [text.get_text() for text in axes.texts] == [
                f"{value:.3f}" for value in table["mrr@5"]
            ]
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert names == list(table.index)
        assert "k = 5" in figure.get_suptitle()

    def test_the_right_bar(self) -> None:
        """The first retriever's name, bar and value stand at one height, on top."""
        figure = comparison_figure(means(["first", "second"]), 5)
        FigureCanvasAgg(figure).draw()
        axes = figure.axes[0]
        rows = [(bar.get_window_extent().y0, bar.get_window_extent().y1) for bar in bars(axes)]
        for (low, high), label, text in zip(rows, axes.get_yticklabels(), axes.texts, strict=True):
            for each in (label, text):
                box = each.get_window_extent()
                assert low < (box.y0 + box.y1) / 2 < high
        assert rows[0][0] > rows[1][1]

    def test_the_k_asked_for(self) -> None:
        """Columns of another k, also one that starts with the same digits, are left out."""
        table = means(["a"], **{"mrr@50": [0.3], "mrr@1": [0.2], "n_scored": [9]})
        assert len(comparison_figure(table, 5).axes) == 5
        assert [axes.get_title("left") for axes in comparison_figure(table, 1).axes] == ["mrr"]

    @pytest.mark.integration
    @pytest.mark.parametrize("names", [KOREAN, KOREAN[:1], ["", " "]])
    def test_no_overlap(self, names: list[str]) -> None:
        """Long and Korean names neither overlap nor stick out."""
        figure = comparison_figure(means(names), 5)
        assert overlapping(figure) == []
        assert outside(figure) == []

    def test_names_are_complete(self) -> None:
        """Names are wrapped and never cut, and dollar signs stay what they are."""
        figure = comparison_figure(means(KOREAN), 5)
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert ["".join(label.split()) for label in labels] == [
            "".join(name.split()) for name in KOREAN
        ]
        assert max(label.count("\n") for label in labels) >= 2
        assert not any(label.get_parse_math() for label in figure.axes[0].get_yticklabels())

    def test_missing_and_above_1(self) -> None:
        """A missing value is a dash; a panel with a value above 1 shows it whole, with a line."""
        table = means(["a", "b"], **{"map@5": [float("nan"), 2.5]})
        panel = comparison_figure(table, 5).axes[3]
        assert [text.get_text() for text in panel.texts] == ["-", "2.500"]
        assert panel.get_xlim()[1] > 2.5
        assert set(panel.lines[0].get_xdata()) == {1.0}

    def test_wrong_k(self) -> None:
        """A k without columns is refused; the message names the ks that there are."""
        with pytest.raises(UsageError, match=r"'@3'.*k = 5"):
            comparison_figure(means(["a"]), 3)

    def test_no_retriever(self) -> None:
        """A table without rows is refused."""
        with pytest.raises(UsageError, match="df_mean: it has no row"):
            comparison_figure(means(["a"]).iloc[:0], 5)


class TestFont:
    """Korean text without a font of the system."""

    @pytest.mark.integration
    def test_no_glyph_is_missing(self) -> None:
        """Korean labels draw without the warning about missing glyphs (an error in this suite)."""
        labels = {"재현율": {"micro_recall": 0.5}, "평균 역순위": {"mrr": 0.25}}
        for figure in (metrics_figure(labels, 5), comparison_figure(means(KOREAN), 5)):
            figure.savefig(io.BytesIO(), format="png")

    def test_the_warning_exists(self) -> None:
        """Without the shipped font matplotlib does warn, so that the test above can fail."""
        figure = Figure()
        figure.text(0.1, 0.5, "재현율", family="DejaVu Sans")
        with pytest.warns(UserWarning, match=r"Glyph .* missing"):
            figure.savefig(io.BytesIO(), format="png")

    def test_the_shipped_font_is_used(self) -> None:
        """Hangul is set in the font file of koreanize-matplotlib: a PDF embeds that font."""
        file = io.BytesIO()
        metrics_figure({"재현율": {"micro_recall": 0.5}}, 5).savefig(file, format="pdf")
        assert b"NanumGothic" in file.getvalue()
        path = drawing.font_file("a test")
        assert path.parent.parent.name == "koreanize_matplotlib"
        listed = {font.fname for font in font_manager.fontManager.ttflist}
        assert str(path) in listed

    def test_rendered_by_the_shipped_file(self) -> None:
        """The family that the labels name resolves to the shipped font, or its installed twin."""
        (axes,) = metrics_figure({"재현율": {"micro_recall": 0.5}}, 5).axes
        families = axes.get_xticklabels()[0].get_fontfamily()
        found = [font_manager.findfont(FontProperties(family=each)) for each in families]
        assert drawing.font_file("a test").name in {Path(each).name for each in found}

    def test_listed_once(self) -> None:
        """Drawing again does not list the font again."""
        for _ in range(2):
            metrics_figure(VALUES, 5)
        name = str(drawing.font_file("a test"))
        assert [font.fname for font in font_manager.fontManager.ttflist].count(name) == 1

    def test_the_package_is_not_imported(self) -> None:
        """The font's package, whose import changes settings, is not imported."""
        metrics_figure(VALUES, 5)
        assert "koreanize_matplotlib" not in sys.modules


class TestState:
    """What drawing leaves behind, and where figures are shown."""

    def test_settings_and_figures(self) -> None:
        """The user's settings, current figure and open figures stay as they were."""
        mine = pyplot.figure()
        with matplotlib.rc_context({"font.family": ["serif"], "axes.unicode_minus": False}):
            before = dict(matplotlib.rcParams)
            metrics_figure(VALUES, 5)
            comparison_figure(means(KOREAN), 5)
            assert dict(matplotlib.rcParams) == before
        assert pyplot.get_fignums() == [mine.number]
        assert pyplot.gcf() is mine

    def test_nothing_is_shown_without_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With Agg nothing is shown, and the figure can be saved."""
        monkeypatch.setattr(pyplot, "show", lambda: pytest.fail("shown"))
        file = io.BytesIO()
        metrics_figure(VALUES, 5).savefig(file)
        assert file.getvalue().startswith(b"\x89PNG")

    def test_shown_in_a_window(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a backend that has windows the figure is shown once, as pyplot's own."""
        shows = []
        monkeypatch.setattr(matplotlib, "get_backend", lambda: "TkAgg")
        monkeypatch.setattr(pyplot, "show", lambda: shows.append(pyplot.gcf()))
        figure = metrics_figure(VALUES, 5)
        assert shows == [figure]
        pyplot.close(figure)

    @pytest.mark.parametrize("is_value", [True, False])
    def test_shown_once_in_a_notebook(
        self, monkeypatch: pytest.MonkeyPatch, is_value: bool
    ) -> None:
        """When a cell ends its figure is shown, unless it is the cell's value; and only then."""
        waiting: list[Any] = []
        displayed: list[Any] = []

        class Events:
            def register(self, event: str, function: Any) -> None:
                waiting.append((event, function))

            def unregister(self, event: str, function: Any) -> None:
                waiting.remove((event, function))

        shell = SimpleNamespace(events=Events())
        package, module = ModuleType("IPython"), ModuleType("IPython.display")
        package.get_ipython = lambda: shell  # type: ignore[attr-defined]
        module.display = displayed.append  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", package)
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        monkeypatch.setattr(matplotlib, "get_backend", lambda: "inline")
        monkeypatch.setattr(pyplot, "show", lambda: pytest.fail("shown by pyplot as well"))
        figure = metrics_figure(VALUES, 5)
        assert displayed == []
        assert pyplot.get_fignums() == []
        ((event, end_of_cell),) = waiting
        assert event == "post_run_cell"
        end_of_cell(SimpleNamespace(result=figure if is_value else None))
        assert displayed == ([] if is_value else [figure])
        assert waiting == []

    @pytest.mark.parametrize("package", ["matplotlib", "matplotlib.font_manager"])
    def test_no_matplotlib(self, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
        """Without matplotlib the error says what to install."""
        monkeypatch.setitem(sys.modules, package, None)
        if package != "matplotlib":
            monkeypatch.delattr(matplotlib, "font_manager")
        with pytest.raises(MissingExtraError, match=rf"visualize_results.*{PLOT}"):
            metrics_figure(VALUES, 5)
        with pytest.raises(MissingExtraError, match=rf"visualize_retrieval_at_K.*{PLOT}"):
            comparison_figure(means(["a"]), 5)

    def test_no_font(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the font's package the error is the same."""
        monkeypatch.setattr(drawing, "find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=PLOT):
            metrics_figure(VALUES, 5)

    def test_loaded_when_used(self) -> None:
        """Importing the module does not import matplotlib."""
        code = "import sys, kragx.report.figures.bars; print('matplotlib' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout.split() == [b"False"]


class TestEvaluators:
    """The evaluators' visualize_results."""

    @pytest.mark.parametrize("profile", ["kragx", "krag"])
    def test_seven_metrics(self, profile: str) -> None:
        """The chart shows the seven metrics with the values of evaluate_all."""
        evaluator = OfflineRetrievalEvaluators(
            [["고양이"], ["강아지", "토끼"]],
            [["고양이 사료", "새 모이"], ["토끼 풀"]],
            matching_criteria="partial",
            profile=profile,
        )
        (axes,) = evaluator.visualize_results(2).axes
        assert [label.get_text() for label in axes.get_xticklabels()] == list(VALUES)
        expected = [value for of in evaluator.evaluate_all(2).values() for value in of.values()]
        assert len(expected) == 10
        assert heights(axes) == pytest.approx(expected)

    def test_nothing_found(self) -> None:
        """Where K-RAG has no F1 at all, F1 still has its place."""
        evaluator = OfflineRetrievalEvaluators([["가"]], [["나"]], profile="krag")
        (axes,) = evaluator.visualize_results(1).axes
        assert [label.get_text() for label in axes.get_xticklabels()] == list(VALUES)

    def test_rag_evaluator(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """RAGEvaluator draws a chart for each k if it is asked to."""
        cuts: list[Any] = []
        monkeypatch.setattr(charts, "metrics_figure", lambda values, k: cuts.append(k))
        RAGEvaluator().evaluate_all([["가"]], [["가 나"]], k=[1, 3])
        assert cuts == []
        RAGEvaluator().evaluate_all([["가"]], [["가 나"]], k=[1, 3], visualize=True)
        assert cuts == [1, 3]
