"""The room `evaluation`."""
