"""`python -m kragx` is the command `kragx`."""

from kragx.app.commands.main import process

process()
