"""Why two results do not look alike at several searches for a question."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from kragx.evaluation.searching import SEARCHES
from kragx.ground.errors import shorten
from kragx.ground.printing import phrase
from kragx.metrics import known_metric

Looks = Literal["basis", "tokens"]
"""What of searches two results may look at differently."""


def searches_that_differ(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[Looks, str]]:
    """Why numbers of searches do not mean the same, in a sentence for each kind of reason.

    Where lists are all there is, they are what came first and what came in the end. Tokens are of
    no interest where either has no metric of them.

    Args:
        first: settings of an `Evaluation`.
        second: of another.
    """
    looks, other_looks = first.get(SEARCHES), second.get(SEARCHES)
    if looks is None or other_looks is None:
        return
    are_alone = any(entry.get("lists_alone") for entry in (looks, other_looks))
    if looks["basis"] != other_looks["basis"] and not are_alone:
        yield (
            "basis",
            phrase(
                "metrics are about different lists ({one} and {other}); evaluate both together: "
                "kragx score with both files, or one call of kragx.evaluate",
                one=looks["basis"],
                other=other_looks["basis"],
            ),
        )
    tokens, other_tokens = (entry.get("tokenizer") for entry in (looks, other_looks))
    if tokens != other_tokens and _reads_tokens(first) and _reads_tokens(second):
        yield (
            "tokens",
            phrase(
                "tokens of searches are known differently ({one} and {other})",
                one=_known_by(tokens),
                other=_known_by(other_tokens),
            ),
        )


def first_that_searches(settings: Sequence[Mapping[str, Any]]) -> int:
    """The place of the first with more searches than lists alone are; 0 where none has any."""
    return next((place for place, entry in enumerate(settings) if _searches(entry)), 0)


def search_alike(settings: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all look alike at searches, as far as they look at any."""
    first = settings[first_that_searches(settings)]
    return not any(reason for entry in settings for reason in searches_that_differ(first, entry))


def _searches(settings: Mapping[str, Any]) -> bool:
    return SEARCHES in settings and not settings[SEARCHES].get("lists_alone")


def _reads_tokens(settings: Mapping[str, Any]) -> bool:
    metrics = map(known_metric, settings["metrics"])
    return any(metric is not None and metric.reads_tokens for metric in metrics)


def _known_by(tokenizer: object) -> str:
    if tokenizer is None:
        return phrase("stated by searches")
    if isinstance(tokenizer, Mapping):
        tokenizer = " ".join(str(tokenizer[key]) for key in ("name", "version") if key in tokenizer)
    return phrase("counted by the tokenizer {name}", name=shorten(tokenizer))
