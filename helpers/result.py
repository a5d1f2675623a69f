"""What a function gives for some values, as outputs that Jupyter can show: the part that explore and film share."""

import base64
import html
import inspect
import reprlib
import struct
import traceback

from IPython import get_ipython
from IPython.core.formatters import DisplayFormatter
from IPython.utils.capture import capture_output

from .figures import describe, figures_of, new_figures, png
from .markup import literal, printable

_ERROR = "background-color: rgb(255, 214, 214); color: rgb(0, 0, 0); padding: 4px;"
_CLEARED = "\x1b[2K\r"  # what clear_output writes between the texts


def result_of(function, values):
    """Call a function, and tell what a reader should see of it.

    Returns the outputs, a list of (data, metadata) by MIME type: what was printed, what was displayed, what was
    returned, and figures. And what the function raised, or None.
    """
    error, shown = None, []
    with new_figures() as shown_figures, capture_output() as captured:
        try:
            returned = function(**values)
            own = figures_of(returned)
            pictures = [_picture(figure) for figure in dict.fromkeys([*own, *shown_figures(captured.outputs)])]
            parts = [] if returned is None or own else _parts(returned)
            shown = [*map(_format, parts), *pictures]  # all or nothing: a figure may fail only when it is drawn
        except (Exception, SystemExit) as raised:  # SystemExit would end the kernel
            error = raised
    texts = [text for text in map(_last_state, (captured.stdout, captured.stderr)) if text]
    outputs = [({"text/plain": text}, {}) for text in texts] + _displayed(captured.outputs) + shown
    if error is None and not outputs:
        error = TypeError("the function returned nothing: end it with return, followed by what is to be shown")
    return outputs, error


def error_line(error, values):
    """An exception of the function as an output: one line, with the values for which it was raised."""
    where = ", ".join(f"{name} = {reprlib.repr(value)}" for name, value in values.items())
    what = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
    line = f"With {where}: {what}"
    return {"text/html": f'<div style="{_ERROR}">{literal(line)}</div>', "text/plain": line}, {}


def html_of(data):
    """An output as HTML; None where only Jupyter itself can show it, such as a formula or a widget."""
    text = html.escape(printable(data.get("text/plain", "")))
    if "text/html" in data and "application/vnd.jupyter.widget-view+json" not in data:
        return data["text/html"]
    if "image/png" in data:
        width, height = struct.unpack(">II", base64.b64decode(data["image/png"][:32])[16:24])
        size = f'width="{width}" height="{height}" style="height: auto;" decoding="sync"'
        return f'<div><img {size} alt="{text}" src="data:image/png;base64,{data["image/png"]}"></div>'
    if set(data) == {"text/plain"} and "\x1b" not in text:
        return f"<pre>{text}</pre>"
    return None


def joined(outputs):
    """Several outputs as the data and metadata of one, one under the other, for a reader without a kernel."""
    if len(outputs) == 1:
        return outputs[0]
    plain = [data.get("text/plain", "") for data, _ in outputs]
    pages = [html_of(data) or f"<pre>{html.escape(text)}</pre>" for (data, _), text in zip(outputs, plain, strict=True)]
    return {"text/html": "".join(pages), "text/plain": "\n".join(plain)}, {}


def _parts(returned):
    """What was returned, a list of heatmaps one by one; what has no result yet is refused by name."""
    if inspect.iscoroutine(returned):
        returned.close()  # or Python would warn that nobody has waited for it
        raise TypeError("the function is async, and has no result yet: define it with def alone")
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise TypeError("the function yields, and has no result yet: end it with return instead")
    several = isinstance(returned, (list, tuple)) and all(hasattr(part, "_repr_mimebundle_") for part in returned)
    return returned if several and returned else [returned]


def _format(shown):
    """An object as Jupyter would display it: data and metadata by MIME type."""
    if isinstance(shown, str):
        return {"text/plain": shown}, {}
    formatter = getattr(get_ipython(), "display_formatter", None) or DisplayFormatter()
    data, metadata = formatter.format(shown)
    return data or {"text/plain": reprlib.repr(shown)}, metadata


def _picture(figure):
    return {"image/png": base64.b64encode(png(figure)).decode(), "text/plain": describe(figure)}, {}


def _last_state(text):
    """The text as a screen shows it in the end: without what was cleared, and of a line written anew only the last."""
    lines = text.rpartition(_CLEARED)[2].split("\n")
    return "\n".join(next((state for state in reversed(line.split("\r")) if state), "") for line in lines).rstrip("\n")


def _displayed(outputs):
    """What was displayed, each in the state of its last update."""
    shown = {}
    for number, output in enumerate(outputs):
        name = output.transient.get("display_id", number)
        if not output.update or name in shown:
            shown[name] = (output.data, output.metadata)
    return list(shown.values())
