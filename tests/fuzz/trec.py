"""TREC's qrels and runs."""

from __future__ import annotations

import gzip
from random import Random

from tests.fuzz import mutate
from tests.fuzz.json_files import BY_ID, check_numbers
from tests.fuzz.reference import RefusedError, read_trec
from tests.fuzz.trial import SEEDS, Trial

_NUMBERS = (
    *("1_0", "１", "٣", "inf", "-Infinity", "nan", "0x1p3", "1e5", "+1", "1,5", "−1", "", "1e999"),
    *(".5", "5.", "1e", "--1", "1.2.3", "²", "infinity", "INF", "1e-400", "True", "None", "½"),
)


def trec(trial: Trial) -> None:
    """Qrels and a run, of which one or both are changed, or only written otherwise."""
    random = trial.random
    files = [(SEEDS / name).read_bytes() for name in ("gold.qrels", "bm25.run")]
    if random.random() < 0.3:
        files[0] = (SEEDS / "beir.tsv").read_bytes()
    for position in random.choice(((), (0,), (0,), (1,), (1,), (0, 1))):
        change = random.choice((_number, _number, _columns, mutate.any_of))
        files[position] = change(random, files[position])
    qrels, run = (_written(random, content) for content in files)
    names = random.choice((("gold.qrels", "bm25.run"), ("qrels.txt", "run.txt.gz")))
    trial.write(names[0], qrels)
    trial.write(names[1], gzip.compress(run) if names[1].endswith(".gz") else run)
    scored = trial.run(
        *("score", "--qrels", names[0], "--run", names[1], *BY_ID[:2], *BY_ID[4:]),
        *("--format", "json"),
        names=names,
    )
    check_numbers(trial, scored, lambda: read_trec(qrels, run))
    validated = trial.run(
        "gold", "validate", names[0], "--input-format", "qrels", "--format", "json", names=names
    )
    try:
        read_trec(qrels, b"q Q0 d 1 1 t")
    except RefusedError as error:
        trial.claim(validated.code, f"validate accepts what the reference refuses: {error}")
    else:
        trial.claim(validated.code == 0, f"validate refuses what is right: {validated.out[:300]}")


def _number(random: Random, content: bytes) -> bytes:
    """Another number, in the last columns of a line."""
    lines = content.decode().splitlines()
    number = random.randrange(len(lines))
    columns = lines[number].split()
    columns[-1 if len(columns) < 5 else random.choice((3, 4, 4, 4))] = random.choice(_NUMBERS)
    lines[number] = "\t".join(columns)
    return "\n".join(lines).encode()


def _columns(random: Random, content: bytes) -> bytes:
    """A column that is gone, stands twice, or is another's."""
    lines = content.decode().splitlines()
    number = random.randrange(len(lines))
    columns = lines[number].split()
    place = random.randrange(len(columns))
    columns[place : place + 1] = random.choice(
        ([], [columns[place]] * 2, [columns[0]], ["q\u00a01"], ["#1"], ["\x1b[31m"], ["\x1c"])
    )
    lines[number] = " ".join(columns)
    return "\n".join(lines).encode()


def _written(random: Random, content: bytes) -> bytes:
    """The same lines, perhaps in another order, with other ends and gaps."""
    match random.randrange(5):
        case 0:
            return content.replace(b"\n", b"\r\n")
        case 1:
            return content.replace(b"\n", b"\n\n") + b"\n"
        case 2:
            first, *lines = content.splitlines(keepends=True) or [b""]
            random.shuffle(lines)
            return first + b"".join(line.rstrip(b"\n") + b"\n" for line in lines)
    return content
