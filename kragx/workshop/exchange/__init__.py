"""Questions and judgements out of a workshop and back, for spreadsheets and other tools."""
