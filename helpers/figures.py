"""Figures that follow a slider: laid out once, drawn where they have changed, sent as PNG.

Nearly all the time of a drawing goes into its axes, with their ticks and labels, which a slider seldom changes. So they
are kept as pictures, and put in again in their place between the rest.
"""

import contextlib
import io
import sys
import warnings
import weakref

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

_settled = weakref.WeakKeyDictionary()  # for each figure whose layout is settled: its axes as pictures


def png(figure):
    """The figure as PNG in its full size, so that the page never changes its height; fast rather than small."""
    if pyplot():
        pyplot().close(figure)  # or the end of the cell would show it a second time
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # keeps labels inside, where a cell would crop the picture around them
    canvas = figure.canvas if isinstance(figure.canvas, FigureCanvasAgg) else FigureCanvasAgg(figure)
    if figure not in _settled:
        canvas.draw()
    settle_layout(figure)  # each time, since a new title undoes a part of it
    with _kept_axes(figure, canvas.get_renderer()):
        canvas.draw()
    buffer = io.BytesIO()
    imsave(buffer, canvas.buffer_rgba(), format="png", pil_kwargs={"compress_level": 1})
    return buffer.getvalue()


def settle_layout(figure):
    """Keep the layout of the last drawing: to work it out takes as long as to draw."""
    figure.set_layout_engine("none")
    for ax in figure.axes:
        ax._autotitlepos = False  # or each drawing measures all ticks, to see whether they are in the title's way
    _settled.setdefault(figure, weakref.WeakKeyDictionary())


@contextlib.contextmanager
def _kept_axes(figure, renderer):
    """Within it, an x or y axis that has not changed since it was drawn last is not drawn but put in as a picture."""
    axes = [axis for ax in figure.axes if ax.name == "rectilinear" for axis in (ax.xaxis, ax.yaxis)]
    for axis in axes:
        axis.draw = _kept_draw(axis, _settled[figure], (renderer.width, renderer.height, renderer.dpi))
    try:
        yield
    finally:
        for axis in axes:
            del axis.draw  # the one of its class is back


def _kept_draw(axis, pictures, size):
    """A replacement for `axis.draw`, which draws into a picture of its own, and that only when it must."""
    draw = axis.draw

    def kept(renderer):
        if not axis.get_visible():
            return
        look, picture, place = pictures.get(axis, (None, None, None))
        if look != _look(axis, size) or _changed(axis):
            own = RendererAgg(*size)
            draw(own)
            picture, place = _cropped(np.asarray(own.buffer_rgba()))
            pictures[axis] = (_look(axis, size), picture, place)
            for part in _parts(axis):
                part.stale = False  # to place its label, the axis touches again what it has just drawn
        if picture is not None:
            renderer.draw_image(renderer.new_gc(), *place, picture)

    return kept


def _parts(axis):
    """All that an axis draws, apart from itself."""
    ticks = [*axis.majorTicks, *axis.minorTicks]
    return [axis.label, axis.offsetText, *(part for tick in ticks for part in tick.get_children())]


def _changed(axis):
    """Whether the axis or a part of it has been changed since it was drawn."""
    return axis.stale or any(part.stale for part in _parts(axis))


def _look(axis, size):
    """What else the look of an axis depends on."""
    ax = axis.axes
    limits = (*ax.get_xlim(), *ax.get_ylim())
    return (size, ax.bbox.bounds, limits, [(id(part), part.get_visible()) for part in _parts(axis)])


def _cropped(pixels):
    """The part of an RGBA picture that is not transparent, and where its lower left corner is."""
    rows, columns = pixels[..., 3].any(axis=1).nonzero()[0], pixels[..., 3].any(axis=0).nonzero()[0]
    if not rows.size:
        return None, None
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    return pixels[top:bottom, left:right][::-1].copy(), (left, pixels.shape[0] - bottom)


class Canvas:
    """One figure for all drawings of an explorer. Each arrangement of axes is laid out once: nothing jumps then."""

    def __init__(self):
        self.figure = Figure(figsize=(7.2, 4.0))
        self._places = {}

    def empty(self):
        """The figure, without what was drawn last."""
        self.figure.clear()
        self.figure.set_layout_engine("constrained")  # from the start: a colour bar is made for the one that it finds
        return self.figure

    def finish(self):
        """The figure, laid out so that nothing jumps from one drawing to the next."""
        axes = self.figure.axes
        arrangement = tuple(spec and spec.get_geometry() for spec in (ax.get_subplotspec() for ax in axes))
        if arrangement not in self._places:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # where there is nothing to lay out, that is all right
                self.figure.draw_without_rendering()
            self._places[arrangement] = [ax.get_position() for ax in axes]
        for ax, place in zip(axes, self._places[arrangement], strict=True):
            ax.set_position(place)
        settle_layout(self.figure)
        return self.figure


def pyplot():
    """pyplot where somebody has imported it: the helpers themselves do without."""
    return sys.modules.get("matplotlib.pyplot")


@contextlib.contextmanager
def new_figures():
    """Within it, tells which pyplot figures are new; afterwards closes them, or they would pile up in pyplot."""
    before = set(pyplot().get_fignums()) if pyplot() else set()

    def new():
        numbers = [number for number in pyplot().get_fignums() if number not in before] if pyplot() else []
        return [pyplot().figure(number) for number in numbers]

    try:
        yield new
    finally:
        for figure in new():
            pyplot().close(figure)


def figures_of(returned):
    """The figures in what a function returned: a figure, something drawn in one, or a collection of these alone."""
    if isinstance(returned, Artist):
        figure = returned.get_figure(root=True)
        return [figure] if figure is not None else []
    if isinstance(returned, np.ndarray) and returned.dtype == object:
        returned = returned.ravel().tolist()
    if isinstance(returned, (list, tuple)) and returned:
        found = [figures_of(part) for part in returned]
        return [figure for figures in found for figure in figures] if all(found) else []
    return []


def describe(figure):
    """The figure in one line: the title and the names of the axes of each of its parts."""
    parts = []
    for ax in figure.axes:
        names = " against ".join(filter(None, (ax.get_ylabel(), ax.get_xlabel())))
        parts.append(": ".join(filter(None, (ax.get_title(), names))))
    return "Figure. " + "; ".join(filter(None, [figure.get_suptitle(), *parts]))
