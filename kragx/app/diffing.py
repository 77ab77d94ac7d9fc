"""`kragx diff`: from files, result folders or a config's retrievers to what they return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.api.diff import diff, diff_sides
from kragx.app import pipeline
from kragx.app.config import RunConfig
from kragx.app.folder.opened import Content, read_folder
from kragx.app.retrieving.retrieve_all import retrieve_all
from kragx.comparison.lists import ListDiff
from kragx.data import Run, read_dataset
from kragx.data.rules import RuleSet
from kragx.ground.errors import UsageError, nearest
from kragx.matchers import METHODS, method_class
from kragx.metrics import parse_all


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
    if not (old.is_dir() or new.is_dir()):
        if retrievers:
            raise UsageError("--retriever: belongs to a folder; a results file is of one retriever")
        return diff(old, new, questions=dataset, **options)
    sides, read = [], list[str]()
    for place, path in enumerate((old, new)):
        if not path.is_dir():
            raise UsageError(f"{path} is a file and the other a folder; name two of one kind")
        content = read_folder(path, trust=trust)
        run = _run_in(content, path, retrievers[place : place + 1] or retrievers[:1])
        sides.append((content.dataset, replace(run, name=f"{path.name}/{run.name}")))
        read += metadata_read(content.config)
        options = _filled(options, content.config)
    options["metadata"] = [*options["metadata"], *read]
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
    asked = config.asked
    for name in (old, new):
        if name not in asked:
            raise UsageError(f"the config has no retriever {name!r}; {nearest(name, asked)}")
    with config.secrets.guarding():
        dataset = pipeline.load_dataset(config) if questions is None else read_dataset(questions)
        corpus = pipeline.corpus_of(config)
        once = {"warmup": 0, "repeat": 1, "runs": None}  # it is of what is found, not of times
        configs = [(name, asked[name].model_copy(update=once)) for name in (old, new)]
        runs = [retrieve_all({name: named}, dataset)[0][name] for name, named in configs]
        before, after = ((None, corpus.run(run)) for run in runs)
        options["metadata"] = [*options["metadata"], *metadata_read(config)]
        return diff_sides(before, after, dataset, **_filled(options, config))


def metadata_read(config: RunConfig) -> Iterator[str]:
    """The metadata of documents that a config's metrics, matchers and rules read."""
    for spec in parse_all(config.metrics, config.resolved_profile):
        if "key" in spec.metric.options:
            yield str(spec["key"])
    yield from _keys([*config.named_matchers.values(), config.facts_match, config.relevance_match])
    for rule in RuleSet.of(config.forbidden).rules if config.forbidden else ():
        yield from (part.path for part in rule.conditions)


def _filled(options: dict[str, Any], config: RunConfig) -> dict[str, Any]:
    """Options with what nobody has named as a config has it."""
    return (
        options
        if options["max_failed"] is not None
        else {**options, "max_failed": config.max_failed}
    )


def _keys(spec: object) -> Iterator[str]:
    """The options of match specs that name metadata, as they are written or as their class has."""
    if isinstance(spec, list | tuple):
        for member in spec:
            yield from _keys(member)
        return
    values = {"method": spec} if isinstance(spec, str) else spec
    if not isinstance(values, Mapping):
        return
    if (method := values.get("method")) in METHODS:
        options = getattr(method_class(str(method)), "__dataclass_fields__", {})
        values = {name: option.default for name, option in options.items()} | dict(values)
        yield from ("source", "start", "end") if method == "span" else ()
    for name, value in values.items():
        if str(name).endswith("_key") and not str(name).startswith("gold") and value is not None:
            yield str(value)
        elif isinstance(value, list | tuple):
            yield from _keys(value)


def _run_in(content: Content, folder: Path, named: Sequence[str]) -> Run:
    names = [*content.runs]
    if not named and len(names) > 1:
        raise UsageError(
            f"{folder} has {len(names)} retrievers", remedy=f"name one: --retriever {names[0]}"
        )
    name = named[0] if named else names[0]
    if name not in content.runs:
        raise UsageError(
            f"{folder} has no {name!r}", field="--retriever", remedy=nearest(name, names)
        )
    return content.runs[name]
