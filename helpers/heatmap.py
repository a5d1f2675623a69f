"""heatmap(matrix, queries, keys): the one way in which the series shows a matrix.

The result is an HTML table with a coloured cell per number. It updates in well under a millisecond, a screen reader can
walk it, it needs no script, and every number in it is text that a test compares. Beyond `MOST_TOKENS` rows or columns
nobody reads a table, so the same object becomes one picture with a summary in words.
"""

import base64
import functools
import html
import math
import operator
import textwrap
import unicodedata
from numbers import Integral, Real

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from wcwidth import wcswidth

from .figures import png
from .markup import literal

MOST_TOKENS = 40  # a longer side is drawn as a picture

_SEQUENTIAL = "cividis"  # both are safe for colour-blind readers
_DIVERGING = "RdBu_r"
_ATTENTION = ("query", "key")  # what a row and a column stand for, unless told otherwise
_LONGEST_LABEL = 16  # characters of a label in a picture; a table shows all
_SWATCHES = 9  # coloured cells in the legend
_NOT_A_NUMBER = ("rgb(255, 214, 214)", "rgb(153, 0, 0)")  # ground and text of a cell with nan
_INFINITE = ("rgb(224, 224, 224)", "rgb(0, 0, 0)")  # and of one with inf or -inf


def heatmap(
    matrix,
    queries=None,
    keys=None,
    *,
    title=None,
    axes=_ATTENTION,
    highlight=None,
    decimals=4,
    low=None,
    high=None,
):
    """Show a matrix as a coloured table: one row per query, one column per key.

    Args:
        matrix: (T, S) tensor (also one that requires grad), array or nested list of real numbers, copied at once.
        queries: T row labels. Without them rows are numbered from 0.
        keys: S column labels. Without them a square matrix repeats `queries`, as in self-attention; any other
            matrix has its columns numbered from 0.
        title: a line above the table.
        axes: what a row and what a column stands for, where they are not a query and a key.
        highlight: the number of a row to mark, counted from 0.
        decimals: digits after the point. Numbers are rounded, never cut off.
        low, high: the ends of the colour scale. Without them it runs from the smallest to the largest finite
            number. With a negative number in the matrix, or a negative `low`, it is centred on zero, which is white.

    Returns:
        A `Heatmap`. As the last line of a cell it is displayed; `.plot(ax)` draws it with matplotlib.

    Raises:
        TypeError: `matrix` holds something other than real numbers, or an argument is of the wrong kind.
        ValueError: `matrix` is not two-dimensional or is empty, or labels, `highlight`, `low` or `high` do not fit it.
    """
    values = _numbers(matrix)
    rows, columns = values.shape
    if isinstance(decimals, bool) or decimals not in range(11):
        raise ValueError(f"decimals must be a whole number from 0 to 10, not {decimals!r}")
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise TypeError(f"axes must be two names, such as ('query', 'key'), not {axes!r}")
    names = _labels("queries", queries, rows, "rows", values.shape)
    square = keys is None and rows == columns
    write = _writer(values, int(decimals))
    return Heatmap(
        values,
        queries=names,
        keys=names if square else _labels("keys", keys, columns, "columns", values.shape),
        title=" ".join(str(title).split()) if title is not None else "",
        axes=tuple(" ".join(str(name).split()) for name in axes),
        highlight=_row_number(highlight, rows),
        scale=_scale(values, low, high, write),
        write=write,
    )


class Heatmap:
    """What `heatmap` returns. `matrix` is the (T, S) array, `queries` and `keys` are its labels as text."""

    def __init__(self, matrix, *, queries, keys, title, axes, highlight, scale, write):
        self.matrix = matrix
        self.queries = queries
        self.keys = keys
        self.title = title
        self.axes = axes
        self.highlight = highlight
        self.colormap, self.low, self.high = scale
        self._write = write

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What Jupyter displays: a table or, above `MOST_TOKENS`, a picture; both with the same in plain text."""
        if max(self.matrix.shape) > MOST_TOKENS:
            figure = self.plot(Figure(figsize=self._size(), layout="constrained").subplots()).figure
            return {"image/png": base64.b64encode(png(figure)).decode(), "text/plain": repr(self)}
        return {"text/html": self._html(), "text/plain": repr(self)}

    def __repr__(self):
        return self._summary() if max(self.matrix.shape) > MOST_TOKENS else self._text()

    def plot(self, ax=None):
        """Draw the matrix on matplotlib axes (without `ax`, on those of a new pyplot figure) and return the axes."""
        if ax is None:
            import matplotlib.pyplot as plt  # takes a while, and shows the figure at the end of the cell

            ax = plt.figure(figsize=self._size(), layout="constrained").subplots()
        picture = np.ma.masked_invalid(self.matrix.astype(float))
        image = ax.imshow(picture, cmap=self.colormap, vmin=self.low, vmax=self.high, aspect="auto")
        for axis, labels, name in ((ax.xaxis, self.keys, self.axes[1]), (ax.yaxis, self.queries, self.axes[0])):
            axis.set_label_text(name, parse_math=False)  # a dollar sign is a token like any other
            if len(labels) > MOST_TOKENS:
                axis.set_major_locator(MaxNLocator(integer=True))
            else:
                axis.set_ticks(range(len(labels)), map(_shortened, labels), parse_math=False)
        if max(map(len, self.keys)) > 4:
            ax.tick_params(axis="x", labelrotation=90)
        ax.set_title(textwrap.fill(self.title, 50), parse_math=False)
        if self.highlight is not None:
            ax.axhspan(self.highlight - 0.5, self.highlight + 0.5, fill=False, edgecolor=_FRAME_COLOUR, linewidth=2)
        ax.figure.colorbar(image, ax=ax, format="%.3g")
        return ax

    def _size(self):
        """Width and height of a figure for the matrix, in inches."""
        rows, columns = self.matrix.shape
        return min(3.2 + 0.55 * columns, 7), min(1.8 + 0.5 * rows, 6)

    def _headline(self):
        what = f"{self.axes[0]} (row){' to' if self.axes == _ATTENTION else ','} {self.axes[1]} (column)"
        return f"{self.title}: {what}" if self.title else what

    def _html(self):
        row_name, column_name = map(literal, self.axes)
        keys = [html.escape(key) for key in self.keys]  # as they stand in a hint
        relation = "attends to" if self.axes == _ATTENTION and self._is_attention() else "and"
        head = "".join(f'<th scope="col" style="{_LABEL}">{literal(key)}</th>' for key in self.keys)
        parts = [
            f'<table style="{_TABLE}"><caption style="{_CAPTION}">{literal(self._headline())}</caption>'
            f"<thead><tr><td>{row_name} ↓ {column_name} →</td>{head}</tr></thead><tbody>"
        ]
        names = map(literal, self._marked_queries())
        queries = map(html.escape, self.queries)
        for row, (name, query, entries) in enumerate(zip(names, queries, self.matrix.tolist(), strict=True)):
            frame = _FRAME if row == self.highlight else ""
            parts.append(f'<tr><th scope="row" style="{_LABEL}{frame}">{name}</th>')
            for key, entry in zip(keys, entries, strict=True):
                text = self._write(entry)
                hint = f"{query} {relation} {key}: {text}"
                parts.append(f'<td title="{hint}" style="{self._colours(float(text))}{frame}">{text}</td>')
            parts.append("</tr>")
        parts.append("</tbody></table>")
        return "".join(parts) + self._legend()

    def _legend(self):
        """The colour scale as a small table too, since colours on table cells are shown everywhere, GitHub included."""
        low, high = self._write_end(self.low), self._write_end(self.high)
        colours = _palette(self.colormap)
        chosen = [colours[step * 255 // (_SWATCHES - 1)] for step in range(_SWATCHES)]
        swatches = "".join(f'<td style="{colour}">&nbsp;</td>' for colour in chosen)
        return (
            f'<table style="{_TABLE}" role="img" aria-label="colour scale from {low} to {high}"><tbody>'
            f"<tr><td>{low}</td>{swatches}<td>{high}</td></tr></tbody></table>"
        )

    def _write_end(self, number):
        """An end of the scale, which may be a half where the matrix holds whole numbers."""
        return self._write(int(number) if float(number).is_integer() and self.matrix.dtype.kind in "iu" else number)

    def _colours(self, number):
        """The inline style of a cell. `number` is rounded as shown, so that equal text always has equal colours."""
        if not np.isfinite(number):
            return _style(*(_NOT_A_NUMBER if np.isnan(number) else _INFINITE))
        place = (number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves, or two large ones may overflow
        return _palette(self.colormap)[int(min(max(place * 256, 0), 255))]

    def _is_attention(self):
        """Whether each row is a distribution over the keys."""
        return bool((self.matrix >= 0).all() and (np.abs(self.matrix.sum(axis=1, dtype=float) - 1) < 1e-3).all())

    def _text(self):
        rows = [[self._write(entry) for entry in row] for row in self.matrix.tolist()]
        keys = map(_isolated, self.keys)
        columns = [["", *self._marked_queries()], *([key, *cells] for key, *cells in zip(keys, *rows, strict=True))]
        widths = [max(map(_width, column)) for column in columns]
        lines = [self._headline()]
        for name, *cells in zip(*columns, strict=True):
            padded = [" " * (width - _width(cell)) + cell for width, cell in zip(widths[1:], cells, strict=True)]
            lines.append("  ".join([name + " " * (widths[0] - _width(name)), *padded]))
        lines.append(f"colour scale from {self._write_end(self.low)} to {self._write_end(self.high)}")
        return "\n".join(lines)

    def _summary(self):
        """What a picture shows, in words: size, range, and the key at which each query peaks."""
        finite = np.isfinite(self.matrix)
        seen = self.matrix[finite]
        ends = f"from {self._write(seen.min())} to {self._write(seen.max())}" if seen.size else "no finite number"
        odd = f", {finite.size - seen.size} nan or inf" if seen.size < finite.size else ""
        peaks = np.where(finite, self.matrix, -np.inf).argmax(axis=1)
        keys = [
            _isolated(self.keys[peak]) if some else "-" for peak, some in zip(peaks, finite.any(axis=1), strict=True)
        ]
        where = "  ".join(f"{name}→{key}" for name, key in zip(self._marked_queries(), keys, strict=True))
        size = f"{finite.shape[0]} x {finite.shape[1]}"
        return f"{self._headline()}, {size}, {ends}{odd}\nwhere each {self.axes[0]} peaks: {where}"

    def _marked_queries(self):
        return [("▶ " if row == self.highlight else "") + _isolated(query) for row, query in enumerate(self.queries)]


_TABLE = "font-size: 1em;"  # of the text around it, so that one setting enlarges both
_CAPTION = "caption-side: top; text-align: left; white-space: nowrap;"
_LABEL = "text-align: right; max-width: 9em; overflow-wrap: anywhere; white-space: normal;"
_FRAME_COLOUR = "#e66400"
_FRAME = " border-top: 2px solid rgb(230, 100, 0); border-bottom: 2px solid rgb(230, 100, 0);"


def _style(ground, text):
    return f"background-color: {ground}; color: {text}; text-align: right;"


@functools.cache
def _palette(colormap):
    """The 256 cell styles of a colormap, each with the text colour, black or white, that reads better on it."""
    colours = matplotlib.colormaps[colormap](range(256), bytes=True)[:, :3]
    black = _luminance(colours) > 0.179  # from here on black has the higher contrast
    texts = np.where(black, "rgb(0, 0, 0)", "rgb(255, 255, 255)").tolist()
    return [_style(f"rgb({r}, {g}, {b})", text) for (r, g, b), text in zip(colours.tolist(), texts, strict=True)]


def _luminance(colours):
    """Relative luminance of sRGB colours, (..., 3) from 0 to 255, as WCAG 2.2 defines it: (...)."""
    channels = np.asarray(colours) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def _writer(values, decimals):
    """A function that turns one of these numbers into text: whole numbers as they are, others with fixed decimals.

    Where that would hide the numbers (all round to zero) or stretch the table (a million and more), the form is the
    scientific one.
    """
    finite = np.abs(values[np.isfinite(values)].astype(float))
    largest = finite.max() if finite.size else 0
    form = "e" if largest >= 1e6 or 0 < largest < 0.5 * 10**-decimals else "f"

    def write(number):
        if isinstance(number, Integral):
            return str(int(number))
        text = f"{number:.{decimals}{form}}"
        # A tiny negative number is -0.0000 on one processor and 0.0000 on the next.
        return text.removeprefix("-") if float(text) == 0 else text

    return write


def _scale(values, low, high, write):
    """Colormap and ends of the colour scale, rounded as shown: colours must not depend on digits that nobody sees."""
    low, high = _end("low", low), _end("high", high)
    finite = values[np.isfinite(values)]
    least, most = (float(write(end)) for end in ((finite.min(), finite.max()) if finite.size else (0.0, 1.0)))
    if low is not None and high is not None and low >= high:
        raise ValueError(f"low must be below high, but low is {low:g} and high is {high:g}")
    low, high = (least if low is None else low), (most if high is None else high)
    if low > high:
        raise ValueError(f"low must be below high, but the colour scale would run from {low:g} to {high:g}")
    if least < 0 or low < 0:
        farthest = max(abs(low), abs(high))
        return _DIVERGING, -farthest, farthest
    if low == high:  # one number everywhere: any range around it will do
        low, high = min(low, 0.0), max(high, 1.0)
    return _SEQUENTIAL, low, high


def _end(name, end):
    """An end of the scale as a float, or None."""
    if end is None:
        return None
    try:
        number = float(end)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise TypeError(f"{name} must be a finite number or None, not {end!r}")
    return number


def _numbers(matrix):
    """`matrix` as a numpy array of its own, or a clear error."""
    try:
        values = np.array(_plain(matrix))
    except ValueError:
        raise _uneven(matrix) from None
    if isinstance(matrix, torch.Tensor):
        values = values.reshape(matrix.shape)  # an empty list has lost it
    if values.dtype.kind == "b":
        values = values.astype(int)
    if values.dtype.kind not in "fiu":
        odd = next((entry for entry in values.ravel().tolist() if not isinstance(entry, Real)), values.dtype)
        raise TypeError(f"matrix must hold real numbers, but this {type(matrix).__name__} holds {odd!r}")
    if values.ndim != 2:
        row = "matrix[None, :]" if hasattr(matrix, "shape") else "[matrix]"
        one = f". Choose one of its matrices, such as matrix{'[0]' * (values.ndim - 2)}"
        advice = {0: "", 1: f". For a single row, pass {row}"}.get(values.ndim, one)
        raise ValueError(f"matrix must have two dimensions, queries and keys, but its shape is {values.shape}{advice}")
    if values.size == 0:
        raise ValueError(f"matrix must not be empty, but its shape is {values.shape}")
    return values


def _plain(matrix):
    """Tensors, also those in a list, as lists of numbers: whatever their dtype, and whether or not they have a grad."""
    if isinstance(matrix, torch.Tensor):
        return matrix.tolist()
    return [_plain(row) for row in matrix] if isinstance(matrix, (list, tuple)) else matrix


def _uneven(matrix):
    """What to tell about a list that is no matrix."""
    if any(getattr(part, "ndim", 0) > 1 for part in matrix):
        what = f"not a {type(matrix).__name__} of {len(matrix)}: choose one of them"
        return ValueError(f"matrix must be one matrix, {what}")
    lengths = sorted({len(row) for row in matrix if hasattr(row, "__len__")})
    why = f"its rows have {', '.join(map(str, lengths[:5]))} entries"
    if len(lengths) < 2:
        why = "rows and single numbers, or deeper lists, are mixed in it"
    return ValueError(f"matrix must be rows of equal length, one number for each key, but {why}")


def _labels(name, labels, count, side, shape):
    """Labels as text, one per row or column; a set has no order, and one string is no list of strings."""
    if labels is None:
        return [str(number) for number in range(count)]
    labels = labels.tolist() if hasattr(labels, "tolist") else labels
    if isinstance(labels, (str, bytes, set, frozenset)) or not hasattr(labels, "__iter__"):
        raise TypeError(f"{name} must be a list of labels, not {labels!r}")
    texts = [_visible(str(_plain(label))) for label in labels]
    if len(texts) != count:
        raise ValueError(f"{name} has {len(texts)} labels, but matrix has {count} {side} (shape {shape})")
    return texts


def _visible(label):
    """The label with what would not be seen, such as a line break, written out: a tokenizer has tokens like these."""
    if not label.strip():
        return repr(label)
    start, end = len(label) - len(label.lstrip(" ")), len(label.rstrip(" "))
    label = "␣" * start + label[start:end] + "␣" * (len(label) - end)
    joiners = "\u200c\u200d"  # parts of many emoji and of some scripts
    return "".join(c if c.isprintable() or c in joiners else c.encode("unicode_escape").decode() for c in label)


def _isolated(label):
    """The label such that letters written from right to left leave the order of what stands beside it alone."""
    to_the_left = any(unicodedata.bidirectional(character) in ("R", "AL") for character in label)
    return f"\u2068{label}\u2069" if to_the_left else label


def _shortened(label):
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def _width(text):
    """Columns that the text takes in a fixed-width font: two for a Chinese character or an emoji."""
    return len(text) if text.isascii() else max(wcswidth(text), 0)


def _row_number(highlight, rows):
    if highlight is None:
        return None
    try:
        row = operator.index(highlight)  # also of a tensor, such as from argmax
    except TypeError:
        raise TypeError(f"highlight must be the number of a row, not {highlight!r}") from None
    if not 0 <= row < rows:
        raise ValueError(f"highlight must be a row from 0 to {rows - 1}, not {row}")
    return row
