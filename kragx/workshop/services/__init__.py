"""What the page may ask of a workshop, by subject; everything is checked here, nothing is of HTTP.

Each service holds the `Context` that all share, and none knows another. Methods are called by
several threads; each holds the state while it reads and writes.
"""
