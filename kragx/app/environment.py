"""`.env` files: environment variables kept beside a config instead of in it."""

import io
from pathlib import Path

from dotenv import load_dotenv

from kragx.data.formats.jsonl import read_text


def load_env(folder: Path) -> None:
    """Set the variables of ``folder/.env``, if there is one; what is set already stays.

    They are set in the process, because that is where clients of models and databases look for
    their keys. Nothing is put in for ``${...}``.

    Raises:
        DataError: the file cannot be read.
    """
    path = folder / ".env"
    if path.is_file():
        load_dotenv(stream=io.StringIO(read_text(path)), interpolate=False)
