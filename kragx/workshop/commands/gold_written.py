"""What `kragx gold questions` asks about, and how a config's judge writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kragx.app.config import RunConfig, filled, load, load_dataset_config
from kragx.app.run_summary import judging_plan
from kragx.data import GoldDataset, read_dataset
from kragx.ground.errors import UsageError
from kragx.ground.printing import Line, message, show
from kragx.ground.secrets import Secrets
from kragx.judging import read_judge
from kragx.judging.reading import adjusted
from kragx.workshop.questions.generated import write_questions
from kragx.workshop.questions.question import WrittenQuestions

_NO_GOLD_SET = "there is no gold set yet"
_LACKING = {"dataset": {"path": _NO_GOLD_SET}, "retrievers": {"none": {"run": _NO_GOLD_SET}}}
"""What a config need not have before there is a question."""


def material(
    config: Path | None,
    settings: Sequence[str],
    corpus: Path | None,
    existing: Path | None,
    *,
    judge: bool,
) -> tuple[RunConfig | None, str, GoldDataset | tuple[()], Mapping[str, Mapping[str, float]]]:
    """What questions are made of, as a command line says.

    Without a judge a config is data: its ``dataset`` alone is looked at.

    Returns:
        The config whose judge writes, if one does; the corpus; the questions that there are; the
        shares by ``query_type`` and ``difficulty`` that the config names.

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
    shares = {name: targets[name] for name in ("difficulty", "query_type") if name in targets}
    return loaded, str(corpus), existing_gold, shares


def write(
    config: RunConfig | None,
    corpus: str,
    n: int,
    *,
    dry_run: bool,
    **options: Any,
) -> WrittenQuestions | None:
    """Have a config's judge write questions; None where that is only counted.

    Raises:
        KragxError: as of `write_questions`.
    """
    secrets = Secrets.of() if config is None else config.secrets
    judge_options = None if config is None else config.judge
    with secrets.guarding():
        judge = read_judge(None if judge_options is None else filled(judge_options))
        judge = adjusted(judge, secrets=secrets, dry_run=dry_run or None)
        result = write_questions(corpus, judge, n, **options)
    if not dry_run:
        return result
    rewriting = message("a question that falls is written anew, and its calls come on top")
    show([*judging_plan(judge.plans), Line(rewriting)])
    return None
