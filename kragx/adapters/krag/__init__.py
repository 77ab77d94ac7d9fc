"""K-RAG's names over kragx; there is no arithmetic here."""
