"""The command, as tests/command calls it."""

from __future__ import annotations

from tests.command.conftest import here, jsonl, kragx, module

__all__ = ["here", "jsonl", "kragx", "module"]
