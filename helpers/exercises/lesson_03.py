"""Exercises of lesson 03: context vectors, tokens switched off, entropy, order."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_context(weights, values):
    return weights @ values  # (..., T, S) @ (..., S, d_v) -> (..., T, d_v)


def my_attention_without(inputs, off):
    scores = inputs @ inputs.T  # (T, T)
    scores[:, off] = -torch.inf  # exp(-inf) is 0, also in the sum
    return torch.softmax(scores, dim=-1) @ inputs  # (T, d)


def my_entropy(weights):
    # entr is -w ln w, and 0 for w = 0
    return torch.special.entr(weights).sum(dim=-1)  # (...)


def my_unshuffle(context_shuffled, order):
    context = torch.empty_like(context_shuffled)
    context[order] = context_shuffled  # row n belongs to place order[n]
    return context


def _weights(g, *shape):
    return torch.softmax(torch.randn(*shape, generator=g), dim=-1)


def _off(function):
    """An attention that is right but for the step of switching off, which `function` makes: scores, off -> weights."""
    return lambda inputs, off: function(inputs @ inputs.T, off) @ inputs


def _zeroed(weights, off):
    return weights.index_fill(-1, torch.tensor([off]), 0)


def _cut_and_divided(scores, off):
    weights = _zeroed(torch.softmax(scores, dim=-1), off)
    return weights / weights.sum(dim=-1, keepdim=True)


exercise = Exercises(
    context=Task(
        my_context,
        show=("weights", "values"),
        cases={
            "one query, two keys": lambda g: (torch.tensor([[0.25, 0.75]]), torch.tensor([[4.0, 0.0], [0.0, 8.0]])),
            "three queries, four keys": lambda g: (_weights(g, 3, 4), torch.randn(4, 2, generator=g)),
            "square sizes": lambda g: (_weights(g, 3, 3), torch.randn(3, 3, generator=g)),
            "one token": lambda g: (torch.ones(1, 1), torch.randn(1, 3, generator=g)),
            "a batch": lambda g: (_weights(g, 2, 3, 4), torch.randn(2, 4, 5, generator=g)),
            "large negative values": lambda g: (_weights(g, 2, 3), -1e4 * torch.rand(3, 2, generator=g)),
            "float64": lambda g: (_weights(g, 2, 3).double(), torch.randn(3, 2, generator=g).double()),
        },
        right="Row i is the sum of all values, weighted by row i of the weights.",
        mistakes=[
            Mistake(
                lambda w, v: w.transpose(-2, -1) @ v,
                "the weights are transposed: row i mixes by the attention that token i receives, not by the attention"
                " that it gives.",
            ),
            Mistake(lambda w, v: w * v, "* multiplies entry by entry. You need a sum over the keys: @."),
            Mistake(
                lambda w, v: torch.softmax(w, dim=-1) @ v,
                "softmax has run twice: what you are given are weights already, not scores.",
            ),
            Mistake(
                lambda w, v: w @ v / w.shape[-1],
                "you divide the sum by the number of keys. It is a mean already, since the weights sum to 1.",
            ),
            Mistake(lambda w, v: v @ w, "the order is reversed. Weights go on the left, values on the right."),
            Mistake(
                lambda w, v: v.mean(dim=-2, keepdim=True).expand(*w.shape[:-1], v.shape[-1]),
                "every token gets the mean of all values. The weights are not used.",
            ),
        ],
        hints=[
            "The sum over j of w_ij x_j is a product of matrices.",
            "Shapes: (T, S) times (S, d_v) gives (T, d_v).",
            "One line: weights @ ...",
        ],
    ),
    switched_off=Task(
        my_attention_without,
        show=("inputs", "off"),
        cases={
            "three tokens": lambda g: (torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 2),
            "two tokens": lambda g: (torch.randn(2, 3, generator=g), 0),
            "five tokens": lambda g: (torch.randn(5, 3, generator=g), 1),
            "square sizes": lambda g: (torch.randn(3, 3, generator=g), 1),
            "the last token": lambda g: (torch.randn(4, 2, generator=g), 3),
            "negative numbers": lambda g: (-torch.rand(4, 3, generator=g), 2),
            "two opposite tokens": lambda g: (torch.tensor([[20.0, 0.0], [-20.0, 0.0]]), 0),
            "a token that had all the weight": lambda g: (torch.tensor([[1.0, 0.0], [20.0, 0.0], [3.0, 1.0]]), 1),
            "float64": lambda g: (torch.randn(4, 2, generator=g).double(), 0),
        },
        right="Switched off for all queries, and its share goes to the others. Lesson 09 hides the future in the "
        "same way.",
        mistakes=[
            Mistake(
                _off(lambda s, off: torch.softmax(_zeroed(s, off), dim=-1)),
                "a score of 0 is not a weight of 0: exp(0) is 1, so the token still gets a share. Set the weight to "
                "0, or the score to minus infinity.",
            ),
            Mistake(
                _off(lambda s, off: _zeroed(torch.softmax(s, dim=-1), off)),
                "the rows no longer sum to 1. The share of the token must go to the others: divide each row by its "
                "new sum.",
            ),
            Mistake(
                _off(lambda s, off: torch.softmax(s, dim=-1).index_fill(-2, torch.tensor([off]), 0)),
                "you have switched off a row: the token no longer asks, but the others still attend to it. A key is a"
                " column.",
            ),
            Mistake(
                _off(_cut_and_divided),
                "right as long as the others have some weight. Where the token had all of it, 0 / 0 is left: nan. "
                "Switch it off before softmax: a score of minus infinity gets the weight 0.",
            ),
            Mistake(
                _off(lambda s, off: torch.softmax(s.index_fill(-1, torch.tensor([off]), -100.0), dim=-1)),
                "a score such as -100 doesn't switch it off: where the others are lower still, the token gets a "
                "share. It must be minus infinity.",
            ),
            Mistake(
                _off(lambda s, off: torch.softmax(s.index_fill(-2, torch.tensor([off]), -torch.inf), dim=-1)),
                "you have switched off the token as a query, a row: with minus infinity everywhere, its row is "
                "nan. A key is a column.",
            ),
            Mistake(
                lambda x, off: (lambda z: torch.softmax(z @ z.T, dim=-1) @ z)(x.index_fill(0, torch.tensor([off]), 0)),
                "an input of zeros scores 0 with every token, and exp(0) is 1: it still gets a share, and its own "
                "query is lost. Its weight must be 0.",
            ),
            Mistake(
                _off(
                    lambda s, off: torch.softmax(
                        s.index_fill(-1, torch.tensor([off]), -torch.inf).index_fill(
                            -2, torch.tensor([off]), -torch.inf
                        ),
                        dim=-1,
                    )
                ),
                "you have switched off the row of the token, too: it no longer asks, and its own result is nan.",
            ),
            Mistake(
                lambda x, off: torch.softmax((x @ x.T).index_fill(-1, torch.tensor([off]), -torch.inf), dim=-1),
                "these are the weights. The result is weights @ inputs.",
            ),
            Mistake(_off(lambda s, off: torch.softmax(s, dim=-1)), "nothing has been switched off."),
            Mistake(
                _off(lambda s, off: torch.softmax(_zeroed(torch.softmax(s, dim=-1), off), dim=-1)),
                "a second softmax isn't a division by the sum: it makes the weights nearly even, and 0 becomes a "
                "share again.",
            ),
            Mistake(
                lambda inputs, off: (lambda rest: torch.softmax(rest @ rest.T, dim=-1) @ rest)(
                    inputs[[i for i in range(len(inputs)) if i != off]]
                ),
                "the token is gone from the result, too. Switch it off as a key only; as a query it still asks.",
            ),
        ],
        hints=[
            "A key is a column of the scores, and of the weights.",
            "Which score leads to a weight of exactly 0, and adds nothing to the sum that softmax divides by?",
            "scores[:, off] = -torch.inf, then softmax, then the weighted sum.",
        ],
    ),
    entropy=Task(
        my_entropy,
        show=("weights",),
        cases={
            "half and half": lambda g: (torch.tensor([[0.5, 0.5]]),),
            "all on one key": lambda g: (torch.tensor([[0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]),),
            "four even weights": lambda g: (torch.full((2, 4), 0.25),),
            "a single row": lambda g: (torch.tensor([0.1, 0.2, 0.7]),),
            "two queries, five keys": lambda g: (_weights(g, 2, 5),),
            "square weights": lambda g: (_weights(g, 3, 3),),
            "a batch": lambda g: (_weights(g, 2, 3, 4),),
            "tiny weights": lambda g: (torch.tensor([[1e-30, 1.0]]),),
            "float64": lambda g: (_weights(g, 2, 3).double(),),
        },
        right="It is 0 where one key has everything, and ln S where all have the same.",
        mistakes=[
            Mistake(
                lambda w: -(w * w.log()).sum(dim=-1),
                "0 times the logarithm of 0 is nan in a computer. A weight of 0 must count as 0.",
            ),
            Mistake(
                lambda w: (w * w.log()).sum(dim=-1),
                "the minus sign is missing. And 0 times the logarithm of 0 is nan: a weight of 0 must count as 0.",
            ),
            Mistake(
                lambda w: -(w * w.log2()).sum(dim=-1),
                "these are bits, with the logarithm to base 2. Here it is the natural one; and a weight of 0, which "
                "gives nan, must count as 0.",
            ),
            Mistake(
                lambda w: torch.special.entr(w).sum(dim=1),
                "dim=1 is the key axis of a table, but not of a single row or of a batch. dim=-1 always is.",
            ),
            Mistake(lambda w: -torch.special.entr(w).sum(dim=-1), "the minus sign is missing."),
            Mistake(
                lambda w: torch.special.entr(w).sum(dim=-1) / torch.tensor(2.0, dtype=w.dtype).log(),
                "these are bits, with the logarithm to base 2. Here it is the natural one.",
            ),
            Mistake(
                lambda w: torch.special.entr(w).sum(),
                "you sum over everything. Each row has an entropy of its own: dim=-1.",
            ),
            Mistake(
                lambda w: torch.special.entr(w).sum(dim=0),
                "you sum down the columns. An entropy belongs to a query: dim=-1.",
            ),
            Mistake(
                lambda w: -(w * (w + 1e-3).log()).sum(dim=-1),
                "a small number inside the logarithm changes the result. A weight of 0 must add exactly 0.",
            ),
            Mistake(
                lambda w: torch.special.entr(w).mean(dim=-1), "that is the mean of the terms. An entropy is their sum."
            ),
        ],
        hints=[
            "Minus the sum of w ln w, along the key axis.",
            "What is 0 * torch.tensor(0.0).log()? Replace weights of 0 before the logarithm, or use a function "
            "that knows about them.",
            "torch.special.entr(w) is -w ln w, and 0 for 0; or torch.where(weights > 0, weights, 1).log().",
        ],
    ),
    unshuffle=Task(
        my_unshuffle,
        show=("context_shuffled", "order"),
        cases={
            "two tokens": lambda g: (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [1, 0]),
            "three tokens": lambda g: (torch.randn(3, 2, generator=g), [1, 2, 0]),
            "six tokens": lambda g: (torch.randn(6, 3, generator=g), [3, 0, 5, 1, 4, 2]),
            "already in order": lambda g: (torch.randn(3, 3, generator=g), [0, 1, 2]),
            "one token": lambda g: (torch.randn(1, 2, generator=g), [0]),
            "float64": lambda g: (torch.randn(4, 2, generator=g).double(), [2, 3, 1, 0]),
        },
        right="Row n of the shuffled table goes to place order[n].",
        mistakes=[
            Mistake(
                lambda c, order: c[order],
                "indexing with order shuffles once more. To undo it, row n must go to place order[n].",
            ),
            Mistake(
                lambda c, order: c.flip(0), "reversing the rows undoes a shuffle only if that was a reversal, too."
            ),
            Mistake(
                lambda c, order: c.clone(), "nothing has moved: row n of the shuffled table belongs to place order[n]."
            ),
        ],
        hints=[
            "context_shuffled[0] is the context vector of the token at place order[0] of the sentence.",
            "Make an empty table and fill its rows: context[order[n]] = context_shuffled[n].",
            "All rows at once: context[order] = context_shuffled. Or use torch.tensor(order).argsort() as an index.",
        ],
    ),
    hull=Question(
        'my_hull = "c"',
        form='a letter, "a", "b" or "c"',
        right="a mixture of six numbers stays between the smallest and the largest. To go beyond, something must "
        "stretch the values: a trainable matrix.",
        mistakes=[
            Mistake(
                "a", "a low temperature puts all weight on one token. That leads to an input, but never beyond it."
            ),
            Mistake(
                "b", "a longer query makes the row sharper, as a low temperature does. The weights still sum to 1."
            ),
        ],
        hints=[
            "The first numbers of the inputs lie between 0.05 and 0.77. Where does a weighted mean of them lie?",
            "Sharper weights move the context vector towards one of the inputs. Can it pass it?",
        ],
    ),
)
