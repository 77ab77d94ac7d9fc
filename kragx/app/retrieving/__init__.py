"""From the retrievers of a config to their runs; what was answered before may be taken over.

An answer is taken over only where its `fingerprint` is the same.
"""
