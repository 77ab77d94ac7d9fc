"""`kragx diff --workshop`: people label what came or went, until the difference is decided."""

from pathlib import Path
from typing import TYPE_CHECKING

from kragx.agreement.change.draw import LabelledMetric, draw_lot
from kragx.agreement.change.estimate import LabelledDifference, Ledger
from kragx.comparison.lists import ListDiff
from kragx.ground.errors import UsageError
from kragx.ground.printing import say
from kragx.workshop.commands.workshop import serve

if TYPE_CHECKING:
    from kragx.workshop.state.state import State


def labelled_difference(
    diff: ListDiff,
    folder: Path,
    metric: str,
    *,
    margin: float | None = None,
    seed: int = 0,
    look: bool = False,
    port: int | None = None,
    browser: bool = True,
) -> LabelledDifference:
    """Have what a metric needs labelled in a workshop, until Ctrl-C or until it is decided.

    Args:
        diff: the two versions.
        folder: of the workshop; the same lists go on in it.
        metric: whose difference is wanted.
        margin: within which versions are the same; None where none is.
        seed: of the draw.
        look: only say what is known by now.
        port: of the page.
        browser: whether it is opened.

    Raises:
        UsageError: the metric cannot be labelled, or the folder holds something else.
        DataError: a question or document has no text.
    """
    from kragx.workshop.folder.folder import Workshop
    from kragx.workshop.pairs.standing import Copies
    from kragx.workshop.queue.draw import LotFeed, lot_workshop
    from kragx.workshop.state.state import State

    if margin is not None and not 0 < margin < 1:
        raise UsageError(
            "{margin} is no margin", field="--same", remedy="such as 0.02", margin=margin
        )
    lot, documents = draw_lot(diff, LabelledMetric.of(metric), seed=seed)
    queries = {question.query.id: question.query for question in diff.questions}
    if not lot.questions:
        return Ledger(lot).difference(margin)
    lot_workshop(folder, lot, documents)
    opened = Workshop.open(folder)
    copies, top = Copies(opened.documents), max(opened.settings.scale)

    def feed_of(state: "State") -> LotFeed:
        return LotFeed(lot, queries, state, copies, top, margin, say)

    def difference() -> LabelledDifference:
        with opened.store() as store:
            return feed_of(State(store)).difference()

    now = difference()
    if look or (now.is_over and now.verdict != "hopeless"):
        return now
    serve(opened, port, browser=browser, feed=lambda state: feed_of(state).feed)
    return difference()
