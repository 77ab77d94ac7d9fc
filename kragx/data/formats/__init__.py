"""Every format of gold sets and results, one file and one line each, in order of recognition."""

from __future__ import annotations

from collections.abc import Mapping

from kragx.data.formats.autorag import AutoragFormat
from kragx.data.formats.format import Format
from kragx.data.formats.gold import GoldFormat
from kragx.data.formats.goldset import GoldsetFormat
from kragx.data.formats.llamaindex import LlamaindexFormat
from kragx.data.formats.ragas import RagasFormat
from kragx.data.formats.science_qa import ScienceQaFormat
from kragx.data.formats.trec import QrelsFormat

FORMATS: Mapping[str, Format] = {
    reader.name: reader
    for reader in (
        AutoragFormat(),
        RagasFormat(),
        LlamaindexFormat(),
        GoldsetFormat(),
        GoldFormat(),
        QrelsFormat(),
        ScienceQaFormat(),
    )
}
