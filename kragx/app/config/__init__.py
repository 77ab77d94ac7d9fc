"""The config file of `kragx run`: its models, and errors that name the YAML path and the remedy."""

from kragx.app.config.loading import (
    ConfigWarning,
    load,
    match_spec,
    parse_config,
    with_earlier,
    with_gates,
)
from kragx.app.config.models import HtmlConfig, RetrieverConfig, RunConfig, StatisticsConfig
from kragx.app.config.values import filled, override

__all__ = [
    "ConfigWarning",
    "HtmlConfig",
    "RetrieverConfig",
    "RunConfig",
    "StatisticsConfig",
    "filled",
    "load",
    "match_spec",
    "override",
    "parse_config",
    "with_earlier",
    "with_gates",
]
