"""The command `kragx`: arguments are read here, the work is done elsewhere."""
