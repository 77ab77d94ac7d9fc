"""`python -m kragx` is the command `kragx`."""

from kragx.cli import main

main()
