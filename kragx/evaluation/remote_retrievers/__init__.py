"""Retrievers that are no Python: a server that is asked by HTTP, a program by its command.

Each is made of plain options, in Python and in configs alike, and is asked as any retriever is.
"""

from kragx.evaluation.remote_retrievers.command import CommandRetriever
from kragx.evaluation.remote_retrievers.http import HttpRetriever

__all__ = ["CommandRetriever", "HttpRetriever"]
