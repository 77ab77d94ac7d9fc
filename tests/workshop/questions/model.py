"""A model for tests: what it writes and how it grades, by functions of the texts it is shown."""

from __future__ import annotations

import json
import re

from kragx.judging import Answer, Failure, Judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.workshop.questions.prompts import DIFFICULTIES
from tests.judging.server import Handler

_BLOCK = re.compile(r"<<<(\w+) \w+>>>\n(.*?)\n<<<end", re.DOTALL)


def question_about(text, system):
    """A question about the last word of a text, of the difficulty that is asked for."""
    kinds = {"easy": ("쉬움", "easy:"), "medium": ("보통", "medium:"), "hard": ("어려움", "hard:")}
    wanted = system[system.index("Wanted:" if "Wanted:" in system else "바라는 질문:") :]
    names = [name for name, words in kinds.items() if any(word in wanted for word in words)]
    number = re.search(r"number (\d+)|(\d+)번째", wanted)
    word = text.split()[-1].strip(".") + (f" number {number[1] or number[2]}" if number else "")
    ask = (
        f"{word} 사러 가려면 언제가 좋을까요?" if "질문" in system else f"When might I buy {word}?"
    )
    return ask, f"answer {word}", DIFFICULTIES.index((names or ["easy"])[0])


def replies(write=question_about, need=lambda question: 2, relevance=None):
    """What a model says.

    Args:
        write: from a text and the system's message to (question, answer, grade), None, or a reply
            as of a `ScriptedClient`.
        need: from a question to a grade or a reply.
        relevance: from a question and a text to the same; None: 3 where the text is the question's.
    """

    def is_its_own(question, text):
        return 3 if text.split()[-1].strip(".") in question else 0

    def reply(messages):
        system, user = messages
        texts = dict(_BLOCK.findall(user))
        if "Difficulty of a question" in system or "질문의 난이도" in system:
            made = write(texts["document"], system)
            if isinstance(made, Failure):
                return made
            names = ("question", "answer", "grade")
            things = [] if made is None else [dict(zip(names, made, strict=True))]
            return json.dumps({"questions": things})
        if "query" not in texts:
            return need(texts["document"])
        return (relevance or is_its_own)(texts["query"], texts["document"])

    return reply


def client_of(**says):
    """A client that answers by `replies`."""
    reply = replies(**says)
    return ScriptedClient(lambda request: reply([content for _, content in request.messages]))


def judge_of(folder, client=None, **options):
    """A judge that asks such a model."""
    own = {"store": folder / "j.sqlite", "progress": False, "concurrency": 1, **options}
    return Judge(client or client_of(), **own)


class Writer(Handler):
    """The same behind the local server."""

    def completion(self, body, document):
        """An answer with status 200."""
        reply = replies()([str(message["content"]) for message in body["messages"]])
        text = reply if isinstance(reply, str) else json.dumps({"reason": "so", "grade": reply})
        assert not isinstance(reply, Answer | Failure)
        self.say(body, text)


def corpus(n, **metadata):
    """Documents of one sentence, each with a word of its own; metadata by functions of a number."""
    return [
        {
            "id": f"d{at}",
            "text": f"The counter at gate {at} hands out a small parcel with item{at:04}.",
            "metadata": {name: value(at) for name, value in metadata.items()},
        }
        for at in range(n)
    ]
