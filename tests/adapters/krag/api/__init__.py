"""Tests of what bears K-RAG's names: documents, retrievers, helpers for notebooks, charts."""
