"""What other tools call metrics, in kragx's words; and what is meant by names that nobody has.

ir_measures writes ``P(rel=2)@5``, ranx ``precision@5-l2``, trec_eval and pytrec_eval ``P_5``. A
name is read by its tool's definition, whatever the profile, and printed as it was written.
"""

import re

from kragx.ground.messages import Message
from kragx.ground.printing import message

_IR_MEASURES = {
    **dict.fromkeys(("P", "Precision"), ("precision", "k")),
    **dict.fromkeys(("R", "Recall"), ("recall", "k")),
    **dict.fromkeys(("RR", "MRR"), ("mrr", "")),
    **dict.fromkeys(("AP", "MAP"), ("map", "")),
    **dict.fromkeys(("nDCG", "NDCG"), ("ndcg", "")),
    **dict.fromkeys(("Rprec", "RPrec"), ("r_precision", "")),
    **dict.fromkeys(("Bpref", "BPref"), ("bpref", "")),
    "Success": ("hit_rate", "k"),
    "Judged": ("judged", ""),
    "ERR": ("err", ""),
    "RBP": ("rbp", "rel"),
    "SetP": ("precision", ""),
    "SetR": ("recall", ""),
    "SetF": ("f1", ""),
}
"""ir_measures' names and kragx's, with what must be given there; without it a name is kragx's."""

_IR_OPTIONS = {
    "dcg=log2": "gain=linear",
    "dcg=exp-log2": "gain=exp2",
    # What these say is what kragx's metrics do anyway.
    "beta=1.0": "",
    "judged_only=False": "",
}
_IR_OPTION = re.compile(r"\s*(rel|p|dcg|beta|judged_only|cutoff)\s*=\s*['\"]?([^'\"]+?)['\"]?\s*")
_IR_MEASURE = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<k>[0-9]+))?")

_RANX = {"r-precision": ("r_precision", ""), "ndcg_burges": ("ndcg", "gain=exp2")}
_RANX_METRIC = re.compile(r"(?P<name>[a-z][a-z0-9_-]*?)(?:@(?P<k>[0-9]+))?(?:-l(?P<rel>[0-9]+))?")

_TREC_CUT = {
    "P": "precision",
    "recall": "recall",
    "success": "hit_rate",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
}
_TREC = {
    "recip_rank": "mrr",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1(over=retrieved)",
}
"""Without those that are kragx's as well: map, ndcg and bpref."""
_TREC_MEASURE = re.compile(rf"(?P<name>{'|'.join(_TREC_CUT)})[_.](?P<k>[0-9]+)")

BY_DOCUMENT = ("precision", "mrr", "hit_rate")
"""What other tools make of relevant documents, and so does kragx, whoever matched their gold."""


def in_kragx_words(text: str) -> str:
    """A metric string of another tool in kragx's words; others are as they were.

    >>> in_kragx_words("nDCG(dcg='exp-log2')@10"), in_kragx_words("map_cut_10")
    ('ndcg@10(gain=exp2)', 'map@10')
    """
    written = text.strip()
    return trec_words(written) or _of_ir_measures(written) or _of_ranx(written) or text


def trec_words(text: str) -> str | None:
    """What trec_eval's name is in kragx's words; None for any other."""
    cut = _TREC_MEASURE.fullmatch(text)
    return f"{_TREC_CUT[cut['name']]}@{cut['k']}" if cut else _TREC.get(text)


def _of_ir_measures(text: str) -> str | None:
    measure = _IR_MEASURE.fullmatch(text)
    if measure is None or measure["name"] not in _IR_MEASURES:
        return None
    name, need = _IR_MEASURES[measure["name"]]
    parts = filter(None, (measure["options"] or "").split(","))
    matches = [_IR_OPTION.fullmatch(part) for part in parts]
    options = {match[1]: match[2] for match in matches if match}
    k = measure["k"] or options.pop("cutoff", None)
    # Bare, with kragx's options, or without what the tool demands, it may be kragx's own name in
    # other letters, which is kragx's.
    is_own = measure["name"].lower() == name and not options
    if is_own or None in matches or (need and not (k if need == "k" else need in options)):
        return None
    pairs = ("=".join(option) for option in options.items())
    return _words(name, k, *(_IR_OPTIONS.get(pair, pair) for pair in pairs))


def _of_ranx(text: str) -> str | None:
    metric = _RANX_METRIC.fullmatch(text)
    if metric is None or (metric["name"] not in _RANX and metric["rel"] is None):
        return None
    name, option = _RANX.get(metric["name"], (metric["name"], ""))
    return _words(name, metric["k"], option, rel=metric["rel"])


def _words(name: str, k: str | None, *options: str, rel: str | None = None) -> str:
    arguments = ", ".join(filter(None, (*options, rel and f"rel={rel}")))
    return f"{name}{'' if k is None else f'@{k}'}" + (f"({arguments})" if arguments else "")


_MEANINGS = {
    "map": "ap averageprecision meanaverageprecision setap setmap mapcut gmap retrievalmap",
    "map@5(norm=hits)": "contextualprecision",
    "precision@5": "p prec precisionatk relativep setrelp iprec interpolatedprecisionatrecall",
    "precision_judged@5": "contextualrelevancy contextrelevancy answercontextrelevance",
    "precision(over=retrieved)": "retrievalprecision",
    "recall@5": "r rec contextualrecall recallatk strecall retrievalrecall",
    "f1(over=retrieved)": "retrievalf1",
    "f1@5": "f1score f1measure fscore fmeasure",
    "coverage@5": "retrievaltokenrecall",
    "density@5": "retrievaltokenprecision",
    "iou@5": "retrievaltokenf1",
    "mrr": "rr reciprocalrank meanreciprocalrank retrievalmrr",
    "hit_rate@5": "hit success hitratio hr accuracy acc topkaccuracy",
    "hits@5": "numret numrelret numrel",
    "ndcg@10": "dcg dcgburges cg gain sdcg alphandcg alphadcg ndcgburges ndcgcut ndcgrel rndcg g "
    "retrievalndcg",
    "err@10": "nerr nerr8 nerr9 nerr10 nerr11 erria nerria expectedreciprocalrank",
    "rbp": "rankbiasedprecision inst insq bpm nrbp nnrbp",
    "bpref": "infap binarypreference compat gmbpref",
    "r_precision": "rprec rprecision rprecmult precisionatr",
    "seconds_p95": "latency latencyp95 p95latency p95 time responsetime",
    "context_completeness": "nuggetrecall contextentitiesrecall factrecall",
}


_BY_HITS = message(
    "for ragas' metric write 'map(norm=hits)', or 'map', in which gold that is missed counts; "
    "match: llm has a model judge"
)
_RECALL = message(
    "for ragas' metric write 'recall', with match: llm to have a model judge, or "
    "'context_completeness' with facts_match: nuggets"
)
_ANSWERS = message("it judges answers, and kragx evaluates retrieval alone; stay with ragas for it")

_REMEDIES = {
    "context_precision context_utilization llm_context_precision_with_reference "
    "llm_context_precision_without_reference non_llm_context_precision_with_reference": _BY_HITS,
    "context_recall llm_context_recall context_entity_recall": _RECALL,
    "non_llm_context_recall": message("for ragas' metric write 'recall'"),
    "id_based_context_precision": message("for ragas' metric write 'precision', with match: id"),
    "id_based_context_recall": message("for ragas' metric write 'recall', with match: id"),
    "faithfulness faithfulness_with_hhem answer_relevancy answer_relevance response_relevancy "
    "answer_correctness answer_similarity semantic_similarity factual_correctness "
    "noise_sensitivity response_groundedness answer_accuracy groundedness hallucination bleu rouge "
    "bert_score": _ANSWERS,
}
_HINTS = {
    **{
        name: message("perhaps you meant {name!r}?", name=meant)
        for meant, names in _MEANINGS.items()
        for name in names.split()
    },
    **{
        name.replace("_", ""): remedy
        for names, remedy in _REMEDIES.items()
        for name in names.split()
    },
}


def remedy_for(name: str) -> Message | None:
    """A hint of what is meant by a metric's or class's name of other tools; None for any other."""
    return _HINTS.get(re.sub(r"[^a-z0-9]", "", name.lower()))
