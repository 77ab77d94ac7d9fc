"""Questions and judgements out of a workshop and back, for spreadsheets and other tools."""

from kragx.workshop.exchange.exporting import Exported, ExportSource, export_file
from kragx.workshop.exchange.importing import Imported, import_file

__all__ = ["ExportSource", "Exported", "Imported", "export_file", "import_file"]
