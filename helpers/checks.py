"""What attention.py refuses, in words: mistakes that torch lets pass or names badly. All others are left to torch."""

import math
from typing import SupportsIndex

import torch


def tensor(name, x, dims=0, floats=True):
    """Whether x is a tensor, of floats. With one vector for many, results lack a dimension, and torch says nothing."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(x).__name__}: torch.tensor(...) makes one")
    if floats and not x.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, not {x.dtype}: {name}.float() converts it")
    if x.dim() < dims:
        found = f"its shape is {tuple(x.shape)}: for a single vector, pass {name}[None, :]"
        raise ValueError(f"{name} must hold one vector per row, (..., T, d), but {found}")


def same_size(dim, **two):
    """Whether both have the same. Torch names the shape of a transpose or of the weights and, in a batch, a part."""
    for name, x in two.items():
        tensor(name, x, dims=2)
    if len({x.shape[dim] for x in two.values()}) > 1:
        shapes = " and ".join(f"{name} is {tuple(x.shape)}" for name, x in two.items())
        raise ValueError(f"{' and '.join(two)} must have the same size in dimension {dim}, but {shapes}")


def module_input(x, d_in, context_length=math.inf):
    """Whether a module of these sizes can take x."""
    tensor("x", x, dims=2)
    if x.shape[-1] != d_in:
        raise ValueError(f"x must end in d_in = {d_in}, the size of this module, but its shape is {tuple(x.shape)}")
    if x.shape[-2] > context_length:
        found = f"x has {x.shape[-2]} tokens (its shape is {tuple(x.shape)})"
        raise ValueError(f"{found}, but this module was made for context_length = {context_length}")


def mask_of(scores, mask):
    """Whether a mask fits the scores. A larger one would make them larger, and torch says nothing."""
    tensor("mask", mask, floats=False)
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must hold booleans, True where a key is kept, not {mask.dtype}: mask.bool() converts it")
    if mask.device != scores.device:
        raise ValueError(f"mask is on {mask.device}, the scores on {scores.device}: mask.to(scores.device) moves it")
    sides = zip(mask.shape[::-1], scores.shape[::-1], strict=False)
    if mask.dim() > scores.dim() or any(own not in (1, wanted) for own, wanted in sides):
        raise ValueError(f"mask must fit the scores, {tuple(scores.shape)}, but its shape is {tuple(mask.shape)}")


def positions_of(x, positions):
    """Whether each row of x has pairs and a position. One position would count for all rows, and torch says nothing."""
    tensor("x", x, dims=2)
    even("the last dimension of x", x.shape[-1])
    tensor("positions", positions, floats=False)
    if positions.shape[-1:] != x.shape[-2:-1]:
        raise ValueError(f"x, {tuple(x.shape)}, needs one position per row, but positions is {tuple(positions.shape)}")


def sizes(**sizes):
    """Whether they are whole numbers from 1 on. Torch makes layers of size 0, too."""
    for name, size in sizes.items():
        if not isinstance(size, SupportsIndex):
            raise TypeError(f"{name} must be a whole number, not {size!r}")
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")


def even(name, size):
    """Whether vectors of this size can be taken in pairs."""
    if size % 2:
        raise ValueError(f"{name} must be even, since its numbers are taken in pairs, not {size}")


def distributions(weights):
    """Whether no weight is negative and each row sums to 1. Of others, too, the entropy's formula makes a number."""
    tensor("weights", weights)
    sums = weights.sum(dim=-1)
    tolerance = max(1e-3, 2 * torch.finfo(weights.dtype).eps)
    if not ((weights >= 0).all() and torch.allclose(sums, torch.ones_like(sums), atol=tolerance)):
        found = f"the smallest is {weights.min():g}, and the sums go from {sums.min():.4f} to {sums.max():.4f}"
        raise ValueError(f"weights must not be negative, and each row must sum to 1, but {found}")


def cuts(image, size):
    """Whether an image divides into patches."""
    tensor("image", image, floats=False)
    sizes(size=size)
    if image.dim() < 2 or any(side % size for side in image.shape[-2:]):
        raise ValueError(
            f"(..., height, width) must divide into patches of {size} x {size}, but image is {tuple(image.shape)}"
        )


def fills(parts, height, width):
    """Whether these patches make up an image."""
    tensor("parts", parts, dims=2, floats=False)
    sizes(height=height, width=width)
    size = math.isqrt(parts.shape[-1])
    if not size or height % size or width % size or parts.shape[-2:] != (height * width // size**2, size**2):
        found = f"parts, (..., T, size * size), is {tuple(parts.shape)}"
        raise ValueError(f"square patches must fill an image of height {height} and width {width}, but {found}")
