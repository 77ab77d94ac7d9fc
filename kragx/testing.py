"""For your own tests: a judge's client that answers from a script."""

from kragx.judging.clients.scripted import Reply, ScriptedClient

__all__ = ["Reply", "ScriptedClient"]
