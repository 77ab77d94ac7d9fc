"""Did a change make retrieval better, from labels of the documents that came or went alone."""
