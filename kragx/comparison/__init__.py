"""Which retriever is better, and how sure is that: comparisons, slices, changes, gates.

`compare` makes a `Comparison`; `kragx.comparison.comparison` says what is in it. `changes` sets
earlier results beside the present ones, and `check_gates` holds numbers against what they must be.
"""

from kragx.comparison.advice import Failures, Recommendation
from kragx.comparison.changes import Change, QueryChange, changes
from kragx.comparison.compare_retrievers import (
    compare,
    compare_by_matcher as compare_by_matcher,
    compare_scores,
)
from kragx.comparison.comparison import NO_VALUE as NO_VALUE, Comparison, Slice, View
from kragx.comparison.estimates import (
    CORRECTIONS as CORRECTIONS,
    Difference,
    Estimate,
    Leader,
    Settings,
)
from kragx.comparison.gate_conditions import (
    Gate,
    parse_gates,
    undecidable as undecidable,
    undecidable_differences as undecidable_differences,
)
from kragx.comparison.gates import (
    NEEDS_EARLIER as NEEDS_EARLIER,
    GateResult,
    check_gates,
    failed as failed,
    gate_problems as gate_problems,
    gates_parts as gates_parts,
    gates_table as gates_table,
)
from kragx.comparison.scores import Results, RetrieverScores, direction as direction
from kragx.comparison.side_by_side import (
    REMEDY as REMEDY,
    GoldVersions,
    check_comparable as check_comparable,
    gold_differs as gold_differs,
    gold_versions as gold_versions,
)
from kragx.comparison.slices import fields_worth_slicing as fields_worth_slicing, sliced as sliced
from kragx.comparison.threshold_study import Order, orders_warning as orders_warning

__all__ = [
    "Change",
    "Comparison",
    "Difference",
    "Estimate",
    "Failures",
    "Gate",
    "GateResult",
    "GoldVersions",
    "Leader",
    "Order",
    "QueryChange",
    "Recommendation",
    "Results",
    "RetrieverScores",
    "Settings",
    "Slice",
    "View",
    "changes",
    "check_gates",
    "compare",
    "compare_scores",
    "parse_gates",
]
