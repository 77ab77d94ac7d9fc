"""What people and programs read: text for a terminal, HTML, Markdown, figures, CSV."""
