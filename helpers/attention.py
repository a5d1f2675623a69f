"""The functions and modules of the series, in the order in which the lessons build them.

A lesson writes each of these in a cell of its own; later lessons import it from here. For all of them:

Shapes: T queries, S keys and any batch dimensions in front (`...`); where a sequence attends to itself, S = T. A tensor
holds floating-point numbers, of any precision and on any device, unless the text says otherwise.

Errors: a TypeError for an argument that is no tensor, for one of integers where floats are needed, and for a size that
is no whole number; a ValueError for a size below 1, for a tensor without the two dimensions that it should have, and
for what stands under `Raises`. The words are in checks.py. What torch names well is its own RuntimeError: batch
dimensions that do not fit, tensors of two types or on two devices.
"""

import math

import torch
from torch import nn

from . import checks

# Lesson 01: scores


def dot_product_scores(queries, keys):
    """Score each query against each key by their dot product.

    Args:
        queries: (..., T, d) tensor.
        keys: (..., S, d) tensor.

    Returns:
        (..., T, S) tensor: row i, column j holds the dot product of query i and key j.

    Raises:
        ValueError: queries and keys differ in d.
    """
    checks.same_size(-1, queries=queries, keys=keys)
    return queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, S) -> (..., T, S)


# Lesson 02: softmax


def softmax_naive(scores, dim=-1):
    """Softmax as its formula reads, exp(s_j) / sum_k exp(s_k). It fails for large and for very negative scores.

    Args:
        scores: tensor of any shape.
        dim: the dimension along which the result sums to 1; for scores, that of the keys, the last.
    """
    checks.tensor("scores", scores)
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def softmax(scores, dim=-1):
    """Softmax that can't overflow: the largest score along `dim` is subtracted first, which changes nothing else.

    The same as `torch.softmax`, written out. Its reason: Goodfellow, Bengio and Courville, "Deep Learning" (2016),
    section 4.1.

    Args:
        scores: tensor of any shape. Where all scores along `dim` are -inf, the result is nan.
        dim: as in `softmax_naive`.
    """
    checks.tensor("scores", scores)
    largest = scores.amax(dim=dim, keepdim=True)  # the maximum along dim
    return softmax_naive(scores - largest, dim=dim)


# Lesson 03: context vectors


def simple_attention(inputs):
    """Self-attention without weights to train: each input is query, key and value at once.

    Args:
        inputs: (..., T, d) tensor.

    Returns:
        The context vectors, (..., T, d), and the attention weights, (..., T, T), whose rows sum to 1.
    """
    checks.tensor("inputs", inputs, dims=2)
    scores = inputs @ inputs.transpose(-2, -1)  # (..., T, d) @ (..., d, T) -> (..., T, T)
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


def entropy(weights):
    """How evenly each row of weights is spread: 0 for a single key, ln S for S keys alike.

    Args:
        weights: (..., S) tensor; along the last dimension not negative and with the sum 1.

    Returns:
        (...) tensor, in nats: -sum_j w_j ln w_j, where 0 ln 0 counts as 0. (Shannon 1948, with the natural logarithm.)

    Raises:
        ValueError: a weight is negative or nan, or a row does not sum to 1.
    """
    checks.distributions(weights)
    return torch.special.entr(weights).sum(dim=-1)  # entr(w) = -w ln w


# Lessons 04 and 09: queries, keys and values; the mask


def attention_weights(queries, keys, mask=None):
    """The weights of scaled dot-product attention: softmax(Q K^T / sqrt(d_k)), along the key axis.

    Args:
        queries: (..., T, d_k) tensor.
        keys: (..., S, d_k) tensor.
        mask: booleans, (..., T, S) or a shape that broadcasts to it; True keeps a key, False hides it. (The same in
            `F.scaled_dot_product_attention`, the opposite in `nn.MultiheadAttention`.) A row that hides every key is
            nan.

    Returns:
        (..., T, S) tensor, whose rows sum to 1.

    Raises:
        TypeError: `mask` does not hold booleans.
        ValueError: queries and keys differ in d_k; `mask` does not fit the scores, or is on another device.
    """
    scores = dot_product_scores(queries, keys)  # (..., T, S)
    if mask is not None:
        checks.mask_of(scores, mask)
        scores = scores.masked_fill(~mask, -torch.inf)  # True = keep
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


def attention(queries, keys, values, mask=None):
    """Scaled dot-product attention: softmax(Q K^T / sqrt(d_k)) V.

    Source: Vaswani et al., "Attention Is All You Need" (2017), equation 1.

    Args:
        queries, keys, mask: as in `attention_weights`. Lesson 04 has no mask, lesson 09 adds it.
        values: (..., S, d_v) tensor.

    Returns:
        The context vectors, (..., T, d_v), and the attention weights, (..., T, S), whose rows sum to 1.

    Raises:
        TypeError, ValueError: as in `attention_weights`; a ValueError, too, where keys and values differ in S.
    """
    checks.same_size(-2, keys=keys, values=values)
    weights = attention_weights(queries, keys, mask)  # (..., T, S)
    return weights @ values, weights  # (..., T, d_v), (..., T, S)


# Lesson 06: modules


class SelfAttentionV1(nn.Module):
    """Self-attention with its three matrices as plain parameters, uniform between 0 and 1 at the start.

    Args:
        d_in: size of an input vector.
        d_out: size of a query, a key and a value.
    """

    def __init__(self, d_in, d_out):
        super().__init__()
        checks.sizes(d_in=d_in, d_out=d_out)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))  # (d_in, d_k)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))  # (d_in, d_k)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))  # (d_in, d_v)

    def forward(self, x):
        """The context vectors, (..., T, d_out), of x, (..., T, d_in). ValueError: x does not end in d_in."""
        checks.module_input(x, self.W_query.shape[0])
        context, _ = attention(x @ self.W_query, x @ self.W_key, x @ self.W_value)
        return context


class SelfAttention(nn.Module):
    """Self-attention with its three matrices as `nn.Linear`, which also returns the weights, to be looked at.

    Args:
        d_in, d_out: as in `SelfAttentionV1`.
        qkv_bias: whether the three layers add a bias.
    """

    def __init__(self, d_in, d_out, qkv_bias=True):
        super().__init__()
        checks.sizes(d_in=d_in, d_out=d_out)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)  # its weight is (d_k, d_in)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        """The context vectors and the weights, (..., T, T), of x. ValueError: as in `SelfAttentionV1`."""
        checks.module_input(x, self.W_query.in_features)
        return attention(self.W_query(x), self.W_key(x), self.W_value(x))


class SelfAttentionV2(SelfAttention):
    """`SelfAttention` without a bias unless asked for, which returns the context vectors alone."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)

    def forward(self, x):
        """The context vectors, (..., T, d_out), of x, (..., T, d_in). ValueError: as in `SelfAttentionV1`."""
        context, _ = super().forward(x)
        return context


# Lesson 07: positions


def sinusoidal_positions(T, d_model):
    """A vector for each place from 0 to T - 1, to be added to the inputs: sines and cosines, each pair slower.

    p[t, 2m] = sin(t / 10000^(2m / d_model)) and p[t, 2m + 1] is the cosine of the same. Source: Vaswani et al.,
    "Attention Is All You Need" (2017), section 3.5.

    Args:
        T: number of places.
        d_model: size of an input vector, an even number.

    Returns:
        (T, d_model) tensor of float32.

    Raises:
        ValueError: d_model is odd.
    """
    checks.sizes(T=T, d_model=d_model)
    checks.even("d_model", d_model)
    # The lesson counts in float64, which some devices lack: float32 moves no number up to place 1000 by 0.0001
    places = torch.arange(T, dtype=torch.float32)[:, None]  # (T, 1)
    two_m = torch.arange(0, d_model, 2, dtype=torch.float32)  # (d_model / 2,)
    angles = places / 10000 ** (two_m / d_model)  # (T, d_model / 2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (T, d_model / 2, 2)
    return waves.flatten(-2)  # (T, d_model): sin, cos, sin, cos ...


def rotate(x, positions, base=10000.0):
    """Rotary positions: turn each pair of neighbouring numbers by an angle that grows with the place.

    Pair m, of the numbers 2m and 2m + 1, is turned by position * base^(-2m / d). The dot product of a turned query and
    a turned key then depends on the difference of their positions alone. Source: Su et al., "RoFormer: Enhanced
    Transformer with Rotary Position Embedding" (2021), section 3.2. (Some models pair number m with m + d / 2 instead.)

    Args:
        x: (..., T, d) tensor, queries or keys, with an even d.
        positions: (T,) tensor of numbers, the place of each row; with dimensions in front, those of x.
        base: the larger, the slower the last pairs turn.

    Returns:
        (..., T, d) tensor, each row as long as before.

    Raises:
        ValueError: d is odd, or `positions` is not one number per row.
    """
    checks.positions_of(x, positions)
    d = x.shape[-1]
    wide = torch.promote_types(x.dtype, torch.float32)  # bfloat16 can't count places, and some devices lack float64
    speeds = base ** (-torch.arange(0, d, 2, dtype=wide, device=x.device) / d)  # (d / 2,)
    angles = positions[..., None] * speeds  # (T, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2) each
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2)  # (..., T, d)


# Lesson 09: causal attention


def causal_mask(T):
    """Which keys each of T queries may see when the future is hidden: those up to its own place.

    Returns:
        (T, T) tensor of booleans, True on the diagonal and below it: row i keeps the keys 0 to i. It is made for the
        `mask` of `attention`, and for the `attn_mask` of `F.scaled_dot_product_attention`.
    """
    checks.sizes(T=T)
    return torch.ones(T, T, dtype=torch.bool).tril()  # (T, T), True = keep


class CausalAttention(nn.Module):
    """Self-attention in which a token sees itself and what came before it, with dropout on the weights.

    The mask is a buffer: it follows the module to another device, and no optimiser sees it. It is not persistent, since
    context_length says all about it: a state can be loaded into a module with another context_length.

    Args:
        d_in, d_out, qkv_bias: as in `SelfAttention`.
        context_length: the most tokens that an input may have.
        dropout: the probability with which a weight is set to 0 in training; the others are divided by 1 - dropout.
    """

    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):
        super().__init__()
        checks.sizes(d_in=d_in, d_out=d_out, context_length=context_length)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length), persistent=False)

    def forward(self, x):
        """(..., T, d_out) of x, (..., T, d_in). ValueError: x does not end in d_in, or has too many tokens."""
        checks.module_input(x, self.W_query.in_features, self.mask.shape[0])
        T = x.shape[-2]  # at most context_length
        weights = attention_weights(self.W_query(x), self.W_key(x), self.mask[:T, :T])
        return self.dropout(weights) @ self.W_value(x)  # (..., T, T) @ (..., T, d_v)


# Lesson 10: several heads


class MultiHeadAttentionWrapper(nn.Module):
    """Several `CausalAttention` side by side; their context vectors are joined in the order of the heads.

    Args:
        d_head: size of a query, a key and a value of one head.
        num_heads: number of heads.
        d_in, context_length, dropout, qkv_bias: as in `CausalAttention`, for each head.
    """

    def __init__(self, d_in, d_head, context_length, dropout=0.0, num_heads=2, qkv_bias=False):
        super().__init__()
        checks.sizes(d_head=d_head, num_heads=num_heads)
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_head, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        """(..., T, num_heads * d_head) of x, (..., T, d_in). ValueError: as in `CausalAttention`."""
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    """Causal attention with several heads in one: three large layers, whose results are split into the heads' parts.

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2.

    Args:
        d_out: size of an output vector, of which each head makes d_head = d_out / num_heads numbers.
        num_heads: number of heads, a divisor of d_out, or there is a ValueError.
        d_in, context_length, dropout, qkv_bias: as in `CausalAttention`.
    """

    def __init__(self, d_in, d_out, context_length, dropout=0.0, num_heads=2, qkv_bias=False):
        super().__init__()
        checks.sizes(d_in=d_in, d_out=d_out, context_length=context_length, num_heads=num_heads)
        if d_out % num_heads:
            raise ValueError(f"d_out = {d_out} can't be split into {num_heads} heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length), persistent=False)

    def split(self, x):
        """(..., T, d_out) -> (..., num_heads, T, d_head): each head gets its own columns."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)

    def forward(self, x, return_weights=False, mask=None):
        """(..., T, d_out) of x, (..., T, d_in), and, if asked for, the weights of all heads before dropout,
        (..., num_heads, T, T). A mask, as in `attention_weights`, takes the place of the causal one. ValueError: as in
        `CausalAttention`.
        """
        checks.module_input(x, self.W_query.in_features, self.mask.shape[0])
        T = x.shape[-2]
        mask = self.mask[:T, :T] if mask is None else mask
        queries, keys, values = (self.split(W(x)) for W in (self.W_query, self.W_key, self.W_value))
        weights = attention_weights(queries, keys, mask)  # (..., num_heads, T, T)
        context = self.dropout(weights) @ values  # (..., num_heads, T, d_head)
        output = self.out_proj(context.transpose(-3, -2).flatten(-2))  # (..., T, d_out)
        return (output, weights) if return_weights else output


# Lesson 11: image patches


def patches(image, size):
    """Cut images into square patches, one per row, in the order of reading: left to right, then down.

    Where the patches of an image are the tokens of a sequence (Dosovitskiy et al., "An Image is Worth 16x16 Words",
    2020), this is the first step.

    Args:
        image: (..., height, width) tensor of any type; size divides both.
        size: height and width of a patch, in pixels.

    Returns:
        (..., T, size * size) tensor with T = (H / size) * (W / size); the pixels of a patch are in the order of
        reading, too. `assemble` is the inverse.

    Raises:
        ValueError: `size` does not divide H and W.
    """
    checks.cuts(image, size)
    height, width = image.shape[-2:]
    split = image.reshape(*image.shape[:-2], height // size, size, width // size, size)
    return split.transpose(-3, -2).flatten(-2).flatten(-3, -2)  # (..., T, size * size)


def assemble(parts, height, width):
    """Put patches together again: the inverse of `patches`.

    Args:
        parts: (..., T, size * size) tensor, as `patches` returns it.
        height, width: those of the image, in pixels.

    Returns:
        (..., height, width) tensor.

    Raises:
        ValueError: the patches are not square, or do not fill an image of this height and width.
    """
    checks.fills(parts, height, width)
    size = math.isqrt(parts.shape[-1])
    grid = parts.reshape(*parts.shape[:-2], height // size, width // size, size, size)
    return grid.transpose(-3, -2).reshape(*parts.shape[:-2], height, width)


# Lesson 12: blocks


class TransformerBlock(nn.Module):
    """Attention between the tokens, then an MLP for each token alone, each with a LayerNorm and added to its input.

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.1, with the LayerNorm after each part; Xiong
    et al., "On Layer Normalization in the Transformer Architecture" (2020), with the LayerNorm before it.

    Args:
        d_model: size of a token's vector, in and out; the MLP's hidden layer has 4 * d_model.
        context_length, num_heads, qkv_bias: as in `MultiHeadAttention`.
        norm_first: whether a LayerNorm stands before its part (pre-norm) or after the sum (post-norm).
    """

    def __init__(self, d_model, context_length, num_heads=2, norm_first=True, qkv_bias=False):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, d_model, context_length, num_heads=num_heads, qkv_bias=qkv_bias)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x, return_weights=False, mask=None):
        """(..., T, d_model) of x, (..., T, d_model), and, if asked for, the weights of all heads. Arguments and errors
        as in `MultiHeadAttention`.
        """
        if self.norm_first:
            found, weights = self.attention(self.norm_1(x), True, mask)  # (..., T, d_model)
            x = x + found
            x = x + self.mlp(self.norm_2(x))
        else:
            found, weights = self.attention(x, True, mask)
            x = self.norm_1(x + found)
            x = self.norm_2(x + self.mlp(x))
        return (x, weights) if return_weights else x


# Lesson 13: two sequences


class CrossAttention(nn.Module):
    """Attention from one sequence to another: the target asks, the source is asked.

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.3; the idea is Bahdanau et al. (2015).

    Args:
        d_model: size of a token's vector, in both sequences.
        d_head: size of a query, a key and a value.
        qkv_bias: whether the three layers have a bias.
    """

    def __init__(self, d_model, d_head, qkv_bias=False):
        super().__init__()
        checks.sizes(d_model=d_model, d_head=d_head)
        self.W_query = nn.Linear(d_model, d_head, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, d_head, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_head, bias=qkv_bias)

    def forward(self, x, y, mask=None):
        """The context vectors, (..., T, d_head), and the weights, (..., T, S), of the target x, (..., T, d_model), and
        the source y, (..., S, d_model). Mask and errors as in `attention_weights`.
        """
        checks.module_input(x, self.W_query.in_features)
        checks.module_input(y, self.W_query.in_features)
        return attention(self.W_query(x), self.W_key(y), self.W_value(y), mask)


# Lesson 14: fast attention


def cached_attention(module, x, cache=None):
    """What a `MultiHeadAttention` without dropout gives for new tokens, with keys and values kept of those before.

    Args:
        module: a `MultiHeadAttention`.
        x: (..., T, d_in) tensor, the new tokens alone.
        cache: the keys and the values of all S tokens before, (..., num_heads, S, d_head) each, as this returned them.

    Returns:
        The output for the new tokens, (..., T, d_out), and the cache for the next call, with S + T keys and values.
    """
    queries, keys, values = (module.split(W(x)) for W in (module.W_query, module.W_key, module.W_value))
    if cache is not None:
        keys = torch.cat([cache[0], keys], dim=-2)  # (..., num_heads, S + T, d_head)
        values = torch.cat([cache[1], values], dim=-2)
    T, S = queries.shape[-2], keys.shape[-2]
    context, _ = attention(queries, keys, values, module.mask[S - T : S, :S])
    return module.out_proj(context.transpose(-3, -2).flatten(-2)), (keys, values)


def grouped_query_attention(queries, keys, values, mask=None):
    """Attention in which neighbouring heads of queries share a head of keys and values.

    Source: Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints"
    (2023); with one head of keys, Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need" (2019).

    Args:
        queries: (..., num_heads, T, d_k) tensor.
        keys, values: (..., heads, S, d_k) and (..., heads, S, d_v) tensors, where heads divides num_heads.
        mask: as in `attention_weights`, (T, S).

    Returns:
        The context vectors, (..., num_heads, T, d_v).
    """
    heads = keys.shape[-3]
    queries = queries.unflatten(-3, (heads, -1))  # (..., heads, num_heads / heads, T, d_k)
    keys, values = keys.unsqueeze(-3), values.unsqueeze(-3)  # (..., heads, 1, S, d)
    context, _ = attention(queries, keys, values, mask)
    return context.flatten(-4, -3)


def tiled_attention(queries, keys, values, size):
    """Attention over blocks of keys, with a running maximum and sum: the whole table of scores never exists.

    Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3; Dao et al.,
    "FlashAttention" (2022), section 3.1.

    Args:
        queries, keys, values: as in `attention`.
        size: how many keys a block has; the last may have fewer.

    Returns:
        The context vectors, (..., T, d_v).
    """
    largest = torch.full(
        (*queries.shape[:-1], 1), -torch.inf, dtype=queries.dtype, device=queries.device
    )  # (..., T, 1)
    sums, mixed = 0.0, 0.0
    for block, its_values in zip(keys.split(size, dim=-2), values.split(size, dim=-2), strict=True):
        scores = dot_product_scores(queries, block) / keys.shape[-1] ** 0.5  # (..., T, size)
        before, largest = largest, torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        shrink = torch.exp(before - largest)  # (..., T, 1): what was summed so far counts from the new maximum
        shares = torch.exp(scores - largest)  # (..., T, size)
        sums = sums * shrink + shares.sum(dim=-1, keepdim=True)
        mixed = mixed * shrink + shares @ its_values  # (..., T, d_v)
    return mixed / sums
