"""K-RAG's module of tokenizers, with all the others."""

from kragx.data.tokenizers import CharTokenizer as CharTokenizer
from kragx.data.tokenizers import KiwiTokenizer as KiwiTokenizer
from kragx.data.tokenizers import RougeTokenizer as RougeTokenizer
from kragx.data.tokenizers import Tokenizer as Tokenizer
from kragx.data.tokenizers import UnicodeTokenizer as UnicodeTokenizer
from kragx.data.tokenizers import WhitespaceTokenizer as WhitespaceTokenizer
from kragx.data.tokenizers import tokenizer as tokenizer
