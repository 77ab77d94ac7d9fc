"""A gold set's life: start, questions, from-logs, probes, release, move, import, diff."""

from kragx.app.commands.command import Commands, group
from kragx.app.commands.gold_diff import diff
from kragx.workshop.commands.gold_exchange import export, import_
from kragx.workshop.commands.gold_from_logs import from_logs
from kragx.workshop.commands.gold_move import move
from kragx.workshop.commands.gold_probes import probes
from kragx.workshop.commands.gold_questions import questions
from kragx.workshop.commands.gold_release import release
from kragx.workshop.commands.gold_start import start
from kragx.workshop.commands.gold_validate import validate

gold: Commands = group("gold", __doc__)
gold.command()(start)
gold.command()(questions)
gold.command("from-logs")(from_logs)
gold.command()(probes)
gold.command()(release)
gold.command()(move)
gold.command()(export)
gold.command("import")(import_)
gold.command()(validate)
gold.command()(diff)
