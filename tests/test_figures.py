"""The comparison of figures: what it takes for the same, and what it must not."""

import io

import numpy as np
import pytest
from figures import MATPLOTLIB, TOLERANCE, difference, drawn_by
from matplotlib.figure import Figure
from PIL import Image

from helpers import INPUTS, TOKENS


def png(heights, dpi=100, **labels):
    figure = Figure(figsize=(5, 3), dpi=dpi)
    figure.subplots().bar(TOKENS, heights)
    figure.axes[0].set(**labels)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


HEIGHTS = INPUTS[:, 0].tolist()


def test_the_same_figure_passes():
    assert difference(png(HEIGHTS), png(HEIGHTS)) == 0


def test_the_noise_of_another_rasteriser_passes():
    image = np.asarray(Image.open(io.BytesIO(png(HEIGHTS))).convert("RGBA")).astype(int)
    edges = np.abs(np.diff(image, axis=1, prepend=image[:, :1])).max(axis=2, keepdims=True) > 0
    noise = np.random.default_rng(0).integers(-8, 9, image.shape) * edges
    buffer = io.BytesIO()
    Image.fromarray(np.clip(image + noise, 0, 255).astype("uint8")).save(buffer, "png")
    assert 0 < difference(png(HEIGHTS), buffer.getvalue()) < TOLERANCE


@pytest.mark.parametrize(
    "other",
    [
        png(HEIGHTS[::-1]),
        png([HEIGHTS[1], HEIGHTS[0], *HEIGHTS[2:]]),
        png([*HEIGHTS[:5], HEIGHTS[5] + 0.02]),
        png(HEIGHTS, title="Another title"),
        png(HEIGHTS, dpi=50),
    ],
)
def test_another_figure_does_not(other):
    assert difference(png(HEIGHTS), other) > TOLERANCE


def test_a_picture_names_the_matplotlib_that_drew_it():
    assert drawn_by(png(HEIGHTS)) == MATPLOTLIB
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "png")
    assert drawn_by(buffer.getvalue()) is None
