"""The options that say how matches are decided, with what there is to choose from."""

from typing import Annotated, Any, get_args

import typer

from kragx.app.commands.options import OF_MATCHING
from kragx.data import TOKENIZERS
from kragx.matchers import METHODS, rouge, texts


def listed(names: Any) -> str:
    """Names as help texts list them."""
    return ", ".join(names)


Match = Annotated[
    str | None,
    typer.Option(
        help=f"{listed(METHODS)}, package.module:name, a mapping as in YAML ('{{method: overlap, "
        "siblings: apart}'), or a YAML file with 'match:' (default: overlap; id for qrels)."
    ),
]
MatchSpec = Annotated[
    str | None,
    typer.Option(
        help=f"{listed(METHODS)}; a mapping as in YAML ('{{method: rouge2, measure: recall}}'); or "
        "a YAML file with 'match:' (default: the folder's own, or overlap)."
    ),
]
Measure = Annotated[
    str | None,
    typer.Option(
        help=f"Of ROUGE: {listed(get_args(rouge.Measure))} (default: fmeasure).",
        rich_help_panel=OF_MATCHING,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Least score that is a match, in (0, 1] (default 0.5).", rich_help_panel=OF_MATCHING
    ),
]
TokenizerName = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        help=f"{listed(TOKENIZERS)}, an import path, or a mapping as in YAML ('{{name: char, n: 3, "
        "spaces: ignored}') (default: auto of overlap and span, else unicode).",
        rich_help_panel=OF_MATCHING,
    ),
]
IdKey = Annotated[
    str | None,
    typer.Option(
        help="Of id: metadata key or path of a document's id.", rich_help_panel=OF_MATCHING
    ),
]
GoldIdKey = Annotated[
    str | None,
    typer.Option(
        help="Of id: the same for gold (default: as --id-key).", rich_help_panel=OF_MATCHING
    ),
]
Direction = Annotated[
    str | None,
    typer.Option(
        help=f"Of contains: {listed(get_args(texts.Direction))} (default: either).",
        rich_help_panel=OF_MATCHING,
    ),
]
Casefold = Annotated[
    bool | None,
    typer.Option(
        "--casefold",
        help="Of exact, text and contains: ignore case.",
        rich_help_panel=OF_MATCHING,
    ),
]
