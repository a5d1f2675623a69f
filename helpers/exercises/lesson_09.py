"""Exercises of lesson 09: a causal mask, masked weights, and a test for leaks."""

import torch
import torch.nn.functional as F

from .checking import Exercises, Mistake, Task


def my_causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool).tril()  # True = keep


def my_causal_weights(scores):
    T = scores.shape[-1]
    keep = torch.ones(T, T, dtype=torch.bool).tril()
    masked = scores.masked_fill(~keep, -torch.inf)
    return torch.softmax(masked, dim=-1)  # (..., T, T)


def my_leaks(attend, x):
    before = attend(x)
    for j in range(1, len(x)):
        changed = x.clone()
        changed[j] += 3.0
        after = attend(changed)[:j]
        if not torch.allclose(after, before[:j], atol=1e-5, equal_nan=True):
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


def _divided(scores):
    cut = _cut(scores).to(scores.dtype)
    return cut / cut.sum(dim=-1, keepdim=True)


def _by_exp(scores):
    shares = scores.exp() * torch.ones(*scores.shape[-2:]).tril().to(scores.dtype)
    return shares / shares.sum(dim=-1, keepdim=True)


def causal_attention(x):
    """Attention with a causal mask, from x to x."""
    return my_causal_weights(x @ x.T) @ x


def strictly_before(x):
    """Attention in which a token sees what comes before it, and not itself: the first row is nan."""
    return _masked(lambda ones: ones.tril(-1))(x @ x.T) @ x


def cut_after_softmax(x):
    """Attention whose weights are cut after softmax and not divided again: it leaks through the sum."""
    return _cut(x @ x.T) @ x


def so_far(x):
    """The mean of each token and those before it."""
    return x.cumsum(dim=0) / torch.arange(1, len(x) + 1)[:, None]


def everything(x):
    """The mean of all tokens, for each."""
    return x.mean(dim=0).expand_as(x)


def one_too_many(x):
    """For each token the next one."""
    return torch.cat([x[1:], x[-1:]])


def _leaky(source, target, sign=1.0):
    """A function in which a token leaks into an earlier one, and nothing else moves what it should not."""

    def attend(x):
        moved = x.clone()
        moved[target] += sign * x[source]
        return moved

    attend.__doc__ = f"x, with token {source} {'added to' if sign > 0 else 'taken from'} token {target}"
    return attend


def cancelling(x):
    """x, with the sum of its last token added to one number of the first and taken from the other."""
    leak = x[-1].sum() * torch.tensor([1.0, -1.0])
    return torch.cat([x[:1] + leak, x[1:]])


def one_number(read, write):
    """A leak from one number of the last token into one number of the first."""

    def attend(x):
        moved = x.clone()
        moved[0, write] += x[-1, read]
        return moved

    attend.__doc__ = f"x, with number {read} of its last token added to number {write} of the first"
    return attend


def alone(x):
    """Twice each token."""
    return 2 * x


def only_before(x):
    """The mean of the tokens before each."""
    return torch.cat([torch.zeros_like(x[:1]), so_far(x)[:-1]])


def tiny_leak(x):
    """The mean of each token and those before it, and a thousandth of the mean of all."""
    return so_far(x) + 0.001 * x.mean(dim=0)


def _tokens(attend, T=4):
    return lambda g: (attend, torch.randn(T, 2, generator=g))


def _leaks(changes=lambda T: range(1, T), rows=slice, value=None, equal_nan=True):
    """A test with a single thing changed: which tokens it changes, which rows it compares, or what it sets."""

    def test(attend, x):
        before = attend(x)
        for j in changes(len(x)):
            changed = x.clone()
            changed[j] = changed[j] + 3.0 if value is None else value
            part = rows(j)
            if not torch.allclose(attend(changed)[part], before[part], atol=1e-5, equal_nan=equal_nan):
                return True
        return False

    return test


def _by_columns(attend, x):
    before = attend(x)
    for j in range(1, len(x)):
        changed = x.clone()
        changed[:, j] += 3.0
        if not torch.allclose(attend(changed)[:j], before[:j], atol=1e-5, equal_nan=True):
            return True
    return False


exercise = Exercises(
    mask=Task(
        my_causal_mask,
        show=("T",),
        axes=("query", "key"),
        cases={f"T = {T}": lambda g, T=T: (T,) for T in (1, 2, 3, 6, 9)},
        right="True where a token may look: at itself and at what came before.",
        mistakes=[
            Mistake(
                lambda T: torch.ones(T, T, dtype=torch.bool).triu(1),
                "your mask is the wrong way round: True for what is to be hidden. Here True means keep.",
            ),
            Mistake(
                lambda T: torch.ones(T, T, dtype=torch.bool).triu(),
                "the triangle is upside down: each token would see only itself and the future.",
            ),
            Mistake(
                lambda T: torch.ones(T, T, dtype=torch.bool).tril(-1),
                "the diagonal is missing: the first token would have nothing to look at.",
            ),
            Mistake(
                lambda T: torch.ones(T, T, dtype=torch.bool).tril(1),
                "one column too many: each token sees the next one.",
            ),
            Mistake(
                lambda T: torch.ones(T, T).tril(),
                "the numbers are right, but a mask holds True and False: dtype=torch.bool.",
            ),
            Mistake(
                lambda T: torch.full((T, T), -torch.inf).triu(1),
                "this is the kind of mask that is added to scores. Here a mask holds True for keep and False for hide.",
            ),
            Mistake(lambda T: torch.ones(T, T, dtype=torch.bool), "nothing is hidden: everything is True."),
            Mistake(lambda T: torch.eye(T).bool(), "each token sees itself only. It may see what came before it, too."),
        ],
        hints=[
            "A table of True, with everything above the diagonal cleared.",
            "torch.ones(T, T, dtype=torch.bool), and then the lower triangle of it.",
        ],
    ),
    weights=Task(
        my_causal_weights,
        show=("scores",),
        axes=("query", "key"),
        cases={
            "two tokens": lambda g: (torch.tensor([[1.0, 2.0], [0.0, 1.0]]),),
            "one token": lambda g: (torch.randn(1, 1, generator=g),),
            "four tokens": lambda g: (torch.randn(4, 4, generator=g),),
            "all scores equal": lambda g: (torch.zeros(3, 3),),
            "large scores": lambda g: (500 * torch.randn(3, 3, generator=g),),
            "seven tokens": lambda g: (torch.randn(7, 7, generator=g),),
            "a huge score in the future": lambda g: (torch.tensor([[-1000.0, 1000.0], [0.0, 0.0]]),),
            "a batch": lambda g: (torch.randn(2, 3, 3, generator=g),),
            "a batch of heads": lambda g: (torch.randn(2, 3, 4, 4, generator=g),),
            "float64": lambda g: (torch.randn(3, 3, generator=g).double(),),
            "scores that are to be trained": lambda g: (torch.randn(3, 3, generator=g, requires_grad=True),),
        },
        right="Each row is a distribution over what the token may see.",
        mistakes=[
            Mistake(
                _masked(torch.tril, value=0.0),
                "a score of 0 hides nothing: exp(0) is 1. The score must be minus infinity.",
            ),
            Mistake(
                lambda s: _cut(s).to(s.dtype), "the weights are cut after softmax, and the rows no longer sum to 1."
            ),
            Mistake(
                _divided,
                "where a row's own scores are far below those of the future, the cut leaves 0, and 0 / 0 is nan. Mask"
                " before softmax, with minus infinity.",
            ),
            Mistake(
                lambda s: F.normalize(_cut(s).to(s.dtype), p=1, dim=-1),
                "where a row's own scores are far below those of the future, the cut leaves a row of 0. Mask before "
                "softmax, with minus infinity.",
            ),
            Mistake(
                _by_exp,
                "exp of a large score is infinite, and inf / inf is nan. torch.softmax, with minus infinity where the"
                " key comes later, avoids that.",
            ),
            Mistake(
                _masked(lambda ones: ones.triu(1)),
                "masked_fill hides where its mask is True, so it needs what is to be hidden: ~keep.",
            ),
            Mistake(_masked(lambda ones: ones), "nothing is hidden."),
            Mistake(
                lambda s: torch.softmax(s, dim=-1).masked_fill(
                    ~torch.ones(*s.shape[-2:], dtype=torch.bool).tril(), -torch.inf
                ),
                "minus infinity is a score, not a weight: mask before softmax, which turns it into 0.",
            ),
            Mistake(
                lambda s: s.masked_fill(~torch.ones(*s.shape[-2:], dtype=torch.bool).tril(), -torch.inf),
                "these are the masked scores. Softmax turns them into weights.",
            ),
            Mistake(_masked(torch.triu), "the triangle is upside down: each token sees only itself and the future."),
            Mistake(_masked(lambda ones: ones.tril(1)), "one column too many: each token sees the next one."),
            Mistake(
                _masked(lambda ones: ones.tril(-1)),
                "the diagonal is hidden too, so the first token sees nothing, and its row is nan.",
            ),
            Mistake(_masked(torch.tril, dim=-2), "softmax runs over the queries. The key axis is dim=-1."),
            Mistake(
                _masked(torch.tril, dim=0),
                "softmax runs along the first dimension, dim=0. The key axis is dim=-1.",
            ),
            Mistake(
                _masked(torch.tril, dim=1), "dim=1 is the key axis only where there is no batch. dim=-1 always is."
            ),
            Mistake(
                _masked(torch.tril, value=-100.0),
                "-100 is not small enough: large scores still get through. It must be minus infinity.",
            ),
            Mistake(
                _masked(torch.tril, value=-10.0),
                "a number such as -10 hides little: large scores still get through. It must be minus infinity.",
            ),
        ],
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
            "causal attention": _tokens(causal_attention),
            "attention with a row of nan": _tokens(strictly_before),
            "a single token": _tokens(so_far, T=1),
            "a mean of everything": _tokens(everything),
            "the next token": _tokens(one_too_many),
            "a leak from the last token into the first": _tokens(_leaky(4, 0), T=5),
            "a leak from the second token into the first": _tokens(_leaky(1, 0), T=5),
            "a leak from the third token into the second": _tokens(_leaky(2, 1), T=5),
            "a leak from the fourth token into the third": _tokens(_leaky(3, 2), T=6),
            "a leak with a minus": _tokens(_leaky(2, 1, sign=-1.0), T=4),
            "a leak that cancels in the sum": _tokens(cancelling),
            "a leak into the second number": _tokens(one_number(0, 1)),
            "a leak from the second number": _tokens(one_number(1, 0)),
            "a leak from a token of zeros": lambda g: (_leaky(2, 1), torch.zeros(4, 2)),
            "weights cut after softmax": _tokens(cut_after_softmax),
            "a small leak": _tokens(tiny_leak),
            "two tokens, and the mean of both": _tokens(everything, T=2),
        },
        right="It finds a leak from any token to any earlier one.",
        mistakes=[
            Mistake(
                _leaks(lambda T: [T - 1]),
                "only the last token is changed, or only the last round of the loop counts. A leak from any other "
                "token goes unnoticed.",
            ),
            Mistake(
                _leaks(lambda T: range(1, min(T, 2))),
                "only the second token is changed, or the first round of the loop decides. A leak from any other "
                "token goes unnoticed: return False after the loop.",
            ),
            Mistake(
                _leaks(rows=lambda j: slice(1)),
                "you look only at the first token. A leak into any other goes unnoticed.",
            ),
            Mistake(_leaks(rows=lambda j: slice(j - 1, j)), "you look only at the token just before the changed one."),
            Mistake(
                _leaks(lambda T: range(T), lambda j: slice(None)),
                "the changed token itself, and those after it, may move. Only those before it may not.",
            ),
            Mistake(
                _leaks(rows=lambda j: slice(None)),
                "the changed token may move, and so may those after it. Compare only the rows before it: [:j].",
            ),
            Mistake(
                _leaks(lambda T: range(T), lambda j: slice(j + 1)),
                "the changed token itself may move. Compare only the rows before it: [:j].",
            ),
            Mistake(
                _leaks(rows=lambda j: slice(j + 1)),
                "the changed token may move. Only the rows before it may not: [:j].",
            ),
            Mistake(
                _leaks(equal_nan=False),
                "nan is not equal to nan, so a row that is nan before and after counts as moved: equal_nan=True.",
            ),
            Mistake(
                _leaks(value=torch.nan),
                "nan gets through a weight of 0, since 0 times nan is nan. Change a token by a number.",
            ),
            Mistake(
                _leaks(value=0.0), "setting a token to 0 changes nothing where it is 0 already. Add something to it."
            ),
            Mistake(
                lambda attend, x: False, "you say no to everything. Change a token, and compare what comes before it."
            ),
            Mistake(
                _leaks(rows=lambda j: slice(j + 1, None)),
                "you look at the tokens after the changed one, which may move. Those before it may not: [:j].",
            ),
            Mistake(_by_columns, "you change a column. A token is a row: changed[j]."),
            Mistake(lambda attend, x: not my_leaks(attend, x), "it's the other way round: True means that it leaks."),
        ],
        hints=[
            "Change one token after the other, and see whether anything before it moves.",
            "Make a copy with x.clone(), change row j of it a good deal, and compare the rows [:j] of both results.",
            "For each j from 1 on it leaks if not torch.allclose(attend(changed)[:j], before[:j], atol=1e-5, "
            "equal_nan=True).",
        ],
    ),
)
