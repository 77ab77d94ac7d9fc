"""Can the judge be trusted: agreement with people, corrected metrics, gullibility, holes.

    from kragx.agreement import agree

    agree("human.qrels", "judge.qrels").print()

See docs/agreement.md.
"""

from __future__ import annotations

from kragx.agreement.compare import Agreement, agree
from kragx.agreement.correction import (
    LEAST_QUERIES,
    Corrected,
    Estimate,
    correct,
    prediction_powered,
)
from kragx.agreement.families import families
from kragx.agreement.holes import Filled, fill
from kragx.agreement.labelling import LabelFile, label
from kragx.agreement.labels import Label, Labels, Scale, read_labels
from kragx.agreement.probing import Probe, probe
from kragx.agreement.sampling import Candidate, Sample, draw, from_run, from_store
from kragx.agreement.systems import SystemAgreement, kendall_tau_b

__all__ = [
    "LEAST_QUERIES",
    "Agreement",
    "Candidate",
    "Corrected",
    "Estimate",
    "Filled",
    "Label",
    "LabelFile",
    "Labels",
    "Probe",
    "Sample",
    "Scale",
    "SystemAgreement",
    "agree",
    "correct",
    "draw",
    "families",
    "fill",
    "from_run",
    "from_store",
    "kendall_tau_b",
    "label",
    "prediction_powered",
    "probe",
    "read_labels",
]
