"""Figures as PNG, drawn with matplotlib's Agg and without pyplot."""

import contextlib
import io
import sys
import warnings
import weakref

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imsave
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from matplotlib_inline.config import InlineBackend

_CJK = [
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Microsoft YaHei",
    "PingFang SC",
]
_CJK += ["PingFang HK", "Hiragino Sans GB", "SimHei", "Microsoft JhengHei", "Yu Gothic", "Malgun Gothic"]

_grounds = weakref.WeakKeyDictionary()  # for each figure with animated artists: all the rest of it, as pixels


def png(figure):
    """The figure as PNG in its full size, so that the page never changes its height; fast rather than small.

    A figure that is drawn again keeps the layout of its first drawing, so that nothing in it jumps. Artists that are
    `animated`, as matplotlib calls it, are drawn on top of the rest, which is drawn anew only where it has changed.
    """
    if pyplot():
        pyplot().close(figure)  # or the end of the cell would show it a second time
    canvas = figure.canvas if isinstance(figure.canvas, FigureCanvasAgg) else FigureCanvasAgg(figure)
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # keeps labels inside, where a cell would crop the picture around them
    moving = sorted(figure.findobj(lambda artist: artist.get_animated()), key=lambda artist: artist.zorder)
    if not moving or figure.stale or figure not in _grounds:  # animated artists that have moved leave it fresh
        with _one_note():
            canvas.draw()
        if not isinstance(figure.get_layout_engine(), PlaceHolderLayoutEngine):
            figure.set_layout_engine("none")  # to work out a layout takes longer than to draw
        figure.stale = False
        _grounds[figure] = canvas.copy_from_bbox(figure.bbox)
    canvas.restore_region(_grounds[figure])
    for artist in moving:
        figure.draw_artist(artist)
    buffer = io.BytesIO()
    imsave(buffer, canvas.buffer_rgba(), format="png", pil_kwargs={"compress_level": 1})
    return buffer.getvalue()


@contextlib.contextmanager
def _one_note():
    """One line about all letters that no font here has; matplotlib warns about each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph")
        yield
    missing = {}
    for warning in caught:
        if (text := str(warning.message)).startswith("Glyph"):
            missing[chr(int(text.split()[1]))] = True
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if missing:
        letters = "".join(missing)
        print(f"No font on this computer has {letters}: install one, such as Noto Sans CJK.", file=sys.stderr)


def chinese_fonts():
    """The installed families with Chinese, Japanese and Korean letters."""
    installed = {font.name for font in font_manager.fontManager.ttflist if font.weight == 400}  # of others it would log
    return [name for name in _CJK if name in installed]


matplotlib.rcParams["font.family"] = [*matplotlib.rcParams["font.family"], *chinese_fonts()]


def pyplot():
    """pyplot where somebody has imported it: the helpers themselves do without."""
    return sys.modules.get("matplotlib.pyplot")


@contextlib.contextmanager
def new_figures():
    """Within it, tells which pyplot figures are new and not yet displayed; afterwards closes them, or they pile up."""
    before = set(pyplot().get_fignums()) if pyplot() else set()

    def new(displayed=()):
        if any("image/png" in output.data for output in displayed) and not InlineBackend.instance().close_figures:
            return []  # plt.show() has shown them, and left them open
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
