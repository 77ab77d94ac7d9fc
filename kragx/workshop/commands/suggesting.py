"""The retrievers of a config as a workshop asks them."""

from pathlib import Path

from kragx.app.config import load
from kragx.app.retrieving.fingerprint import Fingerprints, state_of
from kragx.app.retrieving.retrieve_all import asker
from kragx.metrics.registry import split
from kragx.workshop.pairs.candidates import CUT
from kragx.workshop.queue.suggestions import SuggestionSource


def sources(path: Path) -> tuple[list[SuggestionSource], int]:
    """What suggests documents, and how far down it is compared: as the first metric with a cut.

    Nothing is loaded or asked yet.

    Raises:
        DataError, ConfigError: the config cannot be read, or holds mistakes.
    """
    config = load(path)
    fingerprints = Fingerprints(path.resolve().parent)
    suggesting = [
        SuggestionSource(name, state_of(fingerprints.of(retriever)), asker(name, retriever))
        for name, retriever in config.asked.items()
    ]
    cuts = (split(name)[1] for name in config.metrics or ())
    return suggesting, next((cut for cut in cuts if isinstance(cut, int)), CUT)
