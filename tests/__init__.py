"""The tests of kragx; their folders are its rooms."""
