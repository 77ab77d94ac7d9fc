"""The room `app`: commands, configs, runs and folders."""
