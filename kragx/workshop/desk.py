"""A workshop at work: its services, and what goes on behind them."""

from collections.abc import Callable, Sequence

from kragx.evaluation.retriever_adapters import start_daemon
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.candidates import CUT, LabellingPlan
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.questions.words import content_words
from kragx.workshop.queue.queue import Queue
from kragx.workshop.queue.suggestions import Suggester, SuggestionSource
from kragx.workshop.services.conflicts import Conflicts
from kragx.workshop.services.context import Context
from kragx.workshop.services.judging import Judging, Marks
from kragx.workshop.services.passages import Passages
from kragx.workshop.services.people import People
from kragx.workshop.services.progress import Progress
from kragx.workshop.services.questions import Questions
from kragx.workshop.services.releases import Releases
from kragx.workshop.state.state import State


class Desk:
    """The services of a workshop, put together.

    Args:
        workshop: its folder.
        state: what its database holds.
        sources: the retrievers that suggest documents, once `start` is called.
        cut: so far down their lists are compared.
        say: is told what goes wrong behind, as people read it.
        feed: called before somebody is shown a pair: it may open more questions.

    Attributes:
        context: what the services share.
        people, passages, judging, marks, conflicts, questions, progress, releases: the services.
    """

    def __init__(
        self,
        workshop: Workshop,
        state: State,
        sources: Sequence[SuggestionSource] = (),
        cut: int = CUT,
        say: Callable[[str], object] = str,
        feed: Callable[[], object] = lambda: None,
    ) -> None:
        settings, documents = workshop.settings, workshop.documents
        retrievers = {source.name: source.key for source in sources}
        plan = LabellingPlan(cut, retrievers, settings.k, max(settings.scale), settings.twice)
        queue = Queue(state, documents, Copies(documents), plan)
        suggester = Suggester(queue, sources, say)
        self.context: Context = Context(workshop, state, queue, suggester, feed)
        self.people: People = People(self.context)
        self.passages: Passages = Passages(self.context)
        self.judging: Judging = Judging(self.context)
        self.marks: Marks = Marks(self.context)
        self.conflicts: Conflicts = Conflicts(self.context)
        self.questions: Questions = Questions(self.context)
        self.progress: Progress = Progress(self.context)
        self.releases: Releases = Releases(self.context)

    @property
    def services(self) -> tuple[object, ...]:
        """All of them."""
        of_judging = (self.judging, self.marks, self.conflicts, self.passages)
        return (*of_judging, self.people, self.questions, self.progress, self.releases)

    def start(self) -> None:
        """Ask the retrievers, and find what lies beside gold, in a thread: now, and from now on."""
        # Kiwi, which word leaks need, lets no other thread work while it loads: better before there
        # is anybody to wait for it.
        content_words(next(iter(self.context.documents.values())).text or "")
        self.context.suggester.start()
        start_daemon(self._prepare)

    def _prepare(self) -> None:
        self.passages.index()  # so that the first to search need not wait
