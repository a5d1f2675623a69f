"""film(function, **slider): what moves with one slider and needs no kernel to move.

All frames are computed once and stored in one ordinary output, and a few lines of script switch them in the browser. So
the next frame is on the screen at once, and the slider lives on in a page exported as HTML. Where scripts do not run,
as on GitHub, the reader sees the first frame.
"""

import json
import math
import re
from decimal import Decimal

import ipywidgets
from IPython.display import display

from .markup import NAMES, literal
from .result import html_of, joined, result_of
from .sliders import close, range_of, sliders_for, starts_of

MOST_POSITIONS = 200
MOST_MEGABYTES = 4  # a film larger than this says so

# What may differ between frames: a text between tags, and a number within a tag, such as a channel of a colour.
_VARYING = re.compile(r"((?<=>)[^<]+|-?\d+(?:\.\d+)?)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

# The colours of the page are kept, so that it can be read in a light and in a dark theme. The frame keeps the height of
# the tallest, or the page would jump. Pictures are decoded before they are shown, or the frame would blink.
_SCRIPT = """(() => {
const film = FILM;
const [place, frame] = document.currentScript.parentNode.children;
const columns = film.columns.map((column) => (typeof column === "string" ? column.split(" ") : column));
const html = (n) => film.skeleton.map((part, i) => (i ? columns[film.slots[i - 1]][n] : "") + part).join("");
place.className = "mathjax_ignore tex2jax_ignore";  // a dollar sign in a name or a choice starts no formula
const [label, input, output] = ["label", "input", "output"].map((tag) => document.createElement(tag));
Object.assign(input, { type: "range", min: 0, max: film.positions.length - 1, value: film.start });
input.style = "width: 24em; max-width: 60%; margin: 0 1em; vertical-align: middle;"  // and as explore's sliders look:
  + " appearance: none; height: 4px; border-radius: 4px; background: var(--jp-layout-color3, silver);"
  + " accent-color: white; filter: drop-shadow(0 0 1px gray);";
input.setAttribute("aria-label", film.name);
input.setAttribute("data-lm-suppress-shortcuts", "true");  // or JupyterLab takes the arrow keys
output.style = "font-variant-numeric: tabular-nums;";
const name = () => {
  output.textContent = film.positions[input.value];
  input.setAttribute("aria-valuetext", output.textContent);
};
const height = () => frame.getBoundingClientRect().height;
const show = () => {
  name();
  const shown = input.value;
  const next = document.createElement("div");
  next.innerHTML = html(shown);
  const pictures = [...next.querySelectorAll("img")].map((picture) => picture.decode().catch(() => {}));
  const put = () => {
    if (shown !== input.value) return;
    frame.style.minHeight = `${height()}px`;
    frame.replaceChildren(...next.childNodes);
  };
  pictures.length ? Promise.all(pictures).then(put) : put();
};
const measure = () => {
  const now = [...frame.childNodes];
  const heights = film.positions.map((_, n) => { frame.innerHTML = html(n); return height(); });
  frame.replaceChildren(...now);
  frame.style.minHeight = `${Math.max(height(), ...heights)}px`;
};
input.addEventListener("focus", measure, { once: true });
input.addEventListener("input", show);
label.append(film.name, input, output);
place.replaceChildren(label);
name();
const element = place;
NAMES})();"""


def film(function, /, **slider):
    """Show what a function returns for each position of one slider; the frames are switched in the browser.

    Args:
        function: takes one argument and returns what a function for `explore` returns. It is called once for each
            position, in order. Text and tables take little room in the notebook; a figure is stored for each position.
        slider: for that argument (low, high), (low, high, step) or a list of choices, at most `MOST_POSITIONS`
            positions. The film starts at the default of the function's argument, or else at the first position.

    Raises:
        TypeError, ValueError: as in `explore`; and for more than one slider, or too many positions.
        RuntimeError: the function raised at a position, which the message names; what was raised is its cause.
    """
    if len(slider) != 1:
        given = f"not {len(slider)}: {', '.join(slider)}. explore takes several" if slider else "such as step=(0, 50)"
        raise ValueError(f"film needs exactly one slider, {given}")
    ((name, choices),) = slider.items()
    if isinstance(choices, (bool, int, float, str, ipywidgets.Widget, ipywidgets.fixed)):
        raise TypeError(f"slider {name} must be (low, high), (low, high, step) or a list, not {choices!r}")
    control = sliders_for(function, slider)[name]
    close(control)  # it only tells the positions: the film has a control of its own
    values, labels = _positions(name, control)
    start = starts_of(function, slider).get(name, values[0])
    if start not in values:
        where = ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")
        raise ValueError(f"slider {name} can't start at {start!r}, the function's default: it goes {where}")
    start = values.index(start)
    bundles = [_bundle(function, name, value) for value in values]
    frames = [html_of(bundle) for bundle in bundles]
    data = {"name": name, "positions": labels, "start": start, **_compact(frames)}
    # A `<` would let a token such as </script> end the script.
    script = _SCRIPT.replace("NAMES", NAMES).replace(
        "FILM", json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    )
    if (size := len(script) / 1e6) > MOST_MEGABYTES:
        each = f"{len(values)} frames of {len(frames[start]) / 1000:.0f} kB"
        print(f"This film takes {size:.0f} MB of the notebook: {each}. A larger step makes fewer frames.")
    line = f"Slider: {name}{range_of(control)}. Run this cell (Shift+Enter) to move it."
    page = f"<div><div><em>{literal(line)}</em></div><div>{frames[start]}</div><script>{script}</script></div>"
    display({"text/html": page, "text/plain": f"{line}\n{bundles[start].get('text/plain', '')}"}, raw=True)


def _positions(name, control):
    """The values at which the control can stand, and how to write each."""
    if hasattr(control, "options"):
        labels, values = list(map(str, control._options_labels)), control._options_values
        count = len(values)
    else:
        low, high, step = (Decimal(f"{end:.10g}") for end in (control.min, control.max, control.step))
        count = math.floor((high - low) / step) + 1
        whole = isinstance(control, ipywidgets.IntSlider)
        values = [(int if whole else float)(low + n * step) for n in range(min(count, MOST_POSITIONS))]
        labels = [str(value) if whole else format(value, control.readout_format) for value in values]
    if count > MOST_POSITIONS:
        raise ValueError(f"slider {name} has {count} positions, more than {MOST_POSITIONS}: take a larger step")
    return values, labels


def _bundle(function, name, value):
    """What the function gives for the value, by MIME type."""
    outputs, error = result_of(function, {name: value})
    if error is not None:
        kind = type(error).__name__
        raise RuntimeError(f"with {name} = {value!r} the function raised {kind}: {error}") from error
    for data, _ in outputs:
        if html_of(data) is None:
            kinds = ", ".join(kind for kind in data if kind != "text/plain") or "text with colours"
            raise TypeError(f"with {name} = {value!r} the function shows {kinds}, which a film can't: explore does")
    return joined(outputs)[0]


def _compact(frames):
    """The frames as a skeleton, which is stored once, and columns: what stands in a slot of it, for each frame.

    Frame n is skeleton[0], columns[slots[0]][n], skeleton[1], columns[slots[1]][n], ... Slots with the same column,
    such as a number in a cell and in its title, share it. A column of numbers is stored as one text.
    """
    split = [_VARYING.split(frame) for frame in frames]
    if len({tuple(parts[::2]) for parts in split}) > 1:  # frames of another build: stored whole
        return {"skeleton": ["", ""], "slots": [0], "columns": [frames]}
    skeleton, slots, columns = [""], [], {}
    for column in zip(*split, strict=True):
        if len(set(column)) == 1:
            skeleton[-1] += column[0]
        else:
            slots.append(columns.setdefault(column, len(columns)))
            skeleton.append("")
    stored = [" ".join(column) if all(map(_NUMBER.fullmatch, column)) else list(column) for column in columns]
    return {"skeleton": skeleton, "slots": slots, "columns": stored}
