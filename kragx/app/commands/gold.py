"""A gold set's life: validate."""

from kragx.app.commands import options as opt
from kragx.app.commands.gold_validate import validate

gold = opt.group("gold", __doc__)


@gold.callback()
def _gold() -> None:
    """Keep `validate` a name, although it is the only command yet."""


gold.command()(validate)
