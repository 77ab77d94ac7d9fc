"""Released gold files: their name and version, and whether they are still what was released.

Beside ``gold_v2.jsonl`` stands ``gold_v2.release.json``. It holds the file's name, the name of the
gold set, the version and the content hash, so that results name the version without being told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import file_name, read_object
from kragx.data.gold import GoldDataset
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import message

ENDING = ".release.json"


@dataclass(frozen=True)
class ReleaseInfo:
    """What is known of a released gold file.

    Attributes:
        file: its name.
        name: of the gold set.
        version: of the gold set, as ``v2``.
        hash: of its content.
        path: where this stands.
    """

    file: str
    name: str
    version: str
    hash: str
    path: Path

    @classmethod
    def read(cls, path: Path) -> ReleaseInfo:
        """Of the file beside a release; a `DataError` says what is wrong with it."""
        record: Mapping[str, Any] = read_object(path, "release")
        values = {name: record.get(name) for name in ("file", "name", "version", "hash")}
        for name, value in values.items():
            if not isinstance(value, str) or not value:
                problem = message(
                    "{name}: a text is expected, not {value!r}", name=name, value=value
                )
                raise DataError(problem, path=str(path), remedy="take the released files back")
        return cls(**values, path=path)  # type: ignore[arg-type]  # looked at above

    def changed(self, content_hash: str) -> str | None:
        """What to say of content with this hash if it is not what was released."""
        if content_hash == self.hash:
            return None
        return message(
            "not the content of release {version} any more (sha256 {hash}, released as "
            "{released}); take the released file back, or give what was edited another file name: "
            "a release never changes ('kragx gold diff' says what differs)",
            version=self.version,
            hash=content_hash[:12],
            released=self.hash[:12],
        )

    def of(self, dataset: GoldDataset, version: str | None = None) -> GoldDataset:
        """The gold set that was read from its file, with its name and version.

        Args:
            dataset: the gold set as it stands in the file.
            version: what the user calls it.

        Raises:
            DataError: the content is not what was released.
            UsageError: `version` is another.
        """
        if problem := self.changed(dataset.content_hash):
            raise DataError(problem, path=str(self.path.with_name(self.file)))
        if version is not None and version != self.version:
            raise UsageError(
                "{version!r}, but {file} is release {version_2}; leave the version out",
                field="version",
                version=version,
                file=self.file,
                version_2=self.version,
            )
        return replace(dataset, name=self.name, version=self.version)


def release_of(source: object) -> ReleaseInfo | None:
    """What stands beside a gold file that is a release; None beside any other, and of no file."""
    if not isinstance(source, (str, Path)):
        return None
    path = Path(source)
    if not path.name:  # beside the root of a disk, or an empty path, nothing stands
        return None
    beside = path.with_name(f"{file_name(path)}{ENDING}")
    release = ReleaseInfo.read(beside) if beside.is_file() else None
    # gold.csv and gold.jsonl have one name without ending: the release is of one of them.
    return release if release and release.file == path.name else None
