"""explore without a browser: set a slider's value, look at the updated output."""

import base64
import contextlib
import io
import math
import subprocess
import sys
import time
import warnings
from queue import Empty

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from jupyter_client import KernelManager
from lessons import ROOT
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager
from PIL import Image
from traitlets.config import Config

from helpers import INPUTS, TOKENS, explore, heatmap, sliders
from helpers.sliders import Explorer

WIDGET = "application/vnd.jupyter.widget-view+json"
SCORES = INPUTS @ INPUTS.T


class Page:
    """What a browser would have: outputs in the order of the page, each updated in place."""

    def __init__(self):
        self.outputs, self.scripts, self.updates, self._by_id = [], [], 0, {}

    def publish(self, data, metadata=None, *, transient=None, update=False, **_):
        display_id = (transient or {}).get("display_id")
        if update:
            self.updates += 1
            self._by_id[display_id].update(data=data)
            return
        if "application/javascript" in data:
            self.scripts.append(data)
            return
        self.outputs.append({"data": data})
        if display_id is not None:
            self._by_id[display_id] = self.outputs[-1]

    def result(self, number=-1):
        return self.outputs[number]["data"]

    def text(self, number=-1):
        return self.result(number)["text/plain"]


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
    monkeypatch.setattr(shell.display_pub, "publish", page.publish)
    monkeypatch.setattr(shell, "get_parent", dict, raising=False)
    monkeypatch.setattr(sliders, "_running", {})
    yield page
    plt.close("all")


@pytest.fixture
def move(monkeypatch):
    """Moves the slider of that name in the newest explorer, or in the one given by its number."""
    explorers = []
    show = Explorer.show
    monkeypatch.setattr(Explorer, "show", lambda self: (explorers.append(self), show(self))[1])

    def move(name, value, number=-1):
        explorers[number].controls[name].value = value

    move.explorers = explorers
    return move


def weights(temperature=1.0):
    return heatmap(torch.softmax(SCORES / temperature, dim=-1), TOKENS)


def picture(bundle):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).convert("RGB"), dtype=float)


def test_a_moved_slider_updates_the_result_in_place(page, move):
    assert explore(weights, temperature=(0.1, 3.0, 0.1)) is None
    assert len(page.outputs) == 2
    assert page.text() == str(weights())
    assert page.result()["text/html"] == weights()._repr_mimebundle_()["text/html"]

    move("temperature", 0.5)
    assert page.text() == str(weights(0.5))
    move("temperature", 1.0)
    assert page.text() == str(weights())
    assert (len(page.outputs), page.updates) == (2, 2)


def test_the_script_that_names_sliders_is_the_same_each_time_and_fetches_nothing(page):
    for _ in range(2):
        explore(weights, temperature=(0.1, 3.0))
    assert len(page.scripts) == 2
    assert page.scripts[0] == page.scripts[1]
    assert "http" not in page.scripts[0]["application/javascript"]
    assert page.scripts[0]["text/plain"] == ""


def test_the_slider_starts_at_the_default_of_the_argument(page, move):
    explore(weights, temperature=(0.1, 3.0, 0.1))
    assert move.explorers[0].controls["temperature"].value == 1.0


def test_where_no_kernel_runs_a_line_stands_in_for_the_sliders(page, move):
    def f(temperature=1.0, token="step", causal=False):
        return "text"

    explore(f, temperature=(0.1, 3.0), token=list(TOKENS), causal=False)
    line = page.text(0)
    assert line.startswith("Sliders: temperature from 0.1 to 3, token (Your, journey")
    assert "causal" in line
    assert line in page.result(0)["text/html"]
    assert WIDGET in page.result(0)


def test_the_line_for_a_log_slider_has_its_values_not_its_exponents(page):
    explore(lambda rate: "text", rate=ipywidgets.FloatLogSlider(1, base=10, min=-2, max=2))
    assert page.text(0).startswith("Sliders: rate from 0.01 to 100")


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
def test_every_kind_of_slider(page, move, slider, kind, value):
    explore(lambda x: f"x is {x!r}", x=slider)
    assert type(move.explorers[0].controls["x"]).__name__ == kind
    move("x", value)
    assert page.text() == f"x is {value!r}"


def test_a_value_can_be_held_fast(page, move):
    explore(lambda x, y: f"{x} {y}", x=(0, 5), y=ipywidgets.fixed("held"))
    move("x", 4)
    assert page.text() == "4 held"
    assert "y" not in page.text(0)


def test_labels_are_whole_and_readouts_show_the_step(page, move):
    explore(lambda a_rather_long_name=0.5: "", a_rather_long_name=(0.0, 1.0, 0.001))
    control = move.explorers[0].controls["a_rather_long_name"]
    assert control.description == "a_rather_long_name"
    assert control.style.description_width == f"{len('a_rather_long_name') + 2}ch"
    assert control.readout_format == ".3f"


def test_an_exception_is_one_line_and_the_next_move_works(page, move):
    def f(n=1, causal=False):
        return f"{6 / n:.1f}" if n != 3 else torch.zeros(2) @ torch.zeros(3)

    explore(f, n=(0, 5), causal=False)
    move("n", 0)
    assert page.text() == "With n = 0, causal = False: ZeroDivisionError: division by zero"
    assert "\n" not in page.text()
    move("n", 3)
    assert page.text().startswith("With n = 3, causal = False: RuntimeError: ")
    move("n", 2)
    assert page.result() == {"text/plain": "3.0"}


def test_an_exception_at_the_start_does_not_stop_the_cell(page, move):
    explore(lambda n=0: f"{1 / n}", n=(0, 5))
    assert "ZeroDivisionError" in page.text()
    move("n", 2)
    assert page.text() == "0.5"


def test_an_error_message_is_text_never_html(page):
    def f(n=0):
        raise ValueError("<script>alert(1)</script>")

    explore(f, n=(0, 5))
    assert "<script>" not in page.result()["text/html"]
    assert "&lt;script&gt;" in page.result()["text/html"]


def test_a_function_that_returns_nothing_is_told_so(page):
    explore(lambda n=0: None, n=(0, 5))
    assert "returned nothing: end it with return" in page.text()


def test_what_the_function_prints_is_kept(page, move):
    def f(n=1):
        print("n is", n, "<b>")
        return heatmap([[float(n)]]) if n > 1 else None

    explore(f, n=(0, 5))
    assert page.text() == "n is 1 <b>"
    move("n", 2)
    assert page.text().startswith("n is 2 <b>\nquery (row)")
    assert page.result()["text/html"].startswith("<pre>n is 2 &lt;b&gt;</pre><table>")


def test_what_the_function_prints_is_kept_when_it_fails(page):
    def f(n=1):
        print("so far so good")
        raise ValueError("bad")

    explore(f, n=(0, 5))
    assert page.text() == "so far so good\nWith n = 1: ValueError: bad"


def test_warnings_and_displayed_objects_are_part_of_the_result(page, move):
    def f(n=1):
        print(f"careful with {n}", file=sys.stderr)  # as warnings do
        display(heatmap([[float(n)]]))
        print("printed")

    explore(f, n=(0, 5))
    move("n", 3)
    assert len(page.outputs) == 2
    for words in ("printed", "careful with 3", "3.0000"):
        assert words in page.text()


def test_a_function_that_moves_a_slider_ends_on_the_values_that_are_shown(page, move):
    length, row = ipywidgets.IntSlider(5, 1, 9), ipywidgets.IntSlider(4, 0, 8)

    def f(length_, row_):
        row.max = length_ - 1
        return f"length {length_}, row {row_}"

    explore(f, length_=length, row_=row)
    length.value = 2
    assert (length.value, row.value) == (2, 1)
    assert page.text() == "length 2, row 1"


def test_a_function_that_never_settles_does_not_hang(page, move):
    slider = ipywidgets.IntSlider(0, 0, 10**6)

    def f(n):
        slider.value = n + 1
        return f"{n}"

    explore(f, n=slider)
    assert int(page.text()) < 100


def test_a_figure_that_cannot_be_drawn_is_one_line_too(page, move):
    def f(figure, n=1):
        figure.subplots().set_title("$\\frac{$" if n == 2 else "fine")

    explore(f, n=(0, 5))
    move("n", 2)
    assert page.text().startswith("With n = 2: ")
    assert "\n" not in page.text()
    move("n", 3)
    assert page.text() == "Figure. fine"


def test_leaving_python_does_not_end_the_kernel(page, move):
    explore(lambda n=1: sys.exit() if n == 2 else f"{n}", n=(0, 5))
    move("n", 2)
    assert page.text() == "With n = 2: SystemExit"
    move("n", 3)
    assert page.text() == "3"


def test_two_hundred_quick_moves_end_on_the_last(page, move):
    explore(weights, temperature=(0.01, 3.0, 0.01))
    for step in range(200):
        move("temperature", 0.01 + step / 100)
    assert page.text() == str(weights(0.01 + 199 / 100))
    assert len(page.outputs) == 2


def test_two_explores_do_not_mix(page, move):
    explore(lambda n=1: f"first {n}", n=(0, 5))
    explore(lambda n=1: f"second {n}", n=(0, 5))
    move("n", 3, number=0)
    move("n", 4, number=1)
    assert page.text(1) == "first 3"
    assert page.text(3) == "second 4"


def drawing(figure, height=1.0):
    ax = figure.subplots()
    ax.bar(["a", "b"], [height, 2.0])
    ax.set(title="Bars", xlabel="token", ylabel="weight", ylim=(0, 3))


def test_a_figure_is_handed_out_reused_and_keeps_its_size(page, move):
    figures = set()

    def f(figure, height=1.0):
        figures.add(figure)
        drawing(figure, height)

    explore(f, height=(0.0, 3.0, 0.1))
    first = picture(page.result())
    move("height", 3.0)
    second = picture(page.result())
    assert first.shape == second.shape
    assert np.abs(first - second).max() > 100
    move("height", 1.0)
    assert (picture(page.result()) == first).all()
    assert len(figures) == 1
    assert page.text() == "Figure. Bars: weight against token"


def test_the_figure_handed_out_may_be_returned(page, move):
    explore(lambda figure, n=1: (figure.subplots(), figure)[1], n=(0, 5))
    move("n", 3)
    assert set(page.result()) == {"image/png", "text/plain"}


def test_a_picture_and_text_are_both_shown(page, move):
    def handed_out(figure, n=1):
        drawing(figure, n)
        return f"height {n}"

    def with_pyplot(n=1):
        plt.plot([n])
        return f"height {n}"

    for f in (handed_out, with_pyplot):
        explore(f, n=(0, 5))
        move("n", 3)
        assert page.text().startswith("height 3\nFigure.")
        assert '<img alt="Figure.' in page.result()["text/html"]
        assert plt.get_fignums() == []


def test_pyplot_inside_a_function_that_was_handed_a_figure_is_not_lost(page):
    explore(lambda figure, n=1: plt.plot([n]), n=(0, 5))
    assert set(page.result()) == {"image/png", "text/plain"}


def test_each_arrangement_of_axes_has_its_own_layout(page, move):
    def f(figure, rows=1):
        for ax in figure.subplots(rows, 2, squeeze=False).flat:
            ax.set(title="A title", xlabel="x", ylabel="y")

    explore(f, rows=(1, 2))
    one = picture(page.result())
    move("rows", 2)
    two = picture(page.result())
    assert one.shape == two.shape
    figure = move.explorers[0]._canvas.figure
    boxes = [ax.get_position() for ax in figure.axes]
    assert boxes[0].y0 > boxes[2].y1, "the rows overlap"
    move("rows", 1)
    assert (picture(page.result()) == one).all()


def test_a_colour_bar_finds_its_place_each_time(page, move):
    def f(figure, n=1):
        ax = figure.subplots()
        figure.colorbar(ax.imshow([[0, n], [n, 0]]), ax=ax)

    explore(f, n=(0, 5))
    first = picture(page.result())
    move("n", 3)
    picture(page.result())
    bar = move.explorers[0]._canvas.figure.axes[1].get_position()
    assert bar.width < 0.1 < bar.height
    move("n", 1)
    assert (picture(page.result()) == first).all()


def test_the_error_line_names_the_sliders_and_not_the_figure(page):
    def f(figure, n=1, table=None):
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
    border = np.concatenate([picture(page.result())[-3:].ravel(), picture(page.result())[:, :3].ravel()])
    assert border.min() == 255


@pytest.mark.parametrize(
    "returns", ["figure", "axes", "array of axes", "figure and axes", "artist", "list of lines", "nothing"]
)
def test_a_plain_function_with_pyplot_works_and_leaves_no_figure_open(page, move, returns):
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

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns about more than 20 open figures
        explore(f, n=(0, 22))
        for n in range(22):
            move("n", n)
    assert set(page.result()) == {"image/png", "text/plain"}
    assert plt.get_fignums() == []


def test_a_figure_of_the_caller_is_not_shown_twice(page, move):
    figure, ax = plt.subplots()
    (line,) = ax.plot([0, 1], [0, 1])

    def f(n=1):
        line.set_ydata([0, n])
        return figure

    explore(f, n=(0, 5))
    first = picture(page.result())
    move("n", 0)
    assert np.abs(picture(page.result()) - first).max() > 100
    assert plt.get_fignums() == []  # or the end of the cell would show it again


def test_a_failing_plot_leaves_no_figure_open(page, move):
    def f(n=1):
        plt.figure()
        raise ValueError(n)

    explore(f, n=(0, 5))
    move("n", 3)
    assert plt.get_fignums() == []


def run_cell(page, run, cell="a"):
    """Pretend that the request `run` executes the cell, which starts with an empty output."""
    shell = InteractiveShell.instance()
    shell.get_parent = lambda: {"header": {"msg_id": run}, "metadata": {"cellId": cell}, "content": {}}
    page.outputs.clear()


def test_a_cell_run_again_closes_the_sliders_of_its_previous_run(page, move):
    counts = []
    for run in range(5):
        run_cell(page, f"run {run}")
        explore(weights, temperature=(0.1, 3.0))
        explore(lambda figure, height=1.0: drawing(figure, height), height=(0.0, 3.0))
        counts.append(len(ipywidgets.widgets.widget._instances))
    assert len(set(counts)) == 1, "each run leaves widgets behind"

    old, new = move.explorers[0], move.explorers[-2]
    updates = page.updates
    old.controls["temperature"].value = 2.0
    assert page.updates == updates
    new.controls["temperature"].value = 2.0
    assert page.updates == updates + 1


@pytest.mark.parametrize("fault", ["range", "start", "function"])
def test_a_cell_that_fails_leaves_no_widgets(page, fault):
    good = {"n": (0, 5)}
    counts = []
    for run in range(3):
        run_cell(page, f"run {run}")
        with contextlib.suppress(ValueError, KeyboardInterrupt):
            if fault == "range":
                explore(lambda n=1, m=1: "", **good, m=(5, 0))
            elif fault == "start":
                explore(lambda n=9: "", **good)
            else:
                explore(interrupted, **good)
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
def test_the_readout_shows_what_the_function_gets(page, move, slider, start, shown):
    explore(lambda x: f"{x}", x=slider) if start is None else explore(lambda x=start: f"{x}", x=slider)
    control = move.explorers[-1].controls["x"]
    assert control.readout_format == shown
    assert control.step <= (control.max - control.min) / 5


def test_choices_may_come_as_an_array(page, move):
    explore(lambda n=2: f"{n}", n=torch.tensor([1, 2, 4]))
    assert page.text() == "2"
    move("n", 4)
    assert page.text() == "4"


def test_two_cells_keep_their_sliders(page, move):
    run_cell(page, "run 1", cell="a")
    explore(lambda n=1: f"first {n}", n=(0, 5))
    kept = page.outputs[-1]
    run_cell(page, "run 2", cell="b")
    explore(lambda n=1: f"second {n}", n=(0, 5))
    move("n", 3, number=0)
    assert kept["data"] == {"text/plain": "first 3"}


def test_a_widget_of_the_caller_survives_a_second_run(page, move):
    mine = ipywidgets.IntSlider(1, 0, 5)
    for run in range(2):
        run_cell(page, f"run {run}")
        explore(lambda n: f"n is {n}", n=mine)
    updates = page.updates
    mine.value = 4
    assert page.text() == "n is 4"
    assert page.updates == updates + 1


PAIR = np.array([1, 2])


def plain(temperature):
    return ""


@pytest.mark.parametrize(
    ("function", "given", "error", "words"),
    [
        (3, {"n": (0, 5)}, TypeError, "explore needs a function, not 3"),
        (plain, {}, ValueError, "at least one slider for plain"),
        (plain, {"temprature": (0, 5)}, TypeError, "plain has no argument temprature; its arguments are: temperature"),
        (lambda a, b: "", {"a": (0, 5)}, TypeError, "needs a slider, or a default, for: b"),
        (plain, {"temperature": (5, 0)}, ValueError, r"temperature can't move: \(5, 0\) is no range"),
        (plain, {"temperature": (0, 5, -1)}, ValueError, "its step must be above 0, not -1"),
        (plain, {"temperature": (1, 1)}, ValueError, r"temperature can't move: \(1, 1\) is no range"),
        (plain, {"temperature": (0, 2, 5)}, ValueError, "its step 5 is larger than its range 2"),
        (plain, {"temperature": (0.0, math.inf)}, ValueError, "temperature = .*inf.* must be finite"),
        (plain, {"temperature": (math.nan, 1.0)}, ValueError, "must be finite"),
        (plain, {"temperature": [[1.0, 0.0], [0.0, 1.0]]}, TypeError, "a list of pairs is read as labels and values"),
        (plain, {"temperature": torch.eye(2)}, TypeError, "a list of pairs is read as labels and values"),
        (plain, {"temperature": [torch.zeros(2), torch.ones(2)]}, TypeError, "a choice can't be a tensor"),
        (lambda *a: "", {"a": (0, 5)}, TypeError, "can't be given a by name"),
        (lambda a, /: "", {"a": (0, 5)}, TypeError, "can't be given a by name"),
        (plain, {"temperature": (0, 5, 1, 1)}, TypeError, r"slider temperature must be \(low, high\)"),
        (plain, {"temperature": ("a", "b")}, TypeError, "slider temperature must be"),
        (plain, {"temperature": []}, ValueError, "slider temperature has no choices"),
        (plain, {"temperature": None}, TypeError, "slider temperature must be"),
        (plain, {"temperature": (1.0, 1.0)}, ValueError, "slider temperature"),
        (plain, {"temperature": (0.0, 1.0, 5.0)}, ValueError, "slider temperature can't move: its step 5"),
        (plain, {"temperature": ipywidgets.fixed(1)}, ValueError, "at least one slider that moves"),
        (plain, {"temperature": {"small": torch.zeros(2), "large": torch.ones(2)}}, ValueError, "slider temperature"),
        (lambda n=PAIR: "", {"n": (0, 3)}, ValueError, "slider n can't start at array"),
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


def slider_of(messages):
    opened = of_kind(messages, "comm_open")
    (slider,) = [m for m in opened if m["data"]["state"].get("_model_name") == "IntSliderModel"]
    return slider["comm_id"]


def test_in_a_real_kernel_a_drag_ends_on_its_last_value(kernel):
    messages = kernel.until_idle(kernel.run(CELL, "cell"))
    assert not of_kind(messages, "error")
    shown = [m for m in of_kind(messages, "display_data") if "application/javascript" not in m["data"]]
    assert len(shown) == 2, "the sliders and one result"
    slider = slider_of(messages)
    for n in range(200):
        last = kernel.set(slider, value=n)
    messages = kernel.until_idle(last)
    updates = of_kind(messages, "update_display_data")
    assert {update["transient"]["display_id"] for update in updates} == {shown[1]["transient"]["display_id"]}
    assert "199.0000" in updates[-1]["data"]["text/plain"]
    assert not of_kind(messages, "stream") + of_kind(messages, "error") + of_kind(messages, "display_data")


def test_in_a_real_kernel_a_second_run_replaces_the_first(kernel):
    old = slider_of(kernel.until_idle(kernel.run(CELL, "cell")))
    messages = kernel.until_idle(kernel.run(CELL, "cell"))
    assert old in {message["comm_id"] for message in of_kind(messages, "comm_close")}
    updates = of_kind(kernel.until_idle(kernel.set(slider_of(messages), value=7)), "update_display_data")
    assert len(updates) == 1
    assert "7.0000" in updates[0]["data"]["text/plain"]


def test_explore_without_pyplot_does_not_import_it():
    code = "import sys, helpers; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_list_of_heatmaps_is_shown_as_tables(page):
    explore(lambda n: [heatmap([[n, 1]], title="first"), heatmap([[2, n]], title="second")], n=(0, 5))
    assert page.result()["text/html"].count("<caption") == 2


def test_a_drawing_by_axes_without_a_grid_warns_of_nothing(page):
    def draw(figure, n=1):
        figure.add_axes((0.1, 0.1, 0.8, 0.8)).plot([1, n])

    explore(draw, n=(0, 5))
    assert "Warning" not in page.text()
    assert "image/png" in page.result()
