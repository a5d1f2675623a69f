"""Exercises of lesson 09: a causal mask, masked weights, and a test for leaks."""

import torch

from .exercise import Exercises, Task


def my_causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool).tril()  # True = keep


def my_causal_weights(scores):
    T = scores.shape[-1]
    keep = torch.ones(T, T, dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~keep, -torch.inf), dim=-1)  # (..., T, T)


def my_leaks(attend, x):
    before = attend(x)
    for j in range(1, len(x)):
        changed = x.clone()
        changed[j] += 3.0
        if not torch.allclose(attend(changed)[:j], before[:j], atol=1e-5):
            return True
    return False


def _masked(keep_of, value=-torch.inf, dim=-1):
    """Weights by a mask of another kind."""

    def weigh(scores):
        keep = keep_of(torch.ones(*scores.shape[-2:], dtype=torch.bool))
        return torch.softmax(scores.masked_fill(~keep, value), dim=dim)

    return weigh


def _cut(scores):
    return torch.softmax(scores, dim=-1) * torch.ones(*scores.shape[-2:]).tril()


def so_far(x):
    """The mean of each token and those before it."""
    return x.cumsum(dim=0) / torch.arange(1, len(x) + 1)[:, None]


def everything(x):
    return x.mean(dim=0).expand_as(x)


def one_too_many(x):
    return torch.cat([x[1:], x[-1:]])


def last_to_first(x):
    return torch.cat([x[:1] + x[-1:], x[1:]])


def second_to_first(x):
    return torch.cat([x[:1] + x[1:2], x[1:]])


def third_to_second(x):
    return torch.cat([x[:1], x[1:2] + x[2:3], x[2:]])


def alone(x):
    return 2 * x


def only_before(x):
    return torch.cat([torch.zeros_like(x[:1]), so_far(x)[:-1]])


def tiny_leak(x):
    return so_far(x) + 0.01 * x.mean(dim=0)


def _tokens(attend, T=4):
    return lambda g: (attend, torch.randn(T, 2, generator=g))


def _leaks(changes, rows):
    """A test that changes only some tokens, or looks at other rows."""

    def test(attend, x):
        before = attend(x)
        for j in changes(len(x)):
            changed = x.clone()
            changed[j] += 3.0
            part = rows(j)
            if not torch.allclose(attend(changed)[part], before[part], atol=1e-5):
                return True
        return False

    return test


exercise = Exercises(
    mask=Task(
        my_causal_mask,
        show=("T",),
        cases={f"T = {T}": lambda g, T=T: (T,) for T in (1, 2, 3, 6)},
        right="True where a token may look: at itself and at what came before.",
        mistakes={
            "your mask is turned around: True for what is to be hidden. Here True means keep.": lambda T: torch.ones(
                T, T, dtype=torch.bool
            ).triu(1),
            "the triangle is upside down: each token would see only itself and the future.": lambda T: torch.ones(
                T, T, dtype=torch.bool
            ).triu(),
            "the diagonal is missing: the first token would have nothing to look at.": lambda T: torch.ones(
                T, T, dtype=torch.bool
            ).tril(-1),
            "one column too many: each token sees the next one.": lambda T: torch.ones(T, T, dtype=torch.bool).tril(1),
            "the numbers are right, but a mask holds True and False: dtype=torch.bool.": lambda T: torch.ones(
                T, T
            ).tril(),
        },
        hints=[
            "A table of True, with everything above the diagonal cleared.",
            "torch.ones(T, T, dtype=torch.bool), and then the lower triangle of it.",
        ],
    ),
    weights=Task(
        my_causal_weights,
        show=("scores",),
        cases={
            "two tokens": lambda g: (torch.tensor([[1.0, 2.0], [0.0, 1.0]]),),
            "one token": lambda g: (torch.randn(1, 1, generator=g),),
            "four tokens": lambda g: (torch.randn(4, 4, generator=g),),
            "all scores equal": lambda g: (torch.zeros(3, 3),),
            "large scores": lambda g: (500 * torch.randn(3, 3, generator=g),),
            "a huge score in the future": lambda g: (torch.tensor([[-1000.0, 1000.0], [0.0, 0.0]]),),
            "a batch": lambda g: (torch.randn(2, 3, 3, generator=g),),
            "a batch of heads": lambda g: (torch.randn(2, 3, 4, 4, generator=g),),
            "float64": lambda g: (torch.randn(3, 3, generator=g).double(),),
        },
        right="Each row is a distribution over what the token may see.",
        mistakes={
            "a score of 0 hides nothing: exp(0) is 1. The score must be minus infinity.": _masked(
                torch.tril, value=0.0
            ),
            "the weights are cut after softmax, and the rows no longer sum to 1.": lambda s: _cut(s).to(s.dtype),
            "where a row's own scores are far below those of the future, the cut leaves 0, and 0 / 0 is nan. Mask "
            "before softmax, with minus infinity.": lambda s: (
                _cut(s).to(s.dtype) / _cut(s).sum(dim=-1, keepdim=True).to(s.dtype)
            ),
            "nothing is hidden.": _masked(lambda ones: ones),
            "the triangle is upside down: each token sees only itself and the future.": _masked(torch.triu),
            "one column too many: each token sees the next one.": _masked(lambda ones: ones.tril(1)),
            "the diagonal is hidden too, so the first token sees nothing, and its row is nan.": _masked(
                lambda ones: ones.tril(-1)
            ),
            "softmax runs over the queries. Along the key axis it is dim=-1.": _masked(torch.tril, dim=-2),
            "a number such as -10 hides little: large scores still get through. It must be minus infinity.": _masked(
                torch.tril, value=-10.0
            ),
        },
        hints=[
            "Before softmax, put minus infinity wherever the key comes after the query.",
            "scores.masked_fill(hide, -torch.inf), where hide is True above the diagonal.",
            "keep = torch.ones(T, T, dtype=torch.bool).tril(), and hide is ~keep; then torch.softmax(..., dim=-1).",
        ],
    ),
    leaks=Task(
        my_leaks,
        show=("attend", "x"),
        cases={
            "a running mean": _tokens(so_far),
            "every token by itself": _tokens(alone),
            "only what came before": _tokens(only_before),
            "a single token": _tokens(so_far, T=1),
            "a mean of everything": _tokens(everything),
            "the next token": _tokens(one_too_many),
            "the last token leaks into the first": _tokens(last_to_first, T=5),
            "the second token leaks into the first": _tokens(second_to_first, T=5),
            "the third token leaks into the second": _tokens(third_to_second, T=5),
            "a small leak": _tokens(tiny_leak),
            "two tokens, leaking": _tokens(everything, T=2),
        },
        right="It finds a leak from any token to any earlier one.",
        mistakes={
            "only the last token is changed. A leak from another one is not found.": _leaks(
                lambda T: [T - 1], lambda j: slice(0, j)
            ),
            "only the second token is changed. A leak from another one is not found.": _leaks(
                lambda T: range(1, min(T, 2)), lambda j: slice(0, j)
            ),
            "it looks only at the first token. A leak into another one is not found.": _leaks(
                lambda T: range(1, T), lambda j: slice(0, 1)
            ),
            "it looks only at the token just before the changed one.": _leaks(
                lambda T: range(1, T), lambda j: slice(j - 1, j)
            ),
            "the changed token itself, and those after it, may move. Only those before it may not.": _leaks(
                lambda T: range(T), lambda j: slice(None)
            ),
            "the changed token itself may move. Compare only the rows before it: [:j].": _leaks(
                lambda T: range(T), lambda j: slice(0, j + 1)
            ),
            "the other way round: True means that it leaks.": lambda attend, x: not my_leaks(attend, x),
        },
        hints=[
            "Change one token after the other, and see whether anything before it moves.",
            "Make a copy with x.clone(), change row j of it a good deal, and compare the rows [:j] of both results.",
            "For each j from 1 on: if not torch.allclose(attend(changed)[:j], before[:j], atol=1e-5), it leaks.",
        ],
    ),
)
