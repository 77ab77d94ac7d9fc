"""The one call: `evaluate` of one retriever, or of several that are compared."""
