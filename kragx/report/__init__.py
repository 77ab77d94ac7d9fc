"""What people read that is more than a printed table: the HTML page, figures, Markdown, CSV."""
