"""Exercises of lesson 10: split into heads, merge again, and sizes."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_split(x, num_heads):
    d_head = x.shape[-1] // num_heads
    # (..., T, num_heads, d_head)
    x = x.reshape(*x.shape[:-1], num_heads, d_head)
    return x.transpose(-3, -2)  # (..., num_heads, T, d_head)


def my_merge(z):
    z = z.transpose(-3, -2)  # (..., T, num_heads, d_head)
    return z.reshape(*z.shape[:-2], -1)  # (..., T, d_out)


def _queries(T, d_out, num_heads, *batch):
    return lambda g: (torch.randn(*batch, T, d_out, generator=g), num_heads)


def _heads(num_heads, T, d_head, *batch):
    return lambda g: (torch.randn(*batch, num_heads, T, d_head, generator=g),)


exercise = Exercises(
    split=Task(
        my_split,
        show=("x", "num_heads"),
        cases={
            "two tokens, two heads": lambda g: (torch.arange(8.0).reshape(2, 4), 2),
            "one token": _queries(1, 6, 3),
            "one head": _queries(4, 3, 1),
            "as many heads as numbers": _queries(3, 4, 4),
            "two heads": _queries(5, 6, 2),
            "square": _queries(4, 4, 2),
            "a batch": _queries(3, 8, 2, 2),
            "a batch of batches": _queries(3, 4, 2, 2, 3),
            "queries that are to be trained": lambda g: (torch.randn(3, 6, generator=g, requires_grad=True), 2),
            "all sizes equal": _queries(2, 4, 2, 2),
            "float64": lambda g: (torch.randn(3, 6, generator=g).double(), 2),
        },
        right="Each head gets its own neighbouring columns of every token.",
        mistakes=[
            Mistake(
                lambda x, n: x.reshape(*x.shape[:-2], n, x.shape[-2], x.shape[-1] // n),
                "the shape is right, but the numbers are dealt out in the order of memory, so a head holds parts "
                "of several tokens. Split the last dimension first, then transpose.",
            ),
            Mistake(
                lambda x, n: x.reshape(*x.shape[:-1], n, x.shape[-1] // n),
                "the dimension of the heads comes after that of the tokens: transpose(-3, -2) is missing.",
            ),
            Mistake(
                lambda x, n: x.reshape(*x.shape[:-1], x.shape[-1] // n, n).movedim(-1, -3),
                "the columns are dealt to the heads like cards. A head owns neighbouring ones: (num_heads, d_head), "
                "in this order.",
            ),
            *[
                Mistake(
                    lambda x, n, pair=pair: x.reshape(*x.shape[:-1], n, x.shape[-1] // n).transpose(*pair),
                    "you count the dimensions from the front, which works only for one number of them. From the "
                    "end it is always transpose(-3, -2).",
                )
                for pair in ((0, 1), (1, 2))
            ],
            Mistake(lambda x, n: my_split(x, n).flip(-3), "the heads come out in reverse order."),
        ],
        hints=[
            "Two steps: split the last dimension into two, then bring the heads forward.",
            "reshape(*x.shape[:-1], num_heads, d_head) gives (..., T, num_heads, d_head).",
            "Then .transpose(-3, -2).",
        ],
    ),
    merge=Task(
        my_merge,
        show=("z",),
        cases={
            "two heads, two tokens": lambda g: (torch.arange(8.0).reshape(2, 2, 2),),
            "one token": _heads(3, 1, 2),
            "one head": _heads(1, 4, 3),
            "heads of one number": _heads(4, 3, 1),
            "two heads, five tokens": _heads(2, 5, 3),
            "all sizes equal": _heads(2, 2, 2, 2),
            "a batch": _heads(2, 3, 4, 2),
            "a batch of batches": _heads(2, 3, 4, 2, 3),
            "results that are to be trained": lambda g: (torch.randn(2, 3, 4, generator=g, requires_grad=True),),
            "float64": lambda g: (torch.randn(2, 3, 2, generator=g).double(),),
        },
        right="The results of all heads stand side by side, for each token.",
        mistakes=[
            Mistake(
                lambda z: z.reshape(*z.shape[:-3], z.shape[-2], -1),
                "the shape is right, but the tokens are mixed up: move them in front of the heads again before "
                "the last two dimensions become one.",
            ),
            Mistake(
                lambda z: z.movedim(-3, -1).flatten(-2),
                "the heads are interleaved: all numbers of head 0 come first, then all of head 1.",
            ),
            Mistake(lambda z: z.mean(dim=-3), "that is the mean over the heads. Each head's result must remain."),
            Mistake(lambda z: z.sum(dim=-3), "that is the sum over the heads. Each head's result must remain."),
            Mistake(
                lambda z: z.flatten(-2),
                "all tokens of a head stand in one row. Move the heads behind the tokens first: transpose(-3, -2).",
            ),
            Mistake(lambda z: my_merge(z.flip(-3)), "the heads come out in reverse order."),
        ],
        hints=[
            "It is my_split backwards, in the opposite order.",
            "First z = z.transpose(-3, -2), which is (..., T, num_heads, d_head) again.",
            "Then z.reshape(*z.shape[:-2], -1), or z.flatten(-2).",
        ],
    ),
    sizes=Question(
        "my_sizes = [64, 4, 1]  # 512 / 8; twice the length, squared; no change",
        form="three numbers, [d_head, times, times]",
        right="heads share d_model among them; the table of weights is T times T; and eight heads of an eighth of the "
        "size do the work of one.",
        mistakes=[
            Mistake(lambda a: float(a[0]) != 64, "d_head is d_model divided by the number of heads."),
            Mistake(lambda a: float(a[1]) != 4, "each head has a table of T times T weights: both sides double."),
            Mistake(
                lambda a: float(a[2]) != 1,
                "each of the eight heads has an eighth of the size, so all together they take as many operations "
                "as one.",
            ),
        ],
        hints=[
            "The section What does it cost? counts operations; the table of weights has a row and a column per token.",
            "d_model = num_heads * d_head. A table of weights is T times T. num_heads * d_head stays the same.",
        ],
    ),
)
