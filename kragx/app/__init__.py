"""What people start: the command, config files, runs and the folders that they leave behind."""
