"""Links of a workshop: who has one, is the person that it was made for."""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache

from kragx.workshop.state.records import Person


@lru_cache(maxsize=10_000)  # each request asks for everybody's
def _token(uid: str, secret: bytes) -> str:
    digest = hmac.digest(secret, b"kragx workshop link " + uid.encode(), "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def token_of(person: Person, secret: bytes) -> str:
    """What a person's link ends with: an HMAC-SHA256 of who they are; nothing is stored of it."""
    return _token(person.uid, secret)


def holder(token: str, people: Iterable[Person], secret: bytes) -> Person | None:
    """The person of a link, gone or not; None if it is nobody's. Files have no links."""
    token_bytes = token.encode("utf-8", "replace")
    match = None
    for person in people:  # all of them, so that the time tells nothing
        if (
            hmac.compare_digest(token_of(person, secret).encode(), token_bytes)
            and person.role != "file"
        ):
            match = person
    return match
