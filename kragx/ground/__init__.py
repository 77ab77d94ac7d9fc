"""What every room needs: messages, errors, import paths, secrets, printing."""
