"""What holds for every test."""

import os

from hypothesis import settings

from tests.thoroughness import USUAL, examples

# pytest-xdist tells its workers the width of the terminal; what kragx prints into a pipe is as wide
# whoever looks on.
os.environ.pop("COLUMNS", None)

settings.register_profile("kragx", examples(USUAL))
settings.load_profile("kragx")
