"""Exercises of lesson 00: the notation, and reading a table of weights."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_projection(x, W):
    return x @ W  # (T, d_in) @ (d_in, d_k) -> (T, d_k)


exercise = Exercises(
    favourite=Question(
        'my_favourite = "starts"  # the brightest cell in the row of one',
        form='the name of a token in quotation marks, such as "with"',
        right="the row of one has its largest share, 0.1896, in the column of starts.",
        mistakes=[
            Mistake(
                "one",
                "that would be one itself, but a token needn't like itself best. Read along its row, from "
                "left to right.",
            ),
            Mistake(
                "journey", "journey is the favourite of four rows, but look again at this one: two cells are close."
            ),
            Mistake(
                "Your",
                "you may have gone down the column of one instead of along its row. A row is a query: read it as row "
                "attends to column.",
            ),
            Mistake(
                lambda answer: answer.strip().lower() in ("with", "step"),
                "other cells in the row of one are brighter. Find the row called one, and in it the largest number: "
                "the name above its column is the answer.",
            ),
            Mistake(
                lambda answer: True,
                "it is not a token. The answer is one of the six words above the columns, and nothing else.",
            ),
        ],
        hints=[
            "A row is a query. Find the row called one and stay in it.",
            "Set the slider to a higher sharpness: the largest share of a row then stands out.",
            "At sharpness 100 look for the brightest cell of that row. It is not on the diagonal.",
        ],
    ),
    projection=Task(
        my_projection,
        show=("x", "W"),
        cases={
            "one token": lambda g: (torch.randn(1, 3, generator=g), torch.randn(3, 2, generator=g)),
            "five tokens": lambda g: (torch.randn(5, 3, generator=g), torch.randn(3, 2, generator=g)),
            "square sizes": lambda g: (torch.randn(3, 3, generator=g), torch.randn(3, 3, generator=g)),
            "whole numbers": lambda g: (
                torch.randint(-5, 5, (4, 3), generator=g),
                torch.randint(-5, 5, (3, 2), generator=g),
            ),
            "float64": lambda g: (
                torch.randn(2, 3, generator=g).double(),
                torch.randn(3, 4, generator=g).double(),
            ),
            "large numbers": lambda g: (1e4 * torch.randn(2, 3, generator=g), torch.randn(3, 2, generator=g)),
        },
        right="One row per token goes in, and one row per token comes out, of a different length.",
        mistakes=[
            Mistake(
                lambda x, W: x @ W.transpose(-2, -1),
                "you multiply by W transposed, which is another convention. Here vectors are rows, and W stands "
                "to their right as it is: x W.",
            ),
            Mistake(
                lambda x, W: W @ x,
                "you multiply in the order W x. Here vectors are rows, and the matrix stands to their right.",
            ),
            Mistake(lambda x, W: x * W, "* multiplies entry by entry. The matrix product is @."),
        ],
        hints=[
            "The section on notation says it: vectors are rows, and a matrix stands to their right.",
            "Python's sign for the matrix product is @.",
            "The body is one line: return, then x, then the sign, then W.",
        ],
    ),
)
