"""Sinusoidal and rotary positions: their formulas, number by number, and the properties that they are used for."""

import math
from functools import partial

import pytest
import tensors
import torch
from hypothesis import given
from hypothesis import strategies as st
from lessons import definitions
from tensors import examples
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.attention import rotate, sinusoidal_positions

SIZES = st.integers(1, 12)
EVEN = SIZES.map(lambda half: 2 * half)
SEEDS = st.integers(0, 2**31)
random = partial(tensors.random, dtype=torch.float64)


@examples
@given(T=SIZES, d_model=EVEN)
def test_sinusoidal_positions_follow_the_formula(T, d_model):
    positions = sinusoidal_positions(T, d_model)
    assert positions.shape == (T, d_model)
    assert positions.dtype == torch.float32
    for t in range(T):
        for m in range(d_model):
            angle = t / 10000 ** ((m - m % 2) / d_model)
            expected = math.cos(angle) if m % 2 else math.sin(angle)
            assert positions[t, m].item() == pytest.approx(expected, abs=1e-6)


@examples
@given(T=SIZES, d_model=EVEN, more=SIZES)
def test_sinusoidal_positions_have_one_length_and_know_distances(T, d_model, more):
    positions = sinusoidal_positions(T + more, d_model)
    torch.testing.assert_close(positions[:T], sinusoidal_positions(T, d_model))
    torch.testing.assert_close(positions.norm(dim=-1), torch.full((T + more,), (d_model / 2) ** 0.5))
    products = positions @ positions.T
    torch.testing.assert_close(products[:T, :T], products[more:, more:], rtol=1e-4, atol=1e-4)


@examples
@given(batch=st.lists(st.integers(1, 3), max_size=2), T=SIZES, d=EVEN, base=st.floats(1, 1e6), seed=SEEDS)
def test_rotate_is_a_product_of_complex_numbers(batch, T, d, base, seed):
    x, positions = random(*batch, T, d, seed=seed), torch.arange(T)
    speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turns = torch.polar(torch.ones(T, d // 2, dtype=torch.float64), positions[:, None] * speeds)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * turns).flatten(-2)
    before = x.clone()
    torch.testing.assert_close(rotate(x, positions, base), expected)
    assert torch.equal(x, before)


@examples
@given(T=SIZES, d=EVEN, shift=st.integers(-1000, 1000), seed=SEEDS)
def test_rotated_scores_depend_on_distances_alone(T, d, shift, seed):
    queries, keys = random(2, T, d, seed=seed)
    places = torch.arange(T)
    scores = rotate(queries, places) @ rotate(keys, places).T
    moved = rotate(queries, places + shift) @ rotate(keys, places + shift).T
    torch.testing.assert_close(moved, scores, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(rotate(keys, places).norm(dim=-1), keys.norm(dim=-1))
    torch.testing.assert_close(rotate(rotate(keys, places), -places), keys)


def test_place_zero_is_not_turned_and_distance_matters():
    x = random(3, 4)
    torch.testing.assert_close(rotate(x, torch.zeros(3)), x)
    places = torch.arange(3)
    assert not torch.allclose(rotate(x, places) @ rotate(x, places + 1).T, rotate(x, places) @ rotate(x, places).T)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_rotate_keeps_the_type_and_passes_gradients(dtype):
    x = random(5, 4).to(dtype).requires_grad_()
    result = rotate(x, torch.arange(5))
    assert result.dtype == dtype
    result.sum().backward()
    assert x.grad.isfinite().all()


def test_each_sequence_of_a_batch_may_have_positions_of_its_own():
    x, positions = random(2, 3, 5, 4), torch.stack([torch.arange(5), torch.arange(5) + 7])
    own = torch.stack([rotate(sequence, places) for sequence, places in zip(x, positions, strict=True)])
    torch.testing.assert_close(rotate(x, positions[:, None]), own)


def test_positions_are_made_on_the_device_of_the_input():
    assert rotate(torch.randn(6, 4, device="meta"), torch.arange(6, device="meta")).is_meta
    with torch.device("meta"):
        assert sinusoidal_positions(6, 4).is_meta


class NoDoubles(TorchDispatchMode):
    """A device without float64, as Apple's GPUs are."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        assert getattr(result, "dtype", None) != torch.float64
        return result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_device_needs_float64(dtype):
    x = random(300, 8)
    expected = rotate(x.to(dtype).double(), torch.arange(300))
    with NoDoubles():
        positions = sinusoidal_positions(300, 8)
        turned = rotate(x.to(dtype), torch.arange(300))
    assert positions.dtype == torch.float32
    torch.testing.assert_close(turned.double(), expected, rtol=0, atol=2e-5 if dtype == torch.float32 else 0.05)


def test_lesson_and_helpers_have_the_same_functions():
    names = definitions("07_position", "sinus", "rotate")
    x = random(2, 5, 6)
    torch.testing.assert_close(names["sinusoidal_positions"](7, 6), sinusoidal_positions(7, 6))
    torch.testing.assert_close(names["rotate"](x, torch.arange(5), 7.0), rotate(x, torch.arange(5), 7.0))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: sinusoidal_positions(0, 4), ValueError, "T must be at least 1, not 0"),
        (lambda: sinusoidal_positions(4, 5), ValueError, "d_model must be even, .* not 5"),
        (lambda: sinusoidal_positions(4.0, 4), TypeError, "T must be a whole number, not 4.0"),
        (lambda: rotate([[1.0, 2.0]], torch.arange(1)), TypeError, "x must be a tensor"),
        (lambda: rotate(torch.ones(2, 4, dtype=int), torch.arange(2)), TypeError, "x must hold floating"),
        (lambda: rotate(torch.ones(2, 3), torch.arange(2)), ValueError, "last dimension of x must be even, .* not 3"),
        (lambda: rotate(torch.ones(4), torch.arange(4)), ValueError, r"x must hold one vector per row"),
        (lambda: rotate(torch.ones(2, 4), [0, 1]), TypeError, "positions must be a tensor, not list"),
        (
            lambda: rotate(torch.ones(2, 4), torch.arange(3)),
            ValueError,
            r"x, \(2, 4\), needs one position per row, but positions is \(3,\)",
        ),
        (lambda: rotate(torch.ones(1, 6, 4), torch.arange(1)), ValueError, r"but positions is \(1,\)"),
        (lambda: rotate(torch.ones(1, 4), torch.tensor(0)), ValueError, r"but positions is \(\)"),
    ],
)
def test_bad_input_is_told_in_words(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
