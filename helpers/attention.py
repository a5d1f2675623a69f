"""The functions and modules of the series, in the order in which the lessons build them.

A lesson writes each of these in a cell of its own; later lessons import it from here. Shapes are given with T queries,
S keys and any batch dimensions in front (`...`); where a sequence attends to itself, S = T.
"""

import math
from numbers import Integral, Real

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
        TypeError: `scores` is not a tensor of floating-point numbers, or `dim` is no whole number.
        ValueError: `scores` has no such dimension, or nothing along it.
    """
    _check_floats("scores", scores)
    _check_dim(scores, dim)
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
        TypeError: `scores` is not a tensor of floating-point numbers, or `dim` is no whole number.
        ValueError: `scores` has no such dimension, or nothing along it.
    """
    _check_floats("scores", scores)
    _check_dim(scores, dim)
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


def attention_weights(queries, keys, mask=None):
    """The weights of scaled dot-product attention: softmax(Q K^T / sqrt(d_k)), along the key axis.

    Args:
        queries: (..., T, d_k) float tensor.
        keys: (..., S, d_k) float tensor.
        mask: boolean, (..., T, S) or a shape that broadcasts to it; True keeps a key, False hides it. (The same in
            `F.scaled_dot_product_attention`, the opposite in `nn.MultiheadAttention`.) A row that hides every key is
            nan. Lesson 09 builds it.

    Returns:
        (..., T, S) tensor, whose rows sum to 1.

    Raises:
        TypeError: an argument is not a tensor of floating-point numbers, or their types differ; `mask` is not a tensor
            of booleans.
        ValueError: an argument has fewer than two dimensions, queries and keys differ in d_k, or it is 0, or their
            batches do not fit; `mask` does not fit the scores.
    """
    scores = dot_product_scores(queries, keys)  # (..., T, S)
    if keys.shape[-1] == 0:
        raise ValueError(f"queries and keys hold no numbers, d_k = 0: keys is {tuple(keys.shape)}")
    if mask is not None:
        _check_mask(mask, scores)
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


def attention(queries, keys, values, mask=None):
    """Scaled dot-product attention: softmax(Q K^T / sqrt(d_k)) V.

    Source: Vaswani et al., "Attention Is All You Need" (2017), equation 1. The scale comes from the key's last
    dimension.

    Args:
        queries: (..., T, d_k) float tensor.
        keys: (..., S, d_k) float tensor.
        values: (..., S, d_v) float tensor.
        mask: as in `attention_weights`. Lesson 04 has none, lesson 09 adds it.

    Returns:
        The context vectors, (..., T, d_v), and the attention weights, (..., T, S), whose rows sum to 1.

    Raises:
        TypeError: an argument is not a tensor of floating-point numbers, or their types differ; `mask` is not a tensor
            of booleans.
        ValueError: an argument has fewer than two dimensions, queries and keys differ in d_k, keys and values in S, or
            their batches do not fit; `mask` does not fit the scores.
    """
    weights = attention_weights(queries, keys, mask)  # (..., T, S)
    _check_vectors("values", values)
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"each key needs a value, but keys is {tuple(keys.shape)} and values is {tuple(values.shape)}: "
            "their last dimension but one must be equal"
        )
    _check_batches(queries=queries, keys=keys, values=values)
    if keys.dtype != values.dtype:
        raise TypeError(f"keys and values must be of one type, but keys is {keys.dtype} and values is {values.dtype}")
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


# Lesson 07: positions


def sinusoidal_positions(T, d_model):
    """A vector for each place from 0 to T - 1, to be added to the inputs: sines and cosines, each pair slower.

    p[t, 2i] = sin(t / 10000^(2i / d_model)) and p[t, 2i + 1] is the cosine of the same. Source: Vaswani et al.,
    "Attention Is All You Need" (2017), section 3.5.

    Args:
        T: number of places.
        d_model: size of an input vector, an even number.

    Returns:
        (T, d_model) tensor.

    Raises:
        TypeError: a size is not a whole number.
        ValueError: a size is below 1, or d_model is odd.
    """
    _check_sizes(T=T, d_model=d_model)
    _check_even("d_model", d_model)
    places = torch.arange(T, dtype=torch.float64)[:, None]  # (T, 1)
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)  # (d_model / 2,)
    angles = places / 10000 ** (two_i / d_model)  # (T, d_model / 2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (T, d_model / 2, 2)
    return waves.flatten(-2).float()


def rotate(x, positions, base=10000.0):
    """Rotary positions: turn each pair of neighbouring numbers by an angle that grows with the place.

    Pair i, of the numbers 2i and 2i + 1, is turned by position * base^(-2i / d). The dot product of a turned query and
    a turned key then depends on the difference of their positions alone. Source: Su et al., "RoFormer: Enhanced
    Transformer with Rotary Position Embedding" (2021), section 3.2. (Some models pair number i with i + d / 2 instead.)

    Args:
        x: (..., T, d) float tensor, queries or keys, with an even d.
        positions: (T,) tensor of numbers, the place of each row.
        base: the larger, the slower the last pairs turn.

    Returns:
        (..., T, d) tensor, each row as long as before.

    Raises:
        TypeError: `x` is not a tensor of floating-point numbers, or `positions` is not a tensor.
        ValueError: `x` has fewer than two dimensions or an odd d, `positions` is not one number per row, or `base` is
            not positive.
    """
    _check_vectors("x", x)
    d = x.shape[-1]
    _check_even("the last dimension of x", d)
    if not isinstance(positions, torch.Tensor):
        raise TypeError(f"positions must be a tensor, not {type(positions).__name__}: torch.arange(T) makes one")
    if positions.shape != x.shape[-2:-1]:
        raise ValueError(
            f"positions must hold one number per row of x, ({x.shape[-2]},), but positions is "
            f"{tuple(positions.shape)} and x is {tuple(x.shape)}"
        )
    if not base > 0:
        raise ValueError(f"base must be positive, not {base}")
    speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)  # (d / 2,)
    angles = positions[..., None] * speeds  # (T, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2) each
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2)


# Lesson 09: causal attention


def causal_mask(T):
    """Which keys a query may see when the future is hidden: those up to its own place.

    Args:
        T: number of tokens.

    Returns:
        (T, T) tensor of booleans, True on the diagonal and below it: row i keeps the keys 0 to i. It is made for the
        `mask` of `attention`, and for the `attn_mask` of `F.scaled_dot_product_attention`.

    Raises:
        TypeError: `T` is not a whole number.
        ValueError: `T` is below 1.
    """
    _check_sizes(T=T)
    return torch.ones(T, T, dtype=torch.bool).tril()


class CausalAttention(nn.Module):
    """Self-attention in which a token sees itself and what came before it, with dropout on the weights.

    Calling it with x, (..., T, d_in), returns the context vectors, (..., T, d_out).

    The mask is a buffer: it follows the module to another device, and no optimiser sees it. It is not persistent, since
    context_length says all about it: a state can be loaded into a module with another context_length.

    Args:
        d_in: size of an input vector.
        d_out: size of a query, a key and a value.
        context_length: the most tokens that an input may have.
        dropout: the probability with which a weight is set to 0 in training; the others are divided by 1 - dropout.
        qkv_bias: whether the three layers add a bias.

    Raises:
        ValueError: a size is below 1, `dropout` is not between 0 and 1, or an input does not end in d_in or has more
            than context_length tokens.
        TypeError: a size is not a whole number, or an input is not a tensor of floating-point numbers.
    """

    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):
        super().__init__()
        _check_sizes(d_in=d_in, d_out=d_out, context_length=context_length)
        _check_dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length), persistent=False)

    def forward(self, x):
        """The context vectors, (..., T, d_out), of x, (..., T, d_in)."""
        _check_input(x, self.W_query.in_features, self.W_query.weight.dtype)
        _check_length(x, self.mask.shape[0])
        T = x.shape[-2]
        weights = attention_weights(self.W_query(x), self.W_key(x), self.mask[:T, :T])  # (..., T, T)
        return self.dropout(weights) @ self.W_value(x)


# Lesson 10: several heads


class MultiHeadAttentionWrapper(nn.Module):
    """Several `CausalAttention` side by side; their context vectors are joined in the order of the heads.

    Calling it with x, (..., T, d_in), returns (..., T, num_heads * d_head).

    Args:
        d_in: size of an input vector.
        d_head: size of a query, a key and a value of one head.
        context_length, dropout, qkv_bias: as in `CausalAttention`, for each head.
        num_heads: number of heads.

    Raises:
        ValueError, TypeError: as in `CausalAttention`.
    """

    def __init__(self, d_in, d_head, context_length, dropout=0.0, num_heads=2, qkv_bias=False):
        super().__init__()
        _check_sizes(d_in=d_in, d_head=d_head, context_length=context_length, num_heads=num_heads)
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_head, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        """The context vectors of all heads, (..., T, num_heads * d_head), of x, (..., T, d_in)."""
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    """Causal attention with several heads in one: three large layers, whose results are split into the heads' parts.

    Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.2. Calling it with x, (..., T, d_in),
    returns (..., T, d_out); with `return_weights=True` also the weights of all heads before dropout,
    (..., num_heads, T, T).

    Args:
        d_in: size of an input vector.
        d_out: size of an output vector, also called d_model; each head has d_head = d_out / num_heads of it.
        context_length, dropout, qkv_bias: as in `CausalAttention`.
        num_heads: number of heads, a divisor of d_out.

    Raises:
        ValueError: `num_heads` does not divide `d_out`; otherwise as in `CausalAttention`.
        TypeError: as in `CausalAttention`.
    """

    def __init__(self, d_in, d_out, context_length, dropout=0.0, num_heads=2, qkv_bias=False):
        super().__init__()
        _check_sizes(d_in=d_in, d_out=d_out, context_length=context_length, num_heads=num_heads)
        _check_dropout(dropout)
        if d_out % num_heads:
            raise ValueError(
                f"d_out must be num_heads times a whole number, but d_out = {d_out} and num_heads = {num_heads}"
            )
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

    def forward(self, x, return_weights=False):
        """The output, (..., T, d_out), of x, (..., T, d_in), and, if asked for, the weights before dropout."""
        _check_input(x, self.W_query.in_features, self.W_query.weight.dtype)
        _check_length(x, self.mask.shape[0])
        T = x.shape[-2]
        queries, keys, values = (self.split(W(x)) for W in (self.W_query, self.W_key, self.W_value))
        weights = attention_weights(queries, keys, self.mask[:T, :T])  # (..., num_heads, T, T)
        context = self.dropout(weights) @ values  # (..., num_heads, T, d_head)
        output = self.out_proj(context.transpose(-3, -2).flatten(-2))  # (..., T, d_out)
        return (output, weights) if return_weights else output


# Lesson 11: image patches


def patches(image, size):
    """Cut images into square patches, one per row, in the order of reading: left to right, then down.

    Where the patches of an image are the tokens of a sequence (Dosovitskiy et al., "An Image is Worth 16x16 Words",
    2020), this is the first step.

    Args:
        image: (..., H, W) tensor; size divides both H and W.
        size: height and width of a patch, in pixels.

    Returns:
        (..., T, size * size) tensor with T = (H / size) * (W / size); the pixels of a patch are in the order of
        reading, too. `assemble` is the inverse.

    Raises:
        TypeError: `image` is not a tensor, or `size` is not a whole number.
        ValueError: `image` has fewer than two dimensions, `size` is below 1, or it does not divide H and W.
    """
    _check_tensor("image", image)
    _check_sizes(size=size)
    if image.dim() < 2:
        raise ValueError(f"image must be one or more images, (..., H, W), but its shape is {tuple(image.shape)}")
    height, width = image.shape[-2:]
    if height % size or width % size or not height or not width:
        raise ValueError(
            f"image must divide into patches of {size} x {size} pixels, but its height and width are "
            f"{height} and {width} (shape {tuple(image.shape)})"
        )
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
        TypeError: `parts` is not a tensor, or `height` or `width` is not a whole number.
        ValueError: `parts` has fewer than two dimensions, its last is not the square of a whole number, or its T
            patches do not fill an image of this height and width.
    """
    _check_tensor("parts", parts)
    _check_sizes(height=height, width=width)
    if parts.dim() < 2:
        raise ValueError(f"parts must hold one patch per row, (..., T, d), but its shape is {tuple(parts.shape)}")
    count, pixels = parts.shape[-2:]
    size = math.isqrt(pixels)
    if size < 1 or size * size != pixels:
        raise ValueError(
            f"the patches must be square, but in parts each has {pixels} pixels (shape {tuple(parts.shape)})"
        )
    if height % size or width % size or (height // size) * (width // size) != count:
        raise ValueError(
            f"parts has {count} patches of {size} x {size} pixels (shape {tuple(parts.shape)}): they do not fill an "
            f"image of height {height} and width {width}"
        )
    grid = parts.reshape(*parts.shape[:-2], height // size, width // size, size, size)
    return grid.transpose(-3, -2).reshape(*parts.shape[:-2], height, width)


# What the errors say


def _check_tensor(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(tensor).__name__}: torch.tensor(...) makes one")
    if tensor.layout != torch.strided or tensor.is_meta:
        kind = "without numbers (meta)" if tensor.is_meta else f"of the layout {tensor.layout}"
        raise TypeError(f"{name} must be an ordinary tensor, not one {kind}")


def _check_floats(name, tensor):
    _check_tensor(name, tensor)
    if tensor.is_complex():
        raise TypeError(f"{name} must hold floating-point numbers, not {tensor.dtype}")
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, not {tensor.dtype}: {name}.float() converts it")


def _check_dim(scores, dim):
    """Whether scores have this dimension, and numbers along it."""
    if isinstance(dim, bool) or not isinstance(dim, Integral):
        raise TypeError(f"dim must be a whole number, not {dim!r}")
    if not -scores.dim() <= dim < scores.dim():
        raise ValueError(f"dim is {dim}, but scores has {scores.dim()} dimensions: its shape is {tuple(scores.shape)}")
    if scores.shape[dim] == 0:
        raise ValueError(f"scores has nothing along dim {dim}: its shape is {tuple(scores.shape)}")


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


def _check_even(name, size):
    if size % 2:
        raise ValueError(f"{name} must be even, since its numbers are taken in pairs, not {size}")


def _check_input(x, d_in, dtype):
    _check_vectors("x", x)
    if x.dtype != dtype:
        raise TypeError(f"x is {x.dtype}, but the weights of this module are {dtype}: x.to({dtype}) converts it")
    if x.shape[-1] != d_in:
        raise ValueError(
            f"x must end in d_in = {d_in}, the size that this module was made for, but its shape is {tuple(x.shape)}"
        )


def _check_mask(mask, scores):
    """Whether a mask holds booleans and broadcasts to the scores, without making them larger."""
    if not isinstance(mask, torch.Tensor):
        raise TypeError(f"mask must be a tensor of booleans, not {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must hold booleans, True where a key is kept, not {mask.dtype}: mask.bool() converts it")
    try:
        fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask must fit the scores, (..., T, S), which are {tuple(scores.shape)}, but its shape is "
            f"{tuple(mask.shape)}"
        )


def _check_dropout(dropout):
    if isinstance(dropout, bool) or not isinstance(dropout, Real):
        raise TypeError(f"dropout must be a number, not {dropout!r}")
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout is a probability, between 0 and 1, not {dropout}")


def _check_length(x, context_length):
    if x.shape[-2] > context_length:
        raise ValueError(
            f"x has {x.shape[-2]} tokens (its shape is {tuple(x.shape)}), but this module was made for "
            f"context_length = {context_length}"
        )
