"""`kragx init`: a config to start from, with a small gold set and retriever, so that it runs.

The files stand in a folder for each language as they are written; `.txt` keeps the retriever from
being one of the package's own modules.
"""

from importlib.resources import files
from pathlib import Path

from kragx.data.formats.jsonl import make_folder, write_bytes
from kragx.ground.errors import UsageError

FILES = ("kragx.yaml", "gold.jsonl", "retriever.py.txt")


def write_starter(folder: Path, language: str) -> list[Path]:
    """Write the starter's files in a language; nothing that is there is replaced.

    Raises:
        UsageError: one of them is there already, or the folder cannot be written.
    """
    paths = [folder / name.removesuffix(".txt") for name in FILES]
    existing = [str(path) for path in paths if path.exists()]
    if existing:
        raise UsageError(
            "{names}: already there; name another folder, or move it away",
            names=", ".join(existing),
        )
    make_folder(folder)
    for path, name in zip(paths, FILES):
        write_bytes(path, files(__name__).joinpath(language, name).read_bytes())
    return paths
