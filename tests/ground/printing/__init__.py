"""What people read: languages, notebooks, progress."""
