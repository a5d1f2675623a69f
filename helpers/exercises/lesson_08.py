"""Exercises of lesson 08: the loss, by hand and at the start."""

import torch

from .exercise import Exercises, Question, Task


def my_loss(logits, targets):
    logs = torch.log_softmax(logits, dim=-1)  # (N, V)
    chosen = logs[torch.arange(len(targets)), targets]  # (N,): the logarithm of the right token's share
    return -chosen.mean()


def _batch(N, V, scale=1.0):
    return lambda g: (scale * torch.randn(N, V, generator=g), torch.randint(V, (N,), generator=g))


def _shares(logits, targets, dim=-1):
    return torch.softmax(logits, dim=dim)[torch.arange(len(targets)), targets]


exercise = Exercises(
    loss=Task(
        my_loss,
        show=("logits", "targets"),
        cases={
            "one token of two": lambda g: (torch.tensor([[1.0, 2.0]]), torch.tensor([0])),
            "three tokens of four": _batch(3, 4),
            "square logits": _batch(5, 5),
            "equal logits": lambda g: (torch.zeros(2, 8), torch.tensor([3, 7])),
            "large logits": _batch(4, 3, scale=500.0),
            "very sure and wrong": lambda g: (torch.tensor([[500.0, 0.0]]), torch.tensor([1])),
            "very sure and right": lambda g: (torch.tensor([[50.0, 0.0]]), torch.tensor([0])),
            "float64": lambda g: (torch.randn(2, 3, generator=g).double(), torch.tensor([2, 0])),
        },
        right="It is what F.cross_entropy computes.",
        mistakes={
            "it is the share of the right token. The loss is minus its logarithm.": lambda x, t: _shares(x, t).mean(),
            "the minus sign is missing: a logarithm of a share is negative, and a loss should be small when all is "
            "right.": lambda x, t: -my_loss(x, t),
            "it is the sum over the tokens. The loss is their mean, so that it does not depend on their "
            "number.": lambda x, t: my_loss(x, t) * len(t),
            "softmax runs along the tokens of the batch. It must run along the vocabulary, dim=-1.": lambda x, t: (
                -_shares(x, t, dim=0).log().mean()
            ),
            "for large logits a share becomes 0, and its logarithm is -inf. torch.log_softmax does both steps without "
            "that.": lambda x, t: -_shares(x, t).log().mean(),
            "the mean goes over the whole vocabulary. Only the right token counts.": lambda x, t: (
                -torch.log_softmax(x, dim=-1).mean()
            ),
            "it is the logarithm of the mean. The loss is the mean of the logarithms.": lambda x, t: (
                -_shares(x, t).mean().log()
            ),
        },
        hints=[
            "Softmax turns each row of logits into shares; the loss looks at the share of the right token only.",
            "torch.log_softmax(logits, dim=-1) is the logarithm of the shares, also where they are tiny.",
            "Pick one number per row with logs[torch.arange(len(targets)), targets]; then minus, and the mean.",
        ],
    ),
    blind=Question(
        "my_blind = 2.9957  # ln 20",
        form="a number",
        right="a blind guess among 20 gives each a probability of 1/20, and -ln(1/20) is ln 20 = 2.9957.",
        mistakes={
            "1/20 is the probability of the right letter. The loss is minus its natural logarithm.": 1 / 20,
            "that is the logarithm to base 2. The loss uses the natural one.": 4.3219,
            "that is the logarithm to base 10. The loss uses the natural one.": 1.3010,
            "20 is the number of letters. The loss is minus the logarithm of the probability of the right one.": 20,
            "the logarithm of 1/20 is negative, and the loss is minus that.": -2.9957,
            "that is ln 8, for eight letters. Here there are 20.": 2.0794,
            "19/20 is how often a blind guess is wrong. The loss is another number.": 19 / 20,
        },
        hints=[
            "What probability does a model that knows nothing give to each of 20 letters?",
            "The loss is minus the natural logarithm of that: math.log.",
        ],
    ),
)
