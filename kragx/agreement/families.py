"""Which family a model belongs to, by its name: a judge may favour what its own kin wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    "OpenAI GPT": r"gpt|chatgpt|o[1345](?:-|$)|davinci",
    "Anthropic Claude": r"claude",
    "Google Gemini and Gemma": r"gemini|gemma|palm",
    "Meta Llama": r"llama|vicuna|alpaca",
    "Alibaba Qwen": r"qwen|qwq|gte",
    "Mistral": r"mistral|mixtral|ministral|magistral",
    "DeepSeek": r"deepseek",
    "Cohere": r"command|cohere|rerank-(?:v|english|multilingual)|aya",
    "Microsoft Phi": r"phi(?:-|\d)",
    "LG EXAONE": r"exaone",
    "Upstage Solar": r"solar",
    "Naver HyperCLOVA": r"hyperclova|hcx",
    "Kakao Kanana": r"kanana",
    "SK A.X": r"a\.x",
    "BAAI BGE": r"bge",
    "IBM Granite": r"granite",
    "xAI Grok": r"grok",
    "Zhipu GLM": r"glm|chatglm",
    "Moonshot Kimi": r"kimi|moonshot",
}
"""Names at the start of a part of a model's name, by family."""


def family(model: str) -> str | None:
    """The family of a model; None if its name is of no known one.

    >>> family("azure/gpt-4.1-mini"), family("Qwen/Qwen3-Reranker-4B"), family("my-model")
    ('OpenAI GPT', 'Alibaba Qwen', None)
    """
    for name, pattern in FAMILIES.items():
        if re.search(rf"(?:^|[^a-z0-9])(?:{pattern})", model.lower()):
            return name
    return None


def kinship(judge: str, others: Mapping[str, str]) -> list[str]:
    """What to warn of: a judge of the same family as something it judges, or one that is not known.

    Args:
        judge: the judge's model.
        others: models by their part: ``{"reranker": ..., "generator": ...}``.
    """
    own = family(judge)
    found = []
    for part, model in others.items():
        theirs = family(model)
        if judge == model or (own is not None and own == theirs):
            found.append(
                f"judge {judge!r} and {part} {model!r} are of one family"
                f"{'' if own is None else f' ({own})'}: it may favour its own kin, so use a judge "
                "of another family"
            )
        elif own is None or theirs is None:
            unknown = judge if own is None else model
            found.append(
                f"whether judge {judge!r} and {part} {model!r} are of one family is not known: "
                f"kragx does not know {unknown!r}"
            )
    return found
