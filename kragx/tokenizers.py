"""K-RAG's module of tokenizers, with all the others."""

from kragx.data.tokenizers import (
    CharTokenizer as CharTokenizer,
    KiwiTokenizer as KiwiTokenizer,
    RougeTokenizer as RougeTokenizer,
    Tokenizer as Tokenizer,
    UnicodeTokenizer as UnicodeTokenizer,
    WhitespaceTokenizer as WhitespaceTokenizer,
    tokenizer as tokenizer,
)
