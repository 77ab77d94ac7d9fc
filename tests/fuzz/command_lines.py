"""Command lines: options left out, doubled, with values of others, and files that are none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from typer.main import get_command

from kragx.app.commands.root import app
from kragx.judging import DEFAULT_STORE
from tests.fuzz.folders import made
from tests.fuzz.trial import SEEDS, Trial

_FILES = (
    *("results.jsonl", "goldset.jsonl", "gold.qrels", "bm25.run", "kragx.yaml", "corpus.jsonl"),
    *("labels.csv", "match.yaml", "table_ko.csv", "judgements.jsonl", "store.sqlite", "made"),
)
_ODD = (
    *(
        "",
        " ",
        ".",
        "-",
        "--",
        "missing.jsonl",
        "a/b/c",
        "\x1b[31mred",
        "é" * 300,
        "0",
        "-1",
    ),
    *(
        "1",
        "2",
        "0.5",
        "nan",
        "inf",
        "1e309",
        "many",
        "０.５",
        "1_0",
        "True",
        "{",
        "{}",
        "[1]",
        "{a: b}",
    ),
    *(
        "recall@3",
        "recall@0",
        "recall@",
        "ndcg@10(gain=exp2)",
        "x@1",
        "overlap",
        "id",
        "llm",
        "rouge9",
    ),
    *(
        "q1",
        "none",
        "first",
        "match.threshold=0.4",
        "=",
        "a=b=c",
        "metrics=[recall@1]",
        "0-3",
        "3-0",
    ),
    *(
        "{method: overlap, threshold: 0.1}",
        "{any: [id, exact]}",
        "query_id=q",
        "\udcff",
        "en",
        "ko",
        "*",
    ),
    *("recall@3: '>= 0.5'", "query_type", "metadata.difficulty", "cp949", "csv", "🜁"),
    *("json", "table", "markdown", "html", "relevance", "support", "kappa", "f1", "char", "trec"),
)
_OUT = ("out.txt", "out.jsonl", "out.svg", "out", "out/deep/er", "made", "", "\x00out", "a" * 300)
_WRITTEN = ("out", "out.txt", "out.jsonl", "out.svg", "out.sample.jsonl", "store.sqlite", "results")
_WRITING = ("out", "output", "plot", "summary", "junit", "figures", "folder")
"""Parameters that say where to write; where the others are read from."""


@cache
def _commands() -> tuple[tuple[tuple[str, ...], Any], ...]:
    """Every command with the words that call it."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield words, command
            return
        for name in inner:
            yield from below(inner[name], (*words, name))

    return tuple(below(get_command(app), ()))


def command_lines(trial: Trial) -> None:
    """A command with arguments and options, each of which may be right."""
    random = trial.random
    for name in _FILES:
        if (SEEDS / name).exists():
            shutil.copy(SEEDS / name, trial.folder / name)
    shutil.copytree(made()[0] / "out", trial.folder / "made")
    words, command = random.choice(_commands())
    args = [*words]
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        if random.random() < (0.12 if is_option else 0.95):
            for _ in range(random.choice((1, 1, 1, 2))):
                args += _said(random, parameter, is_option)
    if random.random() < 0.1:
        args.insert(random.randint(0, len(args)), random.choice((*_ODD, "--nonsense", "--help")))
    if random.random() < 0.2:
        args[random.randrange(len(args))] = random.choice(_ODD)
    args = [arg for arg in args if "\x00" not in arg]
    stores = args if args[:3] == ["judge", "store", "import"] else ()
    folder = args[1:] if args[:1] == ["init"] else ()
    outcome = trial.run(*args, writes=(*_WRITTEN, str(DEFAULT_STORE), *stores, *folder))
    is_made = (trial.folder / DEFAULT_STORE).exists()
    trial.claim(not is_made or not outcome.code, "a store was made for a refused import")


def _said(random: Random, parameter: Any, is_option: bool) -> list[str]:
    """A parameter as the command line says it."""
    name = random.choice(parameter.opts + parameter.secondary_opts) if is_option else None
    flag = getattr(parameter, "is_flag", False)
    if is_option and flag:
        return [name] if random.random() < 0.95 else [name, random.choice(_ODD)]
    if parameter.name in _WRITING:
        value = random.choice(_OUT)
    elif random.random() < (0.2 if is_option else 0.8):
        value = random.choice(_FILES)
    else:
        value = random.choice(_ODD)
    return [value] if name is None else [name, value]
