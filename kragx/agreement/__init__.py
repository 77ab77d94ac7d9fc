"""Can the judge be trusted: agreement with people, corrected metrics, gullibility.

    from kragx.agreement import agree

    agree("human.qrels", "judge.qrels").print()

See docs/trust.md.
"""

from kragx.agreement.correction import (
    LEAST_QUERIES as LEAST_QUERIES,
    Corrected,
    correct,
)
from kragx.agreement.label_agreement import Agreement, agree
from kragx.agreement.labels import Labels, Scale, read_labels
from kragx.agreement.prediction_powered import CorrectedMean, prediction_powered
from kragx.agreement.probing import VARIANTS, Probe, probe
from kragx.agreement.sample import PairToLabel, Sample, draw, from_run, from_store
from kragx.agreement.scoring import SystemAgreement, kendall_tau_b

__all__ = [
    "VARIANTS",
    "Agreement",
    "Corrected",
    "CorrectedMean",
    "Labels",
    "PairToLabel",
    "Probe",
    "Sample",
    "Scale",
    "SystemAgreement",
    "agree",
    "correct",
    "draw",
    "from_run",
    "from_store",
    "kendall_tau_b",
    "prediction_powered",
    "probe",
    "read_labels",
]
