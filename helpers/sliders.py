"""The sliders that explore and film take: made, and refused by name where they can't move."""

import inspect
import math
import reprlib
from decimal import Decimal
from numbers import Real

import ipywidgets


def sliders_for(function, sliders):
    """The widget of each slider, by name, for what `explore` takes; its errors are raised here."""
    starts = starts_of(function, sliders)
    return {name: _control(name, slider, starts.get(name)) for name, slider in sliders.items()}


def starts_of(function, sliders):
    """The default of each argument, once function and sliders fit together."""
    if not callable(function):
        raise TypeError(f"explore needs a function, not {function!r}: pass the function itself, without brackets")
    name = getattr(function, "__name__", "the function")
    if not sliders:
        raise ValueError(f"explore needs at least one slider for {name}, such as temperature=(0.1, 3.0)")
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # some built-in functions do not tell
        return {}
    kinds = inspect.Parameter
    by_name = [n for n, p in parameters.items() if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    takes_all = any(p.kind == kinds.VAR_KEYWORD for p in parameters.values())
    if unknown := [slider for slider in sliders if slider not in by_name and not takes_all]:
        what = f"has no argument {', '.join(unknown)} that can be given by name; its arguments are: "
        raise TypeError(f"{name} {what}{', '.join(parameters)}")
    if needed := [n for n in by_name if parameters[n].default is kinds.empty and n not in sliders]:
        raise TypeError(f"{name} needs a slider, or a default, for: {', '.join(needed)}")
    return {argument: p.default for argument, p in parameters.items() if p.default is not p.empty}


def _control(name, slider, start):
    """The widget for one slider, or what `ipywidgets.fixed` holds fast."""
    control = slider
    if not isinstance(slider, (ipywidgets.ValueWidget, ipywidgets.fixed)):
        choices = slider.tolist() if hasattr(slider, "tolist") else slider
        _check(name, choices)
        try:
            control = ipywidgets.interactive.widget_from_abbrev(
                choices, inspect.Parameter.empty if start is None else start
            )
        except Exception as error:
            raise ValueError(f"slider {name} = {reprlib.repr(slider)} is not possible: {error}") from None
        if control is None or isinstance(control, ipywidgets.fixed):
            kinds = "(low, high), (low, high, step), a list, a single value or a widget"
            raise TypeError(f"slider {name} must be {kinds}, not {reprlib.repr(slider)}")
        _settle(name, control, slider, start)
    if isinstance(control, ipywidgets.DOMWidget) and not control.description:
        control.description = name
    return control


def _check(name, choices):
    """Refuse what ipywidgets takes for a range or a list of choices, and which could not move or would mean another."""
    if isinstance(choices, tuple) and len(choices) in (2, 3) and all(isinstance(end, Real) for end in choices):
        low, high, step = choices if len(choices) == 3 else (*choices, math.ulp(0))
        if not 0 < step <= high - low < math.inf:
            rule = "the high end must be above the low end, and the step above 0 and no larger than from end to end"
            raise ValueError(f"slider {name} can't move: {choices!r} is no range, {rule}")
    elif isinstance(choices, list):
        if any(getattr(choice, "shape", ()) for choice in choices):
            raise TypeError(f"slider {name}: a choice can't be a tensor or an array. Offer their names, or numbers")
        pairs = [isinstance(choice, (list, tuple)) and len(choice) == 2 for choice in choices]
        if choices and all(pairs) and not all(isinstance(label, str) for label, _ in choices):
            why = "a list of pairs is read as labels and values, so each must begin with a text"
            raise TypeError(f"slider {name}: {why}, not {reprlib.repr(choices[0])}")


def _settle(name, control, slider, start):
    """Check that a new control can do what was asked for, and show as many decimals as its values have."""
    if getattr(control, "options", None) == ():
        raise ValueError(f"slider {name} has no choices: {slider!r}")
    if isinstance(control, ipywidgets.FloatSlider):
        if not (isinstance(slider, tuple) and len(slider) == 3):
            control.step = min(0.1, 10 ** math.floor(math.log10((control.max - control.min) / 10)))
        if start is None and isinstance(slider, tuple):  # ipywidgets starts in the middle, which may be off the steps
            control.value = control.min + round((control.value - control.min) / control.step) * control.step
        numbers = (Decimal(f"{number:.10g}").normalize() for number in (control.min, control.step, control.value))
        decimals = max(-number.as_tuple().exponent for number in numbers)  # as a reader would say: 2 for 0.25
        control.readout_format = f".{min(max(decimals, 1), 10)}f"
    if start is not None and not isinstance(slider, (bool, int, float, str)) and control.value != start:
        begin = f"slider {name} can't start at {reprlib.repr(start)}, the function's default"
        raise ValueError(f"{begin}: it offers {reprlib.repr(slider)}")


def range_of(control):
    """Where a control can go, in words, such as " from 0 to 10"."""
    low, high = getattr(control, "min", None), getattr(control, "max", None)
    if isinstance(control, ipywidgets.FloatLogSlider):
        low, high = control.base**low, control.base**high
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if hasattr(control, "options"):
        return f" ({', '.join(map(str, getattr(control, '_options_labels', control.options)))})"
    return ""


def close(widget):
    """Close a widget and the two that it has made for itself."""
    for part in (getattr(widget, "style", None), getattr(widget, "layout", None), widget):
        if isinstance(part, ipywidgets.Widget):
            part.close()
