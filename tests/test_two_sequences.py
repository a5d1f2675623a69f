"""Lesson 13: cross-attention beside PyTorch's, and attention as kernel regression."""

import pytest
import torch
from lessons import definitions
from tensors import random
from torch import nn

from helpers.attention import CrossAttention, attention
from helpers.exercises.lesson_13 import my_mask, my_regression


@pytest.mark.parametrize(("B", "T", "S", "d"), [(1, 1, 1, 2), (2, 3, 5, 4), (2, 6, 2, 3), (3, 4, 4, 8)])
@pytest.mark.parametrize("masked", [False, True])
def test_it_is_pytorchs(B, T, S, d, masked):
    torch.manual_seed(S)
    ours = CrossAttention(d, d, qkv_bias=True)
    theirs = nn.MultiheadAttention(d, 1, batch_first=True)
    three = (ours.W_query, ours.W_key, ours.W_value)
    theirs.in_proj_weight.data = torch.cat([layer.weight for layer in three])
    theirs.in_proj_bias.data = torch.cat([layer.bias for layer in three])
    theirs.out_proj.weight.data = torch.eye(d)
    x, y = random(B, T, d), random(B, S, d, seed=1)
    keep = my_mask(torch.arange(B) % S + 1, S) if masked else None
    hidden = ~keep[:, 0] if masked else None  # (B, S), True = hide
    for one, other in zip(ours(x, y, keep), theirs(x, y, y, key_padding_mask=hidden), strict=True):
        torch.testing.assert_close(one, other)


def test_hidden_padding_changes_nothing():
    cross = CrossAttention(4, 3)
    x, y = random(2, 3, 4), random(2, 5, 4, seed=1)
    padded = torch.cat([y, random(2, 2, 4, seed=2)], dim=1)
    context, weights = cross(x, padded, my_mask(torch.tensor([5, 5]), 7))
    torch.testing.assert_close((context, weights[..., :5]), cross(x, y))
    assert (weights[..., 5:] == 0).all()


def test_a_wrong_size_is_named():
    cross = CrossAttention(4, 3)
    for x, y in ((random(3, 5), random(2, 4)), (random(3, 4), random(2, 5))):
        with pytest.raises(ValueError, match="x must end in d_in = 4"):
            cross(x, y)


@pytest.mark.parametrize("h", [0.1, 0.5, 2.0])
def test_keys_of_equal_length_are_a_kernel_and_others_are_not(h):
    queries, keys = (nn.functional.normalize(random(n, 3, seed=n), dim=-1) for n in (4, 6))
    values = random(6, 1)
    for k, same in ((keys, True), (keys * torch.arange(1.0, 7)[:, None], False)):
        shares = torch.exp(-(torch.cdist(queries, k) ** 2) / (2 * h**2))
        estimate = shares @ values / shares.sum(dim=-1, keepdim=True)
        context, _ = attention(queries * 3**0.5 / h**2, k, values)
        assert torch.allclose(context, estimate, rtol=1e-3, atol=1e-4) is same


def test_the_exercise_on_a_line_is_the_same_estimate():
    x, keys, values = random(5), random(7, seed=1), random(7, seed=2)
    shares = torch.exp(-((x[:, None] - keys) ** 2) / (2 * 0.4**2))
    torch.testing.assert_close(my_regression(x, keys, values, 0.4), shares @ values / shares.sum(dim=-1))


def test_the_lesson_has_the_same_module():
    lesson = definitions("13_two_sequences", "module", attention=attention)["CrossAttention"](4, 3)
    ours = CrossAttention(4, 3)
    lesson.load_state_dict(ours.state_dict())
    x, y = random(2, 3, 4), random(2, 5, 4, seed=1)
    torch.testing.assert_close(lesson(x, y), ours(x, y))
