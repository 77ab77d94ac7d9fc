"""What `kragx agree`, `corrected`, `fill` and `probe` print."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kragx.agreement.compare import Agreement
from kragx.agreement.correction import Corrected
from kragx.agreement.holes import Filled
from kragx.agreement.intervals import Interval
from kragx.agreement.labels import Scale
from kragx.agreement.probing import VARIANTS, Probe
from kragx.agreement.systems import SystemAgreement
from kragx.report.rows import number
from kragx.report.text import console

_LISTED = 10

_NAMES = {
    "kappa": "kappa",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "accuracy": "accuracy",
    "bias": "bias (judge - human)",
}


def print_agreement(found: Agreement, out: Console | None = None) -> None:
    """Print the statistics with intervals, the confusion matrix, and what was left out."""
    out = out or console()
    settings = found.settings
    out.print(
        Text(
            f"{settings['judge']} against {settings['human']}: {found.pairs} pairs of "
            f"{found.queries} queries, labels {found.scale}"
            f"{' (as the human labels have them)' if found.scale.inferred else ''}"
        )
    )
    table = Table("statistic", _right("value"), _right(_percent(settings["confidence"])))
    for name, value in found.values.items():
        label = _NAMES.get(name)
        group, _, grade = name.partition(".")
        if label is None:
            label = (
                f"kappa, {grade} or more"
                if group == "kappa_binary"
                else f"bias where human {grade}"
            )
        table.add_row(Text(label), number(value), _interval(found.intervals.get(name)))
    out.print(table)
    out.print(_confusion(found))
    for name, reason in found.undefined.items():
        out.print(Text(f"{name}: no value: {reason}", style="yellow"), soft_wrap=True)
    if found.systems is not None:
        _print_systems(found.systems, found, out)
    for line in (*found.notes, *_left_out(found)):
        out.print(Text(line, style="yellow"), soft_wrap=True)
    out.print(
        Text(
            f"intervals: {settings['method']}, {settings['resamples']} resamples of queries, "
            f"seed {settings['seed']}"
        )
    )


def _confusion(found: Agreement) -> Table:
    labels = list(found.scale.labels)
    rates = found.base_rates
    table = Table(
        "human \\ judge", *(_right(str(label)) for label in labels), _right("all"), _right("share")
    )
    for label, row in zip(labels, found.confusion):
        share = f"{rates['human'][str(label)]:.1%}"
        table.add_row(str(label), *map(str, row), str(sum(row)), share)
    columns = [sum(column) for column in zip(*found.confusion)]
    table.add_row("all", *map(str, columns), str(found.pairs), "")
    table.add_row("share", *(f"{rates['judge'][str(label)]:.1%}" for label in labels), "", "")
    return table


def _print_systems(systems: SystemAgreement, found: Agreement, out: Console) -> None:
    kappa = f"kappa {number(found['kappa'])}"
    table = Table("system", *map(_right, ("human", "judge", "labelled: human", "judge")))
    for name, human in systems.human.items():
        shares = ["-" if share is None else f"{share:.1%}" for share in systems.judged[name]]
        table.add_row(Text(name), number(human), number(systems.judge[name]), *shares)
    out.print(Text(f"{systems.metric} over {systems.n_queries} queries"))
    out.print(table)
    # A high tau says little by itself: many wrong labels can rank systems alike.
    out.print(
        Text(
            f"Kendall's tau-b of {len(systems.human)} systems: {number(systems.tau)}; of the top "
            f"{len(systems.top)}: {number(systems.tau_top)}; with {kappa}"
        )
    )
    for name, reason in systems.undefined.items():
        out.print(Text(f"{name}: no value: {reason}", style="yellow"))


def _left_out(found: Agreement) -> list[str]:
    lines = []
    for side, who in (("judge", "the judge"), ("human", "people")):
        pairs = found.missing[side]  # type: ignore[index]  # the two sides
        if pairs:
            shown = [f"{query} {document}" for query, document in pairs[:_LISTED]]
            lines.append(f"no label by {who}: {len(pairs)} pairs ({_some(shown, len(pairs))})")
    if found.out_of_scale:
        shown = [
            f"{each.side} {each.query_id} {each.document_id} {each.grade:g}"
            for each in found.out_of_scale[:_LISTED]
        ]
        total = len(found.out_of_scale)
        lines.append(f"out of scale, not compared: {total} labels ({_some(shown, total)})")
    repeated = {side: count for side, count in found.n_repeated.items() if count}
    if repeated:
        counts = ", ".join(f"{side} {count}" for side, count in repeated.items())
        lines.append(f"pairs that stand again with the same label, counted once: {counts}")
    return lines


def print_corrected(found: Corrected, out: Console | None = None) -> None:
    """Print the judge's means beside the corrected and the human ones."""
    out = out or console()
    percent = _percent(found.settings["confidence"])
    table = Table(
        "system",
        "metric",
        _right("judge alone"),
        _right("corrected"),
        _right(percent),
        _right("people alone"),
        _right(percent),
        _right("labelled"),
    )
    for system, estimates in found.estimates.items():
        for metric, each in estimates.items():
            table.add_row(
                Text(system),
                metric,
                number(each.plain),
                number(each.value),
                _interval(each.interval),
                number(each.human),
                _interval(each.human_interval),
                f"{each.n_labelled} of {each.n_queries}",
            )
    out.print(table)
    for line in _not_used(found):
        out.print(Text(line, style="yellow"), soft_wrap=True)
    out.print(
        Text(
            "judge alone, people alone: uncorrected means over all, and over the labelled queries. "
            "The labelled queries must be a random part of all."
        ),
        soft_wrap=True,
    )


def _not_used(found: Corrected) -> list[str]:
    lines = []
    for system, estimates in found.estimates.items():
        if count := found.partly[system]:
            lines.append(f"{system}: {count} queries labelled in part, not used for the correction")
        if count := found.unscored[system]:
            lines.append(f"{system}: {count} queries without a label by the judge, in no mean")
        share = found.judged[system]
        if share is not None and share < 1:
            lines.append(
                f"{system}: judged@{found.depths[system]} {share:.1%}: what the judge has not "
                "labelled counts as not relevant in its values"
            )
        if any(each.interval is None for each in estimates.values()):
            lines.append(
                f"{system}: no interval where people's values are all the same: nothing varies"
            )
    if found.n_human_only:
        lines.append(
            f"{found.n_human_only} queries with human labels have none by the judge, and are not "
            "used"
        )
    if found.n_out_of_scale:
        lines.append(_off_scale(found.n_out_of_scale, found.scale))
    return [*lines, *found.notes]


def _off_scale(count: int, scale: Scale) -> str:
    line = f"out of scale, not used: {count} labels"
    if scale.inferred:
        line += f"; the scale, {scale}, was taken from the human labels: name it (--scale 0-3) if "
        line += "they belong to it"
    return line


def print_filled(found: Filled, out: Console | None = None, *, labels: bool = False) -> None:
    """Print human-only and filled means, the share that is labelled and, if wanted, each label."""
    out = out or console()
    counts = found.counts
    out.print(
        Text(
            f"labels: {counts['human']} human, {counts['judge']} by the judge where people have "
            f"none; overruled by people: {found.n_overruled}"
        )
    )
    if found.n_out_of_scale:
        line = _off_scale(found.n_out_of_scale, found.scale)
        out.print(Text(line, style="yellow"), soft_wrap=True)
    if labels:
        each_label = Table("query", "document", _right("label"), "by")
        for row in found.rows():
            each_label.add_row(
                Text(row["query_id"]), Text(row["document_id"]), str(row["grade"]), row["source"]
            )
        out.print(each_label)
    table = Table("system", "metric", _right("human only"), _right("filled"))
    for alone, both in zip(found.human_only, found.filled, strict=True):
        for metric, mean in alone.mean.items():
            table.add_row(Text(alone.name), metric, number(mean), number(both.mean[metric]))
        shares = ["-" if each is None else f"{each:.1%}" for each in found.judged[alone.name]]
        table.add_row(Text(alone.name), found.judged_name, *shares)
    out.print(table)
    out.print(Text(f"{len(found.dataset)} queries; one without a relevant label scores 0"))
    if found.n_without_human:
        line = (
            f"{found.n_without_human} of them have no human label at all, and score 0 by human "
            "labels only"
        )
        out.print(Text(line, style="yellow"), soft_wrap=True)
    for line in found.notes:
        out.print(Text(line, style="yellow"), soft_wrap=True)


def print_probe(found: Probe, out: Console | None = None) -> None:
    """Print the lift of each addition, and what to beware of."""
    out = out or console()
    settings = found.settings
    origins = ", ".join(f"{count} {origin}" for origin, count in found.origins.items())
    out.print(
        Text(
            f"{settings['model']}, {settings['rubric']}: {settings['n_passages']} irrelevant "
            f"passages ({origins}) of {settings['n_queries']} queries"
        )
    )
    table = Table(
        "added",
        *map(_right, ("plain", "with it", "lift", _percent(settings["confidence"]), "fooled", "n")),
    )
    for each in found.lifts:
        lift = "-" if each.lift is None else f"{each.lift:+.3f}"
        table.add_row(
            each.variant,
            number(each.plain),
            number(each.changed),
            lift,
            _interval(each.interval),
            str(each.n_fooled),
            str(each.n),
        )
    out.print(table)
    for each in found.lifts:
        out.print(Text(f"{each.variant}: {VARIANTS[each.variant]}", style="dim"))
    lines = []
    if any(each.n > 1 and each.interval is None for each in found.lifts):
        lines.append("no interval: every passage was moved alike, so nothing varies in resamples")
    if found.n_wrong:
        lines.append(f"taken for a match without any addition: {found.n_wrong}")
    if found.missing:
        kinds = ", ".join(f"{count} {kind}" for kind, count in found.missing.items())
        lines.append(f"failed judgements: {found.n_missing} ({kinds}), left out, never 0")
    for line in (*lines, *found.warnings):
        out.print(Text(line, style="yellow"), soft_wrap=True)


def _some(shown: Sequence[str], total: int) -> str:
    more = f"; ... and {total - len(shown)} more: --format json lists all"
    return "; ".join(shown) + (more if total > len(shown) else "")


def _interval(ends: Interval | None) -> str:
    return "-" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]"


def _percent(confidence: float) -> str:
    return f"{confidence * 100:g} %"


def _right(title: str) -> Column:
    return Column(Text(title), justify="right")
