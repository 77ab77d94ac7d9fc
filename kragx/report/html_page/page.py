"""The page: template, styles, script and payload in one file that needs nothing else."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from kragx.comparison import (
    Change,
    Comparison,
    GateResult,
    RetrieverScores,
    Settings,
    compare_by_matcher,
    fields_worth_slicing,
    gates_parts,
)
from kragx.comparison.lists import ListDiff, QuestionDiff
from kragx.comparison.threshold_study import Sweep
from kragx.comparison.tuning import Tuning
from kragx.data import Doc, GoldDataset, Run, read_dataset, read_run
from kragx.data.formats.jsonl import open_text, to_json
from kragx.evaluation.evaluation import EvaluationsLike, as_evaluations
from kragx.evaluation.stage_losses import StageLosses
from kragx.ground.errors import UsageError, inside, nearest
from kragx.ground.messages import LANGUAGES, catalogue
from kragx.ground.printing import Result, in_language, message, speaking, visible
from kragx.ground.printing.localisation import asked_language
from kragx.ground.printing.markdown import as_html
from kragx.matchers import BaseMatcher
from kragx.report.findings import Findings
from kragx.report.html_page.cells import Reasons, Sources
from kragx.report.html_page.packing import TextTable, described, packed, short, text_of
from kragx.report.html_page.payload import payload

# In this order: each uses what those before it define.
_SCRIPTS = (
    "dom",
    "described",
    "markers",
    "numbers",
    "state",
    "appearance",
    "columns",
    "address",
    "reasons",
    "shared_words",
    "header",
    "tuning",
    "verdict",
    "advice",
    "gates",
    "leaks",
    "searches",
    "stages",
    "metrics_table",
    "pool",
    "figures",
    "questions_table",
    "export",
    "question",
    "main",
)


def write_html(
    evaluations: EvaluationsLike,
    path: str | Path,
    *,
    dataset: object = None,
    runs: Mapping[str, object] | None = None,
    comparisons: Sequence[Comparison] | None = None,
    settings: Settings | None = None,
    baseline: str | None = None,
    corpus: Mapping[str, str | Doc] | None = None,
    reasons: Mapping[str, Reasons] | None = None,
    matchers: Mapping[str, BaseMatcher] | None = None,
    record: Mapping[str, Any] | None = None,
    gates: Sequence[GateResult] = (),
    changes: Sequence[Change] = (),
    losses: Sequence[StageLosses] = (),
    tunings: Sequence[Tuning] = (),
    matcher_grids: Sequence[Sweep] = (),
    language: str | None = None,
) -> None:
    """Write evaluations as one HTML file that opens offline.

    Args:
        evaluations: of one gold set, by matcher, then retriever: one, or several as `compare`
            takes them. Of those that `evaluate` has compared `Evaluations.report` gives the page
            all that it can show.
        path: the file.
        dataset: the gold set, as for `evaluate`; None for the one that the evaluations keep.
        runs: what each retriever returned, by the evaluations' names: a `Run`, the path of a
            results file, or lists of documents. Without it the page shows texts only where the
            evaluations kept them, as they do for metrics that look at documents.
        comparisons: what the statistics say, one for each matcher; None to compare here.
        settings: of the statistics, where they are computed here.
        baseline: of the same, the retriever that others are set against; None for the first.
        corpus: texts or documents by id, for gold that is named by its id alone.
        reasons: what judges said, by the matcher's name.
        matchers: by the name that evaluations give it, the matcher that decided; the page says of
            a combination which member decided what.
        record: how the run came about, as report.json has it under this name.
        gates: held against the numbers.
        changes: from earlier results; the page says which questions of another gold set are not
            the same.
        losses: of each matcher and retriever with stages, which of them lose the gold.
        tunings: which setting of a grid to take, one for each matcher.
        matcher_grids: how the order of retrievers depends on a matcher's settings.
        language: in which the page begins, ``en`` or ``ko``; None for the one that results are
            shown in (KRAGX_LANG), else the browser's. A button on the page changes it.

    Raises:
        UsageError: there is no evaluation, they cannot be compared, or the file cannot be written.

    Examples:
        >>> from kragx import evaluate, write_html
        >>> gold, runs = [["Seoul"]], {"one": [["Seoul"]], "other": [["Busan"]]}
        >>> results = evaluate(gold, runs, metrics=["mrr@5"])
        >>> write_html(results, "report.html", runs=runs)
    """
    language = asked_language(language)  # a wrong one before any work
    listed = as_evaluations(evaluations)
    gold = dataset
    if gold is None:
        gold = next(filter(None, (evaluation.dataset for evaluation in listed)), None)
    if gold is not None and not isinstance(gold, GoldDataset):
        gold = read_dataset(gold)
    sources = Sources(
        dataset=gold,
        runs=_runs(runs or {}, gold, [evaluation.name for evaluation in listed]),
        corpus=corpus or {},
        reasons=reasons or {},
        matchers=matchers or {},
    )
    if comparisons is None:
        comparisons = compare_by_matcher(
            map(RetrieverScores.of, listed),
            settings or Settings(),
            baseline=baseline,
            slices=fields_worth_slicing(gold),
            dataset=gold,
        )
        of_grid = {tuning.match: tuning for tuning in tunings}
        comparisons = [
            of_grid[comparison.match].instead(comparison)
            if comparison.match in of_grid
            else comparison
            for comparison in comparisons
        ]
    findings = Findings(listed, comparisons, changes, gates, losses, tunings, matcher_grids)
    blocks = payload(findings, sources, record)
    with open_text(path) as file:
        file.write(page(blocks, str(listed[0].settings["dataset"]["name"]), language))


def page(
    blocks: Mapping[str, str],
    name: str,
    language: str | None = None,
    scripts: Sequence[str] = _SCRIPTS,
    styles: Sequence[str] = ("style",),
) -> str:
    """The whole file, from the packed values by their id; it begins in the language, if given.

    The policy names style and script by their hashes, so nothing else can run, and it allows no
    request at all.
    """
    style = "\n".join(part(f"{name}.css") for name in styles)
    # One function, so that no name of theirs is the window's; and a `<` of a catalogue could end
    # the element that the script stands in.
    words = f"const WORDS = {to_json(page_words())};".replace("<", "\\u003c")
    code = [part(f"script/{name}.js") for name in scripts]
    script = "\n".join(['"use strict";', "(() => {", words, *code, "})();"])
    # Named by hash, so that a page whose data holds a script runs it under no circumstances.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    data = "\n".join(
        f'<script type="application/octet-stream" id="{id_}">{block}</script>'
        for id_, block in blocks.items()
    )
    parts = {
        "policy": policy,
        "language": language or "",
        "title": escape(visible(f"kragx · {name}")),
        "style": style,
        "data": data,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], part("template.html"))


def page_words() -> dict[str, dict[str, str]]:
    """Every word of the interface by language, then key; English where a catalogue lacks it."""
    english: dict[str, str] = json.loads(part("english.json"))
    return {
        name: {key: catalogue(name).get(text, text) for key, text in english.items()}
        for name in LANGUAGES
    }


def part(name: str) -> str:
    """A file of the page, by its name in this folder."""
    return files("kragx.report.html_page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _runs(
    runs: Mapping[str, Any], dataset: GoldDataset | None, names: Sequence[str]
) -> dict[str, Run]:
    if dataset is None and not runs:
        return {}
    if dataset is None:
        raise UsageError(
            "dataset: the evaluations did not keep the gold set, which says how queries and runs "
            "belong together; pass it as dataset=..."
        )
    read: dict[str, Run] = {}
    for name, run in runs.items():
        if names and name not in names:
            raise UsageError(
                "runs: no evaluation is called {name!r}; {hint}",
                name=name,
                hint=nearest(name, names),
            )
        with inside(f"runs.{name}"):
            read[name] = read_run(run, dataset)
    return read


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_result_html(result: Result, path: str | Path, *, language: str | None = None) -> None:
    """Write a result as one HTML file that opens offline, with its numbers as they are printed.

    Args:
        result: it describes itself.
        path: the file.
        language: in which the page begins; None for the one that results are shown in.

    Raises:
        UsageError: the file cannot be written.
    """
    begins = asked_language(language) or LANGUAGES[0]
    choices, texts = [], []
    for code in LANGUAGES:
        # A radio button and the style switch the language: the page has no script.
        checked = " checked" if code == begins else ""
        name = escape(in_language(message("English"), code))  # each catalogue names its language
        choices.append(
            f'<input class="language" type="radio" name="language" id="{code}"{checked}>'
            f'<label for="{code}">{name}</label>'
        )
        with speaking(code):
            title = escape(visible(in_language(message("Corrected by people's labels"))))
            texts.append(
                f'<div lang="{code}"><h1>{title}</h1><main tabindex="0" aria-label="{title}">'
                f"{as_html(result.describe())}</main></div>"
            )
    with open_text(path) as file:
        file.write(
            f'<!doctype html>\n<html lang="{begins}">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>kragx</title>\n<style>{part('style.css')}{part('result.css')}</style>\n</head>\n<body>\n"
            f"<header>{''.join(choices)}</header>\n{''.join(texts)}\n</body>\n</html>\n"
        )


_DIFF_SCRIPTS = ("dom", "described", "numbers", "state", "appearance", "diff")
MOST_CHANGED = 500
"""So many of the questions that changed most are on the page."""


def write_diff_html(
    diff: ListDiff,
    path: str | Path,
    *,
    language: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write two versions as one HTML file that opens offline.

    Args:
        diff: the two.
        path: the file.
        language: in which the page begins; None for the one that results are shown in, else the
            browser's.
        notes: sentences that stand above the numbers.

    Raises:
        UsageError: the file cannot be written.

    Examples:
        >>> from kragx import diff, write_diff_html
        >>> write_diff_html(diff([["Seoul", "Busan"]], [["Busan", "Seoul"]]), "diff.html")
    """
    language = asked_language(language)  # a wrong one before any work
    texts = TextTable()
    changed = diff.most_changed
    values = {
        **{name: getattr(diff, name) for name in ("old", "new", "ks")},
        "exact": diff.is_exact,
        "weighted": diff.is_weighted,
        "by": text_of(diff.by),
        "counts": diff.counts,
        "mean": short(dict(diff.mean)),
        "remarks": [*map(text_of, [*notes, *diff.remarks])],
        "depths": described([diff.depths_table()])[0],
        "gates": described(gates_parts(diff.gates)),
        "n_changed": len(changed),
        "questions": [_question(question, texts) for question in changed[:MOST_CHANGED]],
    }
    # Only now: the questions above have numbered them.
    values["texts"] = [text for block in texts.blocks() for text in block]
    with open_text(path) as file:
        name = f"{diff.old} → {diff.new}"
        file.write(
            page({"index": packed(values)}, name, language, _DIFF_SCRIPTS, ("style", "diff"))
        )


def _question(question: QuestionDiff, texts: TextTable) -> dict[str, Any]:
    """A question with its two lists: of each document its number, its id and its text's."""

    def side(docs: tuple[Doc, ...] | None, numbers: tuple[int, ...]) -> list[Any]:
        return [[n, doc.id, texts.number(doc.text)] for n, doc in zip(numbers, docs or ())]

    query, (old, new) = question.query, question.numbers
    return {
        "id": query.id,
        "text": query.text,
        "weight": short(question.weight),
        "rbo": short(question.overlap()),
        "old": side(question.old, old),
        "new": side(question.new, new),
    }
