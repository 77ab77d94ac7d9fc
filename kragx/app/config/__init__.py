"""The config file of `kragx run`: its models, and errors that name the YAML path and the remedy."""

from kragx.app.config.loading import (
    ConfigWarning,
    load,
    load_dataset_config,
    match_spec,
    of_whole,
    with_gates,
)
from kragx.app.config.models import RunConfig
from kragx.app.config.retrievers import RetrieverConfig, files_of
from kragx.app.config.values import filled, override, variables_in

__all__ = [
    "ConfigWarning",
    "RetrieverConfig",
    "RunConfig",
    "files_of",
    "filled",
    "load",
    "load_dataset_config",
    "match_spec",
    "of_whole",
    "override",
    "variables_in",
    "with_gates",
]
