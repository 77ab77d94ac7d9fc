"""How many tokens a call takes: the most it can before, and after it where nobody says."""

import json
import unicodedata
from dataclasses import replace

from kragx.judging.client import Answer, Failure, FailureKind, Message, Request, Usage
from kragx.judging.tally import Spent

_ASSUMED_OUTPUT = 4096  # tokens of an answer, where the client has no limit
_ADDED = 512  # tokens of a chat template, and of what providers say to the model about a schema

# An error of the service is no answer and costs nothing; what a call that was given up took,
# nobody says.
_FREE: frozenset[FailureKind] = frozenset({"rate_limit", "api_error", "not_asked"})
_UNANSWERED: frozenset[FailureKind] = frozenset({"timeout", "connection"})


def most_tokens(request: Request, output_limit: int | None) -> Spent:
    """The most that a call can use, its answer included.

    Tokenizers that fall back to bytes make no more tokens than there are bytes, and nothing
    better holds for all of them, in any language; those that normalise first (NFKC) read another
    text, which may be longer.

    Args:
        request: what would be asked.
        output_limit: the most tokens of the answer; None for a guess, which is no bound.
    """
    texts = [content for _, content in request.messages]
    schema = json.dumps(request.schema, ensure_ascii=False)
    prompt = sum(map(_most_bytes, [*texts, schema])) + _ADDED
    return Spent(1, prompt_tokens=prompt, completion_tokens=output_limit or _ASSUMED_OUTPUT)


def _most_bytes(text: str) -> int:
    if text.isascii():
        return len(text)
    forms = (text, unicodedata.normalize("NFKC", text))
    return max(len(form.encode("utf-8", "surrogatepass")) for form in forms)


def about_tokens(*texts: str) -> int:
    """Roughly how many tokens texts have: one for 4 Latin characters, and .8 for any other."""
    text = "".join(texts)
    latin = sum(character < "\u0250" for character in text)
    return round(latin / 4 + (len(text) - latin) * 0.8)


def about_prompt(messages: tuple[Message, ...]) -> int:
    """Roughly how many tokens a prompt has."""
    return about_tokens(*(content for _, content in messages)) + 10


def about_spent(request: Request) -> Spent:
    """Roughly what a call uses."""
    prompt = about_prompt(request.messages)
    return Spent(1, prompt_tokens=prompt, completion_tokens=request.about_output)


def spent_of(usage: Usage | None) -> Spent:
    """What a call used as it is counted; of one without an answer that is unknown.

    Args:
        usage: None of a call that was not made, or not taken by the server.
    """
    if usage is None:
        return Spent()
    if usage.counting == "most":
        return Spent(1, n_calls_without_usage=1)
    return Spent(
        1,
        n_calls_estimated=int(usage.counting is not None),
        prompt_tokens=usage.prompt or 0,
        completion_tokens=usage.completion or 0,
        cached_tokens=usage.cached or 0,
    )


def at_most(room: Spent) -> Usage:
    """What a call used that nobody answered: perhaps all that was reserved for it."""
    return Usage(room.prompt_tokens, room.completion_tokens, counting="most")


def counted(answer: Answer | Failure, request: Request | int, room: Spent) -> Usage | None:
    """What a call used: as the provider says, else estimated from the texts; None if it was none.

    Args:
        answer: what came of it.
        request: what was asked; or roughly how many tokens its prompt has.
        room: the most that it can have used.
    """
    usage = answer.usage
    if usage.prompt is not None and usage.completion is not None:
        return usage
    if isinstance(answer, Failure) and usage.prompt is None and usage.completion is None:
        if answer.kind in _UNANSWERED:
            return None if answer.away else at_most(room)
        if answer.kind in _FREE:
            return None if answer.kind == "rate_limit" and answer.again else Usage()
    prompt, completion = usage.prompt, usage.completion
    if prompt is None:
        prompt = request if isinstance(request, int) else about_prompt(request.messages)
    if completion is None:
        completion = about_tokens(answer.text or "")
    return replace(usage, prompt=prompt, completion=completion, counting="estimate")
