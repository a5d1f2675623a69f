"""The cache, grouped queries and tiles of lesson 14, against the full computation and PyTorch's own."""

from functools import partial

import pytest
import tensors
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from lessons import definitions
from tensors import examples

from helpers.attention import (
    MultiHeadAttention,
    TransformerBlock,
    attention,
    cached_attention,
    causal_mask,
    dot_product_scores,
    grouped_query_attention,
    rotate,
    tiled_attention,
)

sizes = st.integers(1, 6)
batches = st.lists(st.integers(1, 3), max_size=2)
seeds = st.integers(0, 1000)
random = partial(tensors.random, dtype=torch.float64)
assert_close = torch.testing.assert_close
LESSON = "14_fast_attention"


def in_steps(module, x, steps):
    """What a module gives for x in pieces of these lengths, with a cache."""
    parts, cache = [], None
    for piece in x.split(steps, dim=-2):
        output, cache = cached_attention(module, piece, cache)
        parts.append(output)
    return torch.cat(parts, dim=-2), cache


# The cache


@given(steps=st.lists(sizes, min_size=1, max_size=5), heads=st.integers(1, 3), batch=batches, seed=seeds)
@examples
def test_a_cache_gives_what_the_full_computation_gives(steps, heads, batch, seed):
    T, d_head = sum(steps), 2
    torch.manual_seed(seed)
    module = MultiHeadAttention(3, heads * d_head, T + 2, num_heads=heads, qkv_bias=True).double()
    x = random(*batch, T, 3, seed=seed)
    output, (keys, values) = in_steps(module, x, steps)
    assert_close(output, module(x))
    assert keys.shape == values.shape == (*batch, heads, T, d_head)
    assert_close(keys, module.split(module.W_key(x)))
    assert_close(values, module.split(module.W_value(x)))


@pytest.mark.parametrize(("num_layers", "same"), [(1, True), (2, False)])
def test_without_a_mask_a_cache_is_right_for_the_last_token_of_one_block_alone(num_layers, same):
    torch.manual_seed(0)
    blocks = [TransformerBlock(4, 7).double() for _ in range(num_layers)]
    x = full = random(7, 4)
    for block in blocks:
        full = block(full, mask=torch.ones(7, 7, dtype=torch.bool))
        found, _ = in_steps(block.attention, block.norm_1(x), 1)
        x = x + found
        x = x + block.mlp(block.norm_2(x))
    assert torch.allclose(x[-1], full[-1]) == same


def test_a_cache_learns_as_the_full_computation_does():
    torch.manual_seed(0)
    module, x = MultiHeadAttention(3, 4, 5).double(), random(5, 3)
    in_steps(module, x, 1)[0].square().sum().backward()
    kept = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    module(x).square().sum().backward()
    assert_close(kept, [p.grad for p in module.parameters()])


@given(T=sizes, half=st.integers(1, 4), seed=seeds)
@examples
def test_rotary_keys_are_turned_before_they_are_kept(T, half, seed):
    queries, keys, values = random(3, T, 2 * half, seed=seed)
    places = torch.arange(T)
    full, _ = attention(rotate(queries, places), rotate(keys, places), values, causal_mask(T))
    kept, late = keys[:0], keys[:0]
    for t in range(T):
        here = slice(t, t + 1)
        query = rotate(queries[here], places[here])
        kept = torch.cat([kept, rotate(keys[here], places[here])])
        late = torch.cat([late, keys[here]])
        assert_close(attention(query, kept, values[: t + 1])[0], full[here])
        turned = rotate(late, places[: t + 1])
        assert_close(attention(query, turned, values[: t + 1])[0], full[here])


def test_rotary_keys_turned_twice_or_by_another_place_are_wrong():
    queries, keys, values = random(3, 5, 4)
    places = torch.arange(5)
    full, _ = attention(rotate(queries, places), rotate(keys, places), values)
    twice = attention(rotate(queries, places), rotate(rotate(keys, places), places), values)[0]
    at_zero = attention(rotate(queries, 0 * places), rotate(keys, 0 * places), values)[0]
    assert not torch.allclose(full, twice)
    assert not torch.allclose(full, at_zero)


# Grouped queries


@given(heads=st.integers(1, 3), group=st.integers(1, 3), T=sizes, S=sizes, d_k=sizes, d_v=sizes, batch=batches)
@examples
def test_grouped_queries_are_those_of_pytorch_and_of_repeated_heads(heads, group, T, S, d_k, d_v, batch):
    queries = random(*batch, heads * group, T, d_k, seed=1)
    keys, values = random(*batch, heads, S, d_k, seed=2), random(*batch, heads, S, d_v, seed=3)
    ours = grouped_query_attention(queries, keys, values)
    assert_close(ours, F.scaled_dot_product_attention(queries, keys, values, enable_gqa=True))
    repeated = (part.repeat_interleave(group, dim=-3) for part in (keys, values))
    assert_close(ours, attention(queries, *repeated)[0])


@given(heads=st.integers(1, 3), group=st.integers(1, 3), T=sizes)
@examples
def test_grouped_queries_take_a_mask(heads, group, T):
    queries, (keys, values) = random(heads * group, T, 2, seed=1), random(2, heads, T, 2, seed=2)
    judge = F.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
    assert_close(grouped_query_attention(queries, keys, values, causal_mask(T)), judge)


# Tiles


@given(T=sizes, S=st.integers(1, 9), d_k=sizes, d_v=sizes, size=st.integers(1, 10), batch=batches, seed=seeds)
@examples
def test_tiles_are_the_whole_table(T, S, d_k, d_v, size, batch, seed):
    queries, keys = random(*batch, T, d_k, seed=seed), random(*batch, S, d_k, seed=seed + 1)
    values = random(*batch, S, d_v, seed=seed + 2)
    z = tiled_attention(queries, keys, values, size)
    assert_close(z, attention(queries, keys, values)[0])
    assert_close(z, F.scaled_dot_product_attention(queries, keys, values))


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_tiles_do_not_overflow(scale):
    queries, keys, values = random(3, 6, 4)
    z = tiled_attention(scale * queries, keys, values, 2)
    assert_close(z, attention(scale * queries, keys, values)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiles_keep_the_type(dtype):
    queries, keys, values = tensors.random(3, 6, 4, dtype=dtype)
    assert tiled_attention(queries, keys, values, 4).dtype == dtype


# The cells


def test_the_functions_are_those_of_the_lesson():
    taught = definitions(LESSON, "cached", "group", "tiles", attention=attention, dot_product_scores=dot_product_scores)
    torch.manual_seed(0)
    module, x = MultiHeadAttention(3, 4, 5).double(), random(2, 5, 3)
    assert_close(taught["cached_attention"](module, x), cached_attention(module, x))
    _, cache = cached_attention(module, x[:, :3])
    assert_close(taught["cached_attention"](module, x[:, 3:], cache), cached_attention(module, x[:, 3:], cache))
    parts = random(4, 5, 2, seed=1), *random(2, 2, 5, 2, seed=2)
    assert_close(taught["grouped_query_attention"](*parts), grouped_query_attention(*parts))
    parts = random(3, 5, 2)
    for size in (1, 3, 5):
        assert_close(taught["tiled_attention"](*parts, size), tiled_attention(*parts, size))
