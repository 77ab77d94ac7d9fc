"""Gold and results in JSON: of kragx itself and of other tools."""

from __future__ import annotations

import gzip
import json
from functools import cache
from random import Random
from typing import Any

from tests.fuzz import mutate
from tests.fuzz.reference import METRICS, RefusedError, numbers, read_results
from tests.fuzz.running import Outcome, run
from tests.fuzz.trial import SEEDS, Trial

BY_ID = ("--match", "id", "--max-failed", "1", *(f"-m{name}" for name in METRICS))
COUNTS = ("n_queries", "n_no_gold", "n_missing", "n_failed")


def json_files(trial: Trial) -> None:
    """Results, gold of other tools, or a corpus."""
    trial.random.choice((_results,) * 7 + (_gold, _gold, _corpus))(trial)


def _results(trial: Trial) -> None:
    random = trial.random
    name = random.choice(("results",) * 5 + ("goldset", "ragas"))
    content, mutated = _changed(random, f"{name}.jsonl")
    path = _ending(random, content)
    trial.write(path, gzip.compress(content) if path.endswith(".gz") else content)
    scored = trial.run("score", path, *BY_ID, "--format", "json", names=(path,))
    validated = trial.run("gold", "validate", path, "--format", "json", names=(path,))
    if name == "results" and _is_results(content):
        check_numbers(trial, scored, lambda: read_results(content))
    check_agreement(trial, scored, validated)
    if "jsonl" in path and random.random() < 0.1:
        piped = trial.run("score", "-", *BY_ID, "--format", "json", stdin=content, names=("-",))
        trial.claim(piped.code == scored.code, f"a pipe ends with {piped.code}: {piped.err[:200]}")
    if not mutated:
        trial.claim(scored.code == 0, f"refuses a right file: {scored.err}")
        by_text = trial.run("score", path, *_BY_TEXT, "--format", "json")
        trial.claim(by_text.code or by_text.json["mean"] == _means(name), "other means by text")
    elif random.random() < 0.25:
        command = random.choice(("match", "score", "explain"))
        more = ("-q", "q1") if command == "explain" else ()
        trial.run(command, path, *more, names=(path,))


_BY_TEXT = ("--match", "overlap", "--max-failed", "1")


@cache
def _means(name: str) -> dict[str, float]:
    """The means of a seed by text, however it is written."""
    return run("score", SEEDS / f"{name}.jsonl", *_BY_TEXT, "--format", "json").json["mean"]


def _gold(trial: Trial) -> None:
    """Gold alone, with the answers in another file."""
    random = trial.random
    name = random.choice(
        ("autorag.jsonl", "llamaindex.json", "science_qa.jsonl", "submission.jsonl")
    )
    content, mutated = _changed(random, name)
    trial.write(name, content)
    if name in ("science_qa.jsonl", "submission.jsonl"):
        both = ("science_qa.jsonl", "submission.jsonl")
        for other in {*both} - {name}:
            trial.write(other, (SEEDS / other).read_bytes())
        ended = trial.run("score", "--profile", "science-qa", *both, names=both)
    else:
        trial.write("second.run", (SEEDS / "bm25.run").read_bytes())
        trial.write("kragx.yaml", _CONFIG.format(name))
        ended = trial.run("run", "kragx.yaml", names=(name,))
    in_lines = name != "submission.jsonl" or content.lstrip(b"\xef\xbb\xbf").startswith(b"{")
    trial.claim(mutated or not in_lines or ended.code == 0, f"refuses right files: {ended.err}")
    if name != "submission.jsonl":
        validated = trial.run("gold", "validate", name, "--format", "json", names=(name,))
        check_agreement(trial, ended, validated)


_CONFIG = """
dataset: {}
retrievers: {{a: {{run: second.run}}}}
match: id
metrics: [recall@3]
statistics: {{resamples: 100}}
"""


def _corpus(trial: Trial) -> None:
    """Texts of ids."""
    content, mutated = _changed(trial.random, "corpus.jsonl")
    path = "corpus.json" if b"[" in content[:4] else "corpus.jsonl"
    trial.write(path, content)
    trial.write("goldset.jsonl", (SEEDS / "goldset.jsonl").read_bytes())
    files = (path, "goldset.jsonl", "no text", "in the corpus")
    scored = trial.run("score", "goldset.jsonl", "--corpus", path, names=files)
    trial.claim(mutated or scored.code == 0, f"refuses a right corpus: {scored.err}")
    trial.run("gold", "validate", "goldset.jsonl", "--corpus", path, names=files)


def _changed(random: Random, name: str) -> tuple[bytes, bool]:
    """A seed, with other values, characters or bytes; or only written otherwise, and False."""
    content = (SEEDS / name).read_bytes()
    whole = name.endswith(".json")
    records = [json.loads(content)] if whole else _records(content)
    mutated = random.random() < 0.85
    if mutated and random.random() < 0.6:
        records = mutate.values(random, records)
    if not whole:
        content = written(random, records)
    elif records:
        content = json.dumps(records[0], indent=random.choice((None, 1))).encode()
    if mutated and random.random() < 0.4:
        content = mutate.any_of(random, content)
    return content, mutated


def check_numbers(trial: Trial, outcome: Outcome, rows: Any) -> None:
    """A result is what the reference says, and is refused where that refuses it."""
    try:
        expected = numbers(rows())
    except RefusedError as error:
        trial.claim(outcome.code, f"accepts what the reference refuses: {error}")
        return
    if outcome.code:
        trial.claim(False, f"refuses what the reference reads: {outcome.err[:300]}")
        return
    result = outcome.json
    got = {**{name: result["mean"].get(name) for name in METRICS}}
    got |= {name: result["counts"][name] for name in COUNTS}
    same = all(
        got[name] is not None and abs(got[name] - value) < 1e-12 for name, value in expected.items()
    )
    trial.claim(same, f"gives {got}, the reference {expected}")


def check_agreement(trial: Trial, scored: Outcome, validated: Outcome) -> None:
    """What `validate` finds no error in can be scored; what cannot be read has an error."""
    if validated.code == 0 and scored.code == 3:
        about_gold = (
            "no query has 'retrieved'",
            "has no id",
            ": no id; ",
            "no query has gold",
            "in the gold set",
        )
        trial.claim(
            any(words in scored.err for words in about_gold),
            f"validate finds nothing, score refuses: {scored.err[:300]}",
        )


def _records(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw.splitlines()]


def written(random: Random, records: list[Any]) -> bytes:
    """Records as one of the many ways to write the same JSON."""
    if random.random() < 0.3:
        records = [_shuffled(random, record) for record in records]
    end = random.choice(("\n", "\n", "\n", "\r\n", "\n\n", " \n"))
    ascii_only, separators = (
        random.random() < 0.2,
        random.choice((None, (",", ":"), (" , ", " : "))),
    )
    lines = [
        json.dumps(record, ensure_ascii=ascii_only, separators=separators) for record in records
    ]
    if random.random() < 0.15:
        text = json.dumps(records, ensure_ascii=ascii_only, indent=random.choice((None, 1, 4)))
    else:
        text = end.join(lines) + random.choice((end, ""))
    return (b"\xef\xbb\xbf" if random.random() < 0.1 else b"") + text.encode(
        "utf-8", "surrogatepass"
    )


def _shuffled(random: Random, value: Any) -> Any:
    if isinstance(value, dict):
        items = [(key, _shuffled(random, part)) for key, part in value.items()]
        random.shuffle(items)
        return dict(items)
    return [_shuffled(random, part) for part in value] if isinstance(value, list) else value


def _ending(random: Random, content: bytes) -> str:
    whole = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    return random.choice(
        ("results.json", "results.json.gz")
        if whole
        else ("results.jsonl",) * 3 + ("results.jsonl.gz",)
    )


def _is_results(content: bytes) -> bool:
    """Whether a file is of the format `gold`, which a changed field may make another's."""
    others = (b'"relevant_chunk_ids"', b'"user_input"', b'"qid"', b'"gold_texts"')
    return not any(mark in content for mark in others)
