"""The documents behind a search table, for whoever shows them."""

from __future__ import annotations

from collections.abc import Sequence

from kragx.data import Doc
from kragx.data.batch import Batch, Row
from kragx.evaluation.arranging import arranged_batch
from kragx.evaluation.searching.searching import Searching
from kragx.metrics import Profile


def documents_behind(rows: Sequence[Row], profile: Profile) -> list[tuple[Doc, ...]]:
    """The distinct documents of questions, in the order in which a `SearchTable` has them.

    Args:
        rows: the questions, with what was got for each.
        profile: orders lists.
    """
    searching = Searching("retrieved")  # whichever: all lists are taken apart
    batch = searching.on_basis(arranged_batch(Batch.of(rows), profile))
    (widened,) = searching.watching([batch], [])
    return widened.docs.documents()
