"""Gold on a corpus that was chunked anew, or edited."""
