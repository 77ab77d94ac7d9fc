"""What is still to be asked in a run, and whether anything more is."""

import random
from collections.abc import Sequence


class Agenda:
    """Keys that wait to be asked, in their order.

    Attributes:
        closed: nothing more is asked.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.closed = False
        self._keys = [*reversed(keys)]

    def __len__(self) -> int:
        return 0 if self.closed else len(self._keys)

    def next(self, *, elsewhere: bool = False) -> str | None:
        """The next key, or one from anywhere; None if nothing more is asked."""
        if not self:
            return None
        keys = self._keys
        if elsewhere:
            position = random.randrange(len(keys))
            keys[position], keys[-1] = keys[-1], keys[position]
        return keys.pop()
