"""Embeddings that need no model and no network: counts of character n-grams, hashed.

A real LangChain `Embeddings`, for trying the matcher `embedding` offline:

    match: {method: embedding, embeddings: "ngram_embeddings:NgramEmbeddings", threshold: 0.6}

It sees spelling, not meaning: texts are similar that share many n-grams. Use a model's embeddings
where meaning counts. To see how similar a few texts are to the first of them:

    python examples/ngram_embeddings.py
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter

from langchain_core.embeddings import Embeddings


class NgramEmbeddings(Embeddings):
    """Counts of the character n-grams of a text, each hashed to one of `dimensions` places.

    Args:
        n: how many characters an n-gram has.
        dimensions: the length of the vectors.
    """

    def __init__(self, n: int = 2, dimensions: int = 1024) -> None:
        self.n = n
        self.dimensions = dimensions

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        plain = " ".join(unicodedata.normalize("NFC", text).casefold().split())
        grams = Counter(plain[at : at + self.n] for at in range(len(plain) - self.n + 1))
        vector = [0.0] * self.dimensions
        for gram, count in grams.items():
            digest = hashlib.blake2b(gram.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            # Half of the n-grams count down, so that those which share a place cancel out.
            vector[number % self.dimensions] += count if number >> 63 else -count
        return vector


def cosine(one: list[float], other: list[float]) -> float:
    """How similar two vectors are."""
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (math.hypot(*one) * math.hypot(*other))


def main() -> list[float]:
    """Print how similar each text is to the first."""
    texts = [
        "환불은 반품 확인 뒤 영업일 기준 3일이 걸립니다.",
        "반품을 확인하면 영업일 3일 안에 환불됩니다.",
        "정수기 필터는 여섯 달마다 교체하는 것이 좋습니다.",
    ]
    first, *_ = vectors = NgramEmbeddings().embed_documents(texts)
    similar = [cosine(first, vector) for vector in vectors]
    for text, value in zip(texts, similar, strict=True):
        print(f"{value:.3f}  {text}")
    return similar


if __name__ == "__main__":
    main()
