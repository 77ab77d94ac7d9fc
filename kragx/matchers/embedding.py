"""The `embedding` matcher: cosine similarity of texts through any LangChain embeddings."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kragx import plugins
from kragx.data.text import normalise
from kragx.errors import UsageError, nearest, shorten
from kragx.matchers.base import MatchItem, MatchWarning
from kragx.matchers.equality import check_flag
from kragx.matchers.rouge import check_threshold

if TYPE_CHECKING:
    from kragx.matchers.vectors import Vectors

Floats = NDArray[np.float64]
EmbedAs = Literal["documents", "queries"]

_BATCH = 256  # queries
_NAMES = ("model", "model_name", "model_id", "deployment")
_SECRET = ("key", "token", "secret", "password")


@dataclass(frozen=True)
class EmbeddingMatcher:
    """Cosine similarity between each document and each gold text, a match from the threshold on.

    A negative cosine is a score of 0; equal texts score 1. A zero vector is similar to nothing.

    Attributes:
        embeddings: a langchain-core `Embeddings`, or anything else with `embed_documents`; or the
            import path of a class or function that makes one.
        threshold: the least score that is a match, in (0, 1]. There is no default: what
            unrelated texts get differs from model to model.
        args: what an import path is called with.
        batch_size: how many texts are embedded at once.
        cache: an SQLite file that keeps vectors for later runs; None keeps them in memory alone.
        model: names the model, in results and in the cache; None for the name that `embeddings`
            or `args` give.
        embed_as: ``documents`` (in batches), or ``queries``, one text at a time, as K-RAG does; a
            model may embed the two differently.
        normalised: whether texts are normalised first (NFC, white space collapsed, stripped).

    Raises:
        UsageError: an option is missing or wrong.
    """

    embeddings: Any = None
    threshold: Any = None
    args: Mapping[str, Any] | None = None
    batch_size: int = 64
    cache: str | Path | None = None
    model: str | None = None
    embed_as: EmbedAs = "documents"
    normalised: bool = True
    name: ClassVar[str] = "embedding"
    needs: ClassVar[tuple[str, ...]] = ("embeddings", "threshold")
    asks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_embeddings()
        check_flag(self.normalised, "normalised")
        if self.embed_as not in get_args(EmbedAs):
            hint = nearest(str(self.embed_as), get_args(EmbedAs))
            raise UsageError(f"match.embed_as: unknown value {self.embed_as!r}; {hint}")
        size = self.batch_size
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"match.batch_size: {size!r} is not a whole number from 1 on")
        if self.model is not None and not (isinstance(self.model, str) and self.model):
            raise UsageError(f"match.model: a name is expected, not {self.model!r}")
        if self.cache is not None and not isinstance(self.cache, (str, Path)):
            raise UsageError(f"match.cache: the path of a file is expected, not {self.cache!r}")
        if self.cache is not None and not isinstance(self.embeddings, str) and not self._named:
            raise UsageError(
                "match.cache: it is kept by model, and these embeddings do not say theirs; "
                "name it with 'model'"
            )
        if self.threshold is None:
            raise UsageError(
                "match.threshold: 'embedding' has no default, as models differ in what they give "
                "unrelated texts; name one (kragx threshold calibrate finds it from labelled pairs)"
            )
        object.__setattr__(self, "threshold", check_threshold(self.threshold))

    def _check_embeddings(self) -> None:
        given = self.embeddings
        if self.args is not None and not isinstance(self.args, Mapping):
            raise UsageError(f"match.args: a mapping of arguments is expected, not {self.args!r}")
        if given is None:
            raise UsageError(
                "match.embeddings: missing; name a class by its import path, such as "
                "'langchain_openai:OpenAIEmbeddings', or pass an Embeddings object"
            )
        if isinstance(given, str):
            made = plugins.load(given)  # what it makes is made when it is needed: models are large
            if callable(made):
                plugins.check_arguments(made, self.args or {}, f"match.embeddings: {given}")
        elif self.args is not None:
            raise UsageError("match.args: belong to an import path; this is an object already")
        elif not _embeds(given):
            raise UsageError(
                f"match.embeddings: {shorten(given)} has no 'embed_documents'; pass an import "
                "path 'package.module:name' or a langchain-core Embeddings"
            )

    @property
    def _named(self) -> str | None:
        """The model's name, if anything says it."""
        if self.model is not None:
            return self.model
        for name in _NAMES:
            given = (
                (self.args or {}).get(name)
                if isinstance(self.embeddings, str)
                else getattr(self.embeddings, name, None)
            )
            if isinstance(given, str) and given:
                return given
        return None

    def described(self) -> dict[str, Any]:
        """What a result records: the class, the model, and what it was made with but secrets."""
        given = self.embeddings
        kind = type(given)
        path = given if isinstance(given, str) else f"{kind.__module__}:{kind.__qualname__}"
        found: dict[str, Any] = {"method": self.name, "embeddings": path, "model": self._named}
        args = {
            name: value
            for name, value in (self.args or {}).items()
            if name not in _NAMES and not any(part in name.lower() for part in _SECRET)
        }
        found |= {"args": args or None, "threshold": self.threshold}
        if self.embed_as == "queries":
            found["embed_as"] = "queries"
        if not self.normalised:
            found["normalised"] = False
        return {name: value for name, value in found.items() if value is not None}

    @cached_property
    def _vectors(self) -> Vectors:
        """The vectors seen so far; kept, so that a second run of the same texts is free."""
        made = self.embeddings
        if isinstance(made, str):
            made = plugins.build(made, self.args)
            if not _embeds(made):
                raise UsageError(
                    f"match.embeddings: {self.embeddings} made a {type(made).__name__}, which has "
                    "no 'embed_documents'"
                )
        own = self.described()
        # A model that the user has named is that model, whatever class asks it.
        identity = [self.model] if self.model else [own["embeddings"], own.get("model")]
        identity += [own.get("args"), own.get("embed_as")]
        from kragx.matchers.vectors import Vectors

        return Vectors(
            lambda texts: _embedded(made, texts, self.embed_as),
            json.dumps(identity, sort_keys=True, ensure_ascii=False, default=repr),
            self.batch_size,
            self.cache,
        )

    def scores(self, items: Iterable[MatchItem], notes: Counter[str]) -> Iterator[Floats]:
        """Yield n x t scores in [0, 1]; 0 for a target without text.

        Raises:
            DataError: what embeds failed, or gave no vectors; those it gave before are kept.
        """
        stream = iter(items)
        zero: dict[str, None] = {}
        while batch := list(islice(stream, _BATCH)):
            texts = [
                (self._plain(item.doc_texts(self.name)), self._targets(item)) for item in batch
            ]
            vectors = self._vectors.of(
                text for docs, golds in texts for text in (*docs, *golds.values())
            )
            for item, (docs, golds) in zip(batch, texts):
                scores = np.zeros((len(docs), len(item.targets)))
                if docs and golds:
                    listed = list(golds.values())
                    left = np.stack([vectors[text] for text in docs])
                    right = np.stack([vectors[text] for text in listed])
                    scores[:, list(golds)] = _cosines(left, right, docs, listed)
                    for side, of_side in ((docs, left), (listed, right)):
                        for at in np.flatnonzero(~of_side.any(axis=1)):
                            zero[side[at]] = None
                yield scores
        if zero:
            notes["n_texts_without_vector"] += len(zero)
            warnings.warn(
                f"texts whose vector is zero and that can match nothing: {len(zero)}, for example "
                f"{shorten(next(iter(zero)))}",
                MatchWarning,
                stacklevel=2,
            )

    def _plain(self, texts: Sequence[str]) -> list[str]:
        return [normalise(text) for text in texts] if self.normalised else list(texts)

    def _targets(self, item: MatchItem) -> dict[int, str]:
        golds = item.target_texts(self.name)
        return dict(zip(golds, self._plain(list(golds.values()))))


def _cosines(left: Floats, right: Floats, docs: Sequence[str], golds: Sequence[str]) -> Floats:
    """Cosines of unit vectors, in [0, 1]; rounding must not keep equal texts from scoring 1."""
    cosines: Floats = np.clip(left @ right.T, 0.0, 1.0)
    first = {text: column for column, text in enumerate(golds)}
    for row, text in enumerate(docs):
        if text in first and left[row].any():
            same = [column for column, gold in enumerate(golds) if gold == text]
            cosines[row, same] = 1.0
    return cosines


def _embeds(value: object) -> bool:
    asked = ("embed_documents", "aembed_documents")
    return not isinstance(value, type) and any(
        callable(getattr(value, name, None)) for name in asked
    )


def _embedded(embeddings: Any, texts: list[str], as_: EmbedAs) -> Sequence[Sequence[float]]:
    """Ask for the vectors of a batch, of a class that is asynchronous alone as well."""
    one_by_one = as_ == "queries"
    name = "embed_query" if one_by_one else "embed_documents"
    later = getattr(embeddings, f"a{name}", None)
    if later is None or hasattr(embeddings, name):
        ask = getattr(embeddings, name)
        try:
            found: Sequence[Sequence[float]] = (
                [ask(text) for text in texts] if one_by_one else ask(texts)
            )
            return found
        except NotImplementedError:  # langchain-core requires it of asynchronous ones as well
            if later is None:
                raise
    from kragx.judging.traffic import run_sync

    async def awaited() -> Sequence[Sequence[float]]:
        if one_by_one:
            return [await later(text) for text in texts]
        answer: Sequence[Sequence[float]] = await later(texts)
        return answer

    return run_sync(awaited)
