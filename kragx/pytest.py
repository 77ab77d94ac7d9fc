"""Gates in a test suite: `from kragx.pytest import assert_gates`."""

from kragx.app.pytest import assert_gates

__all__ = ["assert_gates"]
