"""Retrievers: servers and programs, BM25, K-RAG's BM25, rank fusion, and chunks to search."""

from kragx.adapters.krag.retrievers import KiWiBM25RetrieverWithScore
from kragx.evaluation.remote_retrievers import CommandRetriever, HttpRetriever
from kragx.evaluation.retrievers import BM25Retriever, ReciprocalRankFusion, chunked, fuse

__all__ = ["BM25Retriever", "CommandRetriever", "HttpRetriever", "KiWiBM25RetrieverWithScore"]
__all__ += ["ReciprocalRankFusion", "chunked", "fuse"]
