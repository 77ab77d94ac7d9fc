"""What a document and a gold text share, as a share of the one, the other, both or either."""

from typing import Literal

import numpy as np

from kragx.metrics import Floats, Ints

Measure = Literal["fmeasure", "precision", "recall", "overlap"]
Of = Literal["either", "chunk", "gold"]


def shared_part(
    measure: Measure | Of,
    in_doc: Ints | Floats,
    in_gold: Ints | Floats,
    doc_sizes: Ints | Floats,
    gold_sizes: Ints | Floats,
) -> Floats:
    """What is shared of pairs of a document and a gold text, as a share of the sizes that count.

    The arrays have one shape, or such as numpy makes one of.

    Args:
        measure: whose share counts, in the words of ROUGE or of spans.
        in_doc: how much of each document is shared.
        in_gold: how much of each gold text is.
        doc_sizes: the sizes of the documents: whole numbers, maybe 0.
        gold_sizes: those of the gold texts.
    """
    # The order of operations is rouge-score's, so that the results are the same floats.
    of_doc = in_doc / np.maximum(doc_sizes, 1)
    of_gold = in_gold / np.maximum(gold_sizes, 1)
    match measure:
        case "precision" | "chunk":
            return of_doc
        case "recall" | "gold":
            return of_gold
        case "overlap" | "either":
            return np.maximum(of_doc, of_gold)
        case "fmeasure":
            total = of_doc + of_gold
            return 2 * of_doc * of_gold / np.where(total > 0, total, 1.0)
