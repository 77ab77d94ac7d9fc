"""The problems of forms by name, a line each: for an environment that has their packages."""

import sys
import tempfile
from pathlib import Path

from .table import FORMS

for form in FORMS:
    if form.name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = form.problem(Path(folder))
            except Exception as error:
                problem = f"{form.name}: {type(error).__name__}: {error}"
        sys.stdout.write(problem and f"{problem}\n")
