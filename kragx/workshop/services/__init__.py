"""What the page may ask of a workshop, by subject; everything is checked here, nothing is of HTTP.

Each service is a module of functions of the `Desk`, and none takes another. They are called by
several threads; each holds the state while it reads and writes.
"""

from kragx.workshop.services import (
    conflicts,
    judging,
    passages,
    people,
    progress,
    questions,
    releases,
)

SERVICES = (judging, conflicts, passages, people, questions, progress, releases)
