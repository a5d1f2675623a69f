"""Exercises of lesson 05: the scale, its size, and where it comes from."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_scaled_weights(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1)  # (..., T, S)


def my_jacobian(weights):
    return torch.diag(weights) - weights[:, None] * weights[None, :]  # (S, S)


def _pair(T, S, d_k, *batch):
    return lambda g: (torch.randn(*batch, T, d_k, generator=g), torch.randn(*batch, S, d_k, generator=g))


def _scaled(by):
    return lambda q, k: torch.softmax(q @ k.transpose(-2, -1) / by(q, k), dim=-1)


def _turned(keys):
    """keys.T: all dimensions turned around."""
    return keys.permute(*reversed(range(keys.dim())))


def _row(*scores):
    return lambda g: (torch.softmax(torch.tensor(scores), dim=-1),)


exercise = Exercises(
    scaled=Task(
        my_scaled_weights,
        show=("queries", "keys"),
        axes=("query", "key"),
        cases={
            "two queries, three keys": _pair(2, 3, 5),
            "one query": _pair(1, 4, 3),
            "square sizes": _pair(3, 3, 3),
            "keys of two numbers": _pair(5, 6, 2),
            "keys of one number": _pair(3, 2, 1),
            "keys of 256 numbers": _pair(2, 3, 256),
            "a batch": _pair(3, 4, 8, 2),
            "large queries": lambda g: (1000 * torch.randn(2, 6, generator=g), torch.randn(3, 6, generator=g)),
            "float64": lambda g: tuple(part.double() for part in _pair(2, 3, 4)(g)),
            "vectors that are to be trained": lambda g: tuple(part.requires_grad_() for part in _pair(2, 3, 4)(g)),
        },
        right="The scale comes from the keys themselves, whatever their size.",
        mistakes=[
            Mistake(
                lambda q, k: torch.softmax(q @ _turned(k) / k.shape[-1] ** 0.5, dim=-1),
                ".T reverses all dimensions of a batch: .transpose(-2, -1) swaps only the last two.",
            ),
            Mistake(
                lambda q, k: torch.softmax(q @ _turned(k), dim=-1),
                "the scale is missing. And .T reverses all dimensions of a batch: .transpose(-2, -1) swaps only "
                "the last two.",
            ),
            Mistake(
                lambda q, k: torch.softmax(q @ _turned(k) / 2**0.5, dim=-1),
                "the scale is always the square root of 2, the key size of lesson 04: take keys.shape[-1]. And .T "
                "reverses all dimensions of a batch: .transpose(-2, -1) swaps only the last two.",
            ),
            Mistake(
                _scaled(lambda q, k: k.shape[1] ** 0.5),
                "keys.shape[1] is the size of a key in a table, but the number of keys in a batch. keys.shape[-1] "
                "is always the size of a key.",
            ),
            Mistake(
                lambda q, k: torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=1),
                "dim=1 is the key axis of a table, but the query axis of a batch. dim=-1 is always the key axis.",
            ),
            Mistake(
                lambda q, k: q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5,
                "these are the scaled scores. Softmax turns them into weights.",
            ),
            Mistake(_scaled(lambda q, k: 1.0), "the scale is missing."),
            Mistake(
                _scaled(lambda q, k: k.shape[-1]),
                "you divide by d_k. It should be its square root: the standard deviation, not the variance.",
            ),
            Mistake(
                _scaled(lambda q, k: k.shape[-1] ** -0.5),
                "you multiply by the scale. Divide by it: the scores must become smaller.",
            ),
            Mistake(
                _scaled(lambda q, k: k.shape[-2] ** 0.5),
                "the scale comes from the number of keys, keys.shape[-2]. A score sums over the size of a key, "
                "keys.shape[-1].",
            ),
            Mistake(
                _scaled(lambda q, k: q.shape[-2] ** 0.5),
                "the scale comes from the number of queries. A score sums over the size of a key, keys.shape[-1].",
            ),
            Mistake(
                _scaled(lambda q, k: len(k) ** 0.5),
                "len(keys), or keys.shape[0], is the number of keys, or of sentences in a batch. A score sums "
                "over the size of a key, keys.shape[-1].",
            ),
            Mistake(
                _scaled(lambda q, k: 2**0.5),
                "the scale is always the square root of 2, the key size of lesson 04. It must follow the keys: "
                "keys.shape[-1].",
            ),
            Mistake(
                lambda q, k: torch.softmax(q @ k.transpose(-2, -1), dim=-1) / k.shape[-1] ** 0.5,
                "you scale the weights, after softmax, so they no longer sum to 1.",
            ),
            Mistake(
                lambda q, k: torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=0),
                "softmax runs along dim=0: over the queries, or over the sentences of a batch. The key axis is dim=-1.",
            ),
            Mistake(
                lambda q, k: torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-2),
                "softmax runs over the queries. The key axis is dim=-1.",
            ),
        ],
        hints=[
            "Divide the scores, before softmax.",
            "By the square root of the number of entries in a key, which the tensor knows itself.",
            "torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)",
        ],
    ),
    spread=Question(
        "my_spread = 20  # the square root of 400",
        form="a number",
        right="the variances of 400 products add up to 400, and the standard deviation is the root of that.",
        mistakes=[
            Mistake(400, "400 is the variance. The standard deviation is its square root."),
            Mistake(1, "1 is the standard deviation of a single product. 400 of them are added up."),
            Mistake(1 / 20, "that is 1 / 20. A sum of 400 products is larger than one of them, not smaller."),
            Mistake(800**0.5, "d_k is 400, and there is one sum of 400 products, not of 800."),
        ],
        hints=[
            "The formula is in the section Scores grow with the key size.",
            "Var(q · k) = d_k. And the standard deviation?",
        ],
    ),
    jacobian=Task(
        my_jacobian,
        show=("weights",),
        axes=("weight", "score"),
        cases={
            "half and half": _row(0.0, 0.0),
            "three weights": _row(1.0, 0.0, -1.0),
            "five weights": _row(0.3, -2.0, 1.0, 0.0, 0.5),
            "all on one key": lambda g: (torch.tensor([0.0, 1.0, 0.0]),),
            "a single key": lambda g: (torch.ones(1),),
            "float64": lambda g: (torch.softmax(torch.randn(3, generator=g).double(), dim=-1),),
        },
        right="Near 0 everywhere as soon as one weight is near 1: that is saturation.",
        mistakes=[
            Mistake(
                lambda w: -w[:, None] * w[None, :],
                "the diagonal is missing: the delta of the formula is 1 where j = n.",
            ),
            Mistake(
                lambda w: torch.diag(w) + w[:, None] * w[None, :], "the product of the weights must be subtracted."
            ),
            Mistake(
                lambda w: w * (torch.eye(len(w), dtype=w.dtype) - w),
                "in row j the formula has w_j in front of the bracket, a column of weights. You multiply by a row of "
                "them, which puts w_n there.",
            ),
            Mistake(
                lambda w: w[:, None] * (1 - w[None, :]),
                "the delta of the formula is 1 only on the diagonal, where j = n, and 0 elsewhere.",
            ),
            Mistake(
                lambda w: w[:, None] * w[None, :],
                "that is the product w_j w_n, which the formula subtracts: from w_j on the diagonal, from 0 elsewhere.",
            ),
            Mistake(lambda w: w[:, None] * w[None, :] - torch.diag(w), "all the signs are reversed."),
            Mistake(
                lambda w: torch.diag(w - w * w),
                "only the diagonal is there. A larger score for one key takes away from all the others.",
            ),
            Mistake(
                lambda w: torch.eye(len(w), dtype=w.dtype) - w[:, None] * w[None, :],
                "on the diagonal the formula has w_j (1 - w_j), with the weight in front of the bracket.",
            ),
            Mistake(
                lambda w: torch.diag(w) - torch.diag(w) @ (w[:, None].expand(len(w), len(w))),
                "the formula is w_j times (delta - w_n); you have w_j in it twice.",
            ),
        ],
        hints=[
            "w_j (delta_jn - w_n) is w_j delta_jn minus w_j w_n.",
            "The first part has the weights on its diagonal: torch.diag. The second is a column times a row.",
            "torch.diag(weights) - weights[:, None] * weights[None, :]",
        ],
    ),
    broken=Question(
        'my_broken = "c"',
        form='a letter, "a", "b", "c" or "d"',
        right="128 ** 0.5 is 11.3, where 2 ** 0.5 would be 1.4. The scores become eight times too small, and all "
        "rows nearly even. Nothing complains, because each row still sums to 1.",
        mistakes=[
            Mistake("a", "PyTorch never compares the scale with the shapes: it is only a number."),
            Mistake("b", "dividing by too little would make the rows sharp. Here the scores are divided by too much."),
            Mistake("d", "the rows come out of softmax, after the scale, so they sum to 1 with any scale."),
        ],
        hints=[
            "What are the scores divided by, and what should they be divided by?",
            "Smaller scores are like a higher temperature.",
        ],
    ),
)
