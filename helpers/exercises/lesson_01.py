"""Exercises of lesson 01: dot-product scores, angle and length."""

import torch

from ..sentence import INPUTS, TOKENS
from .checking import Exercises, Mistake, Question, Task

_PAIRS = {
    "one query, one key": lambda g: (torch.randn(1, 2, generator=g), torch.randn(1, 2, generator=g)),
    "two queries, three keys": lambda g: (torch.randn(2, 4, generator=g), torch.randn(3, 4, generator=g)),
    "square sizes": lambda g: (torch.randn(3, 3, generator=g), torch.randn(3, 3, generator=g)),
    "whole numbers": lambda g: (
        torch.randint(-9, 9, (2, 3), generator=g),
        torch.randint(-9, 9, (4, 3), generator=g),
    ),
    "float64": lambda g: (
        torch.randn(2, 3, generator=g).double(),
        torch.randn(3, 3, generator=g).double(),
    ),
    "large numbers": lambda g: (1e4 * torch.randn(3, 2, generator=g), torch.randn(2, 2, generator=g)),
    "all negative": lambda g: (-torch.rand(3, 2, generator=g), torch.rand(4, 2, generator=g)),
    "a batch": lambda g: (torch.randn(2, 3, 4, generator=g), torch.randn(2, 5, 4, generator=g)),
    "a batch of heads": lambda g: (torch.randn(2, 3, 4, 2, generator=g), torch.randn(2, 3, 5, 2, generator=g)),
    "a batch of square tables": lambda g: (torch.randn(3, 3, 3, generator=g), torch.randn(3, 3, 3, generator=g)),
}


def my_scores(queries, keys):
    # (..., T, d_k) @ (..., d_k, S) -> (..., T, S)
    return queries @ keys.transpose(-2, -1)


def my_cosines(queries, keys):
    query_norms = queries.norm(dim=-1, keepdim=True)  # (T, 1)
    key_norms = keys.norm(dim=-1, keepdim=True)  # (S, 1)
    return queries @ keys.T / (query_norms * key_norms.T)  # (T, S)


def _favourite(query):
    return TOKENS[(INPUTS.double() @ torch.as_tensor(query, dtype=torch.float64)).argmax()]


def _scores_of(query):
    scores = INPUTS.double() @ torch.as_tensor(query, dtype=torch.float64)
    return "The scores: " + ", ".join(f"{token} {score:.4f}" for token, score in zip(TOKENS, scores, strict=True))


exercise = Exercises(
    scores=Task(
        my_scores,
        show=("queries", "keys"),
        axes=("query", "key"),
        cases=_PAIRS,
        right="Row i, column j holds the dot product of query i and key j.",
        mistakes=[
            Mistake(
                lambda q, k: k @ q.transpose(-2, -1),
                "your table is mirrored: its rows are the keys and its columns the queries. A row must be a query.",
            ),
            Mistake(
                lambda q, k: q @ k.permute(*reversed(range(k.dim()))),
                ".T reverses all dimensions of a batch, not only the last two. .transpose(-2, -1) leaves the "
                "batch alone.",
            ),
            Mistake(
                lambda q, k: (
                    torch.nn.functional.normalize(q.double(), dim=-1)
                    @ torch.nn.functional.normalize(k.double(), dim=-1).transpose(-2, -1)
                ).to(torch.promote_types(q.dtype, k.dtype) if q.is_floating_point() else torch.float32),
                "these are cosines: you have divided by the norms. A score is the dot product itself.",
            ),
            Mistake(
                lambda q, k: q @ k.transpose(0, 1),
                "transpose(0, 1) swaps the first two dimensions. In a table these are also the last two, but not "
                "in a batch: use transpose(-2, -1).",
            ),
            Mistake(lambda q, k: q * k, "* multiplies entry by entry. You need the matrix product, @."),
            Mistake(
                lambda q, k: q @ q.transpose(-2, -1),
                "the keys are not used: these are the scores of the queries with themselves.",
            ),
            Mistake(
                lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]),
                "view and reshape only deal the same numbers out anew. Rows must become columns: .transpose(-2, -1).",
            ),
            Mistake(
                lambda q, k: q @ k,
                "the keys haven't been transposed. The last dimension of the first factor must meet the first of "
                "the second, so that the sum runs over d_k.",
            ),
        ],
        hints=[
            "The lesson does it with inputs on both sides. What changes if the keys are another table?",
            "The shapes are (T, d_k) for the queries and (S, d_k) for the keys; the result is (T, S). Which of the two "
            "must be transposed?",
            "For a batch, swap the last two dimensions only: keys.transpose(-2, -1).",
        ],
    ),
    cosines=Task(
        my_cosines,
        show=("queries", "keys"),
        axes=("query", "key"),
        cases={name: make for name, make in _PAIRS.items() if "batch" not in name and "whole" not in name},
        right="Each score is divided by the norm of its query and by the norm of its key, so only the angle is left.",
        mistakes=[
            Mistake(
                lambda q, k: q @ k.T / q.norm(dim=-1, keepdim=True) * k.norm(dim=-1),
                "a / b * c multiplies by c. Put the product of the norms in brackets.",
            ),
            Mistake(
                lambda q, k: q @ k.T / q.norm(dim=-1) / k.norm(dim=-1),
                "both norms are rows, (T,) and (S,). Those of the queries must be a column: keepdim=True.",
            ),
            Mistake(
                lambda q, k: torch.nn.functional.cosine_similarity(q, k),
                "cosine_similarity compares row i with row i only. Every query must meet every key.",
            ),
            Mistake(lambda q, k: q @ k.T, "these are the scores themselves: the lengths are still in them."),
            Mistake(
                lambda q, k: q @ k.T / k.norm(dim=-1),
                "you divide by the norms of the keys only. The length of the query is still in there.",
            ),
            Mistake(
                lambda q, k: q @ k.T / q.norm(dim=-1, keepdim=True),
                "you divide by the norms of the queries only. The length of the key is still in there.",
            ),
            Mistake(
                lambda q, k: q @ k.T / (q.norm(dim=-1) * k.norm(dim=-1)),
                "both norms are rows, (T,) and (S,). One must be a column, so that the two make a table: keepdim=True.",
            ),
            Mistake(
                lambda q, k: q @ k.T / (q.norm() * k.norm()),
                "norm() without a dim gives one number for the whole table. Each row needs its own.",
            ),
            Mistake(
                lambda q, k: (q / q.norm(dim=0)) @ (k / k.norm(dim=0)).T,
                "norm(dim=0) goes down the columns. The length of a vector is taken along its row: dim=-1.",
            ),
            Mistake(
                lambda q, k: q @ k.T / ((q**2).sum(dim=-1, keepdim=True) * (k**2).sum(dim=-1)),
                "the square root is missing: a norm is the root of the sum of squares.",
            ),
            Mistake(
                lambda q, k: q @ k.T / (q.norm(dim=-1, keepdim=True) * k.norm(dim=-1, keepdim=True)),
                "the norms of the keys stand in a column, so row i is divided by the norm of key i. They belong to "
                "the columns: a row of S numbers.",
            ),
        ],
        hints=[
            "The formula of angle and length, solved for the cosine: the dot product divided by both norms.",
            "norm(dim=-1) gives one length per row. For T queries and S keys, one set of lengths must be a "
            "column, (T, 1), and the other a row, (1, S).",
            "queries.norm(dim=-1, keepdim=True) is a column, keys.norm(dim=-1) a row; divide queries @ keys.T by both.",
        ],
    ),
    doubled=Question(
        'my_doubled = "b"',
        form='a letter, "a", "b" or "c"',
        right="all scores in that row double, so their order stays the same. The length of a query decides how "
        "much it cares, never for whom.",
        mistakes=[
            Mistake(
                "a", "for that the scores in its row would have to change their order, but every one of them doubles."
            ),
            Mistake(
                "c",
                "a key twice as long would collect larger scores in its column. Here it is the query that grows, "
                "and with it the scores in its row.",
            ),
        ],
        hints=[
            "Only one row of the table changes. What happens to each of its six numbers?",
            "The score is query · key. Doubling the query multiplies every score of the row by the same number.",
        ],
    ),
    query=Question(
        "my_query = torch.tensor([-1.0, -0.5, -1.0])  # the shortest loses least",
        form="a tensor of three numbers, such as torch.tensor([1.0, 0.0, -1.0])",
        accept=lambda query: torch.isfinite(torch.as_tensor(query)).all() and _favourite(query) == "with",
        explain=_scores_of,
        right="of all six, with has the highest score. Where all scores are negative, the shortest vector often wins.",
        mistakes=[
            Mistake(
                lambda q: not torch.as_tensor(q).any(),
                "a query of zeros scores 0 with every key and prefers none of them.",
            ),
            Mistake(
                lambda q: not torch.isfinite(torch.as_tensor(q)).all(),
                "with inf or nan in a query, the scores can't be compared.",
            ),
            Mistake(
                lambda q: torch.allclose(torch.as_tensor(q, dtype=torch.float32), INPUTS[3], atol=1e-4),
                "the vector of with itself won't do: journey points nearly the same way and is longer, so it "
                "scores higher.",
            ),
            Mistake(
                lambda q: bool((torch.as_tensor(q) >= 0).all()),
                "it can't be done with all three numbers at 0 or above: journey has larger numbers than with in "
                "every place, and so gets the higher score.",
            ),
            Mistake(lambda q: True, "another token scores just as high, or higher."),
        ],
        hints=[
            "Compare the numbers of with and of journey. What would a negative number in the query do?",
            "If the query points away from all six, every score is negative, and the highest is the one nearest to 0.",
            "Start from torch.tensor([-1.0, -1.0, -1.0]) and look at inputs @ my_query: with and one are close. "
            "Where does one have a large number? Make that place cost more.",
        ],
    ),
)
