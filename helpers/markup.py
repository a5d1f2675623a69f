"""Text as it is, on a page that would read more into it."""

import html

# JupyterLab looks for formulas in every HTML output, but not across the tags of one.
_OF_FORMULAS = {ord(sign): f"<span>{sign}</span>" for sign in "$\\"}


def literal(text):
    """HTML that shows the text letter by letter: no tag in it works, and `$x$` is a token like any other."""
    return html.escape(printable(text)).translate(_OF_FORMULAS)


def printable(text):
    """The text with a question mark for what can't be sent, half of a pair of surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
