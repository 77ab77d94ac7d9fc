"""Gold moves to another corpus: where is each gold text now, and how much of it was edited?

Texts are compared as `letters`. What is looked for is a gold text with what stood around it
(`probes`); one pass over the new corpus finds where its rarer letters are (`search`) and lays it
beside what stands there (`alignment`). Which of these `places` is its own, and whether it is whole
there, is said in `choosing`; `rebuild` makes gold of it again.
"""

from kragx.workshop.moving.move import Move, Moved, Placed, move, undecided_file

__all__ = ["Move", "Moved", "Placed", "move", "undecided_file"]
