"""What the page may ask of a workshop, by subject; everything is checked here, nothing is of HTTP.

Each service holds the `Context` that all share, and none knows another. Methods are called by
several threads; each holds the state while it reads and writes.
"""

from kragx.workshop.services.context import Context
from kragx.workshop.services.errors import ClashError, MisfitError, RefusedError, UnknownError
from kragx.workshop.services.judging import Judging
from kragx.workshop.services.passages import Passages
from kragx.workshop.services.people import People
from kragx.workshop.services.progress import Progress
from kragx.workshop.services.questions import Questions
from kragx.workshop.services.releases import Releases

__all__ = [
    "ClashError",
    "Context",
    "Judging",
    "MisfitError",
    "Passages",
    "People",
    "Progress",
    "Questions",
    "RefusedError",
    "Releases",
    "UnknownError",
]
