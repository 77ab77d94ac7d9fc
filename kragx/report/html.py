"""A small HTML table for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kragx.evaluation.evaluation import Evaluation
from kragx.report.rows import (
    best,
    match_label,
    mean_cell,
    metric_names,
    profile_label,
    remarks,
)


def evaluations_html(evaluations: Sequence[Evaluation]) -> str:
    """One table, metrics down and runs across, the best in bold, with what was left out below."""
    if len(evaluations) > 1:
        from kragx.comparison import check_comparable

        check_comparable(evaluations)
    heads = "".join(f"<th>{escape(each.name)}</th>" for each in evaluations)
    rows = []
    for name in metric_names(evaluations):
        values = [each.mean.get(name) for each in evaluations]
        top = best(values, name)
        cells = "".join(
            f"<td>{'<b>' if at in top else ''}{mean_cell(each, name)}"
            f"{'</b>' if at in top else ''}</td>"
            for at, each in enumerate(evaluations)
        )
        rows.append(f"<tr><th style='text-align:left'>{escape(name)}</th>{cells}</tr>")
    first = evaluations[0]
    caption = f"match: {match_label(first)}; profile: {profile_label(first)}"
    counts = f"{first.counts['n_scored']} of {first.counts['n_queries']} queries scored"
    notes = "".join(
        f"<li>{escape(each.name)}: {escape(line)}</li>"
        for each in evaluations
        for line in remarks(each)
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr><th>metric</th>{heads}</tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table><p>{escape(counts)}</p>"
        + (f"<ul>{notes}</ul>" if notes else "")
    )
