"""Inputs by hand: one by its name, or as many as wanted.

python -m tests.fuzz json 1234
python -m tests.fuzz --count 10000
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.fuzz.kinds import KINDS
from tests.fuzz.running import CODES, bounded
from tests.fuzz.trial import attempt

_Result = tuple[str, int, list[str], list[int | None], float]


def tried(kind: str, number: int) -> _Result:
    """What one input came to: its violations, the codes of its commands, the slowest of them."""
    trial = attempt(kind, number, KINDS[kind][1])
    codes = [outcome.code for outcome in trial.outcomes]
    where = f"{trial.folder}: " if trial.wrong else ""
    wrong = [where + text for text in trial.wrong]
    return kind, number, wrong, codes, max((own.seconds for own in trial.outcomes), default=0)


def main() -> None:
    """Run what is asked for, and say what came of it; ends with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.split("\n")[0]
    )
    parser.add_argument("kind", nargs="?", choices=KINDS, help="only inputs of this kind")
    parser.add_argument("number", nargs="?", type=int, help="only this one, with what it prints")
    parser.add_argument("--count", type=int, default=2000, help="how many inputs")
    parser.add_argument("--start", type=int, default=0, help="the number of the first")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.number is not None:
        show(asked.kind, asked.number)
        return
    whole = sum(share for name, (share, _) in KINDS.items() if asked.kind in (None, name))
    inputs = [
        (name, number)
        for name, (share, _) in KINDS.items()
        if asked.kind in (None, name)
        for number in range(asked.start, asked.start + -(-asked.count * share // whole))
    ]
    begun = time.monotonic()
    with ProcessPoolExecutor(asked.processes, initializer=bounded) as pool:
        names, numbers = zip(*inputs)
        results = list(pool.map(tried, names, numbers, chunksize=20))
    summary(results, time.monotonic() - begun)
    sys.exit(any(wrong for _, _, wrong, _, _ in results))


def summary(results: list[_Result], seconds: float) -> None:
    """Every violation, then the ends of commands by kind."""
    for kind, number, wrong, _, _ in results:
        for text in wrong:
            print(f"{kind} {number}: {text}\n")
    for kind in KINDS:
        own = [result for result in results if result[0] == kind]
        if own:
            codes = Counter(code for *_, codes, _ in own for code in codes)
            ends = ", ".join(
                f"{count} {CODES.get(code, code)}"
                for code, count in codes.most_common()  # type: ignore[call-overload]
            )
            bad = sum(bool(wrong) for _, _, wrong, _, _ in own)
            slowest = max(slow for *_, slow in own)
            print(f"{kind:10} {len(own):6} inputs, {bad} wrong; slowest {slowest:.1f} s; {ends}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{len(results)} inputs in {seconds:.0f} s; at most {peak:.0f} MB in a process")


def show(kind: str, number: int) -> None:
    """One input, its commands and what they print; its folder is kept."""
    trial = attempt(kind, number, partial(_kept, KINDS[kind][1]))
    for outcome in trial.outcomes:
        print(f"$ kragx {' '.join(outcome.args)}\n{outcome.out}{outcome.err}[{outcome.code}]\n")
    print("\n".join(["", *trial.wrong, f"its files: {trial.folder}"]))


def _kept(make: object, trial: object) -> None:
    make(trial)  # type: ignore[operator]
    trial.wrong.append("(kept)")  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
