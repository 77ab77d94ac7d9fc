"""Gold moves to another corpus: where is each gold text now, and how much of it was edited?

Texts are compared as letters, in blocks of a corpus (`blocks`). What is looked for is a gold text
with what stood around it (`probes`); one pass over the new corpus finds where its rarer letters are
and lays it beside what stands there (`places`). Which of these places is its own, and what it
becomes there, is said in `choosing`; `rebuild` makes gold of it again, and `move` tells of it.
"""

from kragx.workshop.moving.choosing import Moved, Placed
from kragx.workshop.moving.move import Move, move, undecided_file

__all__ = ["Move", "Moved", "Placed", "move", "undecided_file"]
