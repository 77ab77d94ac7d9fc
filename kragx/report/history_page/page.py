"""The page of a history: one file, drawn as it is written, that needs nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.comparison.history import BREAKS, History, PastRun, Series, Step
from kragx.data.formats.jsonl import open_text
from kragx.data.gold_diff import gold_name
from kragx.judging.store.drift import Drift
from kragx.printing import in_language, language as language_of, number, percent, signed, visible
from kragx.report.history_page.chart import HEIGHT, WIDTH, Mark, chart, outline
from kragx.report.history_page.words import WORDS


def write_history_page(history: History, path: str | Path, *, language: str | None = None) -> None:
    """Write a history as one HTML file.

    Args:
        history: the runs.
        path: the file.
        language: ``en`` or ``ko``; None for the one that results are shown in (KRAGX_LANG).

    Raises:
        UsageError: there is no such language, or the file cannot be written.
    """
    text = history_page(history, language)
    with open_text(path) as file:
        file.write(text)


def history_page(history: History, language: str | None = None) -> str:
    """The page as a text."""
    from jinja2 import Environment

    source = Path(__file__).with_name("template.html").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True).from_string(source)
    return template.render(**_View(history, language_of(language)).parts())


FEW = 4
"""Of so many lines the bands are seen side by side; of more, that of the line pointed at."""


class _View:
    """What the template shows, in words of one language."""

    def __init__(self, history: History, language: str) -> None:
        self.history, self.language = history, language
        self.words = WORDS[language]
        self.names = [
            visible(own.retriever if history.is_one_match else f"{own.retriever} ({own.match})")
            for own in history.series
        ]
        self.runs = [_run(run) for run in history.runs]

    def parts(self) -> dict[str, Any]:
        """The variables of the template."""
        history, words = self.history, self.words
        first, last = self.runs[0]["date"], self.runs[-1]["date"]
        is_one = len(self.runs) == 1
        bands = words["bands_of_many" if len(self.names) > FEW else "bands"]
        counts = (history.n_tests, history.n_tests_of_others, history.n_tests_of_times)
        said = zip(counts, (words["tests"], words["tests_of_others"], words["tests_of_times"]))
        tests = ", ".join(
            text.format(n=n, metric=history.metrics[0]) for n, text in said if n
        ) or words["tests"].format(n=0, metric=history.metrics[0])
        span = words["runs"].format(n=len(self.runs), first=first, last=last)
        return {
            "language": self.language,
            "words": words,
            "width": WIDTH,
            "height": HEIGHT,
            "names": self.names,
            "legend": [outline(at, 7, 7, 4.5) for at in range(len(self.names))],
            "runs": self.runs,
            "commits": any(run["commit"] for run in self.runs),
            "span": first if is_one else span,
            "how": words["one"] if is_one else words["how"].format(bands=bands, tests=tests),
            "warnings": list(self._warnings()),
            "charts": [
                {"chart": chart(history, metric), "rows": list(self._rows(metric))}
                for metric in history.metrics
            ],
            "changes": list(self._changes()),
            "title": self._title,
            "many": len(self.names) > FEW,
            "drift": None if history.drift is None else list(map(_drift, history.drift)),
        }

    def _title(self, series: int, mark: Mark) -> str:
        run, own = self.runs[mark.run], mark.estimate
        verdict = self.words.get(mark.verdict, "")
        parts = (run["date"], run["name"], self.names[series], number(own.value), own.ends, verdict)
        return " · ".join(filter(None, parts))

    def _warnings(self) -> Iterator[str]:
        words = self.words
        for run in self.history.runs:
            if run.copies:
                yield f"{words['copies']}: {', '.join(map(visible, (run.name, *run.copies)))}"
        for run in self.history.ahead:
            yield f"{visible(run.name)} ({run.date}): {words['ahead']}"
        if self.history.skipped:
            # The reasons stand in the terminal, in English.
            yield f"{words['left_out']}: {', '.join(map(visible, self.history.skipped))}"

    def _rows(self, metric: str) -> Iterator[dict[str, Any]]:
        for at, run in reversed(list(enumerate(self.runs))):
            yield {
                "run": run,
                "cells": [self._cell(own, at, metric) for own in self.history.series],
            }

    def _cell(self, series: Series, at: int, metric: str) -> dict[str, str]:
        point, step = series.points[at], series.steps[at]
        if point is None or metric not in point.estimates:
            return {"text": ""}
        if point.failed:
            return {"text": self.words["failed"]}
        own = point.estimates[metric]
        test = None if step is None else step.tests.get(metric)
        if test is None:
            return {"text": number(own.value), "ends": own.ends}
        return {
            "text": f"{number(own.value)} ({signed(test.difference)})",
            "ends": own.ends,
            "verdict": test.verdict,
        }

    def _changes(self) -> Iterator[dict[str, str]]:
        """What changed, the newest first; what is so for several retrievers stands once."""
        series = self.history.series
        for at, run in reversed(list(enumerate(self.runs))):
            texts: dict[str, list[str]] = defaultdict(list)
            for name, own in zip(self.names, series):
                point, step = own.points[at], own.steps[at]
                if point is not None and point.failed:
                    texts[self.words["failed"]].append(name)
                for text in () if step is None else self._texts(step):
                    texts[text].append(name)
            for text, names in texts.items():
                everyone = len(names) == len(series) > 1
                whose = self.words["all"] if everyone else ", ".join(names)
                yield {**run, "run": run["name"], "whose": whose, "text": text}

    def _texts(self, step: Step) -> Iterator[str]:
        for kind in step.breaks:
            where = self.words["break"].format(run=visible(step.since))
            yield f"{where}: {in_language(BREAKS[kind], self.language)}"
        for change in step.changes:
            yield visible(str(change))


def _drift(own: Drift) -> dict[str, str]:
    return {
        "later": visible(own.later),
        "earlier": visible(own.earlier),
        "when": f"{own.earlier_at[:10]} → {own.later_at[:10]}",
        "pairs": str(own.n_pairs),
        "changed": f"{own.n_changed} ({percent(own.changed_share)})",
        "crossed": str(own.n_crossed),
        "change": signed(own.mean_change),
    }


def _run(run: PastRun) -> Mapping[str, Any]:
    return {
        "name": visible(run.name),
        "date": f"{run.date[:10]} {run.date[11:16]}",
        "day": run.date[:10],
        "commit": "" if run.commit is None else run.commit[:8],
        "dirty": bool(run.dirty and run.commit),
        "gold": visible(gold_name(run.gold)),
    }
