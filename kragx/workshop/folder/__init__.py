"""The folder of a workshop: made, filled, opened, and who has a link to it."""
