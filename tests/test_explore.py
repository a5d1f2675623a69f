"""explore without a browser: set a slider's value, look at the result in its widgets."""

import base64
import gc
import html
import io
import math
import re
import subprocess
import sys
import time
from queue import Empty

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import Markdown, Math, clear_output, display
from jupyter_client import KernelManager
from lessons import ROOT
from matplotlib.figure import Figure
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager
from PIL import Image
from traitlets.config import Config

from helpers import INPUTS, TOKENS, explore, heatmap
from helpers.explore import Explorer

WIDGET = "application/vnd.jupyter.widget-view+json"
SCORES = INPUTS @ INPUTS.T


class Page:
    """What a browser would have: the outputs of a cell, and beneath the sliders what their widgets show."""

    def __init__(self):
        self.outputs, self.explorers = [], []

    def publish(self, data, metadata=None, **_):
        self.outputs.append(data)

    def move(self, name, value, number=-1):
        """Move the slider of that name in the newest explorer, or in the one given by its number."""
        self.explorers[number].controls[name].value = value

    def html(self, number=-1):
        """The live result: tables, pictures and text."""
        return self.explorers[number]._page.value

    def text(self, number=-1):
        """The same without tags."""
        return html.unescape(re.sub("<[^>]*>", "", self.html(number)))

    def picture(self):
        """Its picture, as numbers."""
        (source,) = re.findall('src="data:image/png;base64,([^"]*)"', self.html())
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(source))).convert("RGB"), dtype=float)

    def native(self):
        """The live result where only Jupyter can show it: dictionaries from MIME type to data."""
        assert self.html() == "", "the result is shown twice"
        return [output["data"] for output in self.explorers[-1]._rest.outputs[1:]]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """An IPython shell, which is what `display` and `get_ipython` look for."""
    config = Config()
    config.HistoryManager.enabled = False
    config.ProfileDir.location = str(tmp_path_factory.mktemp("profile"))
    yield InteractiveShell.instance(config=config)
    InteractiveShell.clear_instance()


@pytest.fixture
def page(shell, monkeypatch):
    """What a reader sees."""
    page = Page()
    show = Explorer.show
    monkeypatch.setattr(Explorer, "show", lambda self: (page.explorers.append(self), show(self))[1])
    monkeypatch.setattr(shell.display_pub, "publish", page.publish)
    monkeypatch.setattr(shell, "get_parent", dict, raising=False)
    monkeypatch.setattr(sys.modules["helpers.explore"], "_running", {})
    yield page
    plt.close("all")


def weights(temperature=1.0):
    return heatmap(torch.softmax(SCORES / temperature, dim=-1), TOKENS)


def test_a_moved_slider_changes_the_result_and_nothing_else(page):
    assert explore(weights, temperature=(0.1, 3.0, 0.1)) is None
    assert page.html() == weights()._repr_mimebundle_()["text/html"]

    page.move("temperature", 0.5)
    assert page.html() == weights(0.5)._repr_mimebundle_()["text/html"]
    page.move("temperature", 1.0)
    assert page.html() == weights()._repr_mimebundle_()["text/html"]
    assert len(page.outputs) == 2


def test_the_first_result_is_stored_beside_the_widgets(page):
    explore(weights, temperature=(0.1, 3.0, 0.1))
    explore(lambda n=1: figure_of(n), n=(0, 5))
    explore(lambda n=1: [print("printed"), heatmap([[n]])][1], n=(0, 5))
    _, table, _, drawn, _, several = page.outputs
    assert all(data.pop(WIDGET) for data in (table, drawn, several))
    assert table == weights()._repr_mimebundle_()
    assert set(drawn) == {"image/png", "text/plain"}
    assert several["text/html"].startswith("<pre>printed</pre><table")
    assert several["text/plain"].startswith("printed\nquery (row)")


def test_the_script_that_names_sliders_fetches_nothing_and_is_not_stored(page):
    explore(weights, temperature=(0.1, 3.0))
    (output,) = page.explorers[0]._rest.outputs
    assert output["data"] == {"application/javascript": (ROOT / "helpers" / "names.js").read_text(encoding="utf-8")}
    assert "http" not in output["data"]["application/javascript"]
    assert not [data for data in page.outputs if "application/javascript" in data]


def test_the_slider_starts_at_the_default_of_the_argument(page):
    explore(weights, temperature=(0.1, 3.0, 0.1))
    assert page.explorers[0].controls["temperature"].value == 1.0


def test_where_no_kernel_runs_a_line_stands_in_for_the_sliders(page):
    def f(temperature=1.0, token="step", causal=False):
        return "text"

    explore(f, temperature=(0.1, 3.0), token=list(TOKENS), causal=False)
    line = page.outputs[0]["text/plain"]
    assert line.startswith("Sliders: temperature from 0.1 to 3, token (Your, journey")
    assert "causal" in line
    assert f'<em class="explore-line">{line}</em>' in page.outputs[0]["text/html"]
    assert WIDGET not in page.outputs[0]


def test_the_line_for_a_log_slider_has_its_values_not_its_exponents(page):
    explore(lambda rate: "text", rate=ipywidgets.FloatLogSlider(1, base=10, min=-2, max=2))
    assert page.outputs[0]["text/plain"].startswith("Sliders: rate from 0.01 to 100")


@pytest.mark.parametrize(
    ("slider", "kind", "value"),
    [
        ((0, 5), "IntSlider", 3),
        ((0.0, 5.0), "FloatSlider", 3.0),
        ((0, 5, 0.5), "FloatSlider", 3.5),
        (["a", "b"], "Dropdown", "b"),
        ({"one": 1, "two": 2}, "Dropdown", 2),
        (False, "Checkbox", True),
        (3, "IntSlider", 4),
        ("text", "Text", "other"),
        (ipywidgets.IntSlider(2, 0, 9), "IntSlider", 7),
        (ipywidgets.SelectionSlider(options=["a", "b"]), "SelectionSlider", "b"),
    ],
)
def test_every_kind_of_slider(page, slider, kind, value):
    explore(lambda x: f"x is {x!r}", x=slider)
    assert type(page.explorers[0].controls["x"]).__name__ == kind
    page.move("x", value)
    assert page.text() == f"x is {value!r}"


def test_a_value_can_be_held_fast(page):
    explore(lambda x, y: f"{x} {y}", x=(0, 5), y=ipywidgets.fixed("held"))
    page.move("x", 4)
    assert page.text() == "4 held"
    assert "y" not in page.outputs[0]["text/plain"]


def test_labels_are_whole_and_readouts_show_the_step(page):
    explore(lambda a_rather_long_name=0.5: "", a_rather_long_name=(0.0, 1.0, 0.001))
    control = page.explorers[0].controls["a_rather_long_name"]
    assert control.description == "a_rather_long_name"
    assert control.style.description_width == f"{len('a_rather_long_name') + 2}ch"
    assert control.readout_format == ".3f"


def test_an_exception_is_one_line_and_the_next_move_works(page):
    def f(n=1, causal=False):
        return f"{6 / n:.1f}" if n != 3 else torch.zeros(2) @ torch.zeros(3)

    explore(f, n=(0, 5), causal=False)
    page.move("n", 0)
    assert page.text() == "With n = 0, causal = False: ZeroDivisionError: division by zero"
    assert "\n" not in page.text()
    page.move("n", 3)
    assert page.text().startswith("With n = 3, causal = False: RuntimeError: ")
    page.move("n", 2)
    assert page.html() == "<pre>3.0</pre>"


def test_an_exception_at_the_start_does_not_stop_the_cell(page):
    explore(lambda n=0: f"{1 / n}", n=(0, 5))
    assert "ZeroDivisionError" in page.text()
    page.move("n", 2)
    assert page.text() == "0.5"


def test_an_error_message_is_text_never_html(page):
    def f(n=0):
        raise ValueError("<script>alert(1)</script>")

    explore(f, n=(0, 5))
    for shown in (page.html(), page.outputs[-1]["text/html"]):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown


def test_a_function_that_returns_nothing_is_told_so(page):
    explore(lambda n=0: None, n=(0, 5))
    assert "returned nothing: end it with return" in page.text()


def test_what_the_function_prints_is_kept(page):
    def f(n=1):
        print("n is", n, "<b>")
        return heatmap([[float(n)]]) if n > 1 else None

    explore(f, n=(0, 5))
    assert page.text() == "n is 1 <b>"
    page.move("n", 2)
    assert page.html().startswith("<pre>n is 2 &lt;b&gt;</pre><table")


def test_what_the_function_prints_is_kept_when_it_fails(page):
    def f(n=1):
        print("so far so good")
        raise ValueError("bad")

    explore(f, n=(0, 5))
    assert page.text() == "so far so goodWith n = 1: ValueError: bad"


def test_warnings_and_displayed_objects_are_part_of_the_result(page):
    def f(n=1):
        print(f"careful with {n}", file=sys.stderr)  # as warnings do
        display(heatmap([[float(n)]]))
        print("printed")

    explore(f, n=(0, 5))
    page.move("n", 3)
    assert len(page.outputs) == 2
    for words in ("printed", "careful with 3", "3.0000"):
        assert words in page.text()


def test_a_function_that_moves_a_slider_ends_on_the_values_that_are_shown(page):
    length, row = ipywidgets.IntSlider(5, 1, 9), ipywidgets.IntSlider(4, 0, 8)

    def f(length_, row_):
        row.max = length_ - 1
        return f"length {length_}, row {row_}"

    explore(f, length_=length, row_=row)
    length.value = 2
    assert (length.value, row.value) == (2, 1)
    assert page.text() == "length 2, row 1"


def test_a_figure_that_cannot_be_drawn_is_one_line_too(page):
    explore(lambda n=1: figure_of(n, title="$\\frac{$" if n == 2 else "fine"), n=(0, 5))
    page.move("n", 2)
    assert page.text().startswith("With n = 2: ")
    assert "\n" not in page.text()
    page.move("n", 3)
    assert page.picture().size
    assert 'alt="Figure. fine: weight against token"' in page.html()


def test_leaving_python_does_not_end_the_kernel(page):
    explore(lambda n=1: sys.exit() if n == 2 else f"{n}", n=(0, 5))
    page.move("n", 2)
    assert page.text() == "With n = 2: SystemExit"
    page.move("n", 3)
    assert page.text() == "3"


def test_two_hundred_quick_moves_end_on_the_last(page):
    explore(weights, temperature=(0.01, 3.0, 0.01))
    for step in range(200):
        page.move("temperature", 0.01 + step / 100)
    assert page.html() == weights(0.01 + 199 / 100)._repr_mimebundle_()["text/html"]
    assert len(page.outputs) == 2


def test_two_explores_do_not_mix(page):
    explore(lambda n=1: f"first {n}", n=(0, 5))
    explore(lambda n=1: f"second {n}", n=(0, 5))
    page.move("n", 3, number=0)
    page.move("n", 4, number=1)
    assert page.text(0) == "first 3"
    assert page.text(1) == "second 4"


def figure_of(height=1.0, title="Bars"):
    figure = Figure(figsize=(3, 2))
    ax = figure.subplots()
    ax.bar(["a", "b"], [height, 2.0])
    ax.set(title=title, xlabel="token", ylabel="weight", ylim=(0, 3))
    return figure


def test_a_figure_that_is_changed_keeps_its_size_and_place(page):
    figure = figure_of()
    ax = figure.axes[0]

    def f(height=1.0):
        ax.patches[0].set_height(height)
        return figure

    explore(f, height=(0.0, 3.0, 0.1))
    first, place = page.picture(), ax.get_position().bounds
    page.move("height", 3.0)
    second = page.picture()
    assert first.shape == second.shape
    assert np.abs(first - second).max() > 100
    assert ax.get_position().bounds == place
    page.move("height", 1.0)
    assert (page.picture() == first).all()
    assert 'alt="Figure. Bars: weight against token"' in page.html()


def test_a_picture_and_text_are_both_shown(page):
    def f(n=1):
        plt.plot([n])
        return f"height {n}"

    explore(f, n=(0, 5))
    page.move("n", 3)
    assert page.html().startswith("<pre>height 3</pre><div><img ")
    assert plt.get_fignums() == []


def test_a_picture_takes_its_place_before_it_is_loaded(page):
    explore(figure_of, height=(0.0, 3.0))
    rows, columns, _ = page.picture().shape
    assert f'<img width="{columns}" height="{rows}"' in page.html()


def test_the_error_line_names_the_sliders_and_not_what_is_held_fast(page):
    def f(n=1, table=None):
        raise ValueError("bad")

    explore(f, n=(0, 5), table=ipywidgets.fixed(torch.rand(50, 50)))
    assert page.text() == "With n = 1: ValueError: bad"


def test_labels_of_a_plain_figure_are_not_cut(page):
    def f(n=1):
        figure, ax = plt.subplots()
        ax.bar(["a rather long token"] * 1, [n])
        ax.tick_params(axis="x", labelrotation=90)
        ax.set_xlabel("token")
        return figure

    explore(f, n=(0, 5))
    border = np.concatenate([page.picture()[-3:].ravel(), page.picture()[:, :3].ravel()])
    assert border.min() == 255


@pytest.mark.parametrize(
    "returns", ["figure", "axes", "array of axes", "figure and axes", "artist", "list of lines", "nothing"]
)
def test_a_plain_function_with_pyplot_works_and_leaves_no_figure_open(page, returns):
    def f(n=1):
        figure, ax = plt.subplots()
        ax.bar([0], [n])
        return {
            "figure": figure,
            "axes": ax,
            "array of axes": np.array([ax]),
            "figure and axes": (figure, ax),
            "artist": ax.patches[0],
            "list of lines": ax.plot([0, 1]),
            "nothing": None,
        }[returns]

    explore(f, n=(0, 2))
    for n in (0, 2):
        page.move("n", n)
    assert page.picture().size
    assert plt.get_fignums() == []


def test_a_figure_of_the_caller_is_not_shown_twice(page):
    figure, ax = plt.subplots()
    (line,) = ax.plot([0, 1], [0, 1])

    def f(n=1):
        line.set_ydata([0, n])
        return figure

    explore(f, n=(0, 5))
    first = page.picture()
    page.move("n", 0)
    assert np.abs(page.picture() - first).max() > 100
    assert plt.get_fignums() == []  # or the end of the cell would show it again


def test_a_failing_plot_leaves_no_figure_open(page):
    def f(n=1):
        plt.figure()
        raise ValueError(n)

    explore(f, n=(0, 5))
    page.move("n", 3)
    assert plt.get_fignums() == []


def run_cell(page, run, cell="a"):
    """Pretend that the request `run` executes the cell."""
    shell = InteractiveShell.instance()
    shell.get_parent = lambda: {"header": {"msg_id": run}, "metadata": {"cellId": cell}, "content": {}}


def test_a_cell_run_again_closes_the_sliders_of_its_previous_run(page):
    counts, called = [], []
    for run in range(5):
        run_cell(page, f"run {run}")
        explore(lambda n=1: called.append(n) or f"{n}", n=(0, 5))
        explore(figure_of, height=(0.0, 3.0))
        counts.append(len(ipywidgets.widgets.widget._instances))
    assert len(set(counts)) == 1, "each run leaves widgets behind"

    called.clear()
    page.move("n", 2, number=0)
    assert called == []
    page.move("n", 3, number=-2)
    assert called == [3]


def test_a_cell_that_was_interrupted_leaves_no_widgets(page):
    counts = []
    for run in range(3):
        run_cell(page, f"run {run}")
        with pytest.raises(KeyboardInterrupt):
            explore(interrupted, n=(0, 5))
        counts.append(len(ipywidgets.widgets.widget._instances))
    assert len(set(counts)) == 1


def interrupted(n=1):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("slider", "start", "shown"),
    [
        ((0.0, 1.0), 0.25, ".2f"),
        ((0.01, 3.0), None, ".2f"),
        ((0.0, 0.05), None, ".3f"),
        ((0.0, 5.0, 0.5), None, ".1f"),
        ((0.0, 1.0, 0.001), None, ".3f"),
    ],
)
def test_the_readout_shows_what_the_function_gets(page, slider, start, shown):
    explore(lambda x: f"{x}", x=slider) if start is None else explore(lambda x=start: f"{x}", x=slider)
    control = page.explorers[-1].controls["x"]
    assert control.readout_format == shown
    assert control.step <= (control.max - control.min) / 5


def test_choices_may_come_as_an_array(page):
    explore(lambda n=2: f"{n}", n=torch.tensor([1, 2, 4]))
    assert page.text() == "2"
    page.move("n", 4)
    assert page.text() == "4"


def test_a_built_in_function_that_does_not_name_its_arguments_works(page):
    explore(torch.eye, n=(1, 3))
    page.move("n", 1)
    assert page.text() == "tensor([[1.]])"


def test_two_cells_keep_their_sliders(page):
    run_cell(page, "run 1", cell="a")
    explore(lambda n=1: f"first {n}", n=(0, 5))
    run_cell(page, "run 2", cell="b")
    explore(lambda n=1: f"second {n}", n=(0, 5))
    page.move("n", 3, number=0)
    assert page.text(0) == "first 3"


def test_a_widget_of_the_caller_survives_a_second_run(page):
    mine = ipywidgets.IntSlider(1, 0, 5)
    for run in range(2):
        run_cell(page, f"run {run}")
        explore(lambda n: f"n is {n}", n=mine)
    mine.value = 4
    assert page.text(0) == "n is 1"
    assert page.text(1) == "n is 4"


def plain(temperature):
    return ""


@pytest.mark.parametrize(
    ("function", "given", "error", "words"),
    [
        (3, {"n": (0, 5)}, TypeError, "explore needs a function, not 3"),
        (plain, {}, ValueError, "at least one slider for plain"),
        (
            plain,
            {"temprature": (0, 5)},
            TypeError,
            "plain has no argument temprature that can be given by name; its arguments are: temperature",
        ),
        (lambda a, b: "", {"a": (0, 5)}, TypeError, "needs a slider, or a default, for: b"),
        (plain, {"temperature": (5, 0)}, ValueError, r"temperature can't move: \(5, 0\) is no range"),
        (plain, {"temperature": (0, 5, -1)}, ValueError, r"can't move: \(0, 5, -1\).*the step above 0"),
        (plain, {"temperature": (1, 1)}, ValueError, r"temperature can't move: \(1, 1\) is no range"),
        (plain, {"temperature": (0, 2, 5)}, ValueError, r"can't move: \(0, 2, 5\).*no larger than from end to end"),
        (plain, {"temperature": (0.0, math.inf)}, ValueError, "temperature can't move: .*inf"),
        (plain, {"temperature": (math.nan, 1.0)}, ValueError, "can't move: .*nan"),
        (plain, {"temperature": [[1.0, 0.0], [0.0, 1.0]]}, TypeError, "a list of pairs is read as labels and values"),
        (plain, {"temperature": torch.eye(2)}, TypeError, "a list of pairs is read as labels and values"),
        (plain, {"temperature": [torch.zeros(2), torch.ones(2)]}, TypeError, "a choice can't be a tensor"),
        (lambda *a: "", {"a": (0, 5)}, TypeError, "has no argument a that can be given by name"),
        (lambda a, /: "", {"a": (0, 5)}, TypeError, "has no argument a that can be given by name"),
        (plain, {"temperature": (0, 5, 1, 1)}, TypeError, r"slider temperature must be \(low, high\)"),
        (plain, {"temperature": ("a", "b")}, TypeError, "slider temperature must be"),
        (plain, {"temperature": []}, ValueError, "slider temperature has no choices"),
        (plain, {"temperature": None}, TypeError, "slider temperature must be"),
        (plain, {"temperature": (1.0, 1.0)}, ValueError, "slider temperature"),
        (plain, {"temperature": (0.0, 1.0, 5.0)}, ValueError, "slider temperature can't move: .*no larger than"),
        (plain, {"temperature": ipywidgets.fixed(1)}, ValueError, "at least one slider that moves"),
        (plain, {"temperature": {"small": torch.zeros(2), "large": torch.ones(2)}}, ValueError, "slider temperature"),
        (lambda n=7: "", {"n": range(5)}, ValueError, "slider n can't start at 7"),
        (plain, {"temperature": ipywidgets.VBox()}, TypeError, "slider temperature must be"),
        (lambda n=9: "", {"n": (0, 5)}, ValueError, "slider n can't start at 9"),
        (lambda n="c": "", {"n": ["a", "b"]}, ValueError, "slider n can't start at 'c'"),
    ],
)
def test_bad_sliders_are_named_at_once(page, function, given, error, words):
    with pytest.raises(error, match=words):
        explore(function, **given)
    assert page.outputs == []


def shown_by(page, function):
    """The live result after a move to 3, of a function of n."""
    explore(function, n=(1, 5))
    page.move("n", 3)
    return page


def test_a_line_written_anew_is_shown_in_its_last_state(page):
    def f(n=1):
        for step in range(n):
            print(f"step {step}", end="\r")
        print("first", end="")
        print(" and second")

    assert shown_by(page, f).html() == "<pre>first and second</pre>"

    def g(n=1):
        for step in range(n):
            print(f"\rstep {step}", end="")

    assert shown_by(page, g).html() == "<pre>step 2</pre>"
    assert page.outputs[-1]["text/plain"] == "step 0"


def test_a_progress_bar_of_text_is_shown_in_its_last_state(page):
    def f(n=1):
        for step in range(n + 1):  # as tqdm writes
            print(f"\r{100 * step // n:3}%|{'#' * step:{n}}| {step}/{n}", end="", file=sys.stderr)
        print(file=sys.stderr)
        return "done"

    assert shown_by(page, f).html() == "<pre>100%|###| 3/3</pre><pre>done</pre>"


def test_what_is_cleared_is_gone(page):
    def f(n=1):
        display(heatmap([[n]]))
        for frame in range(n):
            clear_output(wait=True)
            print("frame", frame)

    assert shown_by(page, f).html() == "<pre>frame 2</pre>"
    assert page.outputs[-1]["text/plain"] == "frame 0"


def test_an_updated_display_is_shown_once_in_its_place(page):
    def f(n=1):
        handle = display(heatmap([[n]], title="first"), display_id=True)
        display(heatmap([[n]], title="between"))
        handle.update(heatmap([[n]], title="second"))

    assert re.findall("<caption[^>]*>(\\w+)", shown_by(page, f).html()) == ["second", "between"]


def test_markdown_and_formulas_are_left_to_jupyter(page):
    def f(n=1):
        print("n is", n)
        display(Markdown(f"**{n}**"), Math(f"x^{n}"))

    text, bold, formula = shown_by(page, f).native()
    assert text == {"text/plain": "n is 3"}
    assert bold["text/markdown"] == "**3**"
    assert formula["text/latex"] == "$\\displaystyle x^3$"
    page.explorers[-1].function = lambda n: "text"
    page.move("n", 4)
    assert page.html() == "<pre>text</pre>"
    assert len(page.explorers[-1]._rest.outputs) == 1


def test_a_progress_bar_that_is_a_widget_is_left_to_jupyter(page):
    def f(n=1):
        bar = ipywidgets.IntProgress(0, max=n)  # as tqdm.auto makes
        display(bar)
        bar.value = n

    (bar,) = shown_by(page, f).native()
    assert WIDGET in bar


async def waits(n=1):
    return "text"


def yields(n=1):
    yield "text"


async def both(n=1):
    yield "text"


@pytest.mark.parametrize(
    ("function", "words"),
    [(waits, "TypeError: the function is async"), (yields, "TypeError: the function yields"), (both, "yields")],
)
def test_a_function_without_a_result_is_told_so(page, function, words):
    assert words in shown_by(page, function).text()  # a warning would be an error
    gc.collect()
    assert "coroutine" not in page.html()


class Kernel:
    """A real kernel, spoken to as a browser does."""

    def __init__(self):
        self.manager = KernelManager(kernel_name=CURRENT_ENV_KERNEL_NAME, kernel_spec_manager=NbvalKernelspecManager())
        self.manager.start_kernel(cwd=str(ROOT))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code, cell):
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "stop_on_error": True}
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell})
        return self.send(message)

    def set(self, comm, **state):
        """What a moved slider sends."""
        content = {"comm_id": comm, "data": {"method": "update", "state": state, "buffer_paths": []}}
        return self.send(self.client.session.msg("comm_msg", content))

    def send(self, message):
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def until_idle(self, request, timeout=60):
        """Everything that the kernel publishes until it has answered the request."""
        messages, end = [], time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except Empty:
                continue
            messages.append(message)
            state = message["content"].get("execution_state")
            if message["parent_header"].get("msg_id") == request and state == "idle":
                return messages
        raise TimeoutError(f"no answer to {request}")

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    kernel = Kernel()
    yield kernel
    kernel.stop()


CELL = """
from helpers import explore, heatmap

def show(n=1):
    print("printed", n)
    return heatmap([[float(n)]])

explore(show, n=(0, 300))
"""


def of_kind(messages, kind):
    return [message["content"] for message in messages if message["msg_type"] == kind]


def comm_of(messages, model):
    """The ids of the widgets of that kind that have been made."""
    opened = of_kind(messages, "comm_open")
    return [m["comm_id"] for m in opened if m["data"]["state"].get("_model_name") == model]


def live_results(messages, comm):
    """What a widget has been set to show, one after the other."""
    states = [m["data"].get("state", {}) for m in of_kind(messages, "comm_msg") if m["comm_id"] == comm]
    return [state["value"] for state in states if "value" in state]


def test_in_a_real_kernel_a_drag_ends_on_its_last_value(kernel):
    messages = kernel.until_idle(kernel.run(CELL, "cell"))
    assert not of_kind(messages, "error")
    assert len(of_kind(messages, "display_data")) == 2, "a line, and the sliders with their result"
    (slider,), (page,) = comm_of(messages, "IntSliderModel"), comm_of(messages, "HTMLModel")
    for n in range(200):
        last = kernel.set(slider, value=n)
    messages = kernel.until_idle(last)
    assert "199.0000" in live_results(messages, page)[-1]
    shown = ("stream", "error", "display_data", "update_display_data")
    assert [content for kind in shown for content in of_kind(messages, kind)] == []


def test_in_a_real_kernel_a_second_run_replaces_the_first(kernel):
    (old,) = comm_of(kernel.until_idle(kernel.run(CELL, "cell")), "IntSliderModel")
    messages = kernel.until_idle(kernel.run(CELL, "cell"))
    assert old in {message["comm_id"] for message in of_kind(messages, "comm_close")}
    (slider,), (page,) = comm_of(messages, "IntSliderModel"), comm_of(messages, "HTMLModel")
    (result,) = live_results(kernel.until_idle(kernel.set(slider, value=7)), page)
    assert "7.0000" in result


def test_in_a_real_kernel_a_plotted_heatmap_is_a_picture(kernel):
    code = "import torch\nfrom helpers import heatmap\nheatmap(torch.rand(3, 3)).plot()"
    messages = kernel.until_idle(kernel.run(code, "plot"))
    assert sum("image/png" in shown["data"] for shown in of_kind(messages, "display_data")) == 1


def test_in_a_real_kernel_figures_that_stay_open_are_shown_once(kernel):
    code = """%config InlineBackend.close_figures = False
import matplotlib.pyplot as plt
from helpers import explore
explore(lambda n: [plt.plot([n]), plt.show()][1], n=(1, 5))"""
    messages = kernel.until_idle(kernel.run(code, "open"))
    kernel.until_idle(kernel.run("%config InlineBackend.close_figures = True", "closed"))
    shown = [data for content in of_kind(messages, "display_data") if "image/png" in (data := content["data"])]
    assert len(shown) == 1, shown


def test_explore_without_pyplot_does_not_import_it():
    code = "import sys, helpers; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_list_of_heatmaps_is_shown_as_tables(page):
    explore(lambda n: [heatmap([[n, 1]], title="first"), heatmap([[2, n]], title="second")], n=(0, 5))
    assert page.html().count("<caption") == 2
