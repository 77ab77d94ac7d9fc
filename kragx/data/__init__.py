"""Documents, gold sets and runs, the files that hold them, and how texts become tokens."""

from kragx.data.corpus import (
    NO_CORPUS as NO_CORPUS,
    Corpus,
    Lacking as Lacking,
    LackingError as LackingError,
    as_corpus as as_corpus,
    read_corpus,
)
from kragx.data.documents import (
    Doc,
    as_docs as as_docs,
    clean_number as clean_number,
    score_record as score_record,
    value_at as value_at,
)
from kragx.data.facts import Fact, facts_of as facts_of, unreviewed as unreviewed
from kragx.data.forbidden import Forbidden
from kragx.data.gold import (
    Gold,
    GoldDataset,
    Query,
    Turn,
    hash_of as hash_of,
    query_hash as query_hash,
)
from kragx.data.reading import (
    is_source as is_source,
    named_twice as named_twice,
    names_apart as names_apart,
    nothing_retrieved as nothing_retrieved,
    read_dataset,
    read_gold,
    read_results,
    read_rows,
    read_run,
    read_runs,
)
from kragx.data.runs import (
    RUNS_OR_REPEAT as RUNS_OR_REPEAT,
    Retrieved,
    Run,
    Status,
    every_run as every_run,
    run_names as run_names,
    timed_out as timed_out,
)
from kragx.data.searches import Search, Searches, Stage, last_stages as last_stages
from kragx.data.source import Reading as Reading
from kragx.data.text import (
    SurrogateRepair as SurrogateRepair,
    file_names as file_names,
    id_difference as id_difference,
    look_alikes as look_alikes,
    normalise as normalise,
    plain_number as plain_number,
)
from kragx.data.tokenizers import (
    TOKENIZERS,
    FunctionTokenizer as FunctionTokenizer,
    KragTokenizer as KragTokenizer,
    Tokenizer,
    UnicodeTokenizer as UnicodeTokenizer,
    WhitespaceTokenizer as WhitespaceTokenizer,
    describe as describe,
    tokenizer,
)
from kragx.data.tokens import TokenCorpus as TokenCorpus

__all__ = [
    "TOKENIZERS",
    "Corpus",
    "Doc",
    "Fact",
    "Forbidden",
    "Gold",
    "GoldDataset",
    "Query",
    "Retrieved",
    "Run",
    "Search",
    "Searches",
    "Stage",
    "Status",
    "Tokenizer",
    "Turn",
    "read_corpus",
    "read_dataset",
    "read_gold",
    "read_results",
    "read_rows",
    "read_run",
    "read_runs",
    "tokenizer",
]
