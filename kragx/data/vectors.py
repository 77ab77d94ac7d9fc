"""Unit vectors of texts: each distinct text is embedded once, in batches, and may be kept.

The file is SQLite. Its keys are hashes of text and model, so that several models and processes may
share it; every batch is committed before the next one is asked for, so whatever ends a run loses
one batch at most.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kragx.ground.errors import DataError, KragxError, shorten

Vector = NDArray[np.float64]
Embed = Callable[[list[str]], Sequence[Sequence[float]]]

# Numbers that are remembered for texts that may come again: 256 MB.
_MOST_NUMBERS = 1 << 25

_WAIT = 60.0  # seconds to wait for another process that writes
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


class Vectors:
    """Remembers the unit vectors of the texts it has seen (`known`); a zero vector stays zero.

    Args:
        embed: from texts to their vectors.
        model: what the vectors depend on besides the text; part of the file's keys.
        batch_size: how many texts are embedded at once.
        cache: the file, or None.
    """

    def __init__(
        self, embed: Embed, model: str, batch_size: int, cache: str | Path | None = None
    ) -> None:
        self._embed = embed
        self._model = model
        self._batch_size = batch_size
        self._cache = None if cache is None else Path(cache)
        self.known: dict[str, Vector] = {}
        self._dimensions: int | None = None

    def of(self, texts: Iterable[str]) -> Mapping[str, Vector]:
        """The vector of each of these texts, and maybe of others.

        Raises:
            DataError: what embeds failed, or gave something that is no vector for each text.
        """
        distinct = list(dict.fromkeys(texts))
        if len(self.known) * (self._dimensions or 0) > _MOST_NUMBERS:
            self.known = {text: self.known[text] for text in distinct if text in self.known}
        if self._cache is not None and self._cache.exists():
            self._read(self._cache, [text for text in distinct if text not in self.known])
        new = [text for text in distinct if text not in self.known]
        for start in range(0, len(new), self._batch_size):
            batch = new[start : start + self._batch_size]
            vectors = self._compute(batch)
            self._remember(batch, vectors)  # which refuses what must not be kept either
            if self._cache is not None:
                blobs = (vector.astype("<f8").tobytes() for vector in vectors)
                with self._opened(self._cache) as db, db:
                    # A key that is there keeps its own vector.
                    rows = zip(map(self._key, batch), blobs)
                    db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        return self.known

    def _read(self, path: Path, texts: Sequence[str]) -> None:
        """Remember what the file has of some texts."""
        with self._opened(path) as db:
            for text in texts:
                query = "SELECT vector FROM vectors WHERE key = ?"
                for (blob,) in db.execute(query, [self._key(text)]):
                    self._remember([text], np.frombuffer(blob, "<f8").astype(np.float64)[None, :])

    def _key(self, text: str) -> str:
        key_text = json.dumps([self._model, text])
        return hashlib.sha256(key_text.encode()).hexdigest()

    def _compute(self, batch: list[str]) -> Vector:
        try:
            answer = self._embed(batch)
        except KragxError:
            raise
        except Exception as error:  # whatever foreign code raises, the user must learn where
            place = "" if self._cache is None else f"; what it gave before is in {self._cache}"
            raise DataError(
                "match.embeddings: embedding {n_batch} texts failed: {kind}: {error}{place}",
                n_batch=len(batch),
                kind=type(error).__name__,
                error=error,
                place=place,
            ) from error
        try:
            vectors = np.array(answer, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                "match.embeddings: not a list of vectors of one length: {error}", error=error
            ) from None
        if vectors.ndim != 2 or len(vectors) != len(batch) or not vectors.shape[1]:
            raise DataError(
                "match.embeddings: {n_batch} texts gave an array of shape {shape}; "
                "one vector for each is expected, shape ({n_batch}, dimensions)",
                n_batch=len(batch),
                shape=vectors.shape,
            )
        bad = ~np.isfinite(vectors).all(axis=1)
        if bad.any():
            text = shorten(batch[int(bad.argmax())])
            raise DataError(
                "match.embeddings: the vector of {text} holds a NaN or infinity", text=text
            )
        return vectors

    def _remember(self, texts: Sequence[str], vectors: Vector) -> None:
        dimensions = vectors.shape[1]
        if self._dimensions not in (None, dimensions):
            raise DataError(
                "match.embeddings: the vector of {value} has {dimensions} dimensions, "
                "and those before have {dimensions_2}; two models cannot be compared "
                "(if the model behind a name has changed, use another 'cache' or 'model')",
                value=shorten(texts[0]),
                dimensions=dimensions,
                dimensions_2=self._dimensions,
            )
        self._dimensions = dimensions
        # Scaled first, lest squares of very large or small numbers leave the range of floats.
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        scaled = vectors / np.where(largest > 0, largest, 1.0)
        lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
        self.known.update(zip(texts, scaled / np.where(lengths > 0, lengths, 1.0)))

    @contextmanager
    def _opened(self, path: Path) -> Iterator[sqlite3.Connection]:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=_WAIT)) as db:
                tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
                if tables and "vectors" not in tables:
                    raise DataError(
                        "{place}: an SQLite file of something else; name another", place=path
                    )
                db.execute(_SCHEMA)
                yield db
        except DataError as error:
            raise error.within("match.cache") from None
        except (OSError, sqlite3.Error) as error:
            raise DataError(
                "match.cache: {place}: cannot be used: {error}", place=path, error=error
            ) from None
