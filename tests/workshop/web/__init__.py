"""The workshop's server, over the loopback."""
