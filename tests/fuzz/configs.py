"""YAML: configs and match specs."""

from __future__ import annotations

from random import Random
from typing import Any

import yaml

from tests.fuzz import mutate
from tests.fuzz.trial import SEEDS, Trial

_PIECES = (
    *(
        "&a ",
        "*a",
        "<<: *a\n",
        "!!python/object/apply:os.mkdir [pwned]",
        "!!python/name:os.system ",
    ),
    *(
        "\t",
        "  ",
        "---\n",
        "...\n",
        "%YAML 9.0\n",
        "!!binary aGk=",
        "!!set {a, b}",
        "!!float x",
        "? ",
    ),
    *(
        "yes",
        "012",
        "1:30:00",
        "2026-13-01",
        ".inf",
        ".nan",
        "~",
        "null",
        "|\n",
        ">-\n",
        "- ",
        "{",
        "]",
    ),
    *(
        "${HOME}",
        "${}",
        "${NONE_SUCH}",
        "${here}/../..",
        "'",
        '"\\ud800"',
        "# ",
        ": ",
        "!!timestamp 1",
    ),
    *(
        "&a [*a]",
        "&b {x: *b}",
        "1_000",
        "0b11",
        "-0",
        "1e400",
        "os:system",
        "''",
        "!local x",
        "\x85",
    ),
)


def configs(trial: Trial) -> None:
    """A config for `run` and `validate`, or a match spec for `score`."""
    for name in ("gold.jsonl", "first.jsonl"):
        trial.write(name, (SEEDS / "results.jsonl").read_bytes())
    trial.write("second.run", (SEEDS / "bm25.run").read_bytes())
    if trial.random.random() < 0.4:
        _spec(trial)
    else:
        _config(trial)


def _config(trial: Trial) -> None:
    trial.write("kragx.yaml", _changed(trial.random, (SEEDS / "kragx.yaml").read_text()))
    trial.run("gold", "validate", "kragx.yaml")
    more = trial.random.choice(
        ((), (), ("--full",), ("--dry-run",), ("--anyway", "--set", "html=false"))
    )
    ran = trial.run("run", "kragx.yaml", "--output", "out", *more, writes=("out",))
    if ran.code in (0, 1, 5) and (trial.folder / "out" / "report.json").exists():
        again = trial.run("report", "out", "--format", "json")
        trial.claim(again.code == ran.code, f"run ends with {ran.code}, report with {again.code}")


def _spec(trial: Trial) -> None:
    text = _changed(trial.random, (SEEDS / "match.yaml").read_text())
    trial.write("match.yaml", text)
    trial.run("score", "first.jsonl", "--match", "match.yaml", "--max-failed", "1", "-mrecall@3")
    try:
        inline = yaml.safe_dump(yaml.safe_load(text)["match"], default_flow_style=True, width=10**6)
    except (yaml.YAMLError, TypeError, KeyError, ValueError, AttributeError, RecursionError):
        inline = text.partition(":")[2]
    trial.run("match", "first.jsonl", "--match", inline.replace("\x00", ""))


def _changed(random: Random, text: str) -> str:
    """Other values, other characters, or what only YAML has."""
    match random.randrange(4):
        case 0:
            return text
        case 1:
            return _written(random, mutate.values(random, yaml.safe_load(text)))
        case 2:
            return mutate.text(random, text)
    for _ in range(random.choice((1, 1, 2))):
        places = [place for place, char in enumerate(text) if char in " \n:[{,"]
        place = random.choice(places) + 1
        text = text[:place] + random.choice(_PIECES) + text[place:]
    return text


def _written(random: Random, value: Any) -> str:
    try:
        return yaml.safe_dump(
            value,
            allow_unicode=random.random() < 0.5,
            default_flow_style=random.choice((None, True, False)),
            sort_keys=random.random() < 0.5,
        )
    except (yaml.YAMLError, UnicodeError):
        return str(value)
