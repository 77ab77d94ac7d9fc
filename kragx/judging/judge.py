"""The judge: an LLM that grades questions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kragx.errors import DataError
from kragx.judging.question import Judgement, Question
from kragx.judging.runner import Batch, Judged
from kragx.judging.settings import JudgeSettings
from kragx.judging.store import Store
from kragx.judging.traffic import run_sync


@dataclass(frozen=True)
class Judge(JudgeSettings):
    """An LLM that grades; how it asks and what it may cost are the options of `JudgeSettings`."""

    def judge(self, questions: Sequence[Question]) -> Judged:
        """`ajudge` for synchronous code; works inside a running event loop (a notebook) too."""
        return run_sync(lambda: self.ajudge(questions))

    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; a question asked twice, or stored before, is not asked again.

        Raises:
            JudgingError: the budget is used up, or the service refuses everything (a wrong key);
                what was judged is stored.
            DataError: the store cannot be used.
        """
        try:
            return await Batch(self, questions).judge()
        except sqlite3.Error as error:
            raise DataError(f"{self.store}: the judgement store failed: {error}") from error

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        if not Path(self.store).is_file():
            return [None] * len(questions)
        keys = Batch(self, questions).keys
        try:
            with Store(self.store) as store:
                settled = store.settled(list(dict.fromkeys(keys)))
        except sqlite3.Error as error:
            raise DataError(f"{self.store}: the judgement store failed: {error}") from error
        return [settled[key].judgement("store") if key in settled else None for key in keys]
