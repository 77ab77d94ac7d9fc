"""The page of one result: its own lines and tables, in both languages, without a script."""

from html import escape
from pathlib import Path

from kragx.data.formats.jsonl import open_text
from kragx.ground.languages import LANGUAGES
from kragx.ground.printing import Result, in_language, phrase, speaking, visible
from kragx.ground.printing.notebook import as_html
from kragx.ground.printing.phrases import asked_language
from kragx.report.html_page.page import part

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_result_html(result: Result, path: str | Path, *, language: str | None = None) -> None:
    """Write a result as one HTML file that opens offline, with its numbers as they are printed.

    Args:
        result: it describes itself.
        path: the file.
        language: in which the page begins; None for the one that results are shown in.

    Raises:
        UsageError: the file cannot be written.
    """
    begins = asked_language(language) or LANGUAGES[0]
    texts = [_in(name, result) for name in LANGUAGES]
    choices = [_choice(name, is_chosen=name == begins) for name in LANGUAGES]
    with open_text(path) as file:
        file.write(
            f'<!doctype html>\n<html lang="{begins}">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>kragx</title>\n<style>{part('style.css')}{part('result.css')}</style>\n</head>\n<body>\n"
            f"<header>{''.join(choices)}</header>\n{''.join(texts)}\n</body>\n</html>\n"
        )


def _in(language: str, result: Result) -> str:
    with speaking(language):
        title = escape(visible(in_language(phrase("Corrected by people's labels"))))
        return (
            f'<div lang="{language}"><h1>{title}</h1>'
            f'<main tabindex="0" aria-label="{title}">{as_html(result.describe())}</main></div>'
        )


def _choice(language: str, *, is_chosen: bool) -> str:
    # A radio button and the style switch the language: the page has no script.
    checked = " checked" if is_chosen else ""
    name = escape(in_language(phrase("English"), language))  # each catalogue names its language
    return (
        f'<input class="language" type="radio" name="language" id="{language}"{checked}>'
        f'<label for="{language}">{name}</label>'
    )
