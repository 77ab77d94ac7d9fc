"""Work in parts."""
