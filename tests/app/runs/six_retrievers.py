"""Six retrievers over 36 questions, of which two fail and one finds nothing."""

from __future__ import annotations

import json
from pathlib import Path

SOURCE = """
import time
from langchain_core.documents import Document

def documents(question, share):
    n = int(question.split()[-1])
    hit = Document(f"The rule of case {n} is number {n * n + 7}.", id=f"d{n}")
    others = [Document(f"Another page, {n + k}.", id=f"x{n + k}") for k in range(2)]
    return [hit, others[0]] if n * 7 % 20 < share * 20 else others

def dead(question):
    raise ConnectionError("no index at localhost:9200")

def slow(question):
    if int(question.split()[-1]) % 3 == 0:
        time.sleep(2)
    return documents(question, 1)

def pairs(question):
    return [(doc, 1 / rank) for rank, doc in enumerate(documents(question, 0.5), start=1)]

def nothing(question):
    return []

def good(question):
    return documents(question, 0.9)

def fair(question):
    return documents(question, 0.45)

def once(question):
    if question.endswith(" 4"):
        return "rule 4"
    return documents(question, 0.9)
"""

RETRIEVERS = {
    "dead": "half_dozen:dead",
    "slow": {"class": "half_dozen:slow", "timeout": 0.5, "concurrency": 6},
    "pairs": "half_dozen:pairs",
    "nothing": "half_dozen:nothing",
    "good": "half_dozen:good",
    "fair": "half_dozen:fair",
}


def write(folder: Path, retrievers: object = RETRIEVERS, **config: object) -> Path:
    """Write gold set, retrievers and config; gives the config's path."""
    gold = [
        {
            "query_id": f"q{n}",
            "query": f"what is the rule of case {n}",
            "gold": [{"id": f"d{n}", "text": f"The rule of case {n} is number {n * n + 7}."}],
            "query_type": ["lookup", "policy"][n % 2],
        }
        for n in range(36)
    ]
    (folder / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)), encoding="utf-8")
    (folder / "half_dozen.py").write_text(SOURCE, encoding="utf-8")
    defaults = {
        "dataset": "gold.jsonl",
        "retrievers": retrievers,
        "match": "id",
        "metrics": ["hit_rate@2", "mrr@2"],
        "statistics": {"resamples": 2000},
        "output": "out",
        "html": False,
    }
    path = folder / "six.yaml"  # JSON is YAML
    path.write_text(json.dumps(defaults | config), encoding="utf-8")
    return path
