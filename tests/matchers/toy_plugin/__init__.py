"""A small package as a third party would write it: it imports nothing private of kragx."""
