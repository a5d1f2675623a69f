"""explore(function, **sliders): the one way in which the series makes something move.

The sliders are ipywidgets. The result beneath them is an ordinary output of the cell, shown once and then updated in
place: it does not flicker, it is stored with the notebook like any output, and a reader without a kernel sees it.
"""

import base64
import contextlib
import html
import inspect
import io
import sys
from decimal import Decimal

import ipywidgets
from IPython import get_ipython
from IPython.core.formatters import DisplayFormatter
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

_ERROR = "background-color: rgb(255, 214, 214); color: rgb(0, 0, 0); padding: 4px;"


def explore(function, /, **sliders):
    """Call a function with the values of sliders, and show what it returns beneath them, again after each move.

    Args:
        function: takes one argument per slider and returns a heatmap, a matplotlib figure, or text. The default of an
            argument is where its slider starts. If there is an argument called `figure` (and no slider of that name),
            the function is handed one empty figure to draw into, the same each time: that is faster than a new one,
            and nothing need be returned.
        sliders: for each argument what `ipywidgets.interact` takes: (low, high) or (low, high, step), a list of
            choices, True or False, or a widget.

    An exception in the function is shown in the result's place, as one line with the sliders' values; the next move
    tries again.

    Raises:
        TypeError: the sliders are not the function's arguments, or one is not of a kind named above.
        ValueError: there is no slider, or one has an impossible range or start.
    """
    explorer = Explorer(function, sliders)
    explorer.show()
    _close_previous_run(explorer)


class Explorer:
    """What `explore` sets in motion. `controls` maps the name of each slider to its widget."""

    def __init__(self, function, sliders):
        starts = _check_arguments(function, sliders)
        self.function = function
        self.controls = {name: _control(name, slider, starts.get(name)) for name, slider in sliders.items()}
        self._box = ipywidgets.VBox([c for c in self.controls.values() if isinstance(c, ipywidgets.DOMWidget)])
        self._own = [self._box, *(c for c in self._box.children if c not in sliders.values())]
        self._canvas = _Canvas() if "figure" in _parameters(function) and "figure" not in sliders else None
        self._output = None

    def show(self):
        """Display the sliders, and beneath them the result."""
        _widen_labels(self._box.children)
        display({**self._box._repr_mimebundle_(), **_without_kernel(self._box.children)}, raw=True)
        self._output = display(self.result(), raw=True, display_id=True)
        for control in self._box.children:
            control.observe(self._update, names="value")

    def _update(self, change):
        # At once, before the browser's message is answered: until then it holds back what comes and merges it.
        self._output.update(self.result(), raw=True)

    def result(self):
        """The function's result for the present values, as a dictionary from MIME type to data."""
        values = {name: control.value for name, control in self.controls.items()}
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), _new_figures() as figures:
                if self._canvas is not None:
                    values = {"figure": self._canvas.empty(), **values}
                shown = self.function(**values)
                if self._canvas is not None and shown in (None, self._canvas.figure):
                    shown = self._canvas
                if shown is None and figures():
                    shown = figures()[-1]
                return _with_printed(_bundle(shown, printed.getvalue()), printed.getvalue())
        except Exception as error:
            where = ", ".join(f"{name} = {value!r}" for name, value in values.items())
            line = " ".join(f"With {where}: {type(error).__name__}: {error}".split())
            return {"text/html": f'<div style="{_ERROR}">{html.escape(line)}</div>', "text/plain": line}

    def close(self):
        """Let go of the sliders; those that the caller made stay open."""
        for control in self._box.children:
            control.unobserve(self._update, names="value")
        for widget in self._own:
            for part in (getattr(widget, "style", None), getattr(widget, "layout", None), widget):
                if isinstance(part, ipywidgets.Widget):
                    part.close()


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
    needed = [argument for argument, p in parameters.items() if p.default is p.empty and p.kind not in for_any]
    missing = [argument for argument in needed if argument not in (*sliders, "figure")]
    if missing:
        raise TypeError(f"{name} needs a slider, or a default, for: {', '.join(missing)}")
    return {name: given.default for name, given in parameters.items() if given.default is not given.empty}


def _control(name, slider, start):
    """The widget for one slider, or what `ipywidgets.fixed` holds fast."""
    default = inspect.Parameter.empty if start is None else start
    try:
        control = ipywidgets.interactive.widget_from_abbrev(slider, default)
    except (ValueError, TypeError) as error:
        raise ValueError(f"slider {name} = {slider!r} is not possible: {error}") from None
    if not isinstance(control, (ipywidgets.ValueWidget, ipywidgets.fixed)):
        raise TypeError(
            f"slider {name} must be (low, high), (low, high, step), a list, True, False or a widget, not {slider!r}"
        )
    if isinstance(slider, (tuple, list, dict)):
        if getattr(control, "options", None) == ():
            raise ValueError(f"slider {name} has no choices: {slider!r}")
        if start is not None and control.value != start:
            raise ValueError(f"slider {name} can't start at {start!r}, the function's default: it offers {slider!r}")
    if isinstance(control, ipywidgets.FloatSlider) and control is not slider:
        decimals = -Decimal(str(control.step)).normalize().as_tuple().exponent
        control.readout_format = f".{min(max(decimals, 1), 10)}f"
    if isinstance(control, ipywidgets.DOMWidget) and not control.description:
        control.description = name
    return control


def _widen_labels(widgets):
    """Give the labels room: ipywidgets cuts them at 80 pixels unless told otherwise."""
    longest = max((len(widget.description) for widget in widgets), default=0)
    for widget in widgets:
        if not isinstance(widget, ipywidgets.Checkbox):
            widget.style.description_width = f"{longest + 2}ch"
            widget.layout.width = f"min(100%, {longest + 50}ch)"


def _without_kernel(controls):
    """A line for the place of the sliders where no kernel runs, in the MIME types that are then shown."""
    ranges = {}  # those of the same range are named together
    for control in controls:
        ranges.setdefault(_range(control), []).append(control.description)
    what = ", ".join(", ".join(names) + range_ for range_, names in ranges.items())
    line = f"Sliders: {what}. Run this cell (Shift+Enter) to move them."
    return {"text/html": f"<em>{html.escape(line)}</em>", "text/plain": line}


def _range(control):
    if hasattr(control, "min") and hasattr(control, "max"):
        return f" from {control.min:g} to {control.max:g}"
    if hasattr(control, "options"):
        return f" ({', '.join(map(str, getattr(control, '_options_labels', control.options)))})"
    return ""


class _Canvas:
    """One figure for all drawings of an explorer. Its layout is worked out for the first and kept: nothing jumps."""

    def __init__(self):
        self.figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        self._places = None

    def empty(self):
        self.figure.clear()
        return self.figure

    def finish(self):
        if self._places is None:
            self.figure.draw_without_rendering()
            self.figure.set_layout_engine("none")
            self._places = [ax.get_position() for ax in self.figure.axes]
        if len(self._places) == len(self.figure.axes):
            for ax, place in zip(self.figure.axes, self._places, strict=True):
                ax.set_position(place)
        return self.figure


@contextlib.contextmanager
def _new_figures():
    """Within it, tells which pyplot figures are new; afterwards closes them, or they would pile up in pyplot."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    before = set(pyplot.get_fignums()) if pyplot else set()

    def new():
        pyplot = sys.modules.get("matplotlib.pyplot")
        return [pyplot.figure(number) for number in pyplot.get_fignums() if number not in before] if pyplot else []

    try:
        yield new
    finally:
        for figure in new():
            sys.modules["matplotlib.pyplot"].close(figure)


def _bundle(shown, printed):
    """What a function returned, as a dictionary from MIME type to data."""
    if isinstance(shown, _Canvas):
        shown = shown.finish()
    if isinstance(shown, Axes):
        shown = shown.figure
    if isinstance(shown, Figure):
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close(shown)  # or the end of the cell would show it a second time
        return {"image/png": base64.b64encode(_png(shown)).decode(), "text/plain": _describe(shown)}
    if isinstance(shown, str):
        return {"text/plain": shown}
    if shown is None:
        if printed:
            return {"text/plain": ""}
        raise TypeError("the function returned nothing: end it with return, and a figure instead of plt.show()")
    formatter = getattr(get_ipython(), "display_formatter", None) or DisplayFormatter()
    return formatter.format(shown)[0] or shown._repr_mimebundle_()


def _png(figure):
    """The figure as PNG in its full size, so that the page never changes its height; fast rather than small."""
    canvas = figure.canvas if isinstance(figure.canvas, FigureCanvasAgg) else FigureCanvasAgg(figure)
    canvas.draw()
    buffer = io.BytesIO()
    imsave(buffer, canvas.buffer_rgba(), format="png", pil_kwargs={"compress_level": 1})
    return buffer.getvalue()


def _describe(figure):
    """The figure in one line: the title and the names of the axes of each of its parts."""
    parts = []
    for ax in figure.axes:
        names = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel())))
        parts.append(": ".join(filter(None, (ax.get_title(), names))))
    return "Figure. " + "; ".join(filter(None, [figure.get_suptitle(), *parts]))


def _with_printed(bundle, printed):
    """The bundle with what the function printed above it."""
    if printed and "image/png" not in bundle:
        if "text/html" in bundle:
            bundle["text/html"] = f"<pre>{html.escape(printed)}</pre>" + bundle["text/html"]
        bundle["text/plain"] = printed + bundle["text/plain"]
    return bundle
