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
import re
import textwrap
import unicodedata

import matplotlib
import numpy as np
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
_ISOLATING = "\u2068\u2069"  # around a label that runs from right to left: numbers beside it keep their order
_SWATCHES = 9  # coloured cells in the legend
_NOT_A_NUMBER = ("rgb(255, 214, 214)", "rgb(153, 0, 0)")  # ground and text of a cell with nan
_INFINITE = ("rgb(224, 224, 224)", "rgb(0, 0, 0)")  # and of one with inf or -inf
_TABLE = "font-size: 1em;"  # of the text around it, so that one setting enlarges both
_CAPTION = "caption-side: top; text-align: left; white-space: nowrap;"
_LABEL = "text-align: right; max-width: 9em; overflow-wrap: anywhere; white-space: normal;"
_FRAME = " border-top: 2px solid rgb(230, 100, 0); border-bottom: 2px solid rgb(230, 100, 0);"


def heatmap(
    matrix, queries=None, keys=None, *, title="", axes=_ATTENTION, highlight=None, decimals=4, low=None, high=None
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
    queries = _labels("queries", queries, rows, "rows")
    keys = queries if keys is None and rows == columns else _labels("keys", keys, columns, "columns")
    title = " ".join(str(title or "").split())
    axes = tuple(_labels("axes", axes, 2, "dimensions"))
    highlight = None if highlight is None else _whole("highlight", highlight, "row", rows - 1)
    write = _writer(values, _whole("decimals", decimals, "number of digits", 10))
    return Heatmap(values, queries, keys, title, axes, highlight, write, _scale(values, low, high, write))


class Heatmap:
    """What `heatmap` returns. `matrix` is the (T, S) array; `queries` and `keys` are its labels, as text shows them."""

    def __init__(self, matrix, queries, keys, title, axes, highlight, write, scale):
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
        image = ax.imshow(self.matrix, cmap=self.colormap, vmin=self.low, vmax=self.high, aspect="auto")
        keys, queries = _ticks(self.keys), _ticks(self.queries)
        for axis, labels, name in ((ax.xaxis, keys, self.axes[1]), (ax.yaxis, queries, self.axes[0])):
            axis.set_label_text(name.strip(_ISOLATING), parse_math=False)  # a dollar sign is a token like any other
            if labels:
                axis.set_ticks(range(len(labels)), labels, parse_math=False)
            else:
                axis.set_major_locator(MaxNLocator(integer=True))
        if max(map(len, keys), default=0) > 4:
            ax.tick_params(axis="x", labelrotation=90)
        ax.set_title(textwrap.fill(self.title, 50), parse_math=False)
        if self.highlight is not None:
            ax.axhspan(self.highlight - 0.5, self.highlight + 0.5, fill=False, edgecolor="#e66400", linewidth=2)
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
        relation = "attends to" if self.axes == _ATTENTION and self._is_attention() else "and"
        head = "".join(f'<th scope="col" style="{_LABEL}">{literal(key)}</th>' for key in self.keys)
        parts = [
            f'<table style="{_TABLE}"><caption style="{_CAPTION}">{literal(self._headline())}</caption>'
            f"<thead><tr><td>{row_name} ↓ {column_name} →</td>{head}</tr></thead><tbody>"
        ]
        rows = zip(self._marked_queries(), self.queries, self.matrix.tolist(), strict=True)
        for row, (name, query, entries) in enumerate(rows):
            frame = _FRAME if row == self.highlight else ""
            parts.append(f'<tr><th scope="row" style="{_LABEL}{frame}">{literal(name)}</th>')
            for key, entry in zip(self.keys, entries, strict=True):
                text = self._write(entry)
                hint = html.escape(f"{query} {relation} {key}: {text}")
                parts.append(f'<td title="{hint}" style="{self._colours(float(text))}{frame}">{text}</td>')
            parts.append("</tr>")
        parts.append("</tbody></table>")
        return "".join(parts) + self._legend()

    def _legend(self):
        """The colour scale as a small table too, since colours on table cells are shown everywhere, GitHub included."""
        low, high = self._write(self.low), self._write(self.high)
        colours = _palette(self.colormap)
        chosen = [colours[step * 255 // (_SWATCHES - 1)] for step in range(_SWATCHES)]
        swatches = "".join(f'<td style="{colour}">&nbsp;</td>' for colour in chosen)
        return (
            f'<table style="{_TABLE}" role="img" aria-label="colour scale from {low} to {high}"><tbody>'
            f"<tr><td>{low}</td>{swatches}<td>{high}</td></tr></tbody></table>"
        )

    def _colours(self, number):
        """The inline style of a cell. `number` is rounded as shown, so that equal text always has equal colours."""
        if math.isnan(number):
            return _style(*_NOT_A_NUMBER)
        if math.isinf(number):
            return _style(*_INFINITE)
        # In halves, since the difference of two large numbers may overflow.
        place = (number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return _palette(self.colormap)[min(max(int(place * 256), 0), 255)]

    def _is_attention(self):
        """Whether each row is a distribution over the keys."""
        return bool((self.matrix >= 0).all() and (np.abs(self.matrix.sum(axis=1) - 1) < 1e-3).all())

    def _text(self):
        named = zip(self._marked_queries(), self.matrix.tolist(), strict=True)
        table = [["", *self.keys], *([name, *map(self._write, entries)] for name, entries in named)]
        widths = [max(map(wcswidth, column)) for column in zip(*table, strict=True)]
        lines = [self._headline()]
        for name, *cells in table:
            padded = [" " * (width - wcswidth(cell)) + cell for width, cell in zip(widths[1:], cells, strict=True)]
            lines.append("  ".join([name + " " * (widths[0] - wcswidth(name)), *padded]))
        lines.append(f"colour scale from {self._write(self.low)} to {self._write(self.high)}")
        return "\n".join(lines)

    def _summary(self):
        """What a picture shows, in words: size, range, and the key at which each query peaks."""
        finite = np.isfinite(self.matrix)
        seen = self.matrix[finite]
        ends = f"from {self._write(seen.min())} to {self._write(seen.max())}" if seen.size else "no finite number"
        odd = f", {finite.size - seen.size} nan or inf" if seen.size < finite.size else ""
        size = f"{finite.shape[0]} x {finite.shape[1]}"
        peaks = np.where(finite, self.matrix, -np.inf).argmax(axis=1)
        keys = [self.keys[peak] if some else "-" for peak, some in zip(peaks, finite.any(axis=1), strict=True)]
        where = "  ".join(f"{name}→{key}" for name, key in zip(self._marked_queries(), keys, strict=True))
        return f"{self._headline()}, {size}, {ends}{odd}\nwhere each {self.axes[0]} peaks: {where}"

    def _marked_queries(self):
        return [("▶ " if row == self.highlight else "") + query for row, query in enumerate(self.queries)]


def _style(ground, text):
    return f"background-color: {ground}; color: {text}; text-align: right;"


@functools.cache
def _palette(colormap):
    """The 256 cell styles of a colormap, each with the text colour, black or white, that reads better on it."""
    styles = []
    for red, green, blue, _ in matplotlib.colormaps[colormap](range(256), bytes=True).tolist():
        light = _luminance(red, green, blue) > 0.179  # from here on black has the higher contrast
        styles.append(_style(f"rgb({red}, {green}, {blue})", "rgb(0, 0, 0)" if light else "rgb(255, 255, 255)"))
    return styles


def _luminance(*channels):
    """Relative luminance of an sRGB colour (0 to 255 per channel), as WCAG 2.2 defines it."""
    shares = [channel / 255 for channel in channels]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _writer(values, decimals):
    """A function that turns one of these numbers into text: whole numbers as they are, others with fixed decimals.

    Where that would hide the numbers (all round to zero) or stretch the table (a million and more), the form is the
    scientific one.
    """
    largest = np.abs(values[np.isfinite(values)].astype(float)).max(initial=0)
    form = "e" if largest >= 1e6 or 0 < largest < 0.5 * 10**-decimals else "f"
    whole = values.dtype.kind in "iu"

    def write(number):
        if whole and float(number).is_integer():  # an end of the scale may be a half
            return str(int(number))
        text = f"{number:.{decimals}{form}}"
        # A tiny negative number is -0.0000 on one processor and 0.0000 on the next.
        return text.removeprefix("-") if float(text) == 0 else text

    return write


def _scale(values, low, high, write):
    """Colormap and ends of the colour scale, rounded as shown: colours must not depend on digits that nobody sees."""
    finite = values[np.isfinite(values)]
    ends = (finite.min(), finite.max()) if finite.size else (0, 1)
    # To round the largest of all floats up gives infinity, which nan_to_num takes back.
    least, most = (float(np.nan_to_num(float(write(end)))) for end in ends)
    low = least if low is None else _converted("low", low, float, "a number or None")
    high = most if high is None else _converted("high", high, float, "a number or None")
    if not -math.inf < low <= high < math.inf or (low == high and least < most):
        raise ValueError(f"low must be below high, both finite, but the colour scale runs from {low:g} to {high:g}")
    if least < 0 or low < 0:
        farthest = max(abs(low), abs(high))
        return _DIVERGING, -farthest, farthest
    if low == high:  # one number everywhere: any range around it will do
        low, high = min(low, 0.0), max(high, 1.0)
    return _SEQUENTIAL, low, high


def _numbers(matrix):
    """`matrix` as a numpy array of its own, or a clear error."""
    try:
        values = np.array(_plain(matrix))
    except ValueError:  # numpy takes rows of one length alone
        several = any(getattr(part, "ndim", 0) > 1 for part in matrix)
        one = f"one matrix, not a {type(matrix).__name__} of {len(matrix)}: choose one of them"
        raise ValueError(f"matrix must be {one if several else 'rows of equal length, one number per key'}") from None
    if values.size and values.dtype.kind not in "biuf":
        kinds = {type(entry).__name__ for entry in values.ravel().tolist()} - {"int", "float"}
        raise TypeError(
            f"matrix must hold real numbers, but this {type(matrix).__name__} holds {', '.join(sorted(kinds))}"
        )
    shape = tuple(getattr(matrix, "shape", values.shape))  # that of an empty list tells less
    if values.size == 0:
        raise ValueError(f"matrix must not be empty, but its shape is {shape}")
    if values.ndim != 2:
        choice = f"Choose one of its matrices, such as matrix{'[0]' * (values.ndim - 2)}"
        advice = choice if values.ndim > 2 else "For a single row, pass [matrix]"
        raise ValueError(f"matrix must have two dimensions, queries and keys, but its shape is {shape}. {advice}")
    return values.astype(int) if values.dtype.kind == "b" else values


def _plain(given):
    """Tensors and arrays as nested lists of Python's own numbers, also where they stand in a list."""
    if hasattr(given, "tolist"):
        return given.tolist()
    return [_plain(part) for part in given] if isinstance(given, (list, tuple)) else given


def _labels(name, labels, count, side):
    """Labels as text, one per row or column; a set has no order, and one string is no list of strings."""
    labels = range(count) if labels is None else labels
    if isinstance(labels, (str, set)):
        raise TypeError(f"{name} must be a list of labels, not {labels!r}")
    labels = _plain(_converted(name, labels, list, "a list of labels"))
    if len(labels) != count:
        raise ValueError(f"{name} has {len(labels)} labels, but matrix has {count} {side}")
    return [_isolated(_visible(str(label))) for label in labels]


def _visible(label):
    """The label with what would not be seen, such as a line break, written out: a tokenizer has tokens like these."""
    if not label.strip():
        return repr(label)
    label = re.sub("^ +| +$", lambda spaces: "␣" * len(spaces[0]), label)
    joiners = "\u200c\u200d"  # parts of many emoji and of some scripts
    return "".join(c if c.isprintable() or c in joiners else c.encode("unicode_escape").decode() for c in label)


def _isolated(label):
    """The label, between two signs where any of it runs from right to left."""
    leftwards = any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in label)
    return f"{_ISOLATING[0]}{label}{_ISOLATING[1]}" if leftwards else label


def _ticks(labels):
    """Labels as a picture has them, long ones cut; none where there are too many to be read."""
    if len(labels) > MOST_TOKENS:
        return []
    plain = [label.strip(_ISOLATING) for label in labels]
    return [label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…" for label in plain]


def _converted(name, given, kind, what):
    """What was given, turned into that kind, or an error that names it."""
    try:
        return kind(given)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise TypeError(f"{name} must be {what}, not {given!r}") from None


def _whole(name, given, what, most):
    """A whole number from 0 on, also one in a tensor, such as argmax gives."""
    wanted = f"a {what} from 0 to {most}"
    number = _converted(name, given, operator.index, wanted)
    if not 0 <= number <= most:
        raise ValueError(f"{name} must be {wanted}, not {number}")
    return number
