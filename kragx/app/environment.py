"""`.env` files: environment variables kept beside a config instead of in it."""

import io
import os
from pathlib import Path

from dotenv.parser import parse_stream

from kragx.data.formats.jsonl import read_text
from kragx.ground.errors import DataError


def load_env(folder: Path) -> None:
    """Set the variables of ``folder/.env``, if there is one; what is set already stays.

    They are set in the process, because that is where clients of models and databases look for
    their keys.

    Raises:
        DataError: the file cannot be read, or a line of it sets no variable.
    """
    path = folder / ".env"
    if not path.is_file():
        return
    for name, value in parse_env(read_text(path), str(path)).items():
        os.environ.setdefault(name, value)


def parse_env(text: str, path: str = ".env") -> dict[str, str]:
    """The variables of a `.env` file's text, as python-dotenv reads them, but letter by letter.

    Nothing is put in for ``${...}``, and a line that sets no variable is an error, whose message
    leaves the line out: it may hold a secret.

    >>> parse_env("export KEY='a b'  # mine")
    {'KEY': 'a b'}
    """
    variables: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text)):
        if binding.error or (binding.key is not None and binding.value is None):
            # What was read begins with the empty lines before it.
            blank = len(binding.original.string) - len(binding.original.string.lstrip())
            line = binding.original.line + binding.original.string[:blank].count("\n")
            raise DataError("not of the form NAME=value", path=f"{path}:{line}")
        if binding.key is not None and binding.value is not None:
            variables[binding.key] = binding.value
    return variables
