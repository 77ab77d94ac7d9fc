"""How much of the texts a page holds, as a config says it."""

from dataclasses import dataclass
from typing import Annotated

from kragx.ground.options import check_options, optional, whole


@dataclass(frozen=True)
class PageTexts:
    """How much of the texts report.html holds; numbers always count everything.

    Attributes:
        max_docs: documents of each list
        max_chars: characters of each text; default: all
    """

    max_docs: Annotated[int, whole(1)] = 50
    max_chars: Annotated[int | None, optional(whole(1))] = None

    def __post_init__(self) -> None:
        check_options(self)
