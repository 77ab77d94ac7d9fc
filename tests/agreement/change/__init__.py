"""Labels where they are needed alone."""
