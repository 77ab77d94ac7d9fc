"""Every format of gold sets and results, a line each, in order of recognition."""

from collections.abc import Mapping

from kragx.data.formats.format import Format
from kragx.data.formats.gold import GOLD, GOLDSET
from kragx.data.formats.other_tools import (
    AUTORAG,
    DEEPEVAL,
    LLAMAINDEX,
    PASSAGES,
    RAGAS,
    SCIENCE_QA,
)
from kragx.data.formats.trec import QRELS

FORMATS: Mapping[str, Format] = {
    reader.name: reader
    for reader in (
        *(AUTORAG, RAGAS, DEEPEVAL, LLAMAINDEX, PASSAGES, GOLDSET, GOLD, QRELS, SCIENCE_QA),
    )
}
