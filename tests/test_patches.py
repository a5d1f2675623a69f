"""Patches and their inverse: no pixel is lost or moved, whatever the shape, and bad input is named."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lessons import definitions
from tensors import examples

from helpers.attention import assemble, patches


@st.composite
def shapes(draw):
    """The dimensions in front, the rows and the columns of patches, and their size."""
    batch = draw(st.lists(st.integers(0, 3), max_size=2))
    return batch, draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 5))


def numbered(*shape, dtype=torch.int64):
    """An image in which no two pixels are equal."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)


@given(shape=shapes(), dtype=st.sampled_from([torch.int64, torch.float32, torch.float64]))
@examples
def test_round_trip_is_exact(shape, dtype):
    batch, rows, columns, size = shape
    image = numbered(*batch, rows * size, columns * size, dtype=dtype)
    before, parts = image.clone(), patches(image, size)
    assert parts.shape == (*batch, rows * columns, size * size)
    assert parts.dtype == dtype
    back = assemble(parts, rows * size, columns * size)
    assert torch.equal(back, image)
    assert torch.equal(patches(back, size), parts)
    assert torch.equal(image, before)


@given(shape=shapes())
@examples
def test_each_patch_is_its_block_of_the_image(shape):
    batch, rows, columns, size = shape
    image = numbered(*batch, rows * size, columns * size)
    parts = patches(image, size)
    for number in range(rows * columns):
        top, left = size * (number // columns), size * (number % columns)
        block = image[..., top : top + size, left : left + size]
        assert torch.equal(parts[..., number, :].reshape(block.shape), block)


@given(shape=shapes())
@examples
def test_it_cuts_as_unfold_does(shape):
    _, rows, columns, size = shape
    image = numbered(2, rows * size, columns * size, dtype=torch.float32)
    unfolded = torch.nn.functional.unfold(image[:, None], kernel_size=size, stride=size)
    assert torch.equal(unfolded.transpose(-2, -1), patches(image, size))


def test_an_image_in_any_order_of_memory_will_do_and_gradients_pass():
    image = torch.rand(6, 4, dtype=torch.float64).T.requires_grad_()
    assert torch.equal(assemble(patches(image, 2), 4, 6), image)
    patches(image, 2)[1].sum().backward()
    expected = torch.zeros(4, 6, dtype=torch.float64)
    expected[:2, 2:4] = 1
    assert torch.equal(image.grad, expected)


def test_reshape_alone_cuts_no_patches():
    image = numbered(4, 6)
    wrong = image.reshape(6, 4)
    assert wrong.shape == patches(image, 2).shape
    assert not torch.equal(wrong, patches(image, 2))


def test_the_lesson_has_the_same_functions():
    names = definitions("11_image_patches", "functions")
    for shape, size in (((12, 20), 4), ((2, 3, 6, 9), 3), ((5, 1), 1)):
        image = torch.rand(*shape)
        parts = names["patches"](image, size)
        assert torch.equal(parts, patches(image, size))
        assert torch.equal(names["assemble"](parts, *shape[-2:]), assemble(parts, *shape[-2:]))


@pytest.mark.parametrize(
    ("image", "size", "error", "words"),
    [
        ([[0.0, 1.0]], 1, TypeError, "image must be a tensor, not list"),
        (torch.zeros(4, 4), 2.0, TypeError, "size must be a whole number, not 2.0"),
        (torch.zeros(4, 4), 0, ValueError, "size must be at least 1, not 0"),
        (torch.zeros(4), 2, ValueError, r"\(\.\.\., height, width\) must divide .* image is \(4,\)"),
        (torch.zeros(2, 4, 5), 2, ValueError, r"into patches of 2 x 2, but image is \(2, 4, 5\)"),
        (torch.zeros(6, 4), 4, ValueError, r"into patches of 4 x 4, but image is \(6, 4\)"),
        (torch.zeros(2, 2), 4, ValueError, r"into patches of 4 x 4, but image is \(2, 2\)"),
    ],
)
def test_what_can_not_be_cut_is_named(image, size, error, words):
    with pytest.raises(error, match=words):
        patches(image, size)


def test_patches_keep_their_device():
    image = torch.empty(2, 6, 4, device="meta")
    assert patches(image, 2).is_meta
    assert assemble(patches(image, 2), 6, 4).shape == image.shape


@pytest.mark.parametrize(
    ("parts", "height", "width", "error", "words"),
    [
        ([[0.0]], 1, 1, TypeError, "parts must be a tensor, not list"),
        (torch.zeros(4, 4), 4.0, 4, TypeError, "height must be a whole number, not 4.0"),
        (torch.zeros(4, 4), 4, 0, ValueError, "width must be at least 1, not 0"),
        (torch.zeros(4), 2, 2, ValueError, r"parts must hold one vector per row, .* its shape is \(4,\)"),
        (torch.zeros(4, 5), 4, 5, ValueError, r"square patches must fill .* size \* size\), is \(4, 5\)"),
        (torch.zeros(4, 0), 4, 4, ValueError, r"size \* size\), is \(4, 0\)"),
        (torch.zeros(4, 4), 4, 6, ValueError, r"height 4 and width 6, but parts, .* is \(4, 4\)"),
        (torch.zeros(4, 4), 3, 5, ValueError, r"height 3 and width 5, but parts, .* is \(4, 4\)"),
    ],
)
def test_what_does_not_fit_together_is_named(parts, height, width, error, words):
    with pytest.raises(error, match=words):
        assemble(parts, height, width)
