"""The functions and modules of the series, in the order in which the lessons build them.

A lesson writes each of these in a cell of its own; later lessons import it from here. Shapes are given with T queries,
S keys and any batch dimensions in front (`...`); where a sequence attends to itself, S = T.
"""

from numbers import Integral

import torch
from torch import nn

# Lesson 01: scores


def dot_product_scores(queries, keys):
    """Score each query against each key by their dot product.

    Args:
        queries: (..., T, d) float tensor.
        keys: (..., S, d) float tensor.

    Returns:
        (..., T, S) tensor: row i, column j holds the dot product of query i and key j.

    Raises:
        TypeError: an argument is not a tensor of floating-point numbers, or their types differ.
        ValueError: an argument has fewer than two dimensions, their last dimensions differ, or their batches do not
            fit.
    """
    _check_vectors("queries", queries)
    _check_vectors("keys", keys)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries and keys must have the same last dimension, but queries is {tuple(queries.shape)} "
            f"and keys is {tuple(keys.shape)}"
        )
    _check_batches(queries=queries, keys=keys)
    if queries.dtype != keys.dtype:
        raise TypeError(
            f"queries and keys must be of one type, but queries is {queries.dtype} and keys is {keys.dtype}"
        )
    return queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, S) -> (..., T, S)


# Lesson 02: softmax


def softmax_naive(scores, dim=-1):
    """Softmax as its formula reads, exp(s_j) / sum_k exp(s_k). It fails for large and for very negative scores.

    Args:
        scores: float tensor of any shape.
        dim: the dimension along which the result sums to 1; for scores, that of the keys, the last.

    Raises:
        TypeError: `scores` is not a tensor of floating-point numbers.
    """
    _check_floats("scores", scores)
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def softmax(scores, dim=-1):
    """Softmax that can't overflow: the largest score along `dim` is subtracted first, which changes nothing else.

    The same as `torch.softmax`, written out. Its reason: Goodfellow, Bengio and Courville, "Deep Learning" (2016),
    section 4.1.

    Args:
        scores: float tensor of any shape. Where all scores along `dim` are -inf, the result is nan.
        dim: the dimension along which the result sums to 1; for scores, that of the keys, the last.

    Raises:
        TypeError: `scores` is not a tensor of floating-point numbers.
    """
    _check_floats("scores", scores)
    return softmax_naive(scores - scores.amax(dim=dim, keepdim=True), dim=dim)


# Lesson 03: context vectors


def simple_attention(inputs):
    """Self-attention without weights to train: each input is query, key and value at once.

    Args:
        inputs: (..., T, d) float tensor.

    Returns:
        The context vectors, (..., T, d), and the attention weights, (..., T, T), whose rows sum to 1.

    Raises:
        TypeError: `inputs` is not a tensor of floating-point numbers.
        ValueError: `inputs` has fewer than two dimensions.
    """
    _check_vectors("inputs", inputs)
    weights = softmax(dot_product_scores(inputs, inputs))  # (..., T, T)
    return weights @ inputs, weights


def entropy(weights):
    """How evenly each row of weights is spread: 0 for a single key, ln S for S keys alike.

    Args:
        weights: (..., S) float tensor; along the last dimension not negative and with the sum 1.

    Returns:
        (...) tensor, in nats: -sum_j w_j ln w_j, where 0 ln 0 counts as 0. (Shannon 1948, with the natural logarithm.)

    Raises:
        TypeError: `weights` is not a tensor of floating-point numbers.
        ValueError: a weight is negative or nan, or a row does not sum to 1.
    """
    _check_floats("weights", weights)
    if weights.isnan().any():
        raise ValueError(f"weights must be numbers, but {int(weights.isnan().sum())} of them are nan")
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, but the smallest is {weights.min():g}")
    sums = weights.sum(dim=-1)
    if not torch.allclose(sums, torch.ones_like(sums), atol=max(1e-3, 2 * torch.finfo(weights.dtype).eps)):
        raise ValueError(
            f"each row of weights must sum to 1, but the sums go from {sums.min():.4f} to {sums.max():.4f}"
        )
    return torch.special.entr(weights).sum(dim=-1)


# Lesson 04: queries, keys and values


def attention(queries, keys, values):
    """Scaled dot-product attention: softmax(Q K^T / sqrt(d_k)) V.

    Source: Vaswani et al., "Attention Is All You Need" (2017), equation 1. The scale comes from the key's last
    dimension.

    Args:
        queries: (..., T, d_k) float tensor.
        keys: (..., S, d_k) float tensor.
        values: (..., S, d_v) float tensor.

    Returns:
        The context vectors, (..., T, d_v), and the attention weights, (..., T, S), whose rows sum to 1.

    Raises:
        TypeError: an argument is not a tensor of floating-point numbers, or their types differ.
        ValueError: an argument has fewer than two dimensions, queries and keys differ in d_k, keys and values in S, or
            their batches do not fit.
    """
    scores = dot_product_scores(queries, keys)  # (..., T, S)
    _check_vectors("values", values)
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"each key needs a value, but keys is {tuple(keys.shape)} and values is {tuple(values.shape)}: "
            "their last dimension but one must be equal"
        )
    _check_batches(queries=queries, keys=keys, values=values)
    if keys.dtype != values.dtype:
        raise TypeError(f"keys and values must be of one type, but keys is {keys.dtype} and values is {values.dtype}")
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)  # (..., T, S)
    return weights @ values, weights


# Lesson 06: modules


class SelfAttentionV1(nn.Module):
    """Self-attention with its three matrices as plain parameters, uniform between 0 and 1 at the start.

    Calling it with x, (..., T, d_in), returns the context vectors, (..., T, d_out).

    Args:
        d_in: size of an input vector.
        d_out: size of a query, a key and a value.

    Raises:
        ValueError: a size is below 1, or an input does not end in d_in.
        TypeError: a size is not a whole number, or an input is not a tensor of floating-point numbers.
    """

    def __init__(self, d_in, d_out):
        super().__init__()
        _check_sizes(d_in=d_in, d_out=d_out)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))  # (d_in, d_k)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))  # (d_in, d_k)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))  # (d_in, d_v)

    def forward(self, x):
        """The context vectors, (..., T, d_out), of x, (..., T, d_in)."""
        _check_input(x, self.W_query.shape[0], self.W_query.dtype)
        context, _ = attention(x @ self.W_query, x @ self.W_key, x @ self.W_value)
        return context


class SelfAttention(nn.Module):
    """Self-attention with its three matrices as `nn.Linear`, which also returns the weights, to be looked at.

    Calling it with x, (..., T, d_in), returns the context vectors, (..., T, d_out), and the attention weights,
    (..., T, T).

    Args:
        d_in: size of an input vector.
        d_out: size of a query, a key and a value.
        qkv_bias: whether the three layers add a bias.

    Raises:
        ValueError: a size is below 1, or an input does not end in d_in.
        TypeError: a size is not a whole number, or an input is not a tensor of floating-point numbers.
    """

    def __init__(self, d_in, d_out, qkv_bias=True):
        super().__init__()
        _check_sizes(d_in=d_in, d_out=d_out)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)  # its weight is (d_k, d_in)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        """The context vectors, (..., T, d_out), and the weights, (..., T, T), of x, (..., T, d_in)."""
        _check_input(x, self.W_query.in_features, self.W_query.weight.dtype)
        return attention(self.W_query(x), self.W_key(x), self.W_value(x))


class SelfAttentionV2(SelfAttention):
    """`SelfAttention` without a bias unless asked for, which returns the context vectors alone, (..., T, d_out)."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)

    def forward(self, x):
        """The context vectors, (..., T, d_out), of x, (..., T, d_in)."""
        context, _ = super().forward(x)
        return context


# What the errors say


def _check_floats(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(tensor).__name__}: torch.tensor(...) makes one")
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, not {tensor.dtype}: {name}.float() converts it")


def _check_vectors(name, tensor):
    _check_floats(name, tensor)
    if tensor.dim() < 2:
        raise ValueError(
            f"{name} must hold one vector per row, (..., T, d), but its shape is {tuple(tensor.shape)}: "
            f"for a single vector, pass {name}[None, :]"
        )


def _check_batches(**tensors):
    """Whether the dimensions in front of the last two fit together."""
    try:
        torch.broadcast_shapes(*(tensor.shape[:-2] for tensor in tensors.values()))
    except RuntimeError:
        shapes = ", ".join(f"{name} is {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"the batch dimensions, all but the last two, must be equal, but {shapes}") from None


def _check_sizes(**sizes):
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise TypeError(f"{name} must be a whole number, not {size!r}")
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")


def _check_input(x, d_in, dtype):
    _check_vectors("x", x)
    if x.dtype != dtype:
        raise TypeError(f"x is {x.dtype}, but the weights of this module are {dtype}: x.to({dtype}) converts it")
    if x.shape[-1] != d_in:
        raise ValueError(
            f"x must end in d_in = {d_in}, the size that this module was made for, but its shape is {tuple(x.shape)}"
        )
