"""What to do about judgements that failed, and how it is said."""

from collections.abc import Iterator, Mapping
from typing import Any

from kragx.ground.errors import JudgingError
from kragx.ground.printing import joined, phrase
from kragx.judging.client import FailureKind

_BY_STATUS: Mapping[int, str] = {
    401: phrase("check the API key (judge.api_key_env names the variable that holds it)"),
    402: phrase("raise the quota or add credit with the provider"),
    403: phrase("check what the API key may use, or what a gateway in between blocks"),
    404: phrase("check the name of the model (judge.model) and the address (judge.base_url)"),
}
_ANOTHER_TIME = phrase("run again; if it stays so, a model or server that keeps to a JSON schema")
_KINDS: Mapping[FailureKind, tuple[str, str]] = {
    "refusal": (phrase("refusal"), phrase("another model or rubric may help")),
    "length": (phrase("length"), phrase("raise judge.max_output_tokens, or judge shorter chunks")),
    "content_filter": (
        phrase("content_filter"),
        phrase("another provider, or a filter that is set otherwise, may help"),
    ),
    "invalid_json": (phrase("invalid_json"), _ANOTHER_TIME),
    "out_of_range": (phrase("out_of_range"), _ANOTHER_TIME),
    "timeout": (phrase("timeout"), phrase("raise judge.timeout, or lower judge.concurrency")),
    "rate_limit": (
        phrase("rate_limit"),
        phrase("lower judge.concurrency or judge.rpm, or raise the limit with the provider"),
    ),
    "connection": (
        phrase("connection"),
        phrase("check the address (judge.base_url), and that the server runs"),
    ),
    "api_error": (
        phrase("api_error"),
        phrase("see what the server says; another run asks again"),
    ),
    "not_asked": (phrase("not_asked"), phrase("another run asks")),
    "pending": (phrase("pending"), phrase("kragx judge collect stores what has been answered")),
}
"""What people call each kind (in English by its name in JSON, to look for it), and its remedy."""

_NAMES: Mapping[str, str] = {kind: name for kind, (name, _) in _KINDS.items()}
_SAID = {str(text): text for text in (*_BY_STATUS.values(), *(text for _, text in _KINDS.values()))}


def remedy(kind: FailureKind, status: int | None = None) -> str:
    """What to do about a failure, by its kind and the status of HTTP."""
    by_status = _BY_STATUS.get(status or 0) if kind in ("api_error", "rate_limit") else None
    return by_status or _KINDS[kind][1]


def failure_lines(judging: Mapping[str, Any]) -> Iterator[str]:
    """A line for each kind of failure, the most frequent first: how many, what to do, an example.

    Ids and the provider's words are cut, as a line should be read at a glance.

    Args:
        judging: plain values of a `Tally`; those of earlier versions have no examples.
    """
    examples = judging.get("failure_examples", {})
    by_count = sorted(judging["failures"].items(), key=lambda failure: -failure[1])
    for kind, count in by_count:
        if kind not in examples:
            continue
        example = examples[kind]
        ids = (
            (phrase("query"), example["query_id"]),
            (phrase("document"), example["document_id"]),
        )
        place = joined(
            ", ",
            (
                phrase("{what} {id}", what=noun, id=_cut(name, 40))
                for noun, name in ids
                if name is not None
            ),
        )
        words = repr(_cut(example["detail"], 120)) if example["detail"] else ""
        such = joined(": ", (place, words))
        values = {
            "failed": _failed(kind, count),
            "remedy": _SAID.get(example["remedy"], example["remedy"]),  # as JSON it is a text
        }
        if such:
            yield phrase("{failed}: {remedy}; such as {example}", **values, example=such)
        else:
            yield phrase("{failed}: {remedy}", **values)


def failed_kinds(judging: Mapping[str, Any]) -> str:
    """How many judgements failed in which way."""
    return joined(", ", (_failed(kind, n) for kind, n in judging["failures"].items()))


def _failed(kind: str, count: int) -> str:
    return phrase("{n} {kind}", n=count, kind=_NAMES.get(kind, kind))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def too_many_missing(judging: Mapping[str, Any], max_missing: float, further: str) -> JudgingError:
    """The error of a run in which more is missing than allowed, with an example of each kind.

    Args:
        judging: plain values of a `Tally`.
        max_missing: the share that is allowed.
        further: the last line.
    """
    first = phrase(
        "{n} of {of} judgements are missing ({kinds}), more than max_missing {most:g} allows:",
        n=judging["n_missing"],
        of=judging["n_judgements"],
        kinds=failed_kinds(judging),
        most=max_missing,
    )
    return JudgingError(joined("\n  ", [first, *failure_lines(judging), further]))
