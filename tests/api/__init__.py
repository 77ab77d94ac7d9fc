"""The one call: one retriever, or several that are compared."""
