"""Text as it is, on a page that would read more into it."""

import html
from pathlib import Path

# JupyterLab looks for formulas in every HTML output, but not across the tags of one.
_OF_FORMULAS = {ord(sign): f"<span>{sign}</span>" for sign in "$\\"}


# What a page lacks for people who use a keyboard or a screen reader; of what calls it, it needs `element`.
NAMES = (Path(__file__).parent / "names.js").read_text(encoding="utf-8")


def literal(text):
    """HTML that shows the text letter by letter: no tag in it works, and `$x$` is a token like any other."""
    return html.escape(printable(text)).translate(_OF_FORMULAS)


def printable(text):
    """The text with a question mark for what can't be sent, half of a pair of surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
