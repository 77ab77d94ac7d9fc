"""The options of coverage, density and iou."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kragx.data.tokenizers import tokenizer
from kragx.errors import UsageError, nearest
from kragx.metrics.measures.base import MeasureSpec
from kragx.metrics.spans.least import RUN
from kragx.metrics.spans.offsets import Keys
from kragx.metrics.spans.reading import reading

OPTIONS: Mapping[str, str] = {
    "run": str(RUN),
    "bridge": "0",
    "offsets": "auto",
    "wrappers": "removed",
    "tokenizer": "unicode",
    "source": Keys().source,
    "start": Keys().start,
    "end": Keys().end,
}
"""The options of coverage, density and iou, with their defaults."""

_CHOICES = {"offsets": ("auto", "off", "only"), "wrappers": ("removed", "kept")}


@dataclass(frozen=True)
class Reading:
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

    @classmethod
    def of(cls, spec: MeasureSpec) -> Reading:
        """Read the options of a metric string.

        Raises:
            UsageError: one has a value that it cannot have.
        """
        for option, valid in _CHOICES.items():
            if spec[option] not in valid:
                raise UsageError(
                    f"metric {str(spec)!r}: {option} has no value {spec[option]!r}; "
                    f"{nearest(spec[option], valid)}"
                )
        try:
            tokenizer(spec["tokenizer"])
        except UsageError as error:
            raise UsageError(f"metric {str(spec)!r}: {error}") from None
        return cls(
            run=_whole(spec, "run", 2),
            bridge=_whole(spec, "bridge", 0),
            offsets=spec["offsets"],
            wrappers=spec["wrappers"],
            tokenizer=spec["tokenizer"],
            keys=Keys(spec["source"], spec["start"], spec["end"]),
        )

    def text(self, text: str) -> str:
        """A text as it is read."""
        return reading(text, wrappers=self.wrappers == "removed")


def _whole(spec: MeasureSpec, option: str, least: int) -> int:
    value = spec[option]
    if value.isascii() and value.isdigit() and least <= int(value) <= 1000:
        return int(value)
    raise UsageError(
        f"metric {str(spec)!r}: {option} must be a whole number from {least} to 1000, not {value!r}"
    )
