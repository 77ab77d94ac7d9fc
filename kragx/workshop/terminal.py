"""What one person says in the terminal (`kragx judge label`), among a workshop's judgements."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kragx.agreement.label_files import Pair
from kragx.workshop.exchange import person_of
from kragx.workshop.folder.folder import FILE, Workshop, start
from kragx.workshop.state.records import Judgement, Person
from kragx.workshop.state.state import State

_TERMINAL = "terminal"


class Terminal:
    """Keeps what one person says in the terminal among the judgements of a workshop.

    Args:
        state: of the workshop.
        name: the person's; somebody new if nobody has it.

    Raises:
        UsageError: several people have the name.
    """

    def __init__(self, state: State, name: str) -> None:
        self._state = state
        if name not in {person.name for person in state.people.values()}:
            state.add([Person(name=name)])
        self._person = person_of(state, name)

    def __call__(self, pair: Pair, grade: int | None) -> None:
        """The label of a pair now; None if it was taken back."""
        newest = self._state.newest(pair, self._person)
        own: dict[str, Any] = {"question": pair[0], "document": pair[1], "person": self._person}
        if grade is None:
            if newest is not None and newest.purpose == _TERMINAL:
                self._state.add([Judgement(**own, kind="undone")])
        elif pair[0] in self._state.questions and (newest is None or newest.grade != grade):
            self._state.add([Judgement(**own, grade=grade, purpose=_TERMINAL)])


@contextmanager
def terminal(folder: Path, sample: Path, person: str) -> Iterator[Terminal]:
    """What keeps labels in the workshop of a folder, which is made of the sample where it is new.

    Raises:
        UsageError: as `kragx.workshop.folder.folder.start`.
    """
    if not (folder / FILE).exists():
        start(folder, sample=sample)
    with Workshop.open(folder).store() as store:
        yield Terminal(State(store), person)
