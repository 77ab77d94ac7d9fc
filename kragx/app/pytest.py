"""Gates in a test suite: `from kragx.pytest import assert_gates`.

Nothing is registered into pytest; this module is imported where it is used, and needs no pytest.

    from kragx.pytest import assert_gates

    def test_retrieval():
        assert_gates("kragx.yaml")
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.api.evaluations import Evaluations
from kragx.app import config, pipeline
from kragx.app.compare_folders import read_gates
from kragx.app.run_report import RunReport
from kragx.comparison import Comparison, Failures, GateResult, check_gates, compare, failed
from kragx.evaluation.evaluation import Evaluation, as_evaluations
from kragx.ground.errors import UsageError
from kragx.metrics import KRAGX


def assert_gates(
    results: str | Path | RunReport | Comparison | Evaluation | Evaluations,
    gates: Mapping[str, Any] | None = None,
    *,
    earlier: str | Path | None = None,
    trust: bool = False,
) -> tuple[GateResult, ...]:
    """Fail a test with a line for each gate that does not hold, and for who failed.

    Args:
        results: a config file, which is run; a result folder, which is computed again; what
            `kragx.app.pipeline.run`, `kragx.compare` or `kragx.evaluate` returned.
        gates: as in a config; None for the config's own.
        earlier: a result folder that ``no worse than earlier`` looks at.
        trust: of a result folder: run the code that its config names, if numbers need it.

    Returns:
        Every gate with what was found.

    Raises:
        AssertionError: a gate does not hold, or a retriever failed on more than is tolerated.
        UsageError: there are no gates, or they hold a mistake.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    checked, failures = _results(
        results, gates, None if earlier is None else Path(earlier), trust=trust
    )
    if not checked:
        raise UsageError("gates: none is given; pass gates={'ndcg@10': '>= 0.75'}")
    bad = failed(checked)
    if bad or failures:
        lines = "\n".join(map(str, [*failures, *bad]))
        raise AssertionError(f"{len(bad)} of {len(checked)} gates failed\n{lines}")
    return checked


def _results(
    results: object, gates: Mapping[str, Any] | None, earlier: Path | None, *, trust: bool
) -> tuple[tuple[GateResult, ...], list[Failures]]:
    """The gates, and whose failures are more than is tolerated."""
    match results:
        case Comparison() | Evaluation() | Evaluations():
            if gates is None or earlier is not None:
                raise UsageError("gates: pass them; a comparison has none, nor earlier results")
            if isinstance(results, Comparison):
                profile, compared = KRAGX, results
            else:
                profile = as_evaluations(results)[0].profile
                compared = (
                    results.comparison if isinstance(results, Evaluations) else compare(results)
                )
            failed = [failure for failure in compared.failures if failure.failed]
            return check_gates(read_gates(gates, profile), [compared]), failed
        case RunReport():
            report = results
        case str() | Path() if Path(results).is_dir():
            report = pipeline.recompute(Path(results), earlier=earlier, trust=trust)
        case str() | Path():
            loaded = config.load(Path(results))
            if earlier is not None:
                loaded = replace(loaded, earlier=earlier.absolute())
            if gates is not None:
                loaded = config.with_gates(loaded, gates)
            report = pipeline.run(loaded)
        case _:
            raise UsageError(
                "results: {kind} is none; pass a config file, a result folder, or what "
                "pipeline.run, compare or evaluate returned",
                kind=type(results).__name__,
            )
    report = report if gates is None else report.with_gates(gates)
    return report.gates, list(report.failures.values())
