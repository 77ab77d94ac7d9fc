"""A gold set's life: made, judged by people in a browser, released, moved to another chunking.

See docs/workshop.md and docs/chunking.md.
"""
