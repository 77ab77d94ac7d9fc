"""Calls: what an agent or a chain calls for one question, heard while it runs or read from a log.

An agent's outermost calls of tools and retrievers are its searches, what happens within them is
their stages.
"""
