"""Lesson 12: the block, beside PyTorch's and beside the one in the lesson."""

import pytest
import torch
from lessons import definitions
from tensors import random
from torch import nn

from helpers.attention import MultiHeadAttention, TransformerBlock
from helpers.exercises.lesson_12 import my_score


def pytorchs(block, d_model, num_heads):
    """nn.TransformerEncoderLayer with the weights of a block."""
    theirs = nn.TransformerEncoderLayer(
        d_model, num_heads, 4 * d_model, 0.0, "gelu", batch_first=True, norm_first=block.norm_first
    )
    ours = block.attention
    three = (ours.W_query, ours.W_key, ours.W_value)
    state = {"in_proj_weight": torch.cat([layer.weight for layer in three])}
    state["in_proj_bias"] = torch.cat([layer.bias for layer in three])
    state |= {f"out_proj.{name}": value for name, value in ours.out_proj.state_dict().items()}
    theirs.self_attn.load_state_dict(state)
    pairs = ((theirs.linear1, block.mlp[0]), (theirs.linear2, block.mlp[2]))
    for part, own in (*pairs, (theirs.norm1, block.norm_1), (theirs.norm2, block.norm_2)):
        part.load_state_dict(own.state_dict())
    return theirs


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize(("B", "T", "d_model", "num_heads"), [(1, 1, 4, 1), (3, 5, 8, 2), (2, 7, 12, 3), (2, 4, 6, 6)])
def test_it_is_pytorchs_block(norm_first, B, T, d_model, num_heads):
    torch.manual_seed(T)
    block = TransformerBlock(d_model, T, num_heads, norm_first, qkv_bias=True)
    for parameter in block.parameters():  # LayerNorm begins with ones and zeros, which hide a mistake
        nn.init.normal_(parameter, std=0.5)
    x = random(B, T, d_model)
    hidden = ~torch.ones(T, T).tril().bool()
    torch.testing.assert_close(block(x), pytorchs(block, d_model, num_heads)(x, src_mask=hidden), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_mask_takes_the_place_of_the_causal_one(norm_first):
    block = TransformerBlock(8, 5, 2, norm_first)
    x, everywhere = random(2, 5, 8), torch.ones(5, 5, dtype=torch.bool)
    _, weights = block(x, True, everywhere)
    assert (weights > 0).all()
    torch.testing.assert_close(block(x, mask=everywhere.tril()), block(x))


def test_what_comes_later_changes_nothing():
    block, x = TransformerBlock(8, 6), random(2, 6, 8)
    torch.testing.assert_close(block(x)[:, :4], block(x[:, :4]))


def test_it_returns_the_weights_of_all_heads():
    output, weights = TransformerBlock(6, 4, num_heads=3)(random(2, 4, 6), return_weights=True)
    assert output.shape == (2, 4, 6)
    assert weights.shape == (2, 3, 4, 4)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 4))


def test_too_many_tokens_are_named():
    with pytest.raises(ValueError, match="x has 5 tokens"):
        TransformerBlock(4, 3)(random(5, 4))


def test_the_lesson_has_the_same_block():
    lesson = definitions("12_blocks_and_layers", "block", MultiHeadAttention=MultiHeadAttention)["TransformerBlock"]
    for norm_first in (True, False):
        ours, theirs = (block(8, 6, 4, norm_first) for block in (TransformerBlock, lesson))
        theirs.load_state_dict(ours.state_dict())
        x = random(2, 6, 8)
        for one, other in zip(ours(x, True), theirs(x, True), strict=True):
            torch.testing.assert_close(one, other)


def test_the_score_of_a_perfect_induction_head_is_one():
    table = torch.zeros(9, 9)
    for query in range(4, 9):
        table[query, query - 3] = 1.0
    torch.testing.assert_close(my_score(table, 4), torch.tensor(1.0))
