"""`kragx diff`: from files, result folders or a config's retrievers to what they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.api.diff import diff, diff_sides
from kragx.app import pipeline
from kragx.app.config import RunConfig
from kragx.app.result_folder.opened import Content, read_folder
from kragx.app.retrieving.retrieve_all import retrieve_all
from kragx.comparison.lists import ListDiff
from kragx.data import Run, read_dataset
from kragx.ground.errors import UsageError, nearest


def diff_files(
    old: Path,
    new: Path,
    *,
    retrievers: Sequence[str] = (),
    questions: Path | None = None,
    trust: bool = False,
    **options: Any,
) -> ListDiff:
    """Two results files or result folders side by side.

    Args:
        old: a file as `kragx.diff` takes it, or a folder that `kragx run` has written.
        new: the same.
        retrievers: of folders; none where each has one alone, one for both, or one of each.
        questions: instead of those that stand there.
        trust: read what the folders link to.
        options: as of `kragx.diff`.

    Raises:
        DataError, UsageError: as `kragx.diff`; or a folder has no such retriever.
    """
    dataset = None if questions is None else read_dataset(questions)
    files = [path for path in (old, new) if not path.is_dir()]
    if len(files) == 2:
        if retrievers:
            raise UsageError("--retriever: belongs to a folder; a results file is of one retriever")
        return diff(old, new, questions=dataset, **options)
    if files:
        raise UsageError(
            "{place} is a file and the other a folder; name two of one kind", place=files[0]
        )
    sides = []
    for place, path in enumerate((old, new)):
        content = read_folder(path, trust=trust)
        run = _run_in(content, path, retrievers[place : place + 1] or retrievers[:1])
        sides.append((content.dataset, replace(run, name=f"{path.name}/{run.name}")))
        options = _filled(options, content.config)
    return diff_sides(sides[0], sides[1], dataset, **options)


def ask_both(
    config: RunConfig, old: str, new: str, *, questions: Path | None = None, **options: Any
) -> ListDiff:
    """Two retrievers of a config, asked now; one that is named twice is asked twice.

    Args:
        config: has the retrievers.
        old: the name of one.
        new: that of the new version.
        questions: what is asked; None for the config's gold set.
        options: as of `kragx.diff`.

    Raises:
        DataError, UsageError: as `kragx.diff`; or there is no such retriever.
    """
    for name in (old, new):
        if name not in config.asked:
            hint = nearest(name, config.asked)
            raise UsageError("the config has no retriever {name!r}; {hint}", name=name, hint=hint)
    with config.secrets.guarding():
        dataset = config.dataset.read() if questions is None else read_dataset(questions)
        corpus = pipeline.corpus_of(config)
        once = {"warmup": 0, "repeat": 1, "runs": 1}  # it is of what is found, not of times
        asked = {
            name: replace(config.asked[name], options={**config.asked[name].options, **once})
            for name in (old, new)
        }
        runs = [retrieve_all({name: asked[name]}, dataset)[0][name] for name in (old, new)]
        before, after = ((None, corpus.run(run)) for run in runs)
        return diff_sides(before, after, dataset, **_filled(options, config))


def _filled(options: dict[str, Any], config: RunConfig) -> dict[str, Any]:
    """Options with what nobody has named as a config has it."""
    is_named = options["max_failed"] is not None
    return options if is_named else {**options, "max_failed": config.max_failed}


def _run_in(content: Content, folder: Path, named: Sequence[str]) -> Run:
    names = [*content.runs]
    if not named and len(names) > 1:
        raise UsageError(
            "{folder} has {n_names} retrievers",
            remedy="name one: --retriever {names}",
            folder=folder,
            n_names=len(names),
            names=names[0],
        )
    (name,) = named or names
    content.check_named(folder, name)
    return content.runs[name]
