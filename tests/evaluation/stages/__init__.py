"""Stages of chains: what each step returned, and which one loses the gold."""
