"""In which words a stored question was asked.

A rubric's id is its user's to give, and words are changed without a new one: what was asked in
other words is other grades all the same, and never mixed with them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kragx.judging.keys import digest
from kragx.judging.rubric import RUBRICS, Rubric, read_rubric

Wording = tuple[str, str]
"""A rubric's id, and the start of the digest of its words."""
_SHOWN = 8  # characters of a digest


def wording_of(question: Mapping[str, Any]) -> Wording:
    """The wording of a question as a store keeps it."""
    rubric = question.get("rubric", {})
    return str(rubric.get("id", "?")), str(rubric.get("digest", ""))[:_SHOWN]


def named(rubric: str) -> str:
    """What names a rubric: its id; of its file, the id with the words that it has now.

    Raises:
        DataError, UsageError: the file cannot be read, or holds no rubric.
    """
    if not is_file(rubric):
        return rubric
    identity = digest(read_rubric(rubric))
    return f"{identity['id']}@{identity['digest'][:_SHOWN]}"


def is_file(rubric: str) -> bool:
    """Whether a rubric is named by its file."""
    return rubric.endswith((".yaml", ".yml"))


def built_in_of(rubric: str) -> Rubric | None:
    """The built-in rubric whose words an id stands for, under whatever prompt; None for another."""
    return RUBRICS.get(rubric.partition("+")[0])


def is_named(wording: Wording, name: str) -> bool:
    """Whether a name is a wording's: its rubric's id, or ``ID@DIGEST``."""
    return name in (wording[0], "@".join(wording))


def names_of(wordings: Iterable[Wording]) -> dict[Wording, str]:
    """What each wording is called: its rubric's id, with the digest where several share that."""
    distinct = set(wordings)
    sharing = Counter(rubric for rubric, _ in distinct)
    return {
        identity: identity[0] if sharing[identity[0]] == 1 else "@".join(identity)
        for identity in distinct
    }
