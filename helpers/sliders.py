"""explore(function, **sliders): the one way in which the series makes something move.

The sliders are ipywidgets. The result beneath them is an ordinary output of the cell, shown once and then updated in
place: it does not flicker, it is stored with the notebook like any output, and a reader without a kernel sees it.
"""

import base64
import contextlib
import html
import inspect
import io
import math
import reprlib
import sys
import traceback
from decimal import Decimal
from numbers import Real

import ipywidgets
from IPython import get_ipython
from IPython.core.formatters import DisplayFormatter
from IPython.display import display
from IPython.utils.capture import capture_output

from .figures import Canvas, describe, figures_of, new_figures, png
from .heatmap import Heatmap
from .markup import literal, printable

# What JupyterLab leaves out for people who use a keyboard or a screen reader: the name and the shown value of a slider;
# the arrow keys, which JupyterLab takes from lists, and Notebook 7 from sliders too; and as the name of a picture the
# description in the text below it ("*Figure: ...*"). It serves the page for as long as that is open.
_NAMES = """
if (!window.attentionNames) {
  const set = (node, attribute, value) => {  // to set even the same value again would cost time at each move
    if (node.getAttribute(attribute) !== value) node.setAttribute(attribute, value);
  };
  const name = () => {
    for (const slider of document.querySelectorAll(".widget-slider")) {
      const label = slider.querySelector(".widget-label").textContent;
      const readout = slider.querySelector(".widget-readout");
      set(readout, "role", "textbox");
      set(readout, "aria-label", `${label}, to type a value`);
      for (const handle of slider.querySelectorAll(".noUi-handle")) {
        set(handle, "aria-label", label);
        set(handle, "aria-valuetext", readout.textContent);
      }
    }
    const fields = ".noUi-handle, .widget-readout, .jupyter-widgets select, .jupyter-widgets input";
    for (const field of document.querySelectorAll(fields)) {
      set(field, "data-lm-suppress-shortcuts", "true");
    }
    for (const picture of document.querySelectorAll(".jp-RenderedImage img:not([alt])")) {
      const texts = picture.closest(".jp-Cell")?.nextElementSibling?.querySelectorAll("em") ?? [];
      const description = [...texts].find((text) => text.textContent.startsWith("Figure:"));
      picture.alt = description?.textContent ?? "Figure, described in the text around it";
    }
  };
  let waiting = false;  // a tenth of a second later, so that it takes no time between a key and the screen
  const later = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; name(); }, 100);
  };
  window.attentionNames = new MutationObserver(later);
  window.attentionNames.observe(document.body, { childList: true, subtree: true, characterData: true });
  name();
}
"""
# Two waits less between a key and the screen: the kernel need not repeat to the browser each value that it is told
# (which other views of the same page would need), and its thread that sends gets its turn sooner than after 5 ms.
ipywidgets.widgets.widget.JUPYTER_WIDGETS_ECHO = False
sys.setswitchinterval(0.0005)

_ERROR = "background-color: rgb(255, 214, 214); color: rgb(0, 0, 0); padding: 4px;"
_MOST_ROUNDS = 10  # how often a function that moves its own sliders is called again for one move


def explore(function, /, **sliders):
    """Call a function with the values of sliders, and show what it returns beneath them, again after each move.

    Args:
        function: takes one argument per slider and returns a heatmap, a matplotlib figure, or text; what it prints
            or displays is shown too. If it has an argument called `figure` (and no slider of that name), it is handed
            one empty figure to draw into, the same each time: that is faster than a new one, and nothing need be
            returned. Fastest is to make a figure and what is in it once, outside, and in the function only to change
            it and return it.
        sliders: for each argument what `ipywidgets.interact` takes: (low, high) or (low, high, step), a list of
            choices, a single value to start from, or a widget. A range or a list starts at the default of the
            function's argument, where there is one.

    An exception in the function is shown in the result's place, as one line with the sliders' values; the next move
    tries again.

    Raises:
        TypeError: the sliders are not the function's arguments, or one is not of a kind named above.
        ValueError: there is no slider to move, or one has an impossible range, step or start.
    """
    explorer = Explorer(function, sliders)
    _close_previous_run(explorer)
    explorer.show()


class Explorer:
    """What `explore` sets in motion. `controls` maps the name of each slider to its widget, `starts` to the default."""

    def __init__(self, function, sliders):
        self.starts = _check_arguments(function, sliders)
        self.function = function
        self.controls = {}
        self._own = []  # the widgets that are not the caller's
        self._canvas = Canvas() if "figure" in _parameters(function) and "figure" not in sliders else None
        self.error = None  # what the function raised last time, if anything
        self._output = None
        self._updating = self._moved = False
        try:
            for name, slider in sliders.items():
                self.controls[name] = control = _control(name, slider, self.starts.get(name))
                if control is not slider:
                    self._own.append(control)
            self._moving = [c for c in self.controls.values() if isinstance(c, ipywidgets.DOMWidget)]
            if not self._moving:
                raise ValueError(f"explore needs at least one slider that moves, not only {', '.join(sliders)}")
        except Exception:
            self.close()
            raise
        _widen_labels([control for control in self._moving if control in self._own])
        self._box = ipywidgets.VBox(self._moving)
        self._own.append(self._box)

    def show(self):
        """Display the sliders, and beneath them the result."""
        for control in self._moving:
            control.observe(self._update, names="value")
        display({"application/javascript": _NAMES, "text/plain": ""}, raw=True)
        display({**self._box._repr_mimebundle_(), **_without_kernel(self._moving)}, raw=True)
        self._update()

    def _update(self, change=None):
        # At once, before the browser's message is answered: until then it holds back what comes and merges it.
        self._moved = True
        if self._updating:  # the function has moved a slider itself
            return
        self._updating = True
        try:
            for _ in range(_MOST_ROUNDS):
                self._moved = False
                data, metadata = self.result()
                if not self._moved:
                    break
        finally:
            self._updating = False
        if self._output is None:
            self._output = display(data, metadata=metadata, raw=True, display_id=True)
        else:
            # To publish, IPython first flushes the two streams, and for each waits for the thread that sends. All that
            # the function printed is in the result, so there is nothing to wait for.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                self._output.update(data, metadata=metadata, raw=True)

    def result(self):
        """The function's result for the present values: a dictionary from MIME type to data, and one of metadata."""
        values = {name: control.value for name, control in self.controls.items()}
        given = {"figure": self._canvas.empty()} if self._canvas else {}
        with new_figures() as shown_figures, capture_output() as captured:
            returned, error, figures = None, None, []
            try:
                returned = self.function(**given, **values)
                figures = [*self._drawn(), *figures_of(returned), *shown_figures()]
            except (Exception, SystemExit) as raised:  # SystemExit would end the kernel
                error = raised
        texts = [text.rstrip("\n") for text in (captured.stdout, captured.stderr) if text]
        self.error = None
        parts = [_format(text) for text in texts] + [(output.data, output.metadata) for output in captured.outputs]
        try:
            if error is not None:
                raise error
            if returned is not None and not figures_of(returned):
                all_heatmaps = isinstance(returned, (list, tuple)) and {*map(type, returned)} == {Heatmap}
                parts += map(_format, returned if all_heatmaps else [returned])
            parts += [(_picture(figure), {}) for figure in dict.fromkeys(figures)]
            if not parts:
                raise TypeError("the function returned nothing: end it with return, followed by what is to be shown")
        except (Exception, SystemExit) as raised:  # of the function, or of a figure that can't be drawn
            self.error = raised
            moved = {name: value for name, value in values.items() if self.controls[name] in self._moving}
            parts.append((_error_line(raised, moved), {}))
        return _joined(parts)

    def _drawn(self):
        """The figure that was handed to the function, if anything has been drawn into it."""
        figure = self._canvas and self._canvas.figure
        return [self._canvas.finish()] if figure and len(figure.get_children()) > 1 else []  # one is the background

    def close(self):
        """Let go of the sliders; those that the caller made stay open."""
        for control in self.controls.values():
            if isinstance(control, ipywidgets.DOMWidget):
                with contextlib.suppress(ValueError):  # not yet observed
                    control.unobserve(self._update, names="value")
        for widget in self._own:
            _close(widget)


_running = {}  # for each cell with explorers: the request that ran it last, and what that request started


def _close_previous_run(explorer):
    """When a cell is run again, close what its previous run left, or sliders would pile up in the kernel."""
    request = getattr(get_ipython(), "get_parent", dict)() or {}
    cell = request.get("metadata", {}).get("cellId") or request.get("content", {}).get("code")
    if cell is None:
        return
    run = request["header"]["msg_id"]
    last_run, explorers = _running.get(cell, (None, []))
    if last_run != run:
        for old in explorers:
            old.close()
        explorers = []
    _running[cell] = (run, [*explorers, explorer])


# Sliders


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except ValueError:  # some built-in functions do not tell
        return {}


def _check_arguments(function, sliders):
    """The default of each argument, once it is clear that function and sliders fit together."""
    if not callable(function):
        raise TypeError(f"explore needs a function, not {function!r}: pass the function itself, without brackets")
    name = getattr(function, "__name__", "the function")
    if not sliders:
        raise ValueError(f"explore needs at least one slider for {name}, such as temperature=(0.1, 3.0)")
    parameters = _parameters(function)
    kinds = {parameter.kind for parameter in parameters.values()}
    unknown = [slider for slider in sliders if slider not in parameters]
    if parameters and unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(f"{name} has no argument {', '.join(unknown)}; its arguments are: {', '.join(parameters)}")
    for_any = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    nameless = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
    if without := [slider for slider in sliders if slider in parameters and parameters[slider].kind in nameless]:
        raise TypeError(f"{name} can't be given {', '.join(without)} by name, which explore does with every argument")
    needed = [argument for argument, p in parameters.items() if p.default is p.empty and p.kind not in for_any]
    missing = [argument for argument in needed if argument not in (*sliders, "figure")]
    if missing:
        raise TypeError(f"{name} needs a slider, or a default, for: {', '.join(missing)}")
    return {name: given.default for name, given in parameters.items() if given.default is not given.empty}


def _control(name, slider, start):
    """The widget for one slider, or what `ipywidgets.fixed` holds fast."""
    if isinstance(slider, (ipywidgets.ValueWidget, ipywidgets.fixed)):
        control = slider
    else:
        choices = slider.tolist() if hasattr(slider, "tolist") else slider
        _check_range(name, slider)
        _check_choices(name, choices)
        default = inspect.Parameter.empty if start is None else start
        try:
            control = ipywidgets.interactive.widget_from_abbrev(choices, default)
        except Exception as error:
            raise ValueError(f"slider {name} = {reprlib.repr(slider)} is not possible: {error}") from None
        if control is None or isinstance(control, ipywidgets.fixed):
            raise TypeError(
                f"slider {name} must be (low, high), (low, high, step), a list, a single value or a widget, "
                f"not {reprlib.repr(slider)}"
            )
        try:
            _settle(name, control, slider, start)
        except Exception:
            _close(control)
            raise
    if isinstance(control, ipywidgets.DOMWidget) and not control.description:
        control.description = name
    return control


def _check_range(name, slider):
    """Whether (low, high) or (low, high, step) is a range in which a slider can move."""
    if not isinstance(slider, tuple) or len(slider) not in (2, 3) or not all(isinstance(end, Real) for end in slider):
        return
    low, high, *rest = slider
    step = rest[0] if rest else 0
    if not all(map(math.isfinite, (*slider, high - low))):
        raise ValueError(f"slider {name} = {slider!r} is not possible: its ends and its step must be finite")
    if high <= low:
        raise ValueError(f"slider {name} can't move: {slider!r} is no range, its high end must be above its low end")
    if rest and step <= 0:
        raise ValueError(f"slider {name} can't move: its step must be above 0, not {step:g}")
    if step > high - low:
        raise ValueError(f"slider {name} can't move: its step {step:g} is larger than its range {high - low:g}")


def _check_choices(name, choices):
    """Whether a list of choices is none that would be read as something else, or can't be compared."""
    if not isinstance(choices, list):
        return
    if any(getattr(choice, "shape", ()) for choice in choices):
        raise TypeError(f"slider {name}: a choice can't be a tensor or an array. Offer their names, or numbers")
    pairs = [choice for choice in choices if isinstance(choice, (list, tuple)) and len(choice) == 2]
    if pairs and len(pairs) == len(choices) and not all(isinstance(label, str) for label, _ in pairs):
        raise TypeError(
            f"slider {name}: a list of pairs is read as labels and values, so each must begin with a text, "
            f"not {reprlib.repr(pairs[0])}"
        )


def _settle(name, control, slider, start):
    """Check that a new control can do what was asked for, and show as many decimals as its values have."""
    if getattr(control, "options", None) == ():
        raise ValueError(f"slider {name} has no choices: {slider!r}")
    if isinstance(control, ipywidgets.FloatSlider):
        if not (isinstance(slider, tuple) and len(slider) == 3):
            control.step = min(0.1, 10 ** math.floor(math.log10((control.max - control.min) / 10)))
        if start is None and isinstance(slider, tuple):  # ipywidgets starts in the middle, which may be off the steps
            control.value = control.min + round((control.value - control.min) / control.step) * control.step
        decimals = max(map(_decimals, (control.min, control.step, control.value)))
        control.readout_format = f".{min(max(decimals, 1), 10)}f"
    if start is not None and not isinstance(slider, (bool, int, float, str)) and not _equal(control.value, start):
        raise ValueError(
            f"slider {name} can't start at {reprlib.repr(start)}, the function's default: "
            f"it offers {reprlib.repr(slider)}"
        )


def _close(widget):
    """Close a widget and the two that it has made for itself."""
    for part in (getattr(widget, "style", None), getattr(widget, "layout", None), widget):
        if isinstance(part, ipywidgets.Widget):
            part.close()


def _decimals(number):
    """How many decimals it takes to write the number, as far as a reader would say: 2 for 0.25, 0 for 3.0."""
    return max(0, -Decimal(f"{number:.10g}").normalize().as_tuple().exponent)


def _equal(value, start):
    try:
        return bool(value == start)
    except (ValueError, RuntimeError):  # of an array, with an answer for each entry
        return False


def _widen_labels(controls):
    """Give the labels room: ipywidgets cuts them at 80 pixels unless told otherwise."""
    longest = max((len(control.description) for control in controls), default=0)
    for control in controls:
        if not isinstance(control, ipywidgets.Checkbox):
            control.style.description_width = f"{longest + 2}ch"
            control.layout.width = f"min(100%, {longest + 50}ch)"


def _without_kernel(controls):
    """A line for the place of the sliders where no kernel runs, in the MIME types that are then shown."""
    ranges = {}  # those of the same range are named together
    for control in controls:
        ranges.setdefault(range_of(control), []).append(control.description)
    what = ", ".join(", ".join(names) + range_ for range_, names in ranges.items())
    line = f"Sliders: {what}. Run this cell (Shift+Enter) to move them."
    return {"text/html": f"<em>{literal(line)}</em>", "text/plain": line}


def range_of(control):
    """Where a control can go, in words, such as " from 0 to 10"."""
    low, high = getattr(control, "min", None), getattr(control, "max", None)
    if isinstance(control, ipywidgets.FloatLogSlider):
        low, high = control.base**low, control.base**high
    if low is not None and high is not None:
        low, high = (f"{end:g}" if isinstance(end, float) else str(end) for end in (low, high))
        return f" from {low} to {high}"
    if hasattr(control, "options"):
        return f" ({', '.join(map(str, getattr(control, '_options_labels', control.options)))})"
    return ""


# What is shown


def _picture(figure):
    return {"image/png": base64.b64encode(png(figure)).decode(), "text/plain": describe(figure)}


def _format(shown):
    """An object as Jupyter would display it: data and metadata by MIME type."""
    if isinstance(shown, str):
        return {"text/plain": shown}, {}
    if isinstance(shown, Heatmap):  # the usual case, without the detour over all formatters
        return shown._repr_mimebundle_(), {}
    formatter = getattr(get_ipython(), "display_formatter", None) or DisplayFormatter()
    data, metadata = formatter.format(shown)
    return data or {"text/plain": reprlib.repr(shown)}, metadata


def _error_line(error, values):
    where = ", ".join(f"{name} = {reprlib.repr(value)}" for name, value in values.items())
    what = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
    line = f"With {where}: {what}"
    return {"text/html": f'<div style="{_ERROR}">{literal(line)}</div>', "text/plain": line}


def _joined(parts):
    """Several things to show, each with its metadata, as one: one under the other."""
    if len(parts) == 1:
        return parts[0]
    page = "".join(html_of(data) for data, _ in parts)
    return {"text/html": page, "text/plain": "\n".join(data.get("text/plain", "") for data, _ in parts)}, {}


def html_of(data):
    """What a dictionary from MIME type to data shows, as HTML. Of Markdown and LaTeX this is their text."""
    plain = (data[kind] for kind in ("text/markdown", "text/latex", "text/plain") if kind in data)
    text = html.escape(printable(next(plain, "")))
    if "image/svg+xml" in data:
        picture = base64.b64encode(data["image/svg+xml"].encode()).decode()
        return f'<div><img alt="{text}" src="data:image/svg+xml;base64,{picture}"></div>'
    if "image/png" in data:
        return f'<div><img alt="{text}" src="data:image/png;base64,{data["image/png"]}"></div>'
    return data.get("text/html") or f"<pre>{text}</pre>"
