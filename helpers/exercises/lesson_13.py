"""Exercises of lesson 13: shapes, cross-attention, a padding mask, and kernel regression."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_cross(x, y, W_q, W_k, W_v):
    queries, keys, values = x @ W_q, y @ W_k, y @ W_v
    scores = queries @ keys.transpose(-2, -1)  # (..., T, S)
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ values  # (..., T, d_v)


def my_mask(lengths, S):
    return (torch.arange(S) < lengths[:, None])[:, None]  # (B, 1, S)


def my_regression(x, keys, values, h):
    distances = x[:, None] - keys  # (T, S)
    weights = torch.softmax(-(distances**2) / (2 * h**2), dim=-1)
    return weights @ values


def _two(T, S, d, d_k, *batch):
    return lambda g: (
        torch.randn(*batch, T, d, generator=g),
        torch.randn(*batch, S, d, generator=g),
        *(torch.randn(d, d_k, generator=g) for _ in range(3)),
    )


def _weights(queries, keys, dim=-1, root=True):
    return torch.softmax(queries @ keys.transpose(-2, -1) / (keys.shape[-1] ** 0.5 if root else 1), dim=dim)


def _points(T, S, h):
    return lambda g: (torch.rand(T, generator=g), torch.rand(S, generator=g), torch.randn(S, generator=g), h)


def _regression(of_distances, dim=-1):
    def wrong(x, keys, values, h):
        return torch.softmax(of_distances(x[:, None] - keys, h), dim=dim) @ values

    return wrong


exercise = Exercises(
    table=Question(
        "my_shape = [8, 4, 15, 20]",
        right="Batch and heads in front, then a row for each of the 15 that ask and a column for each of the 20 asked.",
        form="four numbers",
        mistakes=[
            Mistake([8, 4, 20, 15], "rows are queries: the 15 tokens of the target ask."),
            Mistake([8, 4, 15, 15], "the keys come from the source, which has 20 tokens."),
            Mistake([8, 4, 20, 20], "the queries come from the target, which has 15 tokens."),
            Mistake([8, 4, 15, 16], "that is the shape of the context vectors. d_head is gone from the weights."),
            Mistake([8, 15, 20, 4], "the heads stand in front of the table, after the batch."),
            Mistake([4, 8, 15, 20], "the batch comes first, then the heads."),
        ],
        hints=["(B, num_heads, T, S).", "Who asks, and who is asked?"],
    ),
    cross=Task(
        my_cross,
        show=("x", "y", "W_q", "W_k", "W_v"),
        cases={
            "one asks two": _two(1, 2, 2, 2),
            "three ask five": _two(3, 5, 4, 2),
            "as many as each other": _two(4, 4, 3, 3),
            "more ask than are asked": _two(6, 2, 3, 4),
            "one is asked": _two(3, 1, 2, 2),
            "a batch": _two(3, 4, 3, 2, 2),
            "a batch of batches": _two(2, 3, 3, 3, 2, 2),
        },
        right="The target makes the queries, the source keys and values.",
        mistakes=[
            Mistake(
                lambda x, y, W_q, W_k, W_v: my_cross(y, x, W_q, W_k, W_v),
                "the roles are exchanged: x asks, so the queries come from x.",
            ),
            Mistake(
                lambda x, y, W_q, W_k, W_v: my_cross(x, x, W_q, W_k, W_v),
                "that is self-attention: keys and values come from y.",
            ),
            Mistake(
                lambda x, y, W_q, W_k, W_v: my_cross(y, y, W_q, W_k, W_v),
                "y asks itself: the queries come from x.",
            ),
            Mistake(
                lambda x, y, W_q, W_k, W_v: _weights(x @ W_q, y @ W_k, root=False) @ (y @ W_v),
                "the division by the root of d_k is missing.",
            ),
            Mistake(
                lambda x, y, W_q, W_k, W_v: _weights(x @ W_q, y @ W_k, dim=-2) @ (y @ W_v),
                "each column sums to 1: the softmax must run along the keys, dim=-1.",
            ),
            Mistake(
                lambda x, y, W_q, W_k, W_v: _weights(x @ W_k, y @ W_q) @ (y @ W_v),
                "W_q and W_k are exchanged: x @ W_q makes queries, y @ W_k keys.",
            ),
        ],
        hints=[
            "x @ W_q are the queries. What is made of y?",
            "Scores, scaled, softmax along dim=-1, times the values, as in lesson 04.",
        ],
    ),
    padding=Task(
        my_mask,
        show=("lengths", "S"),
        cases={
            "two sources": lambda g: (torch.tensor([2, 3]), 3),
            "one word": lambda g: (torch.tensor([1, 4, 2]), 5),
            "no padding": lambda g: (torch.tensor([3, 3]), 3),
            "one source": lambda g: (torch.tensor([2]), 6),
            "square": lambda g: (torch.tensor([1, 2, 3]), 3),
        },
        right="True for the first words of each source, one row for all queries.",
        mistakes=[
            Mistake(lambda lengths, S: ~my_mask(lengths, S), "True must mean keep: you hide the words."),
            Mistake(
                lambda lengths, S: my_mask(lengths, S)[:, 0],
                "the dimension of the queries is missing: [:, None] puts it in the middle.",
            ),
            Mistake(
                lambda lengths, S: (torch.arange(S) <= lengths[:, None])[:, None],
                "one token too many: places are counted from 0, so a source of 2 words has the places 0 and 1.",
            ),
            Mistake(
                lambda lengths, S: my_mask(lengths, S).transpose(-2, -1),
                "keys are columns: the mask must be (B, 1, S), not (B, S, 1).",
            ),
            Mistake(lambda lengths, S: my_mask(lengths, S).float(), "a mask holds booleans, True and False."),
        ],
        hints=[
            "torch.arange(S) are the places. Which of them are words of a source of that length?",
            "torch.arange(S) < lengths[:, None] is (B, S).",
            "[:, None] adds the dimension of the queries.",
        ],
    ),
    kernel=Task(
        my_regression,
        show=("x", "keys", "values", "h"),
        cases={
            "one between two": lambda g: (torch.tensor([0.5]), torch.tensor([0.0, 2.0]), torch.tensor([1.0, 3.0]), 1.0),
            "three and five": _points(3, 5, 0.2),
            "square": _points(4, 4, 0.5),
            "wide": _points(3, 6, 10.0),
            "narrow": _points(5, 3, 0.05),
            "one key": _points(3, 1, 0.3),
        },
        right="A softmax of minus the squared distances over 2 h squared: keys nearby count most.",
        mistakes=[
            Mistake(
                _regression(lambda d, h: d**2 / (2 * h**2)),
                "the sign is wrong: far keys would count most.",
            ),
            Mistake(_regression(lambda d, h: -(d**2) / (2 * h)), "h must be squared."),
            Mistake(_regression(lambda d, h: -(d**2) / h**2), "the 2 is missing: 2 h squared."),
            Mistake(_regression(lambda d, h: -(d**2)), "the width is missing."),
            Mistake(_regression(lambda d, h: -d.abs() / (2 * h**2)), "the distance must be squared."),
            Mistake(
                _regression(lambda d, h: -(d**2) / (2 * h**2), dim=0),
                "the softmax runs along the queries: dim=-1, along the keys.",
            ),
            Mistake(
                lambda x, keys, values, h: torch.exp(-((x[:, None] - keys) ** 2) / (2 * h**2)) @ values,
                "the weights don't sum to 1: divide by their sum, or take a softmax.",
            ),
        ],
        hints=[
            "x[:, None] - keys has the shape (T, S): every distance.",
            "The formula is a softmax of -distance**2 / (2 * h**2).",
            "torch.softmax(..., dim=-1) @ values",
        ],
    ),
)
