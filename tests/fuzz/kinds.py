"""Every kind of input, with its share of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.fuzz.command_lines import command_lines
from tests.fuzz.configs import configs
from tests.fuzz.folders import folders
from tests.fuzz.json_files import json_files
from tests.fuzz.stores import stores
from tests.fuzz.tables import tables
from tests.fuzz.trec import trec
from tests.fuzz.trial import Trial

KINDS: Mapping[str, tuple[int, Callable[[Trial], None]]] = {
    "json": (700, json_files),
    "tables": (300, tables),
    "trec": (340, trec),
    "yaml": (150, configs),
    "stores": (150, stores),
    "folders": (60, folders),
    "commands": (300, command_lines),
}
"""How many of 2,000 inputs are of a kind, and what makes one."""
