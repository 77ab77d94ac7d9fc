"""The config file of `kragx run`: its models, and errors that name the YAML path and the remedy."""

from kragx.app.config.loading import (
    ConfigWarning,
    check_whole,
    load,
    load_dataset_config,
    match_spec,
    parse_config,
    with_earlier,
    with_gates,
)
from kragx.app.config.models import RunConfig
from kragx.app.config.retrievers import RetrieverConfig, files_of
from kragx.app.config.values import filled, override, variables_in

__all__ = [
    "ConfigWarning",
    "RetrieverConfig",
    "RunConfig",
    "check_whole",
    "files_of",
    "filled",
    "load",
    "load_dataset_config",
    "match_spec",
    "override",
    "parse_config",
    "variables_in",
    "with_earlier",
    "with_gates",
]
