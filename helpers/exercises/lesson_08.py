"""Exercises of lesson 08: the loss, by hand and at the start."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_loss(logits, targets):
    logs = torch.log_softmax(logits, dim=-1)  # (N, letters)
    # The logarithm of the right letter's probability, (N,)
    chosen = logs[torch.arange(len(targets)), targets]
    return -chosen.mean()


def _batch(N, letters, scale=1.0):
    return lambda g: (scale * torch.randn(N, letters, generator=g), torch.randint(letters, (N,), generator=g))


def _chosen(table, targets):
    return table[torch.arange(len(targets)), targets]


def _probabilities(logits, targets, dim=-1):
    return _chosen(torch.softmax(logits, dim=dim), targets)


exercise = Exercises(
    loss=Task(
        my_loss,
        show=("logits", "targets"),
        cases={
            "one row, two letters": lambda g: (torch.tensor([[1.0, 2.0]]), torch.tensor([0])),
            "three rows, four letters": _batch(3, 4),
            "square logits": _batch(5, 5),
            "equal logits": lambda g: (torch.zeros(2, 8), torch.tensor([3, 7])),
            "large logits": _batch(4, 3, scale=500.0),
            "a model that is very sure, and wrong": lambda g: (torch.tensor([[500.0, 0.0]]), torch.tensor([1])),
            "a model that is very sure, and right": lambda g: (torch.tensor([[50.0, 0.0]]), torch.tensor([0])),
            "float64": lambda g: (torch.randn(2, 3, generator=g).double(), torch.tensor([2, 0])),
            "logits that are to be trained": lambda g: (
                torch.randn(3, 5, generator=g, requires_grad=True),
                torch.tensor([2, 0, 4]),
            ),
        },
        right="It is what F.cross_entropy computes.",
        mistakes=[
            Mistake(
                lambda x, t: _probabilities(x, t).mean(),
                "that is the probability of the right letter. The loss is minus its logarithm.",
            ),
            Mistake(
                lambda x, t: -my_loss(x, t),
                "the minus sign is missing: the logarithm of a probability is negative, and a loss should be "
                "small when all is right.",
            ),
            Mistake(
                lambda x, t: my_loss(x, t) * len(t),
                "that is the sum over the rows. The loss is their mean, so that it doesn't depend on how many "
                "there are.",
            ),
            Mistake(
                lambda x, t: -_probabilities(x, t, dim=0).log().mean(),
                "softmax runs over the rows. It must run over the letters, dim=-1.",
            ),
            Mistake(
                lambda x, t: -_chosen(torch.log_softmax(x, dim=0), t).mean(),
                "log_softmax runs over the rows. It must run over the letters, dim=-1.",
            ),
            Mistake(
                lambda x, t: -_probabilities(x, t).log().mean(),
                "for large logits a probability becomes 0, and its logarithm is -inf. torch.log_softmax does both "
                "steps without that.",
            ),
            Mistake(
                lambda x, t: -_chosen(x.exp() / x.exp().sum(dim=-1, keepdim=True), t).log().mean(),
                "for large logits exp is infinite, and inf / inf is nan. torch.log_softmax avoids that.",
            ),
            Mistake(
                lambda x, t: -(_probabilities(x, t) + 1e-9).log().mean(),
                "a small number added to the probability makes its logarithm finite, and wrong. torch.log_softmax "
                "doesn't need one.",
            ),
            Mistake(
                lambda x, t: -torch.log_softmax(x, dim=-1).mean(),
                "you take the mean over all letters. Only the right one counts.",
            ),
            Mistake(
                lambda x, t: -torch.log_softmax(x, dim=-1)[:, t].mean(),
                "logs[:, targets] takes the columns of all targets from every row. logs[torch.arange(N), targets] "
                "takes one number from each row.",
            ),
            Mistake(
                lambda x, t: -_probabilities(x, t).mean().log(),
                "that is the logarithm of the mean. The loss is the mean of the logarithms.",
            ),
            Mistake(
                lambda x, t: -_chosen(x, t).mean(), "these are the logits themselves. torch.log_softmax comes first."
            ),
            Mistake(
                lambda x, t: my_loss(torch.softmax(x, dim=-1), t),
                "softmax runs twice: what comes out of it are no longer logits.",
            ),
            Mistake(
                lambda x, t: -_probabilities(x, t).mean(),
                "the logarithm is missing: the loss is minus the logarithm of the probability of the right letter.",
            ),
            Mistake(
                lambda x, t: 1 - _probabilities(x, t).mean(),
                "that is 1 minus the probability of the right letter. The loss is minus its logarithm.",
            ),
            *[
                Mistake(
                    wrong, "the loss uses the natural logarithm, and torch.log_softmax, since a probability may be 0."
                )
                for wrong in (
                    lambda x, t: -_probabilities(x, t).log2().mean(),
                    lambda x, t: -_probabilities(x, t).log10().mean(),
                )
            ],
            Mistake(
                lambda x, t: my_loss(x, t) / x.shape[-1],
                "you divide by the number of all entries, rows times letters. The loss is a mean over the N rows.",
            ),
            Mistake(
                lambda x, t: -_chosen(torch.log_softmax(x, dim=-1), t),
                "that is a loss for each row. Take their mean, which is one number.",
            ),
        ],
        hints=[
            "Softmax turns each row of logits into probabilities; the loss looks at that of the right letter only.",
            "torch.log_softmax(logits, dim=-1) is the logarithm of the probabilities, even where they are tiny.",
            "Pick one number per row with logs[torch.arange(len(targets)), targets]; then take minus their mean.",
        ],
    ),
    blind=Question(
        "my_blind = 2.9957  # ln 20",
        form="a number",
        accept=lambda answer: abs(float(answer) - 2.9957) < 0.006,  # 3.00, as two decimals
        right="a blind guess among 20 gives each a probability of 1/20, and -ln(1/20) is ln 20 = 2.9957.",
        mistakes=[
            Mistake(1 / 20, "1/20 is the probability of the right letter. The loss is minus its natural logarithm."),
            Mistake(4.3219, "that is the logarithm to base 2. The loss uses the natural one."),
            Mistake(1.3010, "that is the logarithm to base 10. The loss uses the natural one."),
            Mistake(
                20, "20 is the number of letters. The loss is minus the logarithm of the probability of the right one."
            ),
            Mistake(-2.9957, "the logarithm of 1/20 is negative, and the loss is minus that."),
            Mistake(2.0794, "that is ln 8, for eight letters. Here there are 20."),
            Mistake(19 / 20, "19/20 is how often a blind guess is wrong. The loss is another number."),
        ],
        hints=[
            "What probability does a model that knows nothing give to each of 20 letters?",
            "The loss is minus the natural logarithm of that: math.log.",
        ],
    ),
)
