"""What judges said of the documents, for the page: from their stores, nobody is asked."""

from collections.abc import Iterable

from kragx.data import GoldDataset, Run
from kragx.evaluation.arranging import match_item
from kragx.matchers import BaseMatcher
from kragx.metrics import Profile
from kragx.report.html_page.cells import Reasons


def judged(
    matcher: BaseMatcher,
    dataset: GoldDataset,
    runs: Iterable[Run],
    profile: Profile,
) -> Reasons:
    """The grade and reason of each pair that a judge was asked about; nothing without a judge.

    Args:
        matcher: a judge, or a combination with one.
        dataset: the gold set.
        runs: what each retriever returned.
        profile: by which lists are put in order.
    """
    reasons: dict[tuple[str, str, str], tuple[float | None, str]] = {}
    for run in runs if matcher.judges else ():
        answers = ((query, run.results.get(query.id)) for query in dataset)
        # A failed answer has no documents that anybody could have been asked about.
        items = (
            match_item(query, answer, profile)
            for query, answer in answers
            if answer is not None and answer.error is None
        )
        reasons |= matcher.for_run(run.name).said(items)
    return reasons
