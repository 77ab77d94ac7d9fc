"""Documents, gold sets and runs, the files that hold them, and how texts become tokens."""
