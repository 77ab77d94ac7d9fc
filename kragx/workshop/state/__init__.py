"""What a workshop holds: its tables, records, and what they come to, folded."""
