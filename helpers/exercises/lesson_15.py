"""Exercises of lesson 15: load a matrix, find a head, test it fairly, and what a sink does."""

import torch
from torch import nn

from .checking import Exercises, Mistake, Question, Task


def my_layer(W, b):
    layer = nn.Linear(*W.shape)  # its weight is (d_out, d_in)
    layer.load_state_dict({"weight": W.T, "bias": b})
    return layer


def my_next(weights):
    # One above the main diagonal: row i, column i + 1
    return weights.diagonal(1, -2, -1).mean(dim=-1)


def my_fair(choosing, testing):
    best = choosing.mean(dim=0).argmax()  # the test has no say
    return testing[:, best].mean()


def _linear(weight, bias):
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight.data = weight.clone()
    if bias is not None:
        layer.bias.data = bias.clone()
    return layer


def _bias_left(W, b):
    layer = nn.Linear(*W.shape)
    layer.weight.data = W.T
    return layer


def _matrix(d_in, d_out):
    return lambda g: tuple(torch.randn(*size, generator=g) for size in ((d_in, d_out), (d_out,), (3, d_in)))


def _tables(*shape):
    return lambda g: (torch.softmax(torch.randn(*shape, generator=g), dim=-1),)


def _found(cases, heads):
    """What heads found, 1 or 0, in two halves of the cases; the last is the best in choosing, without a tie."""

    def make(g):
        choosing, testing = (torch.rand(2, cases, heads, generator=g) < 0.5).float()
        choosing[0], choosing[:, -1] = 0, 1
        return choosing, testing

    return make


def _ran(answer, W, b, x):
    layer = answer(W, b)
    return layer(x).detach() if isinstance(layer, torch.nn.Module) else layer


exercise = Exercises(
    layer=Task(
        my_layer,
        show=("W", "b", "x"),
        run=_ran,
        cases={
            "two numbers in, three out": _matrix(2, 3),
            "square": _matrix(3, 3),
            "as many as a head has": _matrix(8, 4),
            "one number out": _matrix(4, 1),
            "one number in": _matrix(1, 3),
        },
        right="nn.Linear keeps its weight as (d_out, d_in), the other way round.",
        mistakes=[
            Mistake(
                lambda W, b: _linear(W, b),
                "W is loaded as it lies. nn.Linear keeps its weight as (d_out, d_in): turn W round with W.T. With a "
                "square matrix nothing but the numbers would tell.",
            ),
            Mistake(
                lambda W, b: _linear(W.reshape(W.shape[::-1]), b),
                "reshape gives the right shape and deals the numbers out anew. W.T turns the matrix round.",
            ),
            Mistake(lambda W, b: _linear(W.T, None), "the layer has no bias: b is missing."),
            Mistake(_bias_left, "the layer keeps the random bias that it was made with: b is not loaded."),
        ],
        hints=[
            "nn.Linear(d_in, d_out) has a weight of the shape (d_out, d_in) and a bias of the shape (d_out,).",
            "layer = nn.Linear(*W.shape), then load a state with the names weight and bias.",
            'layer.load_state_dict({"weight": W.T, "bias": b}), and return layer.',
        ],
    ),
    next=Task(
        my_next,
        show=("weights",),
        cases={
            "three tokens": _tables(3, 3),
            "two tokens": _tables(2, 2),
            "all on the token after": lambda g: (torch.eye(4).roll(1, dims=1),),
            "all on the token before": lambda g: (torch.eye(4).roll(-1, dims=1),),
            "as many heads as tokens": _tables(3, 3, 3),
            "layers and heads": _tables(2, 4, 5, 5),
        },
        right="The last row, which has no token after it, is left out.",
        mistakes=[
            Mistake(lambda w: w.diagonal(-1, -2, -1).mean(dim=-1), "that is the weight on the token *before*."),
            Mistake(lambda w: w.diagonal(0, -2, -1).mean(dim=-1), "that is the weight on the token itself."),
            Mistake(
                lambda w: w.diagonal(1, -2, -1).sum(dim=-1) / w.shape[-1],
                "the last row has no token after it, so there is one row fewer to divide by.",
            ),
            Mistake(lambda w: w.diagonal(1, -2, -1).sum(dim=-1), "that is the sum over the rows, not their mean."),
            Mistake(
                lambda w: w.diagonal(1, -2, -1).mean(),
                "that is one number for all tables together. Take the mean along the last dimension alone.",
            ),
            Mistake(
                lambda w: w.diagonal(1, 0, 1).mean(dim=-1),
                "you count the dimensions from the front, which works only for a single table. Queries and keys are "
                "-2 and -1.",
            ),
        ],
        hints=[
            "The weights on the token after stand beside the main diagonal: row i, column i + 1.",
            "weights.diagonal(1, -2, -1) takes them out of each table; with -1 in front it is the token before.",
            "Then .mean(dim=-1).",
        ],
    ),
    head=Question(
        "my_head = [1, 8]  # divmod(on_average(my_next).argmax().item(), 12)",
        form="two numbers, [layer, head]",
        right="it looks ahead more than any other, though not always: a little more than half of its weight.",
        mistakes=[
            Mistake([8, 1], "the layer comes first."),
            Mistake([0, 2], "that is the one that looks at the token before."),
            Mistake([2, 9], "layers and heads are counted from 0."),
        ],
        hints=[
            "on_average(my_next) is a table, (layers, num_heads). Where is its largest number?",
            ".flatten().argmax() counts through all heads; divmod(..., 12) turns that into layer and head.",
        ],
    ),
    fair=Task(
        my_fair,
        show=("choosing", "testing"),
        cases={
            "a head that had luck": lambda g: (torch.tensor([[1.0, 1], [1, 0]]), torch.tensor([[0.0, 1], [0, 1]])),
            "four sentences, three heads": lambda g: (
                torch.tensor([[1.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]),
                torch.tensor([[1.0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 1]]),
            ),
            "more heads than sentences": _found(5, 20),
            "ten sentences, three heads": _found(10, 3),
            "one head": _found(4, 1),
            "72 heads": _found(24, 72),
        },
        right="The sentences that are tested on had no say in the choice.",
        mistakes=[
            Mistake(
                lambda a, b: b.mean(dim=0).max(),
                "the head was chosen on the sentences that it is tested on. Of many heads one is always lucky.",
            ),
            Mistake(
                lambda a, b: a.mean(dim=0).max(),
                "that is its share on the sentences on which it was chosen. It says nothing about others.",
            ),
            Mistake(
                lambda a, b: b[:, torch.cat([a, b]).mean(dim=0).argmax()].mean(),
                "the test sentences had a say in the choice. Choose on `choosing` alone.",
            ),
            Mistake(
                lambda a, b: b[:, a.mean(dim=0).argmax()].sum(),
                "that is how many are right. Return the share, which is the mean.",
            ),
            Mistake(lambda a, b: b.mean(), "that is the mean of all heads. Only the head that was chosen is tested."),
        ],
        hints=[
            "Two steps: which head is best on `choosing`, and how well does that one do on `testing`?",
            "choosing.mean(dim=0) is a number for each head, and .argmax() the place of the largest.",
            "Then testing[:, best].mean().",
        ],
    ),
    sink=Question(
        'my_sink = "bd"',
        form='letters, such as "ac"',
        right="at a sink weight can go without a trace. Take it away, and the same weight falls on words.",
        mistakes=[
            *[
                Mistake(wrong, "a: the mixture is weight times value. What does 0.9 of a vector of length 0.05 add?")
                for wrong in ("a", "ab", "ac", "ad", "abc", "abd", "acd", "abcd")
            ],
            *[
                Mistake(wrong, "c: a row sums to 1, so softmax gives what is freed to the keys that are left.")
                for wrong in ("c", "bc", "cd", "bcd")
            ],
            Mistake("b", "b is right, and one more is: how long can the mixture be as it is?"),
            Mistake("d", "d is right, and one more is: where does the weight go once the key is hidden?"),
        ],
        hints=[
            "A context vector is the sum of weight times value. How long can it be with these numbers?",
            "Weight .1 of vectors of length 1 makes at most .1. Hide the key, and the same row sums to 1 over words.",
        ],
    ),
)
