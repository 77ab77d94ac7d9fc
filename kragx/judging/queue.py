"""The questions of a run: which of them are one, who answers them, and what is kept of the answers.

What people have graded and what the store has is not asked. What is left is claimed in the store
before it is asked, and every attempt at it is committed within milliseconds.
"""

import asyncio
import json
import random
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kragx.ground.errors import DataError, JudgingError
from kragx.ground.printing import message
from kragx.ground.secrets import Secrets
from kragx.judging.judgement_counts import Tally
from kragx.judging.question import Judgement, Question, essential, material
from kragx.judging.rubric import canonical_json, digest, key_of
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store, StoreFailedError, record

_FEW = 16  # workers; more of them claim what they ask in two rounds, as that costs as much
_RENEWAL = 10.0  # seconds; a third of what a claim lasts
_TOGETHER = 0.002  # seconds; one commit for what arrives within them costs as much as for one row
_FULL = 16  # attempts that wait for no more; where all wait for all, all ask at the same moment
_WAITS = (0.02, 1.0)  # seconds between two looks at what others are asking: the first, the longest


class PendingQuestions:
    """Questions that are judged together.

    Attributes:
        questions: as they came, with the examples that the judge is shown.
        keys: of each of them, in their order.
        wanted: the distinct questions that a judge is needed for, each with its canonical JSON,
            by key.
        secrets: what nothing that is kept of them may show.
    """

    def __init__(self, settings: JudgeSettings, questions: Sequence[Question]) -> None:
        self.secrets: Secrets = settings.all_secrets()
        client = essential(self.secrets.masked(dict(settings.client.settings)))
        if settings.examples is not None:
            questions = [*map(settings.examples.shown_with, questions)]
        # Questions are many, and rubrics few: each of them is digested once.
        rubrics = {id(question.rubric): question.rubric for question in questions}
        digests = {number: digest(rubric) for number, rubric in rubrics.items()}
        self.questions = questions
        self.keys: list[str] = []
        self.wanted: dict[str, tuple[Question, str]] = {}
        for question in questions:
            rubric = digests[id(question.rubric)]
            canonical = canonical_json(material(question, client, settings.repeat, rubric))
            key = key_of(canonical)
            self.keys.append(key)
            self.wanted.setdefault(key, (question, canonical))

    def take_labels(self, store: Store) -> dict[int, Judgement]:
        """Human labels of the questions' queries and documents, by position: they win.

        A question that is asked for labelled documents only is wanted no more.

        Raises:
            DataError: a label is not on the rubric's scale.
        """
        labelled = {
            position: (question.query_id, question.document_id)
            for position, question in enumerate(self.questions)
            if question.rubric.asks == "relevance" and question.query_id and question.document_id
        }
        labels = store.labels([*dict.fromkeys(query for query, _ in labelled.values())])
        judgements: dict[int, Judgement] = {}
        for position, pair in labelled.items():
            if (grade := labels.get(pair)) is None:
                continue
            if grade > (top := self.questions[position].rubric.top):
                raise DataError(
                    "{address}: the imported label {grade} of query {pair!r}, "
                    "document {pair_2!r} is not on the rubric's scale of 0 to {top}",
                    address=store.address,
                    grade=grade,
                    pair=pair[0],
                    pair_2=pair[1],
                    top=top,
                )
            key = self.keys[position]
            judgements[position] = Judgement(key, grade=max(0, grade), source="human")
        keys = {key for position, key in enumerate(self.keys) if position not in judgements}
        self.wanted = {key: entry for key, entry in self.wanted.items() if key in keys}
        return judgements

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Which (key, query id, document id) belong together, of the wanted questions."""
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.wanted:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield key, question.query_id, document


@dataclass
class WorkQueue:
    """The keys of a run that wait to be asked, in their order, each claimed in the store before.

    What others are asking comes last: their answers are taken, and what they leave is asked.

    Attributes:
        settings: of the judge.
        questions: what is judged.
        store: where it is kept.
        stored: what that had of the questions, failures included.
        done: what became of each key so far.
        tally: what it took.
        todo: the keys that are asked, in this order.
        advance: is told of every key that has its answer.
        closed: nothing more is asked.
    """

    settings: JudgeSettings
    questions: PendingQuestions
    store: Store
    stored: Mapping[str, Judgement]
    done: dict[str, Judgement]
    tally: Tally
    todo: Iterable[str]
    advance: Callable[[], None] = lambda: None
    closed: bool = False

    def __post_init__(self) -> None:
        self._keys = deque(self.todo)
        self._claimed: set[str] = set()  # of these, what is one's own to ask
        self._foreign: set[str] = set()  # and what others had claimed, when one last looked
        self._lock, self._committing = asyncio.Lock(), asyncio.Lock()
        self._attempts: list[Judgement] = []  # not yet committed
        self._finished: list[str] = []
        self._error: StoreFailedError | None = None  # why the store takes no more

    def __len__(self) -> int:
        return 0 if self.closed else len(self._keys)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Around the asking: claims are renewed as long as it takes, and all is committed at last.

        Raises:
            JudgingError: the store took or takes no more; what it lacks is in a file to import.
        """
        renewal = asyncio.create_task(self._renew())
        try:
            yield
        except StoreFailedError as error:
            self._error = error
        finally:
            renewal.cancel()
            async with self._committing:
                if self._attempts:
                    await self._commit()
            if self._error is not None:
                raise JudgingError(
                    "{error}; {rescued}, and nothing more was asked",
                    error=self._error.text,
                    rescued=self._rescued(),
                ) from self._error

    # -- claims ------------------------------------------------------------------------------

    async def _renew(self) -> None:
        """Renew the claims for as long as it is not cancelled."""
        while True:
            await asyncio.sleep(_RENEWAL)
            with suppress(StoreFailedError):
                await self.store.aside(self.store.claims.renew)

    async def next(self, *, scattered: bool = False) -> str | None:
        """The next key to ask, or one at random; None if nothing more is asked.

        Raises:
            StoreFailedError: the store takes no claims.
        """
        async with self._lock:
            wait, longest = _WAITS
            if scattered and self:
                # That one alone: were a cluster left for last, it would end the run.
                position = random.randrange(len(self._keys))
                self._keys.appendleft(self._keys[position])
                del self._keys[position + 1]
            while self:
                if self._keys[0] in self._claimed:
                    self._claimed.discard(self._keys[0])
                    return self._keys.popleft()
                await self._claim()
                if not self._claimed and len(self._foreign) == len(self._keys):
                    await asyncio.sleep(wait)
                    wait = min(longest, 2 * wait)
            return None

    async def _claim(self) -> None:
        """Claim the next keys, take what others have got, and put what they are asking last."""
        settings, store = self.settings, self.store
        block = settings.concurrency * (1 if settings.concurrency < _FEW else 2)
        keys = [key for key in islice(self._keys, block) if key not in self._claimed]
        if not self._attempts:  # what nothing was asked for waits for no commit to be let go of
            store.claims.ended += self._finished
            self._finished.clear()
        claimed = await store.aside(store.claims.claim, keys)
        # Whoever submits leaves out what is claimed, and what was submitted before is seen here.
        pending: Mapping[str, Judgement] = {}
        if not settings.ask_pending:
            pending = await store.aside(store.batches.pending, claimed.keys)
        answered = await store.aside(store.stored_answers, keys)
        for key in keys:
            answer, before = answered.get(key), self.stored.get(key)
            # A failure is the last word where whoever got it since has done with the question,
            # and was not killed.
            is_over = key in claimed.keys and key not in claimed.inherited
            is_new = answer is not None and (before is None or before.uid != answer.uid)
            if answer is None or (answer.grade is None and not (is_over and is_new)):
                answer = pending.get(key)
            if answer is None and key in claimed.keys:
                self._claimed.add(key)
                self._foreign.discard(key)
                continue
            self._keys.remove(key)
            if answer is None:
                self._foreign.add(key)
                self._keys.append(key)
                continue
            self.tally.n_stored += answer is not pending.get(key)
            self._foreign.discard(key)
            self.finish(key, answer)

    # -- commits -----------------------------------------------------------------------------

    def keep(self, attempt: Judgement) -> None:
        """Have an attempt committed."""
        self._attempts.append(attempt)

    def finish(self, key: str, judgement: Judgement) -> None:
        """Take what became of a key; after the next commit others may ask it."""
        self.done[key] = judgement
        self._finished.append(key)
        self.advance()

    async def committed(self, attempt: Judgement) -> None:
        """Wait until an attempt is committed, together with those of the next few milliseconds.

        Who asks on before can lose more.
        """
        async with self._committing:  # one commits; the others wait, and find theirs done
            if self._error is None and any(waiting is attempt for waiting in self._attempts):
                if len(self._attempts) < _FULL or self.store.address.path is None:
                    await asyncio.sleep(_TOGETHER)
                await self._commit()

    async def _commit(self) -> None:
        n_attempts, n_finished = len(self._attempts), len(self._finished)
        try:
            # Whoever is cancelled here commits the same again at the end, which adds nothing.
            await self.store.aside(self.store.add, self._attempts[:], self._finished[:])
        except StoreFailedError as error:
            self._error = error
            self.closed = True  # what cannot be kept is not asked for
        else:
            del self._attempts[:n_attempts], self._finished[:n_finished]

    def _rescued(self) -> str:
        """Keep the attempts that the store lacks in a file that it can import, and say so."""
        if not self._attempts:
            return message("all that was judged is stored")
        n_lost = len(self._attempts)
        names: Any = {"prefix": "kragx-judged-", "suffix": ".jsonl"}
        try:
            with tempfile.NamedTemporaryFile("w", delete=False, encoding="utf-8", **names) as file:
                file.writelines(f"{json.dumps(entry)}\n" for entry in self._records())
        except OSError as error:
            return message(
                "{n} answers are lost, as no other file could be written ({error})",
                n=n_lost,
                error=error,
            )
        return message(
            "{n} answers that it did not take are in {file} (once there is room: kragx judge store "
            "import {file} --store {store})",
            n=n_lost,
            file=file.name,
            store=self.store.address,
        )

    def _records(self) -> Iterator[dict[str, Any]]:
        """The attempts that are not committed, as `Store.records` has them."""
        pairs: dict[str, list[list[str]]] = {}
        for key, *pair in self.questions.pairs():
            pairs.setdefault(key, []).append(pair)
        for attempt in self._attempts:
            yield record(attempt, json.loads(self.questions.wanted[attempt.key][1]), pairs)
