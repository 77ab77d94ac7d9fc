"""The `embedding` matcher: cosine similarity of texts through any LangChain embeddings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from kragx.data import normalise
from kragx.data.lists import Lists
from kragx.data.tokens import of_pairs
from kragx.ground import plugins
from kragx.ground.errors import UsageError, shorten
from kragx.ground.options import fitting, is_text, optional, plain_attributes, whole
from kragx.matchers.base import EMBEDDINGS_AND_THRESHOLD, check_threshold
from kragx.matchers.text_base import EMPTY, NO_VECTOR, TextsMatcher
from kragx.metrics import Bools, Floats

if TYPE_CHECKING:
    from kragx.data.vectors import Vectors

EmbedAs = Literal["documents", "queries"]

_NAMES = ("model", "model_name", "model_id", "deployment")
_SAYS = (
    *("deployment", "azure_deployment", "base_url", "openai_api_base", "azure_endpoint"),
    *("endpoint_url", "dimensions", "revision", "model_kwargs", "encode_kwargs"),
    *("query_instruction", "embed_instruction", "task_type"),
)
"""What an object may say of itself besides its model on which vectors depend."""


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
    args: Annotated[
        Mapping[str, Any] | None,
        optional(
            fitting(
                lambda args: isinstance(args, Mapping),
                "a mapping of arguments is expected, not {!r}",
            )
        ),
    ] = None
    batch_size: Annotated[int, whole(1)] = 64
    cache: Annotated[
        str | Path | None,
        optional(
            fitting(
                lambda path: isinstance(path, (str, Path)),
                "the path of a file is expected, not {!r}",
            )
        ),
    ] = None
    model: Annotated[str | None, optional(fitting(is_text, "a name is expected, not {!r}"))] = None
    embed_as: EmbedAs = "documents"
    normalised: bool = True
    name = "embedding"
    needs = EMBEDDINGS_AND_THRESHOLD
    asks = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_embeddings()
        if self.cache is not None and not isinstance(self.embeddings, str) and not self._named:
            raise UsageError(
                "it is kept by model, and these embeddings do not say theirs",
                field="cache",
                remedy="name it with 'model'",
            )
        if self.threshold is None:
            raise UsageError(
                "'embedding' has no default, as models differ in what they give unrelated texts",
                field="threshold",
                remedy="name one (kragx threshold calibrate finds it from labelled pairs)",
            )
        self._set(threshold=check_threshold(self.threshold))

    def _check_embeddings(self) -> None:
        embeddings = self.embeddings
        if embeddings is None:
            raise UsageError(
                "missing",
                field="embeddings",
                remedy="name a class by its import path, such as "
                "'langchain_openai:OpenAIEmbeddings', or pass an Embeddings object",
            )
        if isinstance(embeddings, str):
            kind = plugins.load(embeddings)  # made when it is needed: models are large
            if callable(kind):
                plugins.check_arguments(kind, self.args or {}, f"embeddings: {embeddings}")
        elif self.args is not None:
            raise UsageError("belong to an import path; this is an object already", field="args")
        elif not _embeds(embeddings):
            raise UsageError(
                "{embeddings} has no 'embed_documents'",
                field="embeddings",
                remedy="pass an import path 'package.module:name' or a langchain-core Embeddings",
                embeddings=shorten(embeddings),
            )

    @property
    def _named(self) -> str | None:
        """The model's name, if anything says it."""
        values = (
            (self.args or {}).get(name)
            if isinstance(self.embeddings, str)
            else getattr(self.embeddings, name, None)
            for name in _NAMES
        )
        return self.model or next(
            (value for value in values if isinstance(value, str) and value), None
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the class, the model, and what it was made with but secrets."""
        is_path = isinstance(self.embeddings, str)
        args = plugins.as_written(self._more(self.args or {}))
        settings = {
            "method": self.name,
            "embeddings": self.embeddings if is_path else plugins.path_of(type(self.embeddings)),
            "model": self._named,
            "args": args or None,
            "threshold": self.threshold,
            "embed_as": None if self.embed_as == "documents" else self.embed_as,
            "normalised": None if self.normalised else False,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def _more(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that say more than which model it is."""
        return {
            name: value
            for name, value in args.items()
            if name not in _NAMES or value != self._named
        }

    @property
    def identity(self) -> str:
        """What vectors depend on besides the text; part of the keys of the `cache`."""
        settings = self.settings
        # A model that the user has named is that model, whatever class asks it.
        names = [self.model] if self.model else [settings["embeddings"], settings.get("model")]
        args = self.args or {}
        if not isinstance(self.embeddings, str) and not self.model:
            args = plain_attributes(self.embeddings, _SAYS)
        options = plugins.without_secrets(self._more(args))
        identity = [*names, options or None, settings.get("embed_as")]
        return json.dumps(identity, sort_keys=True, ensure_ascii=False, default=repr)

    @cached_property
    def _vectors(self) -> Vectors:
        """The vectors seen so far; kept, so that a second run of the same texts is free."""
        embeddings = self.embeddings
        if isinstance(embeddings, str):
            embeddings = plugins.build(embeddings, self.args)
            if not _embeds(embeddings):
                raise UsageError(
                    "match.embeddings: {embeddings} made a {kind}, which has no 'embed_documents'",
                    embeddings=self.embeddings,
                    kind=type(embeddings).__name__,
                )
        from kragx.data.vectors import Vectors

        return Vectors(
            lambda texts: _embedded(embeddings, texts, self.embed_as),
            self.identity,
            self.batch_size,
            self.cache,
        )

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
        # Models give an empty text a vector like any other, or refuse the whole batch.
        self._vectors.of(filter(str.strip, texts))
        return iter(numbered)

    def useless(self, texts: Lists, *, gold: bool) -> Bools:
        """Those that are empty, or whose vector is zero."""
        numbers, places = np.unique(texts.numbers, return_inverse=True)
        units = self._units([texts.known[number] for number in numbers.tolist()])
        return np.array([not unit.any() for unit in units], bool)[places]

    def remedy(self, text: str) -> str:
        """Whether it is the text or the model."""
        return NO_VECTOR if text.strip() else EMPTY

    def _units(self, texts: Sequence[str]) -> Floats:
        """Their unit vectors, one below the other; zeros for an empty text."""
        vectors = self._vectors.known
        zero = np.zeros(len(next(iter(vectors.values()), ())))
        return np.array([vectors[text] if text.strip() else zero for text in texts])

    def compare(self, docs: Lists, golds: Lists) -> Floats:
        """Cosines of unit vectors, in [0, 1]."""
        cosines = [
            (self._units(texts) @ self._units(of_query).T).ravel()
            for texts, of_query in zip(docs, golds)
            if texts and of_query
        ]
        scores: Floats = np.clip(np.concatenate([*cosines, np.empty(0)]), 0, 1)
        doc, gold = of_pairs(docs.n_texts, golds.n_texts)
        # Rounding must not keep equal texts from scoring 1; a zero vector has 0.
        scores[(docs.numbers[doc] == golds.numbers[gold]) & (scores > 0)] = 1.0
        return scores


def _embeds(value: object) -> bool:
    return not isinstance(value, type) and callable(getattr(value, "embed_documents", None))


def _embedded(embeddings: Any, texts: list[str], embed_as: EmbedAs) -> Sequence[Sequence[float]]:
    """Ask for the vectors of a batch."""
    if embed_as == "queries":
        return [embeddings.embed_query(text) for text in texts]
    return embeddings.embed_documents(texts)  # type: ignore[no-any-return]
