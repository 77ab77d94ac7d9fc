"""Who asks which question right now, so that nobody asks it twice."""

import threading
from concurrent.futures import Future

from kragx.judging.question import Judgement


class Flights:
    """Who is asking which key right now, in whichever thread or event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, Future[Judgement | None]] = {}
        self._lock = threading.Lock()

    def board(self, key: str) -> tuple[Future[Judgement | None], bool]:
        """The flight of a key, and whether it is the caller who must fly it."""
        with self._lock:
            if key in self._flights:
                return self._flights[key], False
            self._flights[key] = Future()
            return self._flights[key], True

    def land(self, key: str, judgement: Judgement | None) -> None:
        """Tell everybody aboard; None if the flight was broken off."""
        with self._lock:
            flight = self._flights.pop(key)
        flight.set_result(judgement)
