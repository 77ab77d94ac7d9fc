"""What `kragx gold questions` asks about, and how a config's judge writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kragx.adapters.batches.submission import Submission
from kragx.app.config import RunConfig, filled, load, load_dataset_config
from kragx.app.run_summary import judging_plan
from kragx.data import GoldDataset, read_dataset
from kragx.ground.errors import UsageError
from kragx.ground.printing import Line, phrase, show
from kragx.ground.secrets import Secrets
from kragx.judging import read_judge, read_rubric
from kragx.judging.reading import adjusted
from kragx.workshop.questions.generated import write_questions
from kragx.workshop.questions.question import WrittenQuestions

_NO_GOLD_SET = "there is no gold set yet"
_LACKING = {"dataset": {"path": _NO_GOLD_SET}, "retrievers": {"none": {"run": _NO_GOLD_SET}}}
"""What a config need not have before there is a question."""


@dataclass(frozen=True)
class QuestionMaterial:
    """What questions are made of.

    Attributes:
        config: the config whose judge writes; None for none, and where nobody writes.
        corpus: of the command line, else of the config.
        existing: questions that there are.
        targets: shares by ``query_type`` and ``difficulty`` that the config names.
    """

    config: RunConfig | None
    corpus: str
    existing: GoldDataset | tuple[()]
    targets: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(
        cls,
        config: Path | None,
        settings: Sequence[str],
        corpus: Path | None,
        existing: Path | None,
        *,
        judge: bool,
    ) -> Self:
        """What a command line says.

        Without a judge a config is data: its ``dataset`` alone is looked at.

        Raises:
            UsageError: it names no corpus.
            DataError, ConfigError: a file cannot be read.
        """
        loaded = dataset = None
        if settings and (config is None or not judge):
            raise UsageError("--set: belongs to the config of --from model")
        if config is not None and judge:
            loaded = load(config, settings, lacking=_LACKING)
            dataset = loaded.dataset
        elif config is not None:
            dataset = load_dataset_config(config, _LACKING)
        if corpus is None and dataset is not None:
            corpus = dataset.corpus
        if corpus is None:
            remedy = "name it with --corpus, or as dataset.corpus in the config"
            raise UsageError("there is no corpus to make questions from", remedy=remedy)
        # The config's own gold set need not be there yet: questions are made before it.
        existing_gold: GoldDataset | tuple[()] = ()
        if existing is not None:
            existing_gold = read_dataset(str(existing))
        elif dataset is not None and Path(dataset.path).exists():
            existing_gold = read_dataset(dataset.path, **dataset.how)
        targets = (dataset and dataset.targets) or {}
        names = {"query_type", "difficulty"} & targets.keys()
        chosen_options = {name: targets[name] for name in sorted(names)}
        return cls(loaded, str(corpus), existing_gold, chosen_options)

    def write(
        self,
        n: int,
        limits: Mapping[str, Any],
        *,
        dry_run: bool,
        submit: bool,
        rubric: Path | None = None,
        **options: Any,
    ) -> WrittenQuestions | None:
        """Have the judge write questions; None where that is only counted or submitted.

        Raises:
            KragxError: as of `write_questions`.
        """
        secrets = Secrets.of() if self.config is None else self.config.secrets
        judge_options = None if self.config is None else self.config.judge
        with secrets.guarding():
            judge = read_judge(None if judge_options is None else filled(judge_options))
            outbox = Submission(judge.members, secrets, dry_run=dry_run) if submit else None
            judge = adjusted(
                judge,
                secrets=secrets,
                dry_run=dry_run or submit or None,
                progress=False if submit else None,
                outbox=outbox,
                budget=judge.budget.with_limits(limits) if limits else None,
            )
            own_rubric = None if rubric is None else read_rubric(rubric)
            result = write_questions(self.corpus, judge, n, rubric=own_rubric, **options)
            if outbox is not None:
                outbox.send()
                return None
        if not dry_run:
            return result
        counts = result.writing, result.checking
        calls = phrase(
            "{n} calls to write and about {n_checks} to check; {n_stored} judgements stored",
            n=counts[0].planned.n_calls,
            n_checks=counts[1].planned.n_calls,
            n_stored=sum(count.n_stored for count in counts),
        )
        rewriting = phrase(
            "a question that falls is written anew, and its calls come on top (--tries)"
        )
        show([Line(calls), *judging_plan((), judge.plans), Line(rewriting)])
        return None
