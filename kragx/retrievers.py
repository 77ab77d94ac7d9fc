"""K-RAG's module of retrievers: BM25, K-RAG's BM25, rank fusion, and chunks to search."""

from kragx.evaluation.retrievers import BM25Retriever, ReciprocalRankFusion, chunked, fuse
from kragx.krag.retrievers import KiWiBM25RetrieverWithScore

__all__ = ["BM25Retriever", "KiWiBM25RetrieverWithScore", "ReciprocalRankFusion", "chunked", "fuse"]
