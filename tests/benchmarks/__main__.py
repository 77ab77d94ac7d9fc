"""Measure, print one table of ratios, and write them as JSON.

    python -m tests.benchmarks [--size small|medium|full] [--json FILE] [--no-peers]

The peers are the extra `bench`; K-RAG needs an environment of its own (see `krag_peer`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

PACKAGES = (
    "kragx",
    "numpy",
    "rapidfuzz",
    "kiwipiepy",
    "rouge-score",
    "ranx",
    "pytrec-eval-terrier",
    "ir_measures",
)
HERE = Path(__file__).parent
EXPECTED = HERE / "expected_ratios.json"


def main() -> int:
    """Run the benchmarks through pytest, in the interpreter that runs this."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--size", choices=("small", "medium", "full"), default="small")
    parser.add_argument("--json", type=Path, help="where to write the ratios")
    parser.add_argument("--no-peers", action="store_true", help="floors only")
    parser.add_argument("--only", default="", help="a pytest -k expression")
    parser.add_argument(
        "--check", action="store_true", help="fail if a ratio to a floor doubled (for CI)"
    )
    parser.add_argument(
        "--store", action="store_true", help="store the ratios that --check compares with"
    )
    arguments = parser.parse_args()
    os.environ["KRAGX_BENCH_SIZE"] = arguments.size
    wanted = [f"({arguments.only})"] if arguments.only else []
    for_check = arguments.check or arguments.store
    if arguments.no_peers or for_check:
        wanted.append("not peer")
    if for_check:
        wanted.append("not tried and not test_korean and not judging")
    measured, extra = _measure(" and ".join(wanted))
    report = _report(measured, extra, arguments.size)
    _print(report)
    if arguments.json:
        text = json.dumps(report, indent=1, ensure_ascii=False)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if arguments.store:
        ratios = {row["name"]: round(row["value"], 2) for row in _floors(report)}
        EXPECTED.write_text(json.dumps(ratios, indent=1) + "\n", encoding="utf-8")
    return _check(report) if arguments.check else 0


def _measure(wanted: str) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, Any]]:
    """By group and side the least seconds of all turns, and what else was noted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmarks.json"
        command = [
            *(sys.executable, "-m", "pytest", str(HERE), "-q", "-rs", "--benchmark-only"),
            *("-o", "addopts=", "-o", "filterwarnings=", "-W", "ignore", "-p", "no:cacheprovider"),
            *(f"--benchmark-json={path}", "--benchmark-quiet", "-k", wanted),
        ]
        done = subprocess.run(command, check=False, cwd=HERE.parents[1], stdout=sys.stderr)
        if not (path.exists() and path.stat().st_size):
            raise SystemExit(f"pytest ended with {done.returncode} and measured nothing")
        benchmarks = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    measured: dict[str, dict[str, dict[str, float]]] = {}
    noted: dict[str, Any] = {}
    for each in benchmarks:
        extra, params = each["extra_info"], each["params"] or {}
        side_name = params.get("side", "kragx")
        seconds = extra.get("seconds", each["stats"]["min"]) * extra.get("scale", 1)
        sides = measured.setdefault(each["group"] or each["name"], {})
        side = sides.setdefault(side_name, {})
        side["seconds"] = min(seconds, side.get("seconds", seconds))
        if "peak" in extra:
            side["megabytes"] = extra["peak"]
        for what, megabytes in extra.get("memory", {}).items():
            sides[f"kragx-{what}"] = {"megabytes": megabytes}
        if "n_queries" in params:
            sides[f"{side_name}-per-query"] = {"seconds": side["seconds"] / params["n_queries"]}
        if "bare" in extra:
            sides["floor"] = {"seconds": extra["bare"]}
        noted |= {"krag": extra["krag"]} if "krag" in extra else {}
    return measured, noted


def _report(
    measured: dict[str, dict[str, dict[str, float]]], extra: dict[str, Any], size: str
) -> dict[str, Any]:
    from .rows import rows

    lines = []
    for row in rows():
        value = row.value(measured)
        if value is None:
            continue
        theirs = measured[row.theirs[0]][row.theirs[1]] if row.theirs else {}
        lines.append(
            {
                "name": row.name,
                "work": row.work,
                "against": row.against,
                "kind": row.kind,
                "value": value,
                "shown": row.shown(value),
                "bar": row.bar,
                "bar_shown": "" if row.bar is None else row.shown(row.bar),
                "reached": row.reached(value),
                "seconds": measured[row.ours[0]][row.ours[1]]["seconds"] if row.theirs else None,
                "seconds_against": theirs.get("seconds"),
            }
        )
    return {
        "command": f"python -m tests.benchmarks --size {size}",
        "machine": {"cpu": _cpu(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), **_versions(), **extra},
        "rows": lines,
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def shown_time(seconds: float | None) -> str:
    """A time as the table shows it."""
    if seconds is None:
        return ""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _print(report: dict[str, Any]) -> None:
    table = Table("work", "kragx", "against", "its time", "ratio", "bar", "")
    for column in (1, 3, 4, 5):
        table.columns[column].justify = "right"
        table.columns[column].no_wrap = True
    for row in report["rows"]:
        mark = {True: "[green]reached", False: "[red]missed", None: ""}[row["reached"]]
        table.add_row(
            row["work"],
            shown_time(row["seconds"]),
            row["against"],
            shown_time(row["seconds_against"]),
            row["shown"],
            row["bar_shown"],
            mark,
        )
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(table)
    machine = report["machine"]
    versions = ", ".join(f"{name} {value}" for name, value in report["versions"].items())
    console.print(f"{report['command']}; {machine['cpu']}, {machine['cores']} cores; {versions}")


def _floors(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with a floor; the smallest file is left out, its floor is a millisecond."""
    from .workloads import SIZE

    kinds = ("corpus", "korean", "distinct", "parquet")
    smallest = tuple(f"file-{kind}-{SIZE.file_queries[0]} " for kind in kinds)
    return [
        row
        for row in report["rows"]
        if row["kind"] == "floor" and not row["name"].startswith(smallest)
    ]


def _check(report: dict[str, Any]) -> int:
    """1 if a ratio to a floor of this run is more than twice the stored one, or is missing."""
    stored = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found = {row["name"]: row["value"] for row in _floors(report)}
    wrong = [f"{name}: not measured" for name in stored if name not in found] + [
        f"{name}: {value:.2f} times the floor, stored is {stored[name]:.2f}"
        for name, value in found.items()
        if value > 2 * stored.get(name, value)
    ]
    print("\n".join(wrong) or "no ratio to a floor has doubled")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
