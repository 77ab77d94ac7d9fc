"""One run, one matcher, its numbers: from what was retrieved to an `Evaluation`."""
