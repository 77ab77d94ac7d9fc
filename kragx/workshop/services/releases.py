"""Releases of a workshop, as the owner sees and makes them."""

from collections.abc import Iterator
from contextlib import contextmanager

from kragx.data.databases import StoreFailedError
from kragx.ground.errors import DataError, UsageError
from kragx.workshop.calls import ClashError, Json, Words, get, post
from kragx.workshop.desk import Desk
from kragx.workshop.releases.next import next_release
from kragx.workshop.releases.release import release as write_release
from kragx.workshop.state.records import Person


@get("releases", owner=True)
def listed(desk: Desk) -> Json:
    """The releases that were made, and what the next one would hold.

    Raises:
        ClashError: the folder's releases were changed.
    """
    with desk.state.lock, _clashes():
        people, rows = desk.state.people, list(desk.state.releases)
        coming = next_release(desk.workshop, desk.state, desk.copies)
    changes: Json | None = None
    if coming.diff is not None:
        states = ("changed", "added", "dropped")
        changes = {"since": coming.previous} | {
            state: len(coming.diff.of(state)) for state in states
        }
    names = ("version", "at", "file", "hash")
    return {
        "releases": [
            {name: getattr(row, name) for name in names}
            | {"person": people[row.person].name if row.person in people else None}
            for row in rows
        ],
        "next": {
            "version": coming.number,
            "questions": coming.n_questions,
            "gold": coming.n_gold,
            "changes": changes,
            "lacks": [vars(lack) for lack in coming.lacking],
            "is_same": coming.version is None,
            "is_ready": coming.is_ready,
        },
    }


@post("releases", owner=True)
def release(desk: Desk, person: Person, note: Words = "") -> Json:
    """Write what is ready as a gold file that never changes.

    Raises:
        UsageError: nothing is ready.
        ClashError: nothing has changed since the last release, or its files cannot be
            written or were changed.
    """
    with _clashes():
        outcome = write_release(
            desk.workshop, desk.state, desk.copies, person=person.uid, note=note
        )
    if outcome.version is None:
        raise ClashError(f"nothing has changed since {outcome.file.name}", code="same")
    record = {"version": outcome.version, "file": outcome.file.name}
    return {**record, "folder": str(outcome.file.parent.resolve()), **listed(desk)}


@contextmanager
def _clashes() -> Iterator[None]:
    """What is wrong with the files of releases has a code of its own, for the page's sentence."""
    try:
        yield
    except StoreFailedError:  # that is no file's fault
        raise
    except (UsageError, DataError) as error:
        if hasattr(error, "code"):  # of a service, which has the page's sentence already
            raise
        raise ClashError(str(error), code="files") from error
