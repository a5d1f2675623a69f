"""explore(function, **sliders): the one way in which the series makes something move.

Sliders and result are ipywidgets in one box, so the result follows wherever the sliders live: after the page was loaded
anew, and in a second one. The first result is also the output's own table or picture, so it is stored with the notebook
like any output, and a reader without a kernel sees it.
"""

import ipywidgets
from IPython import get_ipython
from IPython.display import display

from .markup import NAMES, literal
from .result import error_line, html_of, joined, result_of
from .sliders import close, range_of, sliders_for

_VIEW = "application/vnd.jupyter.widget-view+json"
# The line that stands where the sliders would be. It goes where they live; where they are dead, since the notebook was
# saved with them and their kernel is gone, it takes the place of JupyterLab's "model not found".
_LINE_STYLE = (
    "<style>.jp-OutputArea-child:has(.explore-line):has(+ .jp-OutputArea-child .explore-live),"
    ".jp-OutputArea-child:has(.explore-line) + .jp-OutputArea-child > .jupyter-widgets:not(:has(*))"
    "{display: none}</style>"
)


def explore(function, /, **sliders):
    """Call a function with the values of sliders, and show what it returns beneath them, again after each move.

    Args:
        function: takes one argument per slider and returns a heatmap, a matplotlib figure, or text; what it prints
            or displays is shown as well. A figure is fastest if it is made once, outside, and the function only
            changes artists in it that are `animated=True`, so that the rest is drawn once.
        sliders: for each argument what `ipywidgets.interact` takes: (low, high) or (low, high, step), a list of
            choices, a single value to start from, or a widget. A range or a list starts at the default of the
            function's argument, where there is one.

    An exception in the function is shown in the result's place, as one line; the next move tries again.

    Raises:
        TypeError: the sliders are not the function's arguments, or one is not of a kind named above.
        ValueError: there is no slider to move, or one has an impossible range, step or start.
    """
    _close_previous_run(explorer := Explorer(function, sliders))
    explorer.show()


class Explorer:
    """What `explore` sets in motion. `controls` maps the name of each slider to its widget."""

    def __init__(self, function, sliders):
        self.function = function
        self.controls = sliders_for(function, sliders)
        self._moving = [control for control in self.controls.values() if isinstance(control, ipywidgets.DOMWidget)]
        if not self._moving:
            raise ValueError(f"explore needs at least one slider that moves, not only {', '.join(sliders)}")
        own = [control for name, control in self.controls.items() if control is not sliders[name]]
        _widen_labels([control for control in own if control in self._moving])
        # Tables, pictures and text go into the first, which is the faster by some 5 ms; what only Jupyter can show, a
        # formula or a progress bar, into the second.
        self._page, self._rest = ipywidgets.HTML(), ipywidgets.Output()
        self._page.add_class("jp-RenderedHTMLCommon")
        self._box = ipywidgets.VBox([*self._moving, self._page, self._rest])
        self._box.add_class("explore-live")
        self._own = [*own, self._page, self._rest, self._box]

    def show(self):
        """Display the sliders, and beneath them the result."""
        outputs = self._update()
        for control in self._moving:
            control.observe(self._update, names="value")
        ranges = {}  # those of the same range are named together
        for control in self._moving:
            ranges.setdefault(range_of(control), []).append(control.description)
        names = ", ".join(", ".join(names) + range_ for range_, names in ranges.items())
        line = f"Sliders: {names}. Run this cell (Shift+Enter) to move them."
        html = f'<em class="explore-line">{literal(line)}</em>{_LINE_STYLE}'
        display({"text/html": html, "text/plain": line}, raw=True)
        data, metadata = joined(outputs)
        display({**data, _VIEW: self._box._repr_mimebundle_()[_VIEW]}, metadata=metadata, raw=True)

    def _update(self, change=None):
        # At once, before the browser's message is answered: until then it holds back what comes and merges it.
        values = self._values()
        outputs, error = result_of(self.function, values)
        if values != self._values():  # the function has moved a slider itself, and what it gives there is shown
            return outputs
        if error is not None:
            moved = {name: value for name, value in values.items() if self.controls[name] in self._moving}
            outputs.append(error_line(error, moved))
        pages = [html_of(data) for data, _ in outputs]
        rest = [] if all(pages) else [{"data": data, "metadata": metadata} for data, metadata in outputs]
        script = {"data": {"application/javascript": NAMES}, "metadata": {}}
        self._rest.outputs = tuple({"output_type": "display_data", **output} for output in (script, *rest))
        self._page.value = "" if rest else "".join(pages)
        return outputs

    def _values(self):
        return {name: control.value for name, control in self.controls.items()}

    def close(self):
        """Let go of the sliders; those that the caller made stay open."""
        for control in self._moving:
            control.unobserve(self._update, names="value")
        for widget in self._own:
            close(widget)


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


def _widen_labels(controls):
    """Give the labels room: ipywidgets cuts them at 80 pixels unless told otherwise."""
    longest = max((len(control.description) for control in controls), default=0)
    for control in controls:
        if not isinstance(control, ipywidgets.Checkbox):
            control.style.description_width = f"{longest + 2}ch"
            control.layout.width = f"min(100%, {longest + 50}ch)"
