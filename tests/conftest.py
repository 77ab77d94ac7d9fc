"""What holds for every test."""

import os

# pytest-xdist tells its workers the width of the terminal; what kragx prints into a pipe is as wide
# whoever looks on.
os.environ.pop("COLUMNS", None)
