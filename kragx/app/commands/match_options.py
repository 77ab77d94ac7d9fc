"""The options that say how matches are decided, with what there is to choose from."""

from typing import Annotated

import typer

from kragx.app.commands.options import OF_MATCHING
from kragx.matchers import METHODS

Match = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(METHODS)}, package.module:name, a mapping with its options as in YAML "
        "('{method: rouge2, measure: recall}'), or a YAML file with 'match:' (default: overlap; id "
        "for qrels)."
    ),
]
MatchSpec = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(METHODS)}; a mapping as in YAML ('{{method: rouge2, measure: recall}}'); "
        "or a YAML file with 'match:' (default: the folder's own, or overlap)."
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Least score that is a match, in (0, 1] (default 0.5).", rich_help_panel=OF_MATCHING
    ),
]
