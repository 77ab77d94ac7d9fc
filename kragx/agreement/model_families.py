"""Which family a model belongs to, by its name: a judge may favour what its own kin wrote."""

import re
from collections.abc import Iterator, Mapping

from kragx.printing import phrase

FAMILIES: Mapping[str, str] = {
    "OpenAI GPT": r"gpt(?!-?neo|-?j|4all)|chatgpt|o[1345](?:-|$)|davinci",
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


def families(model: str) -> tuple[str, ...]:
    """The families of a model, two for a distilled one; none if its name is of no known one.

    >>> families("azure/gpt-4.1-mini"), families("deepseek-r1-distill-qwen-7b"), families("mine")
    (('OpenAI GPT',), ('Alibaba Qwen', 'DeepSeek'), ())
    """
    return tuple(
        name
        for name, pattern in FAMILIES.items()
        if re.search(rf"(?:^|[^a-z0-9])(?:{pattern})", model.lower())
    )


def kinship(judge: str, others: Mapping[str, str]) -> Iterator[str]:
    """What to warn of: a judge of the same family as something it judges, or one that is not known.

    Args:
        judge: the judge's model.
        others: models by their part: ``{"reranker": ..., "generator": ...}``.
    """
    for part, model in others.items():
        names = {"judge": judge, "part": part, "model": model}
        shared = [name for name in families(judge) if name in families(model)]
        if judge == model or shared:
            yield phrase(
                "judge {judge!r} and {part} {model!r} are of one family ({family}): it may favour "
                "its own kin, so use a judge of another family"
                if shared
                else "judge {judge!r} and {part} {model!r} are of one family: it may favour its "
                "own kin, so use a judge of another family",
                **names,
                family=next(iter(shared), ""),
            )
        elif unknown := [name for name in (judge, model) if not families(name)]:
            yield phrase(
                "whether judge {judge!r} and {part} {model!r} are of one family is not known: "
                "kragx does not know {unknown!r}",
                **names,
                unknown=unknown[0],
            )
