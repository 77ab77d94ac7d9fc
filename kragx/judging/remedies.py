"""What to do about judgements that failed, and how it is said."""

from collections.abc import Iterator, Mapping
from typing import Any

from kragx.errors import JudgingError
from kragx.judging.client import FailureKind

_REMEDIES: Mapping[FailureKind | int, str] = {
    401: "check the API key (judge.api_key_env names the variable that holds it)",
    402: "raise the quota or add credit with the provider",
    403: "check what the API key may use, or what a gateway in between blocks",
    404: "check the name of the model (judge.model) and the address (judge.base_url)",
    "refusal": "another model or rubric may help",
    "length": "raise judge.max_output_tokens, or judge shorter chunks",
    "content_filter": "another provider, or a filter that is set otherwise, may help",
    "invalid_json": "run again; if it stays so, a model or server that keeps to a JSON schema",
    "out_of_range": "run again; if it stays so, a model or server that keeps to a JSON schema",
    "timeout": "raise judge.timeout, or lower judge.concurrency",
    "rate_limit": "lower judge.concurrency or judge.rpm, or raise the limit with the provider",
    "connection": "check the address (judge.base_url), and that the server runs",
    "api_error": "see what the server says; another run asks again",
    "not_asked": "another run asks",
    "pending": "kragx judge collect stores what has been answered",
}


def remedy(kind: FailureKind, status: int | None = None) -> str:
    """What to do about a failure, by its kind and the status of HTTP."""
    by_status = _REMEDIES.get(status or 0) if kind in ("api_error", "rate_limit") else None
    return by_status or _REMEDIES[kind]


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
        ids = (("query", example["query_id"]), ("document", example["document_id"]))
        place = ", ".join(f"{what} {_cut(name, 40)}" for what, name in ids if name is not None)
        words = repr(_cut(example["detail"], 120)) if example["detail"] else ""
        such = ": ".join(filter(None, (place, words)))
        yield f"{count} {kind}: {example['remedy']}" + (f"; such as {such}" if such else "")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def too_many_missing(judging: Mapping[str, Any], max_missing: float, further: str) -> JudgingError:
    """The error of a run in which more is missing than allowed, with an example of each kind.

    Args:
        judging: plain values of a `Tally`.
        max_missing: the share that is allowed.
        further: the last line.
    """
    kinds = ", ".join(f"{count} {kind}" for kind, count in judging["failures"].items())
    first = (
        f"{judging['n_missing']} of {judging['n_judgements']} judgements are missing "
        f"({kinds}), more than max_missing {max_missing:g} allows"
    )
    return JudgingError("\n  ".join([f"{first}:", *failure_lines(judging), further]))
