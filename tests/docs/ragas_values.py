"""What ragas makes of the rows of docs/ragas.md; for an environment that has ragas.

    python ragas_values.py < rows.json

Two of its metrics ask a model: here it is one that is never wrong, as it looks which of the
reference contexts, of which the reference answer consists, a context holds.
"""

import json
import sys
import warnings
from types import SimpleNamespace

warnings.simplefilter("ignore")

from ragas import SingleTurnSample, metrics  # noqa: E402


class Model:
    """Answers the prompts of two metrics, in the forms that they read."""

    def __init__(self, references, metric):
        self.references = references
        self.forms = sys.modules[type(metric).__module__]

    async def generate_multiple(self, *, data, **_):
        """One answer."""
        held = [int(text in data.context) for text in self.references]
        if hasattr(self.forms, "Verification"):
            return [self.forms.Verification(reason="", verdict=int(any(held)))]
        form = self.forms.ContextRecallClassification
        each = [form(statement="", reason="", attributed=own) for own in held]
        return [SimpleNamespace(classifications=each)]


def measured(metric, row):
    """The value of one metric of one row."""
    if hasattr(metric, "llm"):
        metric.llm = object()
        model = Model(row["reference_contexts"], metric)
        metric.context_precision_prompt = metric.context_recall_prompt = model
    row = row | {"reference": " ".join(row["reference_contexts"])}
    return round(float(metric.single_turn_score(SingleTurnSample(**row))), 4)


BY_NAME = {
    "IDBasedContextPrecision": metrics.IDBasedContextPrecision,
    "IDBasedContextRecall": metrics.IDBasedContextRecall,
    "NonLLMContextPrecisionWithReference": metrics.NonLLMContextPrecisionWithReference,
    "NonLLMContextRecall": metrics.NonLLMContextRecall,
    "context_precision": metrics.LLMContextPrecisionWithReference,
    "context_recall": metrics.LLMContextRecall,
}

if __name__ == "__main__":
    rows = json.load(sys.stdin)
    print(
        json.dumps(
            {name: [measured(kind(), row) for row in rows] for name, kind in BY_NAME.items()}
        )
    )
