"""Exercises of lesson 12: LayerNorm, the residual, an induction score, and which head is which."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_layer_norm(x, gamma, beta):
    mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gamma * (x - mean) / (variance + 1e-5).sqrt() + beta


def my_score(weights, length):
    T = weights.shape[0]
    queries = torch.arange(length, T)
    return weights[queries, queries - length + 1].mean()


def _tokens(*shape, scale=1.0):
    d = shape[-1]
    return lambda g: (
        scale * torch.randn(*shape, generator=g) + 1,
        torch.rand(d, generator=g) + 0.5,
        torch.randn(d, generator=g),
    )


def _table(T, length):
    return lambda g: (torch.softmax(torch.randn(T, T, generator=g), dim=-1), length)


def _normed(x, dim=-1, correction=0, eps=1e-5):
    variance = x.var(dim=dim, keepdim=True, correction=correction)
    return (x - x.mean(dim=dim, keepdim=True)) / (variance + eps).sqrt()


def _mean_at(offset):
    def score(weights, length):
        queries = torch.arange(length, weights.shape[0])
        return weights[queries, queries - length + 1 + offset].mean()

    return score


exercise = Exercises(
    layer_norm=Task(
        my_layer_norm,
        show=("x", "gamma", "beta"),
        cases={
            "two tokens": lambda g: (
                torch.tensor([[1.0, 2.0, 6.0], [10.0, 20.0, 60.0]]),
                torch.ones(3),
                torch.zeros(3),
            ),
            "gamma and beta": _tokens(2, 3),
            "one token": _tokens(1, 5),
            "square": _tokens(4, 4),
            "a batch": _tokens(2, 3, 6),
            "small numbers": _tokens(3, 4, scale=0.003),
            "large numbers": _tokens(3, 4, scale=1000.0),
            "a batch of batches": _tokens(2, 2, 3, 4),
        },
        right="Each token has its own mean and its own variance, over its d numbers; gamma and beta come last.",
        mistakes=[
            Mistake(
                lambda x, gamma, beta: gamma * _normed(x, dim=-2) + beta,
                "you normalise along the tokens: each token must be normalised by itself, along the last dimension.",
            ),
            Mistake(
                lambda x, gamma, beta: gamma * _normed(x, correction=1) + beta,
                "you divide by d - 1: torch's var does that unless told correction=0.",
            ),
            Mistake(
                lambda x, gamma, beta: (
                    gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5) + beta
                ),
                "you divide by the variance: take its square root first.",
            ),
            Mistake(
                lambda x, gamma, beta: (
                    gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + 1e-5) + beta
                ),
                "epsilon belongs under the root, beside the variance; it shows where the numbers are small.",
            ),
            Mistake(
                lambda x, gamma, beta: (
                    gamma * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0) + beta
                ),
                "epsilon is missing; it shows where the numbers are small.",
            ),
            Mistake(lambda x, gamma, beta: _normed(x), "gamma and beta are missing."),
            Mistake(
                lambda x, gamma, beta: gamma * (_normed(x) + beta),
                "gamma multiplies beta as well: multiply first, then add.",
            ),
            Mistake(
                lambda x, gamma, beta: gamma * x / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt() + beta,
                "the mean is not subtracted.",
            ),
            Mistake(
                lambda x, gamma, beta: (
                    gamma * (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt() + beta if x.numel() > 1 else x
                ),
                "there is one mean for all tokens: keep one per token, with dim=-1 and keepdim=True.",
            ),
        ],
        hints=[
            "Mean and variance of each token: along dim=-1, with keepdim=True, so that they can be subtracted.",
            "The variance with correction=0; then add 1e-5 and take the root.",
            "gamma * (x - mean) / (variance + 1e-5).sqrt() + beta",
        ],
    ),
    residual=Question(
        'my_line = "c"',
        right="The token goes on unchanged, and the part, which sees it normalised, adds what it found.",
        form="a letter, one of a, b, c and d",
        mistakes=[
            Mistake("a", "that is post-norm: the LayerNorm stands after the sum."),
            Mistake("b", "nothing is added: after a few layers all that the token was is lost."),
            Mistake("d", "the residual would be normalised, too: then the token itself is changed at every step."),
        ],
        hints=[
            "Pre-norm: the LayerNorm stands before the part. What stands before the plus sign?",
            "The path around the part has nothing on it.",
        ],
    ),
    score=Task(
        my_score,
        show=("weights", "length"),
        cases={
            "four tokens, blocks of two": lambda g: (torch.arange(16.0).reshape(4, 4) / 100, 2),
            "two blocks": _table(8, 4),
            "a block and a half": _table(9, 6),
            "many blocks": _table(12, 3),
            "one query": _table(6, 5),
            "a block of one": _table(5, 1),
        },
        right="Each query t from length on counts with its weight on t - length + 1, and so does no other.",
        mistakes=[
            Mistake(
                _mean_at(-1),
                "that is the earlier copy of the letter itself: what came after it stands one place further on.",
            ),
            Mistake(
                lambda weights, length: weights.diagonal(-1).mean(),
                "that is the weight on the token before, over all queries.",
            ),
            Mistake(
                lambda weights, length: weights.diagonal(-(length - 1)).mean(),
                "a query too many: the one at length - 1 has no earlier copy yet. Begin at length.",
            ),
            Mistake(
                lambda weights, length: weights.diagonal(-(length - 1))[1:].sum(),
                "you add the weights up: take their mean.",
            ),
            Mistake(
                lambda weights, length: weights.diagonal(length - 1).mean(),
                "rows are queries, columns are keys: you look ahead, to the right of the diagonal.",
            ),
        ],
        hints=[
            "Which queries count? torch.arange(length, T). Which key does each of them need?",
            "weights[queries, keys] with two rows of numbers picks one cell per pair.",
            "The keys are queries - length + 1; then .mean().",
        ],
    ),
    heads=Question(
        'my_heads = "b"',
        right="Head 1 is the one of the first layer, head 0 the induction head of the second.",
        form="a letter, one of a, b, c and d",
        mistakes=[
            Mistake("a", "the other way round: head 1 puts 0.90 on c, the letter before the last d."),
            Mistake("c", "head 1 is right. The earlier copy of d is the fourth letter; head 0 looks one further."),
            Mistake("d", "head 1 does. Head 0 puts 0.83 on a, three letters before the last."),
        ],
        hints=[
            "The last letter is d. Where did it stand before, and what came after it?",
            "Head 0 has its largest weight on the second a: the letter after the first d.",
        ],
    ),
)
