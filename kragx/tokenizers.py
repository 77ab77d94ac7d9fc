"""K-RAG's module of tokenizers, with all the others."""

from kragx.data.tokenizers import (
    CharTokenizer,
    KiwiTokenizer,
    RougeTokenizer,
    Tokenizer,
    UnicodeTokenizer,
    WhitespaceTokenizer,
    tokenizer,
)

__all__ = ["CharTokenizer", "KiwiTokenizer", "RougeTokenizer", "Tokenizer", "UnicodeTokenizer"]
__all__ += ["WhitespaceTokenizer", "tokenizer"]
