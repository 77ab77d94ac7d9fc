"""For your own tests: a judge's client that answers from a script, without any network."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.judging.client import Answer, Failure, Request, Usage

Reply = int | str | Answer | Failure | BaseException
"""A grade, the text of an answer, an answer or failure as a client gives it, or what is raised."""


@dataclass
class ScriptedClient:
    """A `kragx.judging.Client` that says what you tell it to.

        judge = Judge(ScriptedClient([3, 0, Failure("refusal")]), store=tmp_path / "j.sqlite")

    Attributes:
        replies: a function from a `Request` to a reply, or the replies in the order of the
            requests. A reply is a grade, the answer's text, an `Answer`, a `Failure`, or an
            exception to raise.
        model: what its settings say.
        usage: of every grade and text.
        delay: seconds that an answer takes.
        requests: what was asked, in order.
    """

    replies: Callable[[Request], Reply] | Iterable[Reply]
    model: str = "scripted"
    usage: Usage = field(default_factory=lambda: Usage(prompt=100, completion=20))
    delay: float = 0.0
    requests: list[Request] = field(default_factory=list)
    _script: Iterator[Reply] | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What enters the keys: the provider ``scripted`` and the model."""
        return {"provider": "scripted", "base_url": None, "model": self.model}

    async def ask(self, request: Request) -> Answer | Failure:
        """The next reply, or the function's."""
        self.requests.append(request)
        if self.delay:
            await asyncio.sleep(self.delay)
        reply: Reply | None
        if callable(self.replies):
            reply = self.replies(request)
        else:
            self._script = self._script or iter(self.replies)
            reply = next(self._script, None)
        match reply:
            case None:
                raise AssertionError(
                    f"the script has {len(self.requests) - 1} replies, and another was asked for"
                )
            case BaseException():
                raise reply
            case Answer() | Failure():
                return reply
            case str():
                return Answer(reply, self.usage, self.model)
        text = json.dumps({"reason": "as scripted", "grade": reply})
        return Answer(text, self.usage, self.model)
