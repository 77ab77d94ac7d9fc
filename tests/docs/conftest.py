"""Fixtures for documents whose commands are called."""

from tests.app.commands.conftest import kragx

__all__ = ["kragx"]
