"""Documents, gold sets and runs, the files that hold them, and how texts become tokens."""

from kragx.data.corpus import NO_CORPUS, Corpus, Lacking, as_corpus, read_corpus
from kragx.data.documents import Doc, as_docs, clean_number, score_record, value_at
from kragx.data.facts import Fact, facts_of, unreviewed
from kragx.data.gold import Gold, GoldDataset, Query, hash_of, query_hash
from kragx.data.reading import (
    is_source,
    nothing_retrieved,
    read_dataset,
    read_gold,
    read_results,
    read_rows,
    read_run,
    read_runs,
)
from kragx.data.runs import Retrieved, Run, Status, rank_by_score, timed_out
from kragx.data.source import Reading
from kragx.data.text import (
    Mender,
    file_names,
    look_alikes,
    normalise,
    plain_number,
    told_apart,
)
from kragx.data.tokenizers import (
    TOKENIZERS,
    FunctionTokenizer,
    KragTokenizer,
    Tokenizer,
    UnicodeTokenizer,
    WhitespaceTokenizer,
    describe,
    tokenizer,
)
from kragx.data.tokens import TokenCorpus

__all__ = [
    "NO_CORPUS",
    "TOKENIZERS",
    "Corpus",
    "Doc",
    "Fact",
    "FunctionTokenizer",
    "Gold",
    "GoldDataset",
    "KragTokenizer",
    "Lacking",
    "Mender",
    "Query",
    "Reading",
    "Retrieved",
    "Run",
    "Status",
    "TokenCorpus",
    "Tokenizer",
    "UnicodeTokenizer",
    "WhitespaceTokenizer",
    "as_corpus",
    "as_docs",
    "clean_number",
    "describe",
    "facts_of",
    "file_names",
    "hash_of",
    "is_source",
    "look_alikes",
    "normalise",
    "nothing_retrieved",
    "plain_number",
    "query_hash",
    "rank_by_score",
    "read_corpus",
    "read_dataset",
    "read_gold",
    "read_results",
    "read_rows",
    "read_run",
    "read_runs",
    "score_record",
    "timed_out",
    "tokenizer",
    "told_apart",
    "unreviewed",
    "value_at",
]
