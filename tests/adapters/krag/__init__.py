"""The room `krag`: K-RAG's API and numbers."""
