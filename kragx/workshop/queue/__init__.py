"""What a person is shown next, and when the comparison is decided."""
