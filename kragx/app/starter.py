"""`kragx init`: a config to start from, with a small gold set and retriever, so that it runs."""

from pathlib import Path

from kragx.data.formats.jsonl import make_folder, open_text
from kragx.errors import UsageError

CONFIG = """\
# An evaluation of retrievers. Run it with
#
#     kragx run kragx.yaml
#
# Relative paths start at this file's folder. ${NAME} is an environment variable, or one of a file
# named .env beside this one; ${here} is this folder. Editors complete and check this file with the
# schema that `kragx schema` prints.

dataset:
  path: gold.jsonl              # also CSV, Excel, Parquet, qrels, AutoRAG, ragas, LlamaIndex
  name: starter
  version: "1"                  # recorded in every result, with a hash of the content
  # columns: {query_id: No, query: Question, relevant_chunk_ids: Chunks}     # of CSV and Excel
  # corpus: corpus.jsonl        # for `kragx gold validate`: where gold texts and ids must come from
  # targets: {query_type: {lookup: 0.5, comparison: 0.5}}

retrievers:
  words:
    class: retriever:search     # a LangChain retriever, or a function from a question to documents
    # args: {k: 10}             # of a class
    # timeout: 10               # seconds; then the query counts as failed
    # retries: 2
    # on_error: stop            # end at the first failure instead of counting it
    # warmup: 3                 # questions asked first, neither counted nor timed
    # repeat: 3                 # ask each question three times; its time is the median
    # callbacks: ["my_package.tracing:Handler"]       # LangChain callback handlers
  first-two:
    class: retriever:first_two
  # last-week: {results: results/last-week/results/words.jsonl}
  # other-tool: {run: other.run}          # a TREC run

match: overlap                  # or several:  matchers: {strict: exact, loose: overlap}

metrics:                        # `kragx metrics` lists all of them
  - hit_rate@2
  - mrr@5
  - recall@5
  - ndcg@5
  - judged@2
  - seconds_p95

baseline: first-two             # what the others are compared with (default: the first)
# slices: [query_type, metadata.difficulty]        # compare within these as well
# statistics: {confidence: 0.95, resamples: 10000, seed: 0, correction: holm}
# gates:                        # `kragx run` ends with 1 if one fails
#   ndcg@5: ">= 0.75"
#   recall@5: no worse than baseline by 0.02
# earlier: results/last-week    # compare with these results, too

output: results/starter         # numbers, config, gold set and answers; `kragx report` reads it
"""

GOLD = """\
{"query_id": "q1", "query": "How long can opened software be returned?", "query_type": "lookup", \
"gold": [{"text": "Opened software can be returned within 14 days if the key is still covered."}]}
{"query_id": "q2", "query": "Who pays the postage of a faulty item?", "query_type": "lookup", \
"gold": [{"text": "The shop pays the postage of a faulty item."}]}
{"query_id": "q3", "query": "Do gift cards expire?", "query_type": "lookup", \
"gold": [{"text": "Gift cards do not expire."}]}
"""

RETRIEVER = '''\
"""Two retrievers to start from; put yours in their place."""

TEXTS = [
    "Returns: opened software can be returned within 14 days if the key is still covered.",
    "Faulty items: the shop pays the postage of a faulty item, in both directions.",
    "Gift cards do not expire. They can be used in parts.",
    "Delivery takes two days, to islands four.",
]


def search(question):
    """The texts that share words with the question, most first."""
    words = set(question.lower().strip("?").split())
    shared = {text: len(words & set(text.lower().split())) for text in TEXTS}
    return [text for text in sorted(TEXTS, key=shared.get, reverse=True) if shared[text]]


def first_two(question):
    """A baseline that every retriever should beat."""
    return TEXTS[:2]
'''

FILES = {"kragx.yaml": CONFIG, "gold.jsonl": GOLD, "retriever.py": RETRIEVER}


def write_starter(folder: Path) -> list[Path]:
    """Write the starter's files; nothing that is there is replaced.

    Raises:
        UsageError: one of them is there already, or the folder cannot be written.
    """
    paths = [folder / name for name in FILES]
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise UsageError(f"{', '.join(there)}: already there; name another folder, or move it away")
    make_folder(folder)
    for path, text in zip(paths, FILES.values()):
        with open_text(path) as file:
            file.write(text)
    return paths
