"""helpers/figures.py: a figure under a slider looks as matplotlib would draw it, whatever of it has changed."""

import gc
import io
import warnings
import weakref

import numpy as np
import pytest
from matplotlib import font_manager, image
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry
from matplotlib.ticker import FixedLocator

from helpers.figures import chinese_fonts, png

CHANGES = {
    "nothing": lambda left, right: None,
    "a line": lambda left, right: right.lines[0].set_ydata([3, 1, 2]),
    "a bar": lambda left, right: left.patches[0].set_height(0.1),
    "a title": lambda left, right: left.set_title("Another,\nand longer"),
    "the limits of x": lambda left, right: right.set_xlim(0, 20),
    "the limits of y, by adding a line": lambda left, right: right.plot([50, 60]),
    "the view, past the axes": lambda left, right: setattr(right.viewLim, "intervalx", (0, 20)),
    "the name of an axis": lambda left, right: left.set_xlabel("something else"),
    "the colour of a name": lambda left, right: left.xaxis.label.set_color("red"),
    "the colour of a tick label": lambda left, right: left.get_xticklabels()[1].set_color("red"),
    "the weight of a tick label": lambda left, right: left.get_xticklabels()[2].set_fontweight("bold"),
    "which tick labels are seen": lambda left, right: left.get_xticklabels()[0].set_visible(False),
    "the ticks": lambda left, right: right.set_xticks([0, 1], ["a", "b"]),
    "the locator": lambda left, right: right.xaxis.set_major_locator(FixedLocator([0.5, 1.5])),
    "minor ticks": lambda left, right: right.minorticks_on(),
    "the ticks' length": lambda left, right: right.tick_params(length=12),
    "the grid": lambda left, right: right.grid(True),
    "a hidden axis": lambda left, right: left.xaxis.set_visible(False),
    "no axes": lambda left, right: left.set_axis_off(),
    "the scale": lambda left, right: right.set_yscale("log"),
    "the direction": lambda left, right: right.invert_yaxis(),
    "the side of the ticks": lambda left, right: right.yaxis.tick_right(),
    "a moved spine": lambda left, right: right.spines["bottom"].set_position(("data", 2)),
    "the place of the axes": lambda left, right: left.set_position([0.2, 0.3, 0.2, 0.4]),
    "the size": lambda left, right: left.figure.set_size_inches(8, 5),
    "the resolution": lambda left, right: left.figure.set_dpi(80),
    "a second axis": lambda left, right: right.twinx().plot([100, 200]),
    "cleared axes": lambda left, right: right.clear(),
    "fewer axes": lambda left, right: right.remove(),
    "other tokens": lambda left, right: left.bar(["d", "e"], [0.3, 0.4]),
}


def figure():
    figure = Figure(figsize=(6, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(["a", "b", "c"], [0.5, 0.2, 0.3])
    left.set(xlabel="token", ylabel="weight", title="bars")
    right.plot([1, 2, 3])
    right.set(xlabel="step", ylabel="loss", title="line")
    return figure, left, right


def pixels(data):
    return 255 * image.imread(io.BytesIO(data), format="png")[..., :3]


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_figure_looks_as_matplotlib_draws_it(what):
    drawn, left, right = figure()
    first = pixels(png(drawn))
    png(drawn)
    CHANGES[what](left, right)
    kept = pixels(png(drawn))
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    whole = np.asarray(canvas.buffer_rgba())[..., :3].astype(float)
    assert kept.shape == whole.shape
    assert np.abs(kept - whole).max() <= 3, "differs in a place"
    changed = first.shape != kept.shape or (first != kept).any()
    assert changed == (what != "nothing")


def test_what_is_animated_is_drawn_on_top_of_the_rest_which_is_drawn_once(monkeypatch):
    drawn, left, right = figure()
    moving = [*left.patches, right.lines[0], right.title]
    for artist in moving:
        artist.set_animated(True)
    png(drawn)
    ticks = []
    draw = type(left.xaxis.majorTicks[0]).draw
    monkeypatch.setattr(
        type(left.xaxis.majorTicks[0]), "draw", lambda self, renderer: (ticks.append(self), draw(self, renderer))
    )
    left.patches[0].set_height(0.1)
    right.lines[0].set_ydata([3, 1, 2])
    right.title.set_text("another line")
    moved = pixels(png(drawn))
    assert ticks == []
    left.set_xlabel("another")  # is not animated, so all is drawn anew
    changed = pixels(png(drawn))
    assert len(ticks) > 3
    assert (changed != moved).any()

    left.set_xlabel("token")
    for artist in moving:
        artist.set_animated(False)
    assert np.abs(pixels(png(drawn)) - moved).mean() < 0.5  # only where bars lie on the frame of the axes


def test_the_same_again_is_the_same_picture():
    drawn, left, right = figure()
    first = png(drawn)
    left.set_title("another")
    right.set_xlim(0, 9)
    assert png(drawn) != first
    left.set_title("bars")
    right.set_xlim(-0.1, 2.1)
    assert png(drawn) == first


def test_a_figure_can_still_be_drawn_by_hand_and_is_let_go():
    drawn, left, _ = figure()
    png(drawn)
    drawn.savefig(io.BytesIO())
    watched = weakref.ref(drawn)
    del drawn, left, _
    gc.collect()
    assert watched() is None


def test_letters_that_no_font_has_are_told_in_one_line(capsys):
    figure = Figure()
    figure.text(0.1, 0.5, "a \U000f1234 b \U000f1235 \U000f1234")  # letters for private use: no font has them
    png(figure)
    assert capsys.readouterr().err.splitlines() == [
        "No font on this computer has \U000f1234\U000f1235: install one, such as Noto Sans CJK."
    ]


def test_other_warnings_of_a_drawing_are_not_lost():
    class Odd(Figure):
        def draw(self, renderer):
            warnings.warn("look here", UserWarning, stacklevel=1)
            super().draw(renderer)

    with pytest.warns(UserWarning, match="look here"):
        png(Odd())


def test_installed_chinese_fonts_stand_behind_the_chosen_one(monkeypatch):
    fonts = [FontEntry(name=name, weight=400) for name in ("SimHei", "Comic", "Noto Sans CJK TC")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*fonts, FontEntry(name="PingFang SC", weight=500)])
    assert chinese_fonts() == ["Noto Sans CJK TC", "SimHei"]
