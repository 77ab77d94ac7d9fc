"""The command, as tests/app/commands calls it."""

from tests.app.commands.conftest import here, jsonl, kragx, module

__all__ = ["here", "jsonl", "kragx", "module"]
