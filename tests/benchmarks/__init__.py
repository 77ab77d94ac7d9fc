"""Speed and memory of kragx beside its peers and beside bare floors; not part of a normal run."""
