"""Options that several matchers have, each a type that checks its value."""

from __future__ import annotations

from typing import Annotated, Literal

from kragx.data import Tokenizer, tokenizers
from kragx.ground.errors import UsageError
from kragx.ground.plugins import one_of, optional


def check_threshold(value: object) -> float:
    """A threshold as a float in (0, 1].

    Raises:
        UsageError: it is no number, or outside that range (a threshold of 0 matches everything).
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and 0 < float(value) <= 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise UsageError(
        f"{value!r} is out of range",
        field="threshold",
        remedy="give a number above 0 and at most 1",
    )


Threshold = Annotated[float, check_threshold]
"""A number in (0, 1]."""

TokenizerOption = Annotated[Tokenizer, tokenizers.tokenizer]
"""A tokenizer, made from its name, mapping or import path."""

Numbers = Annotated[Literal["alike"] | None, optional(one_of("alike"))]
"""Whether amounts of money, times and the like are read alike (`kragx.data.amounts`)."""

EMBEDDINGS_AND_THRESHOLD: tuple[str, ...] = ("embeddings", "threshold")
"""What the matcher `embedding` needs; of another module, its type is what it says."""
