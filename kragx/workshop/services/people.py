"""Who is at a workshop, and whose a link is: who has it is the person that it was made for."""

import hmac
from base64 import urlsafe_b64encode
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from kragx.ground.errors import UsageError, shorten
from kragx.ground.printing import message
from kragx.workshop.calls import (
    MOST_NAME,
    ClashError,
    Id,
    Json,
    Name,
    UnknownError,
    get,
    post,
)
from kragx.workshop.desk import Desk
from kragx.workshop.names import alike, check_unlike, people_called
from kragx.workshop.state.records import OWNER, Person, now

_NAME: TypeAdapter[str] = TypeAdapter(Name)


@lru_cache(maxsize=10_000)  # each request asks for everybody's
def _token_of(uid: str, secret: bytes) -> str:
    # Made from the uid: nothing that opens a link is stored, and a new secret ends all of them.
    digest = hmac.digest(secret, b"kragx workshop link " + uid.encode(), "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def _annotator_name(name: str) -> str:
    """The name of an annotator as it is stored; a `UsageError` for none, and for the owner's."""
    option = "--annotator"
    try:
        name = _NAME.validate_python(name)
    except ValidationError:
        problem = message(
            "{value} is no name of 1 to {most} characters",
            value=shorten(name),
            most=MOST_NAME,
        )
        raise UsageError(problem, field=option) from None
    if alike(name, OWNER):
        problem = message(
            "{owner!r} is whose workshop this is, and has a link already", owner=OWNER
        )
        remedy = message("give who judges another name")
        raise UsageError(problem, field=option, remedy=remedy)
    return name


def annotator(desk: Desk, name: str) -> Person:
    """The annotator of a name (`people_called`); made where there is none.

    Raises:
        UsageError: it is no name, or one that looks like another's.
    """
    name, state = _annotator_name(name), desk.state
    # Looked up and stored under one lock, so that no name is made twice.
    with state.lock:
        present = [person for person in state.people.values() if person.state == "here"]
        annotators = [person for person in present if person.role == "annotator"]
        if people := people_called(name, annotators):
            return people[0]
        check_unlike(name, present, "--annotator")
        person = Person(name=name)
        state.add([person])
        return person


def link_token(desk: Desk, person: Person) -> str:
    """What a person's link ends with; nothing is stored of it."""
    return _token_of(person.uid, desk.workshop.secret)


def holder(desk: Desk, token: str) -> Person | None:
    """The person of a link, gone or not; None if it is nobody's. Files have no links."""
    token_bytes = token.encode("utf-8", "replace")
    people = [*desk.state.people.values()]
    # Each is compared, so that the time tells nothing.
    holders = [
        person
        for person in people
        if hmac.compare_digest(link_token(desk, person).encode(), token_bytes)
        and person.role != "file"
    ]
    return holders[0] if holders else None


@get("people", owner=True)
def everybody(desk: Desk) -> Json:
    """Everybody, with their links' ends and how much they have judged; for the owner."""
    with desk.state.lock:
        return {"people": [_row(desk, person) for person in desk.state.people.values()]}


def _row(desk: Desk, person: Person) -> Json:
    has_link = person.role != "file" and person.state != "gone"
    return {
        **{name: getattr(person, name) for name in ("uid", "name", "role", "state")},
        "judged": desk.n_judged(person),
        "link": f"/#{link_token(desk, person)}" if has_link else None,
    }


@post("people", owner=True)
def put(
    desk: Desk,
    uid: Id | None = None,
    name: Name | None = None,
    state: Literal["here", "gone"] | None = None,
) -> Json:
    """Somebody new by name; or, by uid, a link that is taken away or given back."""
    workshop_state = desk.state
    with workshop_state.lock:
        if uid is None:
            if name is None:
                raise UsageError("missing; it is required", field="name")
            person = Person(name=name)
        else:
            before = workshop_state.people.get(uid)
            if before is None:
                raise UnknownError("nobody has this uid", code="person", field="uid")
            if before.role != "annotator" and state is not None:
                problem = "only an annotator's link can be taken away"
                raise ClashError(problem, code="person", field="state")
            person = replace(before, state=state or before.state, at=now())
        # Who has left may have had the name: their judgements keep it, and their link is dead.
        others = [
            somebody
            for somebody in workshop_state.people.values()
            if somebody.uid != person.uid and somebody.state == person.state == "here"
        ]
        others += [] if person.role == "owner" else [Person(name=OWNER)]
        try:
            check_unlike(person.name, others, "name")
        except UsageError as error:
            problem, remedy = error.problem, error.remedy
            raise ClashError(problem, code="name", field="name", remedy=remedy) from None
        workshop_state.add([person])
        return everybody(desk)
