"""What people and programs read: text for a terminal, HTML for a notebook, JSON and CSV files."""
