"""`run`: from a config to evaluations, and the folder that keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from kragx import config as configs
from kragx import plugins
from kragx.comparison import (
    NEEDS_EARLIER,
    NO_VALUE,
    REMEDY,
    Change,
    Comparison,
    Gate,
    GateResult,
    Recommendation,
    Results,
    Scored,
    changes,
    check_gates,
    compare_scored,
    gold_differs,
    parse_gates,
    read_results_folder,
    recommend,
    sliced,
)
from kragx.config import HtmlConfig, RetrieverConfig, RunConfig, filled
from kragx.dataset import GoldDataset
from kragx.errors import DataError, UsageError, nearest
from kragx.evaluating import evaluate
from kragx.evaluation import Evaluation, versions
from kragx.folder import Partial, asked_hash, partial_path, write_parquet
from kragx.formats.corpus import read_corpus
from kragx.formats.datasets import read_dataset
from kragx.formats.jsonl import (
    file_name,
    make_folder,
    read_gold,
    read_results,
    to_json,
    write_gold,
    write_results,
)
from kragx.formats.trec import read_run
from kragx.judging import read_judge
from kragx.judging.setup import adjusted
from kragx.matchers import JudgeMatcher, Matcher, MatchItem, judge_of, label, matcher
from kragx.pooling import pooled
from kragx.report.figures import write_figures
from kragx.report.files import means_csv, queries_csv, write_text
from kragx.report.markdown import report_markdown
from kragx.report.page.details import Reasons
from kragx.report.page.write import write_html
from kragx.results import Run
from kragx.retrieval import is_retriever, retrieve
from kragx.sources import arranged
from kragx.text import file_names


@dataclass(frozen=True)
class RunReport:
    """What `run` found out.

    Attributes:
        config: the config, every default filled in.
        dataset: the gold set.
        runs: what each retriever returned, by its name.
        evaluations: one for each matcher and retriever, by matcher, then retriever.
        earlier: the results of an earlier run, to compare with.
        anyway: compare with them even if they cannot be compared.
        matchers: those that decided, by the name that evaluations give them.
    """

    config: RunConfig
    dataset: GoldDataset
    runs: Mapping[str, Run]
    evaluations: tuple[Evaluation, ...]
    earlier: Results | None = None
    anyway: bool = False
    matchers: Mapping[str, Matcher] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The retrievers compared, once for each matcher; computed when first asked for."""
        return tuple(
            compare_scored(
                scored,
                self.config.statistics.settings,
                baseline=self.config.baseline,
                slices=self.config.slices or (),
                dataset=self.dataset,
            )
            for scored in self._scored
        )

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Each retriever against what it was in the earlier results; empty without those."""
        if self.earlier is None:
            return ()
        now = Results("these results", tuple(chain(*self._scored)), self.dataset)
        return changes(
            self.earlier,
            now,
            self.config.statistics.settings,
            slices=self.config.slices or (),
            anyway=self.anyway,
        )

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        """The config's gates, each held against the retrievers that it concerns."""
        return check_gates(
            self.config.parsed_gates,
            self.comparisons,
            [(each.retriever, each.comparison) for each in self.changes],
        )

    @cached_property
    def recommendations(self) -> tuple[tuple[Recommendation, ...], ...]:
        """What follows from each comparison."""
        return tuple(map(recommend, self.comparisons, self._scored))

    @cached_property
    def _scored(self) -> tuple[tuple[Scored, ...], ...]:
        """The evaluations of each matcher."""
        named: dict[str, list[Scored]] = {}
        for each in self.evaluations:
            named.setdefault(each.match_name, []).append(Scored.of(each))
        return tuple(map(tuple, named.values()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: config, versions, numbers, comparisons, gates."""
        return {
            "config": self.config.resolved(),
            "versions": versions(),
            "evaluations": [
                {
                    "retriever": each.name,
                    "match": each.match_name,
                    **each.to_dict(queries=True),
                    "nearby": None if each.nearby is None else each.nearby.to_dict(),
                }
                for each in self.evaluations
            ],
            "comparisons": [
                {**each.to_dict(), "recommendations": [one.to_dict() for one in advice]}
                for each, advice in zip(self.comparisons, self.recommendations)
            ],
            "changes": [each.to_dict() for each in self.changes],
            "gates": [each.to_dict() for each in self.gates],
        }

    def with_gates(self, gates: Mapping[str, Any]) -> RunReport:
        """The same numbers held against other gates."""
        return replace(self, config=configs.with_gates(self.config, gates))

    def to_markdown(self) -> str:
        """The report for people, in Markdown."""
        return report_markdown(
            self.dataset.settings,
            self.evaluations,
            self.comparisons,
            self.recommendations,
            self.changes,
            self.gates,
        )

    def to_html(
        self, path: str | Path, *, max_docs: int | None = None, max_chars: int | None = None
    ) -> None:
        """Write the report for people as one HTML file; see `kragx.report.page`.

        Args:
            path: the file.
            max_docs: how many documents of each list it holds; None for the config's (50).
            max_chars: how many characters of each text; None for the config's (all).
        """
        given = self.config.html if isinstance(self.config.html, HtmlConfig) else HtmlConfig()
        write_html(
            self.evaluations,
            path,
            dataset=self.dataset,
            runs=self.runs,
            # Slices help to find where a retriever fails, so the page has some of its own choice.
            comparisons=self.comparisons if self.config.slices else None,
            settings=self.config.statistics.settings,
            baseline=self.config.baseline,
            corpus=self._corpus,
            reasons=self._reasons,
            matchers=self.matchers,
            max_docs=given.max_docs if max_docs is None else max_docs,
            max_chars=given.max_chars if max_chars is None else max_chars,
        )

    def draw(self, folder: str | Path, *, language: str = "en") -> list[Path]:
        """Draw the figures of each matcher as PNG and SVG; see `kragx.report.figures`.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return write_figures(
            self.comparisons,
            self.evaluations,
            folder,
            dataset=self.dataset,
            runs=self.runs,
            language=language,
        )

    @property
    def _corpus(self) -> dict[str, str]:
        """The texts of the corpus by id, where the config names one that is still there."""
        path = self.config.dataset.corpus
        if path is None or not path.is_file():
            return {}
        return {doc.id: doc.text for doc in read_corpus(path) if doc.id and doc.text}

    @property
    def _reasons(self) -> dict[str, Reasons]:
        """What judges said, by the matcher's name, from their stores."""
        found: dict[str, Reasons] = {}
        in_order = arranged(self.config.chosen_profile)
        for match_name, chosen in self.matchers.items():
            judge = judge_of(chosen)
            if judge is None:
                continue
            pooled_ = any(
                "pool" in each.settings
                for each in self.evaluations
                if each.match_name == match_name
            )
            items = (
                in_order(MatchItem(query, got.documents))
                for run in self.runs.values()
                for query in self.dataset
                if (got := run.results.get(query.id)) is not None and got.error is None
            )
            found[match_name] = judge.said(items, relevance=pooled_)
        return found

    def write(self, folder: Path) -> None:
        """Write all that `recompute` needs and people read; see `kragx.folder`."""
        make_folder(folder / "results")
        write_gold(self.dataset, folder / "gold.jsonl")
        for name, found in zip(file_names(self.runs), self.runs.values(), strict=True):
            write_results(self.dataset, found, folder / "results" / f"{name}.jsonl")
        write_parquet(folder, self.dataset, self.runs, self.evaluations)
        write_text(folder / "means.csv", means_csv(self.evaluations))
        write_text(folder / "queries.csv", queries_csv(self.evaluations, self.dataset))
        config = yaml.safe_dump(self.config.resolved(), allow_unicode=True, sort_keys=False)
        write_text(folder / "config.yaml", config)
        # Last, as earlier results may turn out not to be comparable; what was retrieved is kept.
        write_text(folder / "report.json", to_json(self.to_dict(), indent=2))
        write_text(folder / "report.md", self.to_markdown())
        if self.config.html:
            self.to_html(folder / "report.html")
        # Until all of it stands there, a next run goes on from these.
        for name in file_names(self.runs):
            partial_path(folder, name).unlink(missing_ok=True)


def run(
    config: RunConfig,
    *,
    progress: bool | None = None,
    judging: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    anyway: bool = False,
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come, so that an interrupted run goes on; None
            keeps none.
        judging: options of the judge that win over the config's (``budget``, ``dry_run``, ...).
        anyway: compare with the config's earlier results even if they cannot be compared.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: the gold set or a results file is bad.
        JudgingError: judgements are missing, or the budget is used up; what was judged is stored.
    """
    if judging and config.judge is None:
        raise UsageError(
            f"{', '.join(judging)}: the config has no 'judge' that this could belong to"
        )
    earlier = _earlier(config, folder)
    dataset = load_dataset(config)
    # Whatever can be wrong is found before the first question is asked.
    _check_slices(config, dataset)
    if earlier is not None:
        _check_earlier(earlier, config, dataset, anyway=anyway)
    makers = _makers(config.retrievers)
    read = {
        name: _read(name, each) for name, each in config.retrievers.items() if each.factory is None
    }
    files = file_names(config.retrievers)
    runs = {
        name: read[name]
        if name in read
        else _asked(
            name,
            retriever,
            makers[name],
            dataset,
            progress,
            None if folder is None else partial_path(folder, file),
        )
        for file, (name, retriever) in zip(files, config.retrievers.items())
    }
    chosen = _matchers(config, judging)
    evaluations = evaluated(config, dataset, runs, judging, chosen)
    return RunReport(config, dataset, runs, evaluations, earlier, anyway, chosen)


def _check_slices(config: RunConfig, dataset: GoldDataset) -> None:
    """Refuse slices that the gold set does not have, before any work.

    Raises:
        UsageError: naming each mistake.
    """
    problems = []
    labels: dict[str, list[str]] = {}
    for name in config.slices or ():
        try:
            found = sliced(list(dataset), [name])
            labels[name] = [NO_VALUE if value is None else value for _, value, _ in found]
        except UsageError as error:
            problems.append(str(error))
    for gate in config.parsed_gates:
        known = labels.get(gate.field or "")
        if known is not None and gate.value not in known:
            problems.append(
                f"{gate.path}: no query has the value {gate.value!r}; "
                f"{nearest(gate.value or '', known)}"
            )
    if problems:
        raise UsageError("\n".join(problems))


def _check_earlier(
    earlier: Results, config: RunConfig, dataset: GoldDataset, *, anyway: bool
) -> None:
    """Refuse earlier results of other retrievers, or of another gold set, before any work."""
    if not set(earlier.retrievers) & set(config.retrievers):
        raise UsageError(
            f"earlier: {earlier.name} has no retriever of this config; it has "
            f"{', '.join(earlier.retrievers)}"
        )
    differing = gold_differs(earlier.scored[0].settings["dataset"], dataset.settings)
    if differing is not None and not anyway:
        raise UsageError(
            f"earlier: {earlier.name} cannot be compared with this config: {differing} ({REMEDY})"
        )


def _earlier(config: RunConfig, folder: Path | None) -> Results | None:
    """The earlier results, read before any work, lest it be done for nothing."""
    if config.earlier is None:
        needs = next((each for each in config.parsed_gates if each.than == "earlier"), None)
        if needs is not None:
            raise UsageError(f"{needs.path}: {NEEDS_EARLIER}")
        return None
    if folder is not None and folder.resolve() == config.earlier.resolve():
        raise UsageError(
            f"earlier: {config.earlier} is the folder that this run writes; copy what it holds to "
            "another one first, or give another output"
        )
    return read_results_folder(config.earlier)


@dataclass(frozen=True)
class Compared:
    """What `compare_folders` found: what became of each retriever, and gates."""

    changes: tuple[Change, ...]
    gates: tuple[GateResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "changes": [each.to_dict() for each in self.changes],
            "gates": [each.to_dict() for each in self.gates],
        }


def compare_folders(
    old: Path,
    new: Path | None = None,
    *,
    retrievers: Sequence[str] = (),
    gates: Sequence[str] = (),
    slices: Sequence[str] | None = None,
    anyway: bool = False,
) -> Compared:
    """Compare the numbers of two result folders, or of two retrievers in one, as they stand there.

    Args:
        old: the earlier folder.
        new: the later one; None for the same, and then two retrievers must be named.
        retrievers: as for `kragx.comparison.changes`.
        gates: conditions on the later one, besides those of its config: ``"ndcg@10: >= 0.75"``.
            Within one folder these alone, and ``earlier`` is the first retriever.
        slices: fields to compare within; None for those of the later one's config.
        anyway: compare what cannot be compared, and say so.

    Raises:
        DataError: a folder lacks a file, or one is broken.
        UsageError: nothing corresponds, or the results cannot be compared.
    """
    before = read_results_folder(old)
    after = before if new is None else read_results_folder(new)
    config = configs.load((new or old) / "config.yaml", needs_env=False)
    settings = config.statistics.settings
    fields = (config.slices or ()) if slices is None else slices
    found = changes(before, after, settings, retrievers=retrievers, slices=fields, anyway=anyway)
    chosen = (*(() if new is None else config.parsed_gates), *_gates_of(gates, config))
    if not chosen:
        return Compared(found, ())
    named: dict[str, list[Scored]] = {}
    for each in after.scored:
        named.setdefault(each.match, []).append(each)
    comparisons = [
        compare_scored(
            scored,
            settings,
            baseline=config.baseline,
            slices=fields,
            dataset=after.dataset,
            anyway=anyway,
        )
        for scored in named.values()
    ]
    pairs = [(each.retriever, each.comparison) for each in found]
    looked_at = {each.retriever for each in found} if retrievers else set(after.retrievers)
    results = check_gates(chosen, comparisons, pairs)
    return Compared(found, tuple(each for each in results if each.retriever in looked_at))


def _gates_of(given: Sequence[str], config: RunConfig) -> tuple[Gate, ...]:
    """Gates of a command line, read as the config's are."""
    problems: list[str] = []
    found: list[Gate] = []
    for text in given:
        metric, colon, condition = text.partition(":")
        if not colon:
            raise UsageError(
                f"--gate {text!r}: write metric: condition, for example ndcg@10: >= 0.75"
            )
        block = {metric.strip(): condition.strip()}
        found += parse_gates(block, problems, config.chosen_profile, path="--gate")
    if problems:
        raise UsageError("\n".join(problems))
    return tuple(found)


def load_dataset(config: RunConfig) -> GoldDataset:
    """The gold set of a config."""
    given = config.dataset
    return read_dataset(
        given.path,
        given.format,
        given.columns,
        encoding=given.encoding,
        name=given.name,
        version=given.version,
    )


def recompute(folder: Path, *, earlier: Path | None = None, anyway: bool = False) -> RunReport:
    """Every number of a result folder once more, from what it holds; nothing is retrieved.

    Args:
        folder: that `RunReport.write` has written.
        earlier: a folder to compare with; None for the one that the config names.
        anyway: as for `run`.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = read_folder(folder)
    if earlier is not None:
        config = configs.with_earlier(config, earlier)
    before = _earlier(config, folder)
    chosen = _matchers(config)
    found = evaluated(config, dataset, runs, matchers=chosen)
    evaluations = tuple(map(_as_read(folder), found))
    return RunReport(config, dataset, runs, evaluations, before, anyway, chosen)


def read_folder(folder: Path) -> tuple[RunConfig, GoldDataset, dict[str, Run]]:
    """What a run left in a folder: its config, its gold set, and what each retriever returned.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    if not (folder / "config.yaml").is_file():
        raise DataError(
            f"{folder}: no result folder, as it has no config.yaml; name one that kragx run has "
            "written (an interrupted run goes on with kragx run)"
        )
    config = configs.load(folder / "config.yaml", needs_env=False)
    name = config.dataset.name or file_name(str(config.dataset.path).removesuffix(".gz"))
    gold = read_gold(folder / "gold.jsonl")
    dataset = replace(gold, name=name, version=config.dataset.version)
    runs = {}
    for file, (name, retriever) in zip(file_names(config.retrievers), config.retrievers.items()):
        found = read_results(folder / "results" / f"{file}.jsonl")[1]
        # Its queries are the gold set's; what was extra is not in the folder.
        runs[name] = replace(found, name=name, settings=_settings(retriever))
    return config, dataset, runs


def _as_read(folder: Path) -> Callable[[Evaluation], Evaluation]:
    """Adds what was counted while the sources were read, which their copies no longer show."""
    path = folder / "report.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
        counted = {
            row["retriever"]: {name: row["counts"][name] for name in _READ_COUNTS} for row in rows
        }
    except FileNotFoundError:
        counted = {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a report that kragx wrote: {error}") from None

    def with_counts(evaluation: Evaluation) -> Evaluation:
        counts = {**evaluation.counts, **counted.get(evaluation.name, {})}
        return replace(evaluation, counts=counts)

    return with_counts


_READ_COUNTS = ("n_extra", "n_replaced_surrogates")


def evaluated(
    config: RunConfig,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    judging: Mapping[str, Any] | None = None,
    matchers: Mapping[str, Matcher] | None = None,
) -> tuple[Evaluation, ...]:
    """The evaluation of each run under each matcher of a config; `matchers` are those, if made."""
    evaluations = []
    options = _match_options(config, judging)
    facts = None if config.facts_match is None else matcher(filled(config.facts_match), options)
    for name, made in (_matchers(config, judging) if matchers is None else matchers).items():
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        chosen = made
        if isinstance(chosen, JudgeMatcher) and chosen.needs_pool(
            MatchItem(query, ()) for query in dataset
        ):
            chosen = pooled(dataset, runs.values(), match=chosen, profile=config.chosen_profile)
        for found in runs.values():
            try:
                evaluation = evaluate(
                    dataset,
                    found,
                    match=chosen,
                    metrics=config.metrics,
                    profile=config.profile,
                    no_gold=config.no_gold,
                    facts_match=facts,
                    budget_tokenizer=config.budget_tokenizer,
                )
            except DataError as error:
                raise DataError(f"retrievers.{found.name}: {error}") from None
            evaluations.append(replace(evaluation, match_name=name))
    return tuple(evaluations)


def _matchers(config: RunConfig, judging: Mapping[str, Any] | None = None) -> dict[str, Matcher]:
    """The matchers of a config, by the name that evaluations give them."""
    options = _match_options(config, judging)
    return {
        name or label(spec): matcher(filled(spec), options)
        for name, spec in config.named_matchers.items()
    }


def _match_options(config: RunConfig, judging: Mapping[str, Any] | None) -> dict[str, Any]:
    """What matchers are made with besides their own options: the profile's, and the judge."""
    options = dict(config.chosen_profile.match_options)
    if config.judge is not None:
        options["judge"] = adjusted(read_judge(filled(config.judge)), **(judging or {}))
    return options


@dataclass(frozen=True)
class _Maker:
    """Makes a retriever and its callback handlers."""

    retriever: Callable[[], Any]
    callbacks: tuple[Callable[[], Any], ...]


def _makers(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, _Maker]:
    """What makes each retriever that is asked; nothing is made yet.

    Raises:
        UsageError: an import path or argument is wrong; all of them are listed.
    """
    found: dict[str, _Maker] = {}
    problems: list[str] = []

    def maker(where: str, path: str, args: Mapping[str, Any] | None) -> Callable[[], Any]:
        try:
            return plugins.maker(path, filled(args))
        except UsageError as error:
            problems.append(f"{where}: {error}")
            return lambda: None

    for name, each in retrievers.items():
        if each.factory is not None:
            where = f"retrievers.{name}"
            found[name] = _Maker(
                maker(where, each.factory, each.args),
                tuple(
                    # An object by import path, or what a class or function makes.
                    maker(where, given, None)
                    if isinstance(given, str)
                    else maker(where, given.factory, given.args)
                    for given in each.callbacks or ()
                ),
            )
    if problems:
        raise UsageError("\n".join(problems))
    return found


def _read(name: str, config: RetrieverConfig) -> Run:
    """What a file says that a retriever returned."""
    try:
        if config.run is not None:
            found = read_run(config.run)
        else:
            assert config.results is not None  # the config's own check
            found = read_results(config.results)[1]
            if not len(found):
                raise DataError(
                    f"{config.results}: no query has 'retrieved'; this is a gold file, not a "
                    "results file"
                )
    except DataError as error:
        source = "results" if config.run is None else "run"
        raise DataError(f"retrievers.{name}.{source}: {error}") from error
    return replace(found, name=name, settings=_settings(config))


def _asked(
    name: str,
    config: RetrieverConfig,
    maker: _Maker,
    dataset: GoldDataset,
    progress: bool | None,
    partial: Path | None,
) -> Run:
    """What a retriever answers to every question that it has not answered yet."""
    where = f"retrievers.{name}"
    try:
        retriever = maker.retriever()
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if not is_retriever(retriever):
        raise UsageError(
            f"{where}: {config.factory} made a {type(retriever).__name__}, which cannot be asked; "
            "it must be a LangChain retriever or runnable, or a function"
        )
    asking = config.asking()
    try:
        asking["callbacks"] = [make() for make in maker.callbacks]
        if partial is None:
            answered = retrieve(retriever, dataset, name=name, progress=progress, **asking)
        else:
            with Partial(partial, asked_hash(config, dataset)) as kept:
                answered = retrieve(
                    retriever,
                    dataset,
                    name=name,
                    progress=progress,
                    known=kept.known,
                    on_answer=kept.add,
                    **asking,
                )
    except (ImportError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    return replace(answered, settings=_settings(config))


def _settings(config: RetrieverConfig) -> dict[str, Any]:
    """What a result records of how its retriever was asked; variables stay names."""
    if config.factory is None:
        source = "results" if config.run is None else "run"
        return {source: str(config.results or config.run)}
    plain = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"args": {}, **plain}
