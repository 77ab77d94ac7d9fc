"""The grids of a config's retrievers: what is asked of them, and what need not be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kragx.app.config import RetrieverConfig, RunConfig
from kragx.app.retrieving.making import all_makers
from kragx.app.retrieving.retrieve_all import retrieve_all
from kragx.comparison.tuning import GRID, size
from kragx.data import GoldDataset, Retrieved, Run
from kragx.ground.printing import phrase, visible
from kragx.report.record import Kept


@dataclass(frozen=True)
class Cut:
    """A setting that is not asked, as its list is the beginning of another's.

    Attributes:
        of: the setting that is asked.
        length: of the list.
        config: as the setting would be asked.
    """

    of: str
    length: int
    config: RetrieverConfig

    def run(self, name: str, runs: Mapping[str, Run]) -> Run:
        """The run of this setting; times are those of the longer list."""
        several = Run.repeated(
            replace(run, name=name, results=self._cut(run)) for run in runs[self.of].every
        )
        return replace(several, settings=self.config.settings)

    def _cut(self, run: Run) -> dict[str, Retrieved]:
        return {
            query_id: replace(answer, documents=answer.documents[: self.length])
            for query_id, answer in run.results.items()
        }


def cuts(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, Cut]:
    """The settings that need not be asked, as their retriever says by ``cut``; by name."""
    cut_of: dict[str, Cut] = {}
    for label, retriever in retrievers.items():
        longest: dict[str, tuple[int, str]] = {}
        keys: dict[str, str] = {}
        cut = retriever.cut
        if cut is None:
            continue
        settings = retriever.settings_of(label)
        for name, (setting, _) in settings.items():
            rest = {axis: value for axis, value in setting.values.items() if axis != cut}
            keys[name] = repr(rest)
            length = (setting.values[cut], name)
            longest[keys[name]] = max(longest.get(keys[name], length), length)
        for name, (setting, config) in settings.items():
            _, best = longest[keys[name]]
            if name != best:
                cut_of[name] = Cut(best, setting.values[cut], config)
    return cut_of


def check_axes(retrievers: Mapping[str, RetrieverConfig]) -> None:
    """Refuse axes that are no arguments, once for each retriever and not for each setting.

    Raises:
        UsageError: naming each mistake.
    """
    first = {
        f"{name}.args (with its {GRID})": next(iter(retriever.settings_of(name).values()))[1]
        for name, retriever in retrievers.items()
        if retriever.axes and retriever.factory is not None
    }
    all_makers(first)


def ask_settings(
    config: RunConfig, dataset: GoldDataset, **options: Any
) -> tuple[dict[str, Run], dict[str, Kept]]:
    """What the settings of a config return to each question, and what an earlier run has kept.

    Of settings that differ in where a list is cut the longest is asked.

    Args:
        config: has the settings.
        dataset: the questions.
        options: as of `retrieve_all`.
    """
    shorter = cuts(config.retrievers)
    retrievers = {
        name: retriever for name, retriever in config.asked.items() if name not in shorter
    }
    runs, kept_of = retrieve_all(retrievers, dataset, **options)
    runs |= {name: cut.run(name, runs) for name, cut in shorter.items()}
    return {name: runs[name] for name in config.asked}, kept_of


def plan(retrievers: Mapping[str, RetrieverConfig], n_questions: int) -> Iterator[str]:
    """What the grids will ask, a line for each and one for all retrievers; nothing without one."""
    not_asked, total = cuts(retrievers), 0
    for label, retriever in retrievers.items():
        names = [name for name in retriever.settings_of(label) if name not in not_asked]
        options = {"repeat": 1, "warmup": 0, **retriever.options}
        times, warmup = options["repeat"] * (retriever.runs or 1), options["warmup"]
        n_calls = len(names) * (n_questions * times + min(warmup, n_questions))
        total += n_calls if retriever.is_asked else 0
        if retriever.axes:
            settings: str = size(retriever.axes)
            if retriever.cut:
                settings = phrase(
                    "{settings}, {n} of them asked, as {axis} only cuts,",
                    settings=settings,
                    n=len(names),
                    axis=retriever.cut,
                )
            questions = (
                phrase("1 question")
                if n_questions == 1
                else phrase("{n:,} questions", n=n_questions)
            )
            if times > 1:
                questions = phrase("{questions} x {n} times", questions=questions, n=times)
            if warmup:
                questions = phrase("{questions}, and {n} to warm up", questions=questions, n=warmup)
            yield phrase(
                "grid of {retriever}: {settings} x {questions}: {n:,} asks",
                retriever=visible(label),
                settings=settings,
                questions=questions,
                n=n_calls,
            )
    if len(retrievers) > 1 and any(retriever.axes for retriever in retrievers.values()):
        yield phrase(
            "in all {n:,} asks, without retries and without answers that are kept", n=total
        )
