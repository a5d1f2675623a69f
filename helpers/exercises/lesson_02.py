"""Exercises of lesson 02: softmax, its axis, and the temperature."""

import torch

from .checking import Exercises, Mistake, Question, Task

_SCORES = {
    "one query, two keys": lambda g: (torch.tensor([[1.0, 2.0]]),),
    "two queries, three keys": lambda g: (torch.randn(2, 3, generator=g),),
    "three queries, one key": lambda g: (torch.randn(3, 1, generator=g),),
    "a single row of scores": lambda g: (torch.randn(4, generator=g),),
    "square scores": lambda g: (torch.randn(4, 4, generator=g),),
    "a batch": lambda g: (torch.randn(2, 3, 4, generator=g),),
    "large scores": lambda g: (torch.tensor([[1000.0, 999.0, 0.0], [88.5, 88.5, 0.0]]),),
    "very negative scores": lambda g: (torch.tensor([[-104.0, -105.0], [-1000.0, -1001.0]]),),
    "rows of very different size": lambda g: (torch.tensor([[500.0, 501.0, 499.0], [-1.0, 0.0, 1.0]]),),
    "float64": lambda g: (torch.randn(2, 3, generator=g).double(),),
}


def my_softmax(scores):
    largest = scores.amax(dim=-1, keepdim=True)  # (..., 1): a maximum per query
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def my_softmax_at(scores, temperature):
    return torch.softmax(scores / temperature, dim=-1)


def is_distribution(weights):
    sums = weights.sum(dim=-1)  # one per query
    to_one = torch.allclose(sums, torch.ones_like(sums), atol=1e-4)
    return to_one and bool((weights >= 0).all())


_COLUMN = "each column sums to 1: you have normalised over the queries. Softmax runs along the key axis, dim=-1."
_TABLE = "all the weights together sum to 1. But each query divides its own attention: sum along the key axis only."
_ROW = (
    "the sum has lost its dimension, so PyTorch reads it as a row and divides each number by the sum of another "
    "query: keepdim=True."
)
_LARGEST = [
    lambda s: 0.0,
    lambda s: s.amax(dim=-1, keepdim=True),
    lambda s: s.max(),
]  # subtracted: nothing, a row's, all's


def _by_hand(largest, total):
    """Softmax by hand, from what is subtracted and how the exponentials are added up."""

    def softmax(scores):
        exponentials = (scores - largest(scores)).exp()
        return exponentials / total(exponentials)

    return softmax


def _over(dim):
    return lambda w: bool((w >= 0).all() and torch.allclose(w.sum(dim=dim), torch.ones_like(w.sum(dim=dim)), atol=1e-4))


def _hot(make, temperature):
    return lambda g: (*make(g), temperature)


def _weights(g, *shape):
    return torch.softmax(torch.randn(*shape, generator=g), dim=-1)


exercise = Exercises(
    softmax=Task(
        my_softmax,
        show=("scores",),
        axes=("query", "key"),
        cases=_SCORES,
        right="Each query has a distribution of its own, and no score is too large for it.",
        mistakes=[
            Mistake(
                lambda s: s.exp() / s.exp().sum(dim=-1, keepdim=True),
                "this is the naive version: exp overflows for large scores, and becomes 0 for very negative ones. "
                "Subtract the largest score of each row first.",
            ),
            Mistake(
                lambda s: torch.softmax(s, dim=0),
                _COLUMN,
            ),
            Mistake(lambda s: torch.softmax(s.flatten(), dim=0).reshape(s.shape), _TABLE),
            *[Mistake(_by_hand(largest, lambda e: e.sum()), _TABLE) for largest in _LARGEST],
            *[Mistake(_by_hand(largest, lambda e: e.sum(dim=0)), _COLUMN) for largest in _LARGEST],
            *[Mistake(_by_hand(largest, lambda e: e.sum(dim=-1)), _ROW) for largest in _LARGEST],
            Mistake(
                _by_hand(lambda s: s.amax(dim=-1), lambda e: e.sum(dim=-1, keepdim=True)),
                "the maximum has lost its dimension, so PyTorch reads it as a row and subtracts from each number "
                "the maximum of another query: keepdim=True.",
            ),
            Mistake(_by_hand(lambda s: s.amax(dim=0), lambda e: e.sum(dim=0)), _COLUMN),
            Mistake(
                lambda s: torch.softmax(s, dim=1),
                "dim=1 is the key axis of a table, but not of a single row or of a batch. dim=-1 always is.",
            ),
            Mistake(
                _by_hand(lambda s: s.amax(dim=1, keepdim=True), lambda e: e.sum(dim=1, keepdim=True)),
                "dim=1 is the key axis of a table, but not of a single row or of a batch. dim=-1 always is.",
            ),
            Mistake(
                _by_hand(lambda s: s.amax(dim=0), lambda e: e.sum(dim=-1, keepdim=True)),
                "you subtract the largest score of each column. What you subtract must be the same all along a "
                "row: its own largest, amax(dim=-1, keepdim=True).",
            ),
            Mistake(
                lambda s: _by_hand(lambda t: t.max(dim=-1, keepdim=True), lambda e: e)(s),
                "max with a dim returns two things, the numbers and their places. Use amax, or take .values.",
            ),
            Mistake(
                _by_hand(lambda s: s.max(), lambda e: e.sum(dim=-1, keepdim=True)),
                "you subtract one maximum for the whole table. In a row of much smaller scores all exponentials are "
                "then 0. Each row needs its own maximum: amax(dim=-1, keepdim=True).",
            ),
            Mistake(
                lambda s: s / s.sum(dim=-1, keepdim=True),
                "the exponential is missing: you only divide by the sum, which breaks on negative scores.",
            ),
            Mistake(
                lambda s: (s - s.amax(dim=-1, keepdim=True)).exp(),
                "the last step is missing: exponentials alone don't sum to 1.",
            ),
            Mistake(lambda s: torch.log_softmax(s, dim=-1), "that is log_softmax, the logarithm of the weights."),
        ],
        hints=[
            "Three steps: subtract the largest score, exp, divide by the sum.",
            "Both the maximum and the sum are per query, along the last dimension.",
            "scores.amax(dim=-1, keepdim=True) is a column of maxima; use keepdim=True in the sum as well.",
        ],
    ),
    temperature=Task(
        my_softmax_at,
        show=("scores", "temperature"),
        axes=("query", "key"),
        cases={
            "one row, temperature 2": lambda g: (torch.tensor([[1.0, 2.0]]), 2.0),
            "temperature 1": _hot(_SCORES["two queries, three keys"], 1.0),
            "cold, 0.1": _hot(_SCORES["square scores"], 0.1),
            "very cold, 0.001": _hot(_SCORES["two queries, three keys"], 0.001),
            "hot, 50": _hot(_SCORES["a batch"], 50.0),
            "large scores": _hot(_SCORES["large scores"], 10.0),
            "a single row of scores": _hot(_SCORES["a single row of scores"], 0.5),
            "float64": _hot(_SCORES["float64"], 3.0),
        },
        right="Cold makes a row sharp, hot makes it even.",
        mistakes=[
            Mistake(
                lambda s, t: torch.softmax(s * t, dim=-1),
                "you multiply by the temperature, so hot makes the weights sharp. Divide by it.",
            ),
            Mistake(
                lambda s, t: torch.softmax(s, dim=-1) * t,
                "you multiply after softmax, so the rows no longer sum to 1. It is the scores that are divided.",
            ),
            Mistake(
                lambda s, t: torch.softmax(s / t, dim=1),
                "dim=1 is the key axis of a table, but not of a single row or of a batch. dim=-1 always is.",
            ),
            Mistake(
                lambda s, t: _by_hand(_LARGEST[0], lambda e: e.sum(dim=-1, keepdim=True))(s),
                "the temperature cancels out in the fraction and has no effect. It must divide the scores, before exp.",
            ),
            Mistake(
                lambda s, t: torch.softmax(s, dim=-1) / t,
                "you divide after softmax, so the rows no longer sum to 1. It is the scores that are divided.",
            ),
            Mistake(
                lambda s, t: torch.softmax(s - t, dim=-1),
                "the temperature has no effect: either it isn't used, or it is added to all scores, which softmax "
                "ignores. Divide the scores by it.",
            ),
            Mistake(
                lambda s, t: torch.softmax(s / t, dim=0),
                "each column sums to 1: softmax must run along the key axis, dim=-1.",
            ),
            Mistake(
                lambda s, t: torch.nn.functional.softmax(s / t),
                "without dim, softmax has to guess which dimension to run along, and for a batch it guesses "
                "wrong: dim=-1.",
            ),
            Mistake(
                lambda s, t: (s / t).exp() / (s / t).exp().sum(dim=-1, keepdim=True),
                "it works until exp overflows: use torch.softmax, which subtracts the maximum first.",
            ),
        ],
        hints=[
            "The temperature changes the scores, before softmax.",
            "In the table of notation of lesson 00: the temperature divides the scores.",
            "torch.softmax(..., dim=-1) of the scores divided by the temperature.",
        ],
    ),
    detector=Task(
        is_distribution,
        show=("weights",),
        cases={
            "right weights": lambda g: (_weights(g, 3, 4),),
            "right weights, square": lambda g: (_weights(g, 3, 3),),
            "right weights in float64": lambda g: (_weights(g, 2, 3).double(),),
            "right weights for a batch": lambda g: (_weights(g, 2, 3, 4),),
            "right weights of many keys": lambda g: (_weights(g, 5, 1000),),
            "a single key": lambda g: (torch.ones(3, 1),),
            "all weight on one key": lambda g: (torch.tensor([[0.0, 1.0], [1.0, 0.0]]),),
            "softmax over the wrong axis": lambda g: (_weights(g, 3, 3).T.contiguous(),),
            "sums of 0": lambda g: (torch.zeros(2, 3),),
            "a row with nan": lambda g: (torch.tensor([[0.5, 0.5], [float("nan"), 0.5]]),),
            "a small negative weight": lambda g: (torch.tensor([[0.5, 0.5, 0.0], [0.6, 0.405, -0.005]]),),
            "a sum of 1 with a negative weight": lambda g: (torch.tensor([[2.0, -1.0], [0.5, 0.5]]),),
            "rows that sum to 1 only together": lambda g: (torch.tensor([[0.9, 0.2], [0.5, 0.4]]),),
            "one bad row in a batch": lambda g: (
                torch.stack([torch.full((2, 2), 0.5), torch.tensor([[0.5, 0.5], [0.7, 0.7]])]),
            ),
            "a sum a little off": lambda g: (torch.tensor([[0.5, 0.5], [0.5, 0.51]]),),
        },
        right="It would have found the softmax over the wrong axis in all those projects.",
        mistakes=[
            Mistake(
                lambda w: bool((w.sum(dim=-1) == 1).all() and (w >= 0).all()),
                "== fails because of rounding: compare the sums with torch.allclose.",
            ),
            Mistake(
                lambda w: bool((w.sum(dim=-1) == 1).all()),
                "== fails because of rounding: compare the sums with torch.allclose. And no weight may be negative.",
            ),
            Mistake(
                lambda w: w.sum(dim=-1) == 1,
                "that gives an answer per query, and == fails because of rounding. Use torch.allclose, which "
                "gives one answer for all.",
            ),
            Mistake(
                lambda w: bool((w >= 0).all() and (w.sum(dim=-1) - 1 < 1e-4).all()),
                "a sum far below 1 gets through. It is the distance from 1 that must be small: use .abs().",
            ),
            Mistake(
                lambda w: is_distribution(w) and bool((w < 1).all()),
                "a weight may be exactly 1: all the attention of a query on one key.",
            ),
            Mistake(lambda w: bool((w >= 0).all()), "you don't look at the sums. Each row must sum to 1."),
            Mistake(
                _over(0),
                "you look at the columns. There is one distribution per query: sum along the key axis, dim=-1.",
            ),
            Mistake(
                _over(1),
                "the key axis is dim=1 for a table, but not for a batch, where dim=1 is the query axis: dim=-1.",
            ),
            Mistake(
                lambda w: bool((w >= 0).all() and ((w.sum(dim=-1) - 1).abs() < 0.05).all()),
                "you allow too much: a sum that is off by 0.01 is no rounding error.",
            ),
            Mistake(
                lambda w: bool(
                    torch.allclose(w.sum(), torch.tensor(float(w[..., 0].numel()), dtype=w.dtype), atol=1e-3)
                    and (w >= 0).all()
                ),
                "you look at the sum of everything. The errors of two rows can cancel out: look at each row.",
            ),
            Mistake(
                lambda w: torch.allclose(w.sum(dim=-1), torch.ones_like(w.sum(dim=-1)), atol=1e-4),
                "a row such as 2, -1 sums to 1, too. Weights must not be negative.",
            ),
            Mistake(
                lambda w: bool(
                    (w > 0).all() and torch.allclose(w.sum(dim=-1), torch.ones_like(w.sum(dim=-1)), atol=1e-4)
                ),
                "a weight may be exactly 0: not negative means >= 0.",
            ),
            Mistake(
                lambda w: bool((w >= 0).all() and torch.allclose(w.sum(dim=-1), torch.ones(w.shape[:-1]), atol=1e-4)),
                "it fails for float64: use torch.ones_like(sums).",
            ),
            Mistake(
                lambda w: bool(
                    (w >= 0).all() and torch.isclose(w.sum(dim=-1), torch.ones_like(w.sum(dim=-1)), atol=1e-4).any()
                ),
                "you are content if any row is right. All of them must be: .all().",
            ),
        ],
        hints=[
            "Two conditions: no weight is negative, and each row sums to 1.",
            "sums = weights.sum(dim=-1) has one sum per query. Compare it with torch.ones_like(sums) by "
            "torch.allclose.",
            "(weights >= 0).all() is the other half; join the two with and, and return bool(...) of it.",
        ],
    ),
    puzzle=Question(
        'my_puzzle = "bd"',
        form='the letters of all lines that print them, such as "ac"',
        right="b sums over the wrong axis, and d is a softmax over the wrong axis: symmetric scores are their "
        "own transpose. In c two mistakes cancel.",
        mistakes=[
            Mistake(
                lambda answer: "a" in answer, "line a is the correct one: its rows sum to 1, so it prints six ones."
            ),
            Mistake(
                lambda answer: "c" in answer,
                "in c each column sums to 1, but .T turns the columns into rows. Two mistakes that cancel: six ones.",
            ),
            Mistake("b", "b does print them, but it isn't the only one."),
            Mistake("d", "d does print them, but it isn't the only one."),
        ],
        hints=[
            "For each line: which sums are 1 after softmax, those of the rows or those of the columns? And which "
            "of them does the line print?",
            "The scores are symmetric, so scores.T is the same table.",
            "Try the four lines in a cell of your own.",
        ],
    ),
)
