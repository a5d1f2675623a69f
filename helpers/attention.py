"""The functions and modules of the series, in the order in which the lessons build them.

A lesson writes each of these in a cell of its own; later lessons import it from here. Shapes are given with T queries,
S keys and any batch dimensions in front (`...`); where a sequence attends to itself, S = T.
"""

import torch

# Lesson 01: scores


def dot_product_scores(queries, keys):
    """Score each query against each key by their dot product.

    Args:
        queries: (..., T, d) float tensor.
        keys: (..., S, d) float tensor.

    Returns:
        (..., T, S) tensor: row i, column j holds the dot product of query i and key j.

    Raises:
        TypeError: an argument is not a tensor of floating-point numbers.
        ValueError: an argument has fewer than two dimensions, or their last dimensions differ.
    """
    _check_vectors("queries", queries)
    _check_vectors("keys", keys)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries and keys must have the same last dimension, but queries is {tuple(queries.shape)} "
            f"and keys is {tuple(keys.shape)}"
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
        ValueError: a weight is negative, or a row does not sum to 1.
    """
    _check_floats("weights", weights)
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, but the smallest is {weights.min():.4f}")
    sums = weights.sum(dim=-1)
    if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
        raise ValueError(
            f"each row of weights must sum to 1, but the sums go from {sums.min():.4f} to {sums.max():.4f}"
        )
    return torch.special.entr(weights).sum(dim=-1)


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
