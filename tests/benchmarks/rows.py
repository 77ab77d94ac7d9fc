"""The rows of the table: what is compared with what, and the bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .workloads import SIZE

Measured = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By group and side: `seconds`, and `megabytes` where memory was measured."""


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: names the row where ratios are stored.
        work: what is done.
        against: what kragx is compared with.
        kind: `faster` (a peer's time over kragx's, at least the bar), `floor` (kragx's time over
            that of the least work, at most the bar), or a plain number, at most the bar.
        ours, theirs: group and side of the two measurements; a plain number has the first only.
        bar: None for a row that has none.
        unit: of a plain number.
    """

    name: str
    work: str
    against: str
    kind: Literal["faster", "floor", "seconds", "megabytes", "linear"]
    ours: tuple[str, str]
    theirs: tuple[str, str] | None = None
    bar: float | None = None

    def value(self, measured: Measured) -> float | None:
        """The ratio or number, None where something was not measured."""
        ours = measured.get(self.ours[0], {}).get(self.ours[1])
        if ours is None:
            return None
        if self.theirs is None:
            return ours.get(self.kind)
        theirs = measured.get(self.theirs[0], {}).get(self.theirs[1])
        if theirs is None:
            return None
        if self.kind == "faster":
            return theirs["seconds"] / ours["seconds"]
        return ours["seconds"] / theirs["seconds"]

    def reached(self, value: float) -> bool | None:
        """Whether a value reaches the bar; None if there is none."""
        if self.bar is None:
            return None
        return value >= self.bar if self.kind == "faster" else value <= self.bar

    def shown(self, value: float | None) -> str:
        """A value or bar as the table shows it."""
        if value is None:
            return "-"
        unit = {"seconds": " s", "megabytes": " MB"}.get(self.kind, "x")
        digits = 0 if value >= 20 else 1 if value >= 10 else 2
        return f"{value:,.{digits}f}{unit}"


def _compared(
    group: str, work: str, sides: Mapping[str, tuple[str, float | None]], ours: str = "kragx"
) -> Iterator[Row]:
    """A row for each side: how a row calls it, and its bar."""
    for side, (against, bar) in sides.items():
        kind: Literal["faster", "floor"] = "faster" if side.startswith("peer") else "floor"
        extra = ours.removeprefix("kragx")
        yield Row(f"{group}{extra} {side}", work, against, kind, (group, ours), (group, side), bar)


def rows() -> list[Row]:
    """Every row, in order, for the size that is measured."""
    q = f"{SIZE.metric_queries:,}"
    rouge = f"{SIZE.rouge_queries:,} queries x 3 gold x 10 documents, 120 words"
    tokens = "tokenising each text once"
    pattern = f"{tokens} by a regular expression"
    found = [
        *_files(),
        *_compared(
            "evaluate-all-rouge2",
            "RAGEvaluator('rouge2').evaluate_all, 600 queries x 10 LangChain documents of 850",
            {"peer-rouge-score": ("rouge-score of every pair", 25.0), "floor": (tokens, None)},
        ),
        *_compared(
            "evaluate-all-rougeL",
            "the same by ROUGE-L",
            {"peer-rouge-score": ("rouge-score of every pair", 120.0), "floor": (tokens, None)},
        ),
        *_compared(
            "evaluate-all-overlap", "the same by the default match", {"floor": (tokens, None)}
        ),
        *_compared(
            "rouge-1-2",
            f"ROUGE-1 and 2 in one pass, {rouge}",
            {
                "peer-rouge-score": ("rouge-score", 20.0),
                "floor-pattern": (pattern, 2.5),
                "floor": (tokens, 2.5),
            },
        ),
        *_compared(
            "rouge-l",
            "ROUGE-L of the same",
            {
                "peer-rouge-score": ("rouge-score", 150.0),
                "floor-pattern": (pattern, None),
                "floor": (tokens, None),
            },
        ),
        *(
            row
            for language in ("English", "Korean")
            for row in (
                *_compared(
                    f"tokens-{language.lower()}",
                    f"words of each distinct text, {language}",
                    {"floor-pattern": ("NFC, lower case and a regular expression", None)},
                ),
                *_compared(
                    f"default-{language.lower()}",
                    f"the default matcher, {language}",
                    {"floor-rouge2": ("ROUGE-2's overlap alone", None)},
                ),
            )
        ),
        *_compared(
            "coverage",
            f"coverage at 5 cut-offs, {rouge}",
            {"floor-rouge2": ("the rouge2 match of the same texts", 2.0)},
        ),
        *_compared(
            "coverage",
            "the same, gaps of two words bridged",
            {"floor-rouge2": ("the rouge2 match of the same texts", 3.0)},
            "kragx-bridged",
        ),
        *_compared(
            "coverage",
            "coverage, density and iou of the same",
            {"floor-rouge2": ("the rouge2 match of the same texts", None)},
            "kragx-all",
        ),
        *_compared(
            "coverage",
            "the matcher `span` on the same",
            {"floor-rouge2": ("the rouge2 match of the same texts", None)},
            "kragx-span",
        ),
        *_compared(
            "metrics-table",
            f"7 metrics at 5 cut-offs from a match table, {q} queries x 100 documents x 10 gold",
            {"peer-ranx": ("ranx, its Qrels and Run ready", 40.0), "floor": ("bare numpy", None)},
        ),
        *_compared(
            "metrics-dicts",
            "the same from dicts of ids",
            {
                "peer-pytrec_eval": ("pytrec_eval", 1.5),
                "peer-ir_measures": ("ir_measures", None),
                "floor": ("reading each number once", None),
            },
        ),
        *_compared(
            "metrics-arrays",
            f"the same from arrays, {SIZE.array_queries:,} queries x 10 documents x 3 gold",
            {"floor": ("bare numpy", None)},
        ),
        Row(
            "metrics-arrays seconds",
            "the same, in seconds",
            "",
            "seconds",
            ("metrics-arrays", "kragx"),
            bar=10.0,
        ),
    ]
    found += _compared(
        "statistics-intervals",
        f"30 bootstrap intervals, {q} queries, 2,000 resamples",
        {"peer-scipy": ("scipy.stats.bootstrap", None)},
    )
    found += _compared(
        "statistics-tests",
        "30 paired randomisation tests of the same",
        {"peer-scipy": ("scipy.stats.permutation_test", None)},
    )
    compared = f"5 retrievers x 30 metrics compared, {q} queries, 10,000 resamples"
    comparison = ("statistics-comparison", "kragx")
    found.append(Row("statistics-comparison", compared, "", "seconds", comparison, bar=10.0))
    for side, profile, english in (
        ("kragx", "kragx", {"floor": ("splitting each text once", None)}),
        (
            "kragx-as-krag",
            "krag",
            {"floor-stems": ("splitting, and stemming each word once", None)},
        ),
    ):
        work = f"K-RAG's evaluation, 7 metrics at 10, profile {profile}"
        found += _compared(
            "krag-english",
            f"{work}, English, {SIZE.krag_queries} queries",
            {"peer-krag": ("K-RAG", 50.0), **english},
            side,
        )
        found += _compared(
            "krag-korean",
            f"{work}, Korean, {SIZE.kiwi_queries} queries",
            {"floor": ("Kiwi on each text once", 1.3), "peer-krag": ("K-RAG", None)},
            side,
        )
    for side, work, bar in (
        ("kragx-import", "import kragx", 0.15),
        ("kragx-help", "kragx --help", 0.4),
        ("kragx-score", "kragx score, ten queries", None),
    ):
        found.append(Row(f"{side} seconds", work, "", "seconds", ("start", side), bar=bar))
        bare = ("start", "floor")
        found.append(Row(f"{side} floor", work, "bare Python", "floor", ("start", side), bare))
    for side, what, bar in (
        ("kragx-table", "the table itself", 300.0),
        ("kragx-building", "at most while it is built", 300.0),
        ("kragx-metrics", "at most while metrics are computed", None),
    ):
        work = f"match table, {q} x 100 x 10, every pair scored: {what}"
        found.append(Row(side, work, "", "megabytes", ("memory-table", side), bar=bar))
    found += _compared(
        "test_runner_beside_a_bare_loop",
        "1,000 judgements, 32 at once, server with 50 ms",
        {"floor": ("a bare loop over the same client", 1.15)},
    )
    stored = ("test_all_stored", "kragx")
    found.append(Row("stored judgements", "the same, all stored", "", "seconds", stored, bar=0.5))
    chunks = f"{SIZE.moved_chunks // 10:,} gold items moved to {SIZE.moved_chunks:,} chunks"
    found += _compared("move", chunks, {"floor": ("json.loads of both corpora", None)})
    found.append(Row("move seconds", chunks, "", "seconds", ("move", "kragx"), bar=600.0))
    found.append(
        Row("move megabytes", "the same: peak", "", "megabytes", ("move", "kragx"), bar=2e3)
    )
    answer = f"an answer of the workshop's page, 20 people at once, {SIZE.page_chunks:,} chunks"
    # 5 ms each, so that nobody of 20 waits 100 ms where the floor takes 0.4.
    bare_page = {"floor": ("a bare Starlette endpoint, with a commit for each judgement", 12.0)}
    found += _compared("answer", answer, bare_page)
    found += _compared(
        "tried-processes",
        "tried: tokenising here",
        {"tried": ("in as many processes as cores", None)},
    )
    found += _compared(
        "tried-bounds",
        "tried: every LCS of ROUGE-L",
        {"tried": ("the bounds that could save them", None)},
    )
    return found


def _files() -> Iterator[Row]:
    smallest, *larger = SIZE.file_queries
    kinds = {
        "corpus": ("of 20,000 chunks", 9.0),
        "korean": ("of 20,000 chunks in Korean, by three characters", 10.8),
        "distinct": ("all distinct", None),
        "parquet": ("of 20,000 chunks in Parquet", 5.0),
    }
    for kind, (docs, most_times) in kinds.items():
        for n in SIZE.file_queries:
            work = f"kragx score, {n:,} queries x 20 documents {docs}"
            group = f"file-{kind}-{n}"
            bar = most_times if n >= 5_000 else None
            sides = {"floor": ("json.loads of each line", bar)}
            if kind == "korean":
                sides["floor-words"] = ("the same by words", None)
            yield from _compared(group, work, sides)
            peak, most = f"{work}: peak", 1_500.0
            yield Row(f"{group} megabytes", peak, "", "megabytes", (group, "kragx"), bar=most)
        for n in larger:
            yield Row(
                f"file-{kind}-{n} linear",
                f"the same, time per query, {n:,} queries",
                f"{smallest:,} queries",
                "linear",
                (f"file-{kind}-{n}", "kragx-per-query"),
                (f"file-{kind}-{smallest}", "kragx-per-query"),
                bar=1.2,
            )
