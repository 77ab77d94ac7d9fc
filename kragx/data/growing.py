"""An array that grows at its end."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """An array that grows at its end.

    Args:
        array: says the type, and holds the first `size` values.
        size: how many values there are.
    """

    def __init__(self, array: NDArray[Any], size: int = 0) -> None:
        self._array = array
        self.size: int = size

    @property
    def values(self) -> NDArray[Any]:
        """It, so far."""
        return self._array[: self.size]

    def extend(self, values: NDArray[Any]) -> None:
        """Add values."""
        size = self.size + len(values)
        if size > len(self._array):
            grown = np.empty(max(size, 2 * len(self._array)), self._array.dtype)
            grown[: self.size] = self.values
            self._array = grown
        self._array[self.size : size] = values
        self.size = size
