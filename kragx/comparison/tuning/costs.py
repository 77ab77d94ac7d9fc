"""What a setting costs: tokens of context, and time."""

from statistics import fmean, median

from kragx.data import Run, tokenizer


class Sizes:
    """Counts the tokens of retrieved texts, of each distinct text once.

    Args:
        spec: says what a token is, as for a match; None for ``unicode``.
    """

    def __init__(self, spec: object = None) -> None:
        self._tokenizer = tokenizer(spec or "unicode", field="budget_tokenizer")
        self._known: dict[str, int] = {}

    def costs(self, run: Run) -> tuple[float | None, float | None]:
        """The tokens of a question's documents, and the median of what it took, if known."""
        times = [result.seconds for result in run.results.values() if result.seconds is not None]
        return self.mean(run), median(times) if times else None

    def mean(self, run: Run) -> float | None:
        """Of all documents of a question, its mean; None where a document's text is not known."""
        answers = [result.documents for result in run.results.values() if result.error is None]
        if not answers or any(doc.text is None for docs in answers for doc in docs):
            return None
        return fmean(sum(self._of(doc.text or "") for doc in docs) for docs in answers)

    def _of(self, text: str) -> int:
        if text not in self._known:
            (tokens,) = self._tokenizer.tokens([text])
            self._known[text] = len(tokens)
        return self._known[text]
