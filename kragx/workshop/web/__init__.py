"""The workshop's page and what it asks: a small server for one machine, or one team."""
