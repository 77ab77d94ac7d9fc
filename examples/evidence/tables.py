"""Tables: a row as gold, against pieces of Markdown tables that have some of its cells."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .case import Case, coined, ranked
from .languages import LANGUAGES, Language

N_ROWS = 6
N_DOCS = 10


def rows(language: Language, n_cells: int) -> Case:
    """A row's cells as gold, in a row of one to three tables; others have two cells of it.

    A cell is a number, a coined word or a place; where a table repeats cells of the gold row, they
    stand in rows of their own.
    """
    rng = random.Random(f"tables, {language.code}, {n_cells}")

    def cells() -> list[str]:
        kinds = [
            rng.choice(language.places),
            f"{rng.randint(1001, 99_999):,}",
            coined(language, rng),
            f"{rng.randint(101, 999) / 10}",
            coined(language, rng),
            str(rng.randint(1900, 2030)),
            coined(language, rng),
            f"{rng.randint(101, 999)}",
        ]
        return kinds[:n_cells]

    def table(*given: list[str]) -> str:
        body = [cells() for _ in range(N_ROWS - len(given))] + list(given)
        rng.shuffle(body)
        head = [coined(language, rng) for _ in range(n_cells)]
        lines = [head, ["---"] * n_cells, *body]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    questions = []
    for _ in range(60):
        row = cells()
        half = [[row[0], *cells()[1:]], [*cells()[:-1], row[-1]]]
        docs = [(table(row), True) for _ in range(rng.randint(1, 3))]
        docs += [(table(*half), False) for _ in range(2)]
        docs += [(table(), False) for _ in range(N_DOCS - len(docs))]
        questions.append(ranked(" ".join(row), docs, rng))
    return Case(f"table: a row of {n_cells} cells", language.code, tuple(questions))


def cases() -> Iterator[Case]:
    """Rows of three and of eight cells."""
    for code in ("ko", "en"):
        for n_cells in (3, 8):
            yield rows(LANGUAGES[code], n_cells)
