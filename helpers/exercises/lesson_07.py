"""Exercises of lesson 07: a table of positions, and what tells two equal tokens apart."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_positions(T, d_model):
    place = torch.arange(T)[:, None]  # (T, 1)
    even = torch.arange(0, d_model, 2)  # 2m, (d_model / 2,)
    angle = place / 10000 ** (even / d_model)  # (T, d_model / 2)
    table = torch.empty(T, d_model)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()
    return table


def _table(angle, first=torch.sin, second=torch.cos, joined=False):
    """A table like that of the solution, with a single thing changed."""

    def make(T, d_model):
        angles = angle(torch.arange(T)[:, None], torch.arange(0, d_model, 2), d_model)
        pair = [first(angles), second(angles)]
        return torch.cat(pair, dim=1) if joined else torch.stack(pair, dim=-1).flatten(1)

    return make


def _with_own_speeds(T, d_model):
    place, column = torch.arange(T)[:, None], torch.arange(d_model)
    angle = place / 10000 ** (column / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def _run(answer, T, d_model):
    """The table; nothing is said of its type, so a more precise one is right, too."""
    table = answer(T, d_model)
    return table.float() if isinstance(table, torch.Tensor) and table.dtype == torch.float64 else table


def _pairs(answer):
    return [[float(number) for number in pair] for pair in answer]


exercise = Exercises(
    positions=Task(
        my_positions,
        run=_run,
        show=("T", "d_model"),
        axes=("place", "number"),
        cases={
            "one place": lambda g: (1, 4),
            "two places": lambda g: (2, 2),
            "three places": lambda g: (3, 4),
            "five places": lambda g: (5, 6),
            "square": lambda g: (8, 8),
            "many columns": lambda g: (4, 34),
            "a long sequence": lambda g: (100, 16),
        },
        right="Each pair of columns is a clock hand with a speed of its own.",
        mistakes=[
            Mistake(
                _table(lambda p, even, d: p / 10000 ** (even / d), joined=True),
                "all sines stand in the left half and all cosines in the right. In the formula they take turns: "
                "columns 2m and 2m + 1.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 10000 ** (even / d), torch.cos, torch.sin),
                "sine and cosine have changed places: the even columns hold the sine.",
            ),
            Mistake(
                _with_own_speeds,
                "both columns of a pair turn at the same speed: the cosine, too, has 2m in its exponent, not 2m + 1.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 10000 ** (even / d), torch.sin, torch.sin),
                "all columns are sines. The odd ones hold the cosine.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 10000 ** (even / 2 / d)),
                "the exponent is 2m / d_model, where 2m is the number of the even column itself. Yours is half of "
                "that.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 10000 ** (2 * even / d)),
                "the exponent is twice as large as it should be: 2m is the number of the even column itself.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 1000 ** (even / d)),
                "the formula has 10000 to the power of 2m / d_model. You have 1000.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 10000 ** (even // d)),
                "// drops the remainder, so the exponent is always 0. It should be a fraction: even / d_model.",
            ),
            Mistake(
                _table(lambda p, even, d: p / 10000**even / d),
                "a power comes before a division: put even / d_model in brackets.",
            ),
            Mistake(
                _table(lambda p, even, d: (p + 1) / 10000 ** (even / d)),
                "places are counted from 0. Yours start at 1.",
            ),
            Mistake(
                _table(lambda p, even, d: p * 10000 ** (even / d)),
                "you multiply by the power of 10000. Divide by it: later columns turn more slowly.",
            ),
        ],
        hints=[
            "First make the angles, a table with a row per place and a column per pair; then take their sine and "
            "cosine.",
            "torch.arange(T)[:, None] is a column of places, torch.arange(0, d_model, 2) a row with the numbers 2m.",
            "Fill an empty (T, d_model) table: table[:, 0::2] with the sines, table[:, 1::2] with the cosines.",
        ],
    ),
    added=Question(
        "my_added = [[6, 16], [6, 32]]  # only appended vectors get longer",
        form="two pairs of numbers, [[rows, columns], [rows, columns]]",
        right="only the sum keeps the size that the rest of the model was made for.",
        mistakes=[
            Mistake(
                lambda answer: _pairs(answer)[0] in ([6, 32], [12, 16]),
                "adding gives each number of a token's vector one of its position's, so the shape stays.",
            ),
            Mistake(
                lambda answer: _pairs(answer)[0] == [16, 6],
                "rows come first: 6 tokens are 6 rows, and the numbers of each stand in 16 columns.",
            ),
            Mistake(
                lambda answer: _pairs(answer)[1] == [12, 16],
                "appending puts one vector after the other, in each row: twice as many columns.",
            ),
            Mistake(
                lambda answer: _pairs(answer)[1] == [12, 32],
                "appending only makes the rows longer: there are still 6 tokens.",
            ),
            Mistake(
                lambda answer: _pairs(answer)[0] != [6, 16],
                "a sum has the shape of its parts, and both are (6, 16).",
            ),
            Mistake(
                lambda answer: _pairs(answer)[1] == [32, 6],
                "rows come first: 6 tokens are 6 rows, even when their vectors get longer.",
            ),
            Mistake(
                lambda answer: _pairs(answer)[1] == [6, 22],
                "6 is the number of tokens. The 16 numbers of each are followed by the 16 of its position.",
            ),
            Mistake(lambda answer: _pairs(answer)[1] == [6, 16], "appending makes each token's vector longer."),
        ],
        hints=[
            "What is the shape of inputs + positions, if both are (6, 16)?",
            "When they are appended, the 16 numbers of the position follow the 16 of the token.",
        ],
    ),
)
