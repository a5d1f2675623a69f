"""Compare two pictures of a figure, since nbval compares text only."""

import base64
import io

import matplotlib
import numpy as np
from PIL import Image

MATPLOTLIB = ".".join(matplotlib.__version__.split(".")[:2])  # the minor version: another draws text differently

# Root mean square over all pixels and channels, of 255. The same figure drawn on another machine with the same minor
# version of matplotlib differs by less; two bars or two rows swapped differ by more.
TOLERANCE = 1.0


def pictures(outputs):
    """The PNG pictures among the outputs of a cell, as bytes."""
    data = (output.get("data", {}) for output in outputs)
    return [base64.b64decode(one["image/png"]) for one in data if "image/png" in one]


def drawn_by(png):
    """The minor version of matplotlib that drew the picture, such as '3.11'; None for a picture of other origin."""
    software = Image.open(io.BytesIO(png)).info.get("Software", "")
    if not software.startswith("Matplotlib version"):
        return None
    return ".".join(software.removeprefix("Matplotlib version").split(",")[0].split(".")[:2])


def difference(png, other):
    """Root mean square difference of two pictures, 0 to 255; infinite where their sizes differ."""
    one, two = (np.asarray(Image.open(io.BytesIO(each)).convert("RGBA"), dtype=float) for each in (png, other))
    if one.shape != two.shape:
        return float("inf")
    return float(np.sqrt(((one - two) ** 2).mean()))
