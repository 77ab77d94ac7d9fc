"""Judgement stores, what is imported into them, and labels."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from random import Random

from kragx.judging import Store
from kragx.judging.store import exported
from tests.fuzz import mutate
from tests.fuzz.trial import SEEDS, Trial

_STORE = "store.sqlite"
_FILES = (_STORE, f"{_STORE}-wal", f"{_STORE}-shm")
_TAMPERED = (
    "UPDATE questions SET material = ?",
    "UPDATE attempts SET grade = ?, failure = NULL",
    "UPDATE attempts SET at = ?",
    "UPDATE attempts SET model = ?, fingerprint = 7",
    "UPDATE attempts SET prompt_tokens = ?",
    "UPDATE labels SET grade = ?",
    "UPDATE labels SET query_id = ?",
    "UPDATE pairs SET document_id = ?",
)
_VALUES = (None, "x", "{", "[]", "{}", 7, -1, 2.5, b"\xff", "\x1b[31m", "1", 10**15, '{"asks": 1}')
_STATEMENTS = (
    *("DROP TABLE pairs", "DROP TABLE labels", "DROP TABLE questions", "DELETE FROM questions"),
    *(
        "PRAGMA user_version = 99",
        "PRAGMA user_version = 0",
        "ALTER TABLE attempts DROP COLUMN reason",
    ),
    "ALTER TABLE attempts RENAME TO others",
)


def stores(trial: Trial) -> None:
    """A store that was tampered with, records to import, or labels."""
    trial.random.choice((_store, _import, _import, _labels, _labels))(trial)


def _store(trial: Trial) -> None:
    random = trial.random
    _make(trial.folder / _STORE)
    if random.random() < 0.4:
        path = trial.folder / _STORE
        path.write_bytes(mutate.raw(random, path.read_bytes()))
    else:
        _tamper(random, trial.folder / _STORE)
    trial.run("judge", "store", "stats", "--store", _STORE, names=(_STORE,), writes=_FILES)
    file = random.choice(("out.jsonl", "out.qrels"))
    of_support = () if file == "out.jsonl" else ("--asks", "support")
    trial.run(
        *("judge", "store", "export", file, "--store", _STORE, *of_support),
        names=(_STORE,),
        writes=(*_FILES, file),
    )
    trial.write("human.qrels", (SEEDS / "gold.qrels").read_bytes())
    trial.run("agree", "human.qrels", _STORE, "--resamples", "100", names=(_STORE,), writes=_FILES)


def _make(path: Path) -> None:
    records = [json.loads(line) for line in (SEEDS / "judgements.jsonl").read_bytes().splitlines()]
    with Store(path) as store:
        store.add_records(exported(records))
        store.add_labels([("q1", "c1", 3), ("q2", "c3", 0)], origin="people")


def _tamper(random: Random, path: Path) -> None:
    db = sqlite3.connect(path)
    try:
        with contextlib.suppress(sqlite3.Error, OverflowError):  # a value that the table refuses
            if random.random() < 0.7:
                db.execute(random.choice(_TAMPERED), (random.choice(_VALUES),))
            else:
                db.execute(random.choice(_STATEMENTS))
        db.commit()
    finally:
        db.close()


def _import(trial: Trial) -> None:
    """What is refused leaves the store as it was."""
    random = trial.random
    _make(trial.folder / _STORE)
    seed = random.choice(("judgements.jsonl", "judgements.jsonl", "gold.qrels"))
    content = (SEEDS / seed).read_bytes()
    if seed.endswith(".jsonl") and random.random() < 0.6:
        records = [json.loads(line) | {"uid": f"new{line[20]}"} for line in content.splitlines()]
        changed = mutate.values(random, records)
        content = "\n".join(json.dumps(record) for record in changed).encode()
    elif random.random() < 0.9:
        content = mutate.any_of(random, content)
    trial.write(seed, content)
    before = _counts(trial)
    done = trial.run(
        "judge", "store", "import", seed, "--store", _STORE, names=(seed,), writes=_FILES
    )
    after = trial.run(
        "judge", "store", "stats", "--store", _STORE, "--format", "json", writes=_FILES
    )
    trial.claim(after.code == 0, f"the store cannot be read any more: {after.err}")
    if done.code:
        trial.claim(_counts(trial) == before, "what was refused has changed the store")
    grades = {grade for group in after.json for grade in group["grades"]} if not after.code else ()
    trial.claim(set(grades) <= {"0", "1", "2", "3"}, f"grades that no rubric has: {grades}")


def _counts(trial: Trial) -> list[int]:
    db = sqlite3.connect(trial.folder / _STORE)
    try:
        tables = ("questions", "attempts", "pairs", "labels")
        return [db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    finally:
        db.close()


def _labels(trial: Trial) -> None:
    """Labels of pairs, as a matrix or by offsets."""
    random = trial.random
    name = random.choice(("labels.csv", "matrix.jsonl", "offsets.jsonl"))
    content = (SEEDS / name).read_bytes()
    if name.endswith(".jsonl") and random.random() < 0.5:
        records = mutate.values(random, [json.loads(line) for line in content.splitlines()])
        content = "\n".join(json.dumps(record) for record in records).encode()
    elif random.random() < 0.9:
        content = mutate.any_of(random, content)
    trial.write(name, content)
    trial.write("results.jsonl", (SEEDS / "results.jsonl").read_bytes())
    trial.run(
        *("threshold", "calibrate", "results.jsonl", "--labels", name, "--folds", "2"),
        *("--tokenizer", "char"),
        names=(name, "results.jsonl", "labels"),
    )
