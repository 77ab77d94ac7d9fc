"""The retrievers of a config as a workshop asks them."""

from pathlib import Path

from kragx.app.config import load
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.retrieve_all import asker
from kragx.metrics import MetricSpec
from kragx.workshop.queue.deciding import deciding_metric
from kragx.workshop.queue.suggestions import Source


def sources(path: Path) -> tuple[list[Source], MetricSpec]:
    """What suggests documents, and the metric that it is compared by.

    Nothing is loaded or asked yet.

    Raises:
        DataError, ConfigError: the config cannot be read, or holds mistakes.
    """
    config = load(path)
    fingerprints = Fingerprints(path.resolve().parent)
    return [
        Source(name, fingerprints.of(retriever).keys[0], asker(name, retriever))
        for name, retriever in config.asked.items()
    ], deciding_metric(config.metrics or ())
