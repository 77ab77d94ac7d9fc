"""What must not be found, told of what was retrieved."""
