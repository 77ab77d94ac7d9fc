"""Gold moves to another corpus: where is each gold text now, and how much of it was edited?

Texts are compared as `letters`. A gold text, with what stood around it, is looked for by its rarer
letters in one pass over the new corpus (`search`) and laid beside what stands there (`places`).
Which place is its own `choosing` says; `rebuild` makes gold of it again.
"""

from kragx.workshop.moving.move import Move, Moved, Placed, move, undecided_file

__all__ = ["Move", "Moved", "Placed", "move", "undecided_file"]
