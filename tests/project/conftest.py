"""The command, as tests/app/commands calls it."""

from tests.app.commands.conftest import kragx

__all__ = ["kragx"]
