"""The `embedding` matcher: cosine similarity of texts through any LangChain embeddings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from kragx.data import normalise
from kragx.data.lists import Lists
from kragx.data.tokens import of_pairs
from kragx.ground import plugins
from kragx.ground.errors import DataError, KragxError, UsageError, inside, shorten
from kragx.ground.options import a_mapping, a_path, optional, path_of
from kragx.matchers.base import EMBEDDINGS_AND_THRESHOLD, check_threshold
from kragx.matchers.texts import NO_VECTOR, TextsMatcher
from kragx.metrics import Bools, Floats

if TYPE_CHECKING:
    import sqlite3

EmbedAs = Literal["documents", "queries"]

_NAMES = ("model", "model_name", "model_id", "deployment")
"""Where an object, or its arguments, say which model it is."""

_AT_ONCE = 64
"""How many texts are embedded at once."""

_MOST_NUMBERS = 1 << 25
"""That are remembered for texts that may come again: 256 MB."""

_WAIT = 60.0  # seconds to wait for another process that writes
_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID"


@dataclass(frozen=True)
class EmbeddingMatcher(TextsMatcher):
    """Cosine similarity between each document and each gold text, a match from the threshold on.

    A negative cosine is a score of 0; equal texts score 1. A zero vector is similar to nothing, and
    so is an empty text, which is not embedded.

    Attributes:
        embeddings: a langchain-core `Embeddings`, or anything else with `embed_documents`; or the
            import path of a class or function that makes one.
        threshold: the least score that is a match, in (0, 1]. There is no default: what
            unrelated texts get differs from model to model.
        args: what an import path is called with.
        cache: an SQLite file that keeps the vectors of an import path's model for later runs, by
            text, path and arguments; None keeps them in memory alone.
        embed_as: ``documents`` (in batches), or ``queries``, one text at a time, as K-RAG does; a
            model may embed the two differently.
        normalised: whether texts are normalised first (NFC, white space collapsed, stripped).

    Raises:
        UsageError: an option is missing or wrong.
    """

    embeddings: Any = None
    threshold: Any = None
    args: Annotated[Mapping[str, Any] | None, optional(a_mapping)] = None
    cache: Annotated[str | Path | None, optional(a_path)] = None
    embed_as: EmbedAs = "documents"
    normalised: bool = True
    name = "embedding"
    needs = EMBEDDINGS_AND_THRESHOLD
    asks = True
    remedy = NO_VECTOR

    def __post_init__(self) -> None:
        super().__post_init__()
        embeddings = self.embeddings
        if isinstance(embeddings, str):
            with inside("embeddings"):
                kind = plugins.load(embeddings)  # made when it is needed: models are large
            if callable(kind):
                plugins.check_arguments(kind, self.args or {}, f"embeddings: {embeddings}")
        elif self.args is not None or self.cache is not None:
            field = "cache" if self.args is None else "args"
            raise UsageError("belongs to an import path; this is an object already", field=field)
        elif not _embeds(embeddings):
            raise UsageError(
                "none are named" if embeddings is None else "{embeddings} has no 'embed_documents'",
                field="embeddings",
                remedy="name a class by its import path, such as "
                "'langchain_openai:OpenAIEmbeddings', or pass an Embeddings object",
                embeddings=shorten(embeddings),
            )
        if self.threshold is None:
            raise UsageError(
                "'embedding' has no default, as models differ in what they give unrelated texts",
                field="threshold",
                remedy="name one (kragx threshold calibrate finds it from labelled pairs)",
            )
        self._set(threshold=check_threshold(self.threshold))

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the class, the model, and what it was made with but secrets."""
        embeddings, args = self.embeddings, self.args or {}
        if not isinstance(embeddings, str):
            args = {name: getattr(embeddings, name, None) for name in _NAMES}
            embeddings = path_of(type(embeddings))
        model = next((args[name] for name in _NAMES if isinstance(args.get(name), str)), None)
        options = (self.args or {}).items()
        further = {name: arg for name, arg in options if name not in _NAMES or arg != model}
        settings = {
            "method": self.name,
            "embeddings": embeddings,
            "model": model,
            "args": plugins.as_written(further),
            "threshold": self.threshold,
            "embed_as": None if self.embed_as == "documents" else self.embed_as,
            "normalised": None if self.normalised else False,
        }
        return {name: value for name, value in settings.items() if value not in (None, {})}

    @cached_property
    def _embeddings(self) -> Any:
        """The object that embeds, made when it is needed."""
        if not isinstance(self.embeddings, str):
            return self.embeddings
        embeddings = plugins.build(self.embeddings, self.args)
        if not _embeds(embeddings):
            raise UsageError(
                "match.embeddings: {embeddings} made a {kind}, which has no 'embed_documents'",
                embeddings=self.embeddings,
                kind=type(embeddings).__name__,
            )
        return embeddings

    @cached_property
    def _vectors(self) -> dict[str, Floats]:
        """The unit vectors seen so far; kept, so that a second run of the same texts is free."""
        return {}

    def read(self, text: str) -> str:
        """A text as it is embedded."""
        return normalise(text) if self.normalised else text

    def numbered(self, *lists: Lists) -> Iterator[Lists]:
        """The same lists of texts as they are embedded, which they are now.

        Raises:
            DataError: what embeds failed, or gave no vectors; those it gave before are kept.
        """
        numbered = [*super().numbered(*lists)]
        texts = dict.fromkeys(text for side in numbered for of_query in side for text in of_query)
        if sum(map(len, self._vectors.values())) > _MOST_NUMBERS:
            vectors = self._vectors
            self._set(_vectors={text: vectors[text] for text in texts if text in vectors})
        # Models give an empty text a vector like any other, or refuse the whole batch.
        new = [text for text in texts if text.strip() and text not in self._vectors]
        with self._stored() as store:
            for text in new:
                key = self._key(text)
                for (blob,) in store.execute("SELECT vector FROM vectors WHERE key = ?", [key]):
                    self._vectors[text] = np.frombuffer(blob, "<f8")
            new = [text for text in new if text not in self._vectors]
            for start in range(0, len(new), _AT_ONCE):
                part = new[start : start + _AT_ONCE]
                self._embed(part)
                blobs = (self._vectors[text].astype("<f8").tobytes() for text in part)
                with store:  # whatever ends the run loses one part at most
                    # A key that is there keeps its own vector.
                    rows = zip(map(self._key, part), blobs)
                    store.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        return iter(numbered)

    @contextmanager
    def _stored(self) -> Iterator[sqlite3.Connection]:
        """The file of vectors; without one nothing is kept."""
        import sqlite3  # which other matchers do without

        path = ":memory:" if self.cache is None else self.cache
        try:
            if self.cache is not None:
                Path(self.cache).parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=_WAIT)) as store:
                store.execute(_SCHEMA)
                yield store
        except (OSError, sqlite3.Error) as error:
            raise DataError(
                "match.cache: {place}: cannot be used: {error}", place=path, error=error
            ) from None

    def _key(self, text: str) -> str:
        """What a vector is kept by: all that it depends on but secrets of the environment."""
        args = plugins.without_secrets(self.args or {})
        content = json.dumps(
            [self.embeddings, args, self.embed_as, text], sort_keys=True, default=repr
        )
        return hashlib.sha256(content.encode()).hexdigest()

    def _embed(self, texts: list[str]) -> None:
        """Ask for the vectors of some texts, and keep them with length 1; zero stays zero."""
        embeddings, size = self._embeddings, next(map(len, self._vectors.values()), None)
        try:
            vectors = (
                [embeddings.embed_query(text) for text in texts]
                if self.embed_as == "queries"
                else embeddings.embed_documents(texts)
            )
            array = np.array(vectors, np.float64)
        except KragxError:
            raise
        except Exception as error:  # whatever foreign code raises, the user must learn where
            raise DataError(
                "match.embeddings: embedding {n} texts failed: {kind}: {error}",
                n=len(texts),
                kind=type(error).__name__,
                error=error,
            ) from error
        shape = len(texts), size or (array.shape[1] if array.ndim == 2 else 0)
        if array.shape != shape or not shape[1] or not np.isfinite(array).all():
            raise DataError(
                "match.embeddings: {n} texts gave an array of shape {shape}; a vector of "
                "{size} finite numbers is expected for each",
                n=len(texts),
                shape=array.shape,
                size=size or "n",
            )
        # Scaled first, lest squares of very large or small numbers leave the range of floats.
        largest = np.abs(array).max(axis=1, keepdims=True)
        scaled = array / np.where(largest > 0, largest, 1.0)
        lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
        self._vectors.update(zip(texts, scaled / np.where(lengths > 0, lengths, 1.0)))

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those that are empty, or whose vector is zero."""
        numbers, places = np.unique(texts.numbers, return_inverse=True)
        units = self._units([texts.known[number] for number in numbers.tolist()])
        return np.array([not unit.any() for unit in units], bool)[places]

    def _units(self, texts: Sequence[str]) -> Floats:
        """Their unit vectors, one below the other; zeros for an empty text."""
        vectors = self._vectors
        zero = np.zeros(len(next(iter(vectors.values()), ())))
        return np.array([vectors[text] if text.strip() else zero for text in texts])

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """Cosines of unit vectors, in [0, 1]."""
        # A product of matrices has other last bits for other numbers of texts.
        cosines = [
            np.transpose([(units * unit).sum(axis=1) for unit in self._units(of_query)]).ravel()
            for units, of_query in zip(map(self._units, docs), golds)
            if len(units) and of_query
        ]
        scores: Floats = np.clip(np.concatenate([*cosines, np.empty(0)]), 0, 1)
        doc, gold = of_pairs(docs.n_texts, golds.n_texts)
        # Rounding must not keep equal texts from scoring 1; a zero vector has 0.
        scores[(docs.numbers[doc] == golds.numbers[gold]) & (scores > 0)] = 1.0
        return scores


def _embeds(value: object) -> bool:
    return not isinstance(value, type) and callable(getattr(value, "embed_documents", None))
