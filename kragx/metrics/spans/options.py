"""How texts are read and compared for coverage, density and iou."""

from dataclasses import dataclass, field

from kragx.metrics.spans.least import RUN
from kragx.metrics.spans.offsets import Keys
from kragx.metrics.spans.reading import reading


@dataclass(frozen=True)
class SpanOptions:
    """How texts are read and compared; what the options of a metric string say.

    Attributes:
        run, bridge: as for `kragx.metrics.spans.align.align`.
        offsets: exact spans where metadata have them (``auto``), never (``off``), or an error where
            they are missing (``only``).
        wrappers: what a pipeline put around texts is ``removed`` or ``kept``.
        tokenizer: the name of a tokenizer.
        keys: which metadata hold the spans.
    """

    run: int = RUN
    bridge: int = 0
    offsets: str = "auto"
    wrappers: str = "removed"
    tokenizer: str = "unicode"
    keys: Keys = field(default_factory=Keys)

    def read(self, text: str) -> str:
        """A text as it is read."""
        return reading(text, wrappers=self.wrappers == "removed")
