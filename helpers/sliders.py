"""The sliders that explore and film take: made, and refused by name where they can't move."""

import inspect
import math
import reprlib
from decimal import Decimal
from numbers import Real

import ipywidgets


def sliders_for(function, sliders):
    """The widget of each slider, by name, once it is clear that function and sliders fit together.

    Args:
        function: takes one argument per slider.
        sliders: a dictionary from the name of an argument to what `ipywidgets.interact` takes for it. Widgets of the
            caller's own are taken as they are.

    Raises:
        TypeError, ValueError: as in `explore`.
    """
    starts = starts_of(function, sliders)
    return {name: _control(name, slider, starts.get(name)) for name, slider in sliders.items()}


def starts_of(function, sliders):
    """The default of each argument; the sliders must be arguments, and no argument may lack a value."""
    if not callable(function):
        raise TypeError(f"explore needs a function, not {function!r}: pass the function itself, without brackets")
    name = getattr(function, "__name__", "the function")
    if not sliders:
        raise ValueError(f"explore needs at least one slider for {name}, such as temperature=(0.1, 3.0)")
    parameters = inspect.signature(function).parameters
    kinds = inspect.Parameter
    by_name = [n for n, p in parameters.items() if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    takes_all = any(p.kind == kinds.VAR_KEYWORD for p in parameters.values())
    if unknown := [slider for slider in sliders if slider not in by_name and not takes_all]:
        raise TypeError(
            f"{name} has no argument {', '.join(unknown)} that can be given by name; "
            f"its arguments are: {', '.join(parameters)}"
        )
    if needed := [n for n in by_name if parameters[n].default is kinds.empty and n not in sliders]:
        raise TypeError(f"{name} needs a slider, or a default, for: {', '.join(needed)}")
    return {argument: p.default for argument, p in parameters.items() if p.default is not p.empty}


def _control(name, slider, start):
    """The widget for one slider, or what `ipywidgets.fixed` holds fast."""
    control = slider
    if not isinstance(slider, (ipywidgets.ValueWidget, ipywidgets.fixed)):
        control = _made(name, slider.tolist() if hasattr(slider, "tolist") else slider, start)
    if isinstance(control, ipywidgets.DOMWidget) and not control.description:
        control.description = name
    return control


def _made(name, slider, start):
    """A new widget for a range, a list of choices or a single value."""
    if isinstance(slider, tuple) and len(slider) in (2, 3) and all(isinstance(end, Real) for end in slider):
        _check_range(name, slider)
    if isinstance(slider, list):
        _check_choices(name, slider)
    try:
        control = ipywidgets.interactive.widget_from_abbrev(slider, inspect.Parameter.empty if start is None else start)
    except Exception as error:
        raise ValueError(f"slider {name} = {reprlib.repr(slider)} is not possible: {error}") from None
    if control is None or isinstance(control, ipywidgets.fixed):
        raise TypeError(
            f"slider {name} must be (low, high), (low, high, step), a list, a single value or a widget, "
            f"not {reprlib.repr(slider)}"
        )
    _settle(name, control, slider, start)
    return control


def _check_range(name, slider):
    """Whether (low, high) or (low, high, step) is a range in which a slider can move."""
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
    if start is not None and not isinstance(slider, (bool, int, float, str)) and control.value != start:
        raise ValueError(
            f"slider {name} can't start at {reprlib.repr(start)}, the function's default: "
            f"it offers {reprlib.repr(slider)}"
        )


def _decimals(number):
    """How many decimals it takes to write the number, as far as a reader would say: 2 for 0.25, 0 for 3.0."""
    return max(0, -Decimal(f"{number:.10g}").normalize().as_tuple().exponent)


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


def close(widget):
    """Close a widget and the two that it has made for itself."""
    for part in (getattr(widget, "style", None), getattr(widget, "layout", None), widget):
        if isinstance(part, ipywidgets.Widget):
            part.close()
