"""Exercises of lesson 14: count, append to a cache, repeat keys for grouped queries, size a cache, and merge tiles."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_append(cache, new):
    return torch.cat([cache, new], dim=-2)  # (..., S + T, d_head)


def my_repeat(keys, num_heads):
    group = num_heads // keys.shape[-3]
    return keys.repeat_interleave(group, dim=-3)


def my_merge(largest_a, sum_a, mixed_a, largest_b, sum_b, mixed_b):
    largest = torch.maximum(largest_a, largest_b)  # (T, 1)
    shrink_a = torch.exp(largest_a - largest)
    shrink_b = torch.exp(largest_b - largest)
    mixed = shrink_a * mixed_a + shrink_b * mixed_b  # (T, d_v)
    return mixed / (shrink_a * sum_a + shrink_b * sum_b)


def _cache(S, T, d_head, *batch, **kind):
    return lambda g: (torch.randn(*batch, S, d_head, generator=g, **kind), torch.randn(*batch, T, d_head, generator=g))


def _keys(heads, num_heads, S=3, d_head=2, *batch):
    return lambda g: (torch.randn(*batch, heads, S, d_head, generator=g), num_heads)


def _tile(scores, values):
    """Largest score, sum and mixture of one tile."""
    largest = scores.amax(dim=-1, keepdim=True)
    shares = torch.exp(scores - largest)
    return largest, shares.sum(dim=-1, keepdim=True), shares @ values


def _tiles(T, sizes, d_v=2, shift=(0.0, 0.0), dtype=torch.float32):
    def make(g):
        parts = []
        for size, up in zip(sizes, shift, strict=True):
            scores = torch.randn(T, size, generator=g).to(dtype) + up
            parts += _tile(scores, torch.randn(size, d_v, generator=g).to(dtype))
        return tuple(parts)

    return make


def _merged(total=lambda s_a, s_b, a, b: a * s_a + b * s_b, shrink=lambda m, n: torch.exp(m - torch.maximum(m, n))):
    """A merge with one thing changed."""

    def merge(m_a, s_a, z_a, m_b, s_b, z_b):
        a, b = shrink(m_a, m_b), shrink(m_b, m_a)
        return (a * z_a + b * z_b) / total(s_a, s_b, a, b)

    return merge


def _from_one(m_a, s_a, z_a, m_b, s_b, z_b):
    """A merge that rescales the first tile to the maximum of the second, whichever is larger."""
    shrink = torch.exp(m_a - m_b)
    return (shrink * z_a + z_b) / (shrink * s_a + s_b)


exercise = Exercises(
    counts=Question(
        "my_counts = [6400, 640000]  # 1 * 100 * 64; 100 * 100 * 64",
        form="two numbers, [with a cache, without]",
        right="one new query against 100 keys, or all 100 queries against them.",
        mistakes=[
            Mistake(lambda a: float(a[0]) == 640000, "those are the two numbers in the other order."),
            Mistake(lambda a: float(a[0]) == 6336, "the new token's own key counts, too: it sees itself."),
            Mistake(lambda a: float(a[0]) == 12800, "only the scores are asked for, not the mixture of the values."),
            Mistake(lambda a: float(a[0]) == 100, "those are the scores. Each takes 64 multiplications."),
            Mistake(lambda a: float(a[0]) != 6400, "with a cache there is one query: 1 times 100 times 64."),
            Mistake(
                lambda a: float(a[1]) == 323200,
                "the masked half is computed, too: the mask comes after the product of all queries and all keys.",
            ),
            Mistake(lambda a: float(a[1]) != 640000, "without a cache all 100 queries meet all 100 keys."),
        ],
        hints=[
            "The product of a (T, d) and a (d, S) matrix takes T * d * S multiplications.",
            "How many queries are there with a cache? There are 100 keys in both cases.",
            "With a cache T = 1, without T = 100; S = 100 and d = 64 in both.",
        ],
    ),
    append=Task(
        my_append,
        show=("cache", "new"),
        axes=("key", "number"),
        cases={
            "two kept, one new": _cache(2, 1, 3),
            "one kept, one new": _cache(1, 1, 2),
            "as many kept as numbers": _cache(2, 2, 2),
            "an empty cache": _cache(0, 3, 4),
            "two heads": _cache(3, 1, 2, 2),
            "two new ones": _cache(3, 2, 2, 2),
            "a batch of heads": _cache(2, 1, 3, 2, 2),
            "a batch of heads, all sizes equal": _cache(2, 2, 2, 2, 2),
            "keys that are to be trained": _cache(2, 1, 3, requires_grad=True),
        },
        right="The new rows stand at the end, behind those that were kept.",
        mistakes=[
            Mistake(
                lambda c, n: torch.cat([n, c], dim=-2), "the new rows stand in front. They come last: order is time."
            ),
            Mistake(lambda c, n: torch.cat([c, n], dim=-1), "you have made the rows longer. New rows go along dim=-2."),
            Mistake(
                lambda c, n: torch.cat([c, n], dim=0),
                "dim=0 is the key axis only where there are no heads. dim=-2 always is.",
            ),
            Mistake(
                lambda c, n: torch.cat([c, n], dim=1),
                "dim=1 is the key axis only where there are heads and no batch. dim=-2 always is.",
            ),
            Mistake(lambda c, n: c + n, "the new rows are added to the old ones. They come behind them: torch.cat."),
            Mistake(lambda c, n: n, "the kept rows are gone."),
            Mistake(lambda c, n: c, "the new rows are missing."),
        ],
        hints=["torch.cat joins a list of tensors along a dimension.", "The rows are the last dimension but one."],
    ),
    repeat=Task(
        my_repeat,
        show=("keys", "num_heads"),
        cases={
            "two heads for four": _keys(2, 4),
            "one head for all": _keys(1, 3),
            "a head for each": _keys(3, 3),
            "one key of one number": _keys(2, 4, 1, 1),
            "two heads for six": _keys(2, 6),
            "three heads for six": _keys(3, 6),
            "all sizes equal": _keys(2, 4, 2, 2, 2),
            "a batch": _keys(2, 4, 3, 2, 3),
            "keys that are to be trained": lambda g: (torch.randn(2, 3, 2, generator=g, requires_grad=True), 4),
        },
        right="Neighbouring heads of queries share a head of keys.",
        mistakes=[
            Mistake(
                lambda k, n: torch.cat([k] * (n // k.shape[-3]), dim=-3),
                "the heads are dealt out in turn, 0 1 0 1. Neighbours share one, 0 0 1 1: repeat_interleave.",
            ),
            Mistake(
                lambda k, n: k.repeat(n // k.shape[-3], 1, 1),
                "the heads are dealt out in turn, 0 1 0 1. Neighbours share one: repeat_interleave, with dim=-3.",
            ),
            Mistake(
                lambda k, n: k.repeat_interleave(n // k.shape[-3]),
                "without dim= all numbers end up in one row. Repeat the heads: dim=-3.",
            ),
            Mistake(
                lambda k, n: k.repeat_interleave(n, dim=-3),
                "each head is repeated num_heads times: too many. Divide by the heads that there are.",
            ),
            Mistake(
                lambda k, n: k.repeat_interleave(n // k.shape[-3], dim=-2),
                "you have repeated each key. Repeat the heads: dim=-3.",
            ),
            Mistake(
                lambda k, n: k.repeat_interleave(n // k.shape[-3], dim=-1),
                "you have repeated each number of a key. Repeat the heads: dim=-3.",
            ),
            Mistake(
                lambda k, n: k.repeat_interleave(n // k.shape[0], dim=0),
                "dim=0 are the heads only where there is no batch. dim=-3 always are.",
            ),
            Mistake(lambda k, n: k, "nothing is repeated."),
        ],
        hints=[
            "How many heads of queries share one head of keys? That is how often it is repeated.",
            "repeat_interleave repeats each part in its place: 0 0 1 1.",
            "keys.repeat_interleave(num_heads // keys.shape[-3], dim=-3)",
        ],
    ),
    size=Question(
        "my_bytes = 163840  # 2 * 40 * 8 * 128 * 2",
        form="a number",
        right="keys and values, in each layer, for each head that is kept, d_head numbers of two bytes.",
        mistakes=[
            Mistake(1310720, "the heads of queries are not kept. Only the 8 of keys and values count."),
            Mistake(655360, "the heads of queries are not kept, and a factor of 2 is missing."),
            Mistake(81920, "a factor of 2 is missing: keys and values are kept, and a number takes two bytes."),
            Mistake(40960, "two factors of 2 are missing: keys and values are kept, and a number takes two bytes."),
            Mistake(4096, "that is for one layer. All 40 keep their own."),
        ],
        hints=[
            "The cell above has the formula.",
            "Keys and values are two; times layers, heads that are kept, d_head, and bytes of a number.",
        ],
    ),
    tiles=Task(
        my_merge,
        axes=("query", "number"),
        show=("largest_a", "sum_a", "mixed_a", "largest_b", "sum_b", "mixed_b"),
        cases={
            "one query, one key each": _tiles(1, (1, 1)),
            "three queries": _tiles(3, (2, 2)),
            "tiles of different sizes": _tiles(3, (4, 1)),
            "as many queries as numbers": _tiles(2, (2, 2), d_v=2),
            "a second tile with larger scores": _tiles(2, (2, 3), shift=(0.0, 5.0)),
            "a first tile with larger scores": _tiles(2, (2, 3), shift=(5.0, 0.0)),
            "huge scores": _tiles(2, (2, 2), shift=(500.0, 502.0)),
            "very negative scores": _tiles(2, (2, 2), shift=(-500.0, -502.0)),
            "a second tile far above the first": _tiles(2, (2, 2), shift=(0.0, 200.0)),
            "a first tile far above the second": _tiles(2, (2, 2), shift=(200.0, 0.0)),
            "float64": _tiles(3, (2, 3), dtype=torch.float64),
        },
        right="Two tiles say as much as the whole row.",
        mistakes=[
            Mistake(
                _merged(shrink=lambda m, n: 1.0),
                "the two tiles count from different maxima. Rescale both to the larger one first.",
            ),
            Mistake(
                _merged(total=lambda s_a, s_b, a, b: s_a + s_b),
                "the mixtures are rescaled and the sums are not.",
            ),
            Mistake(
                lambda m_a, s_a, z_a, m_b, s_b, z_b: (z_a / s_a + z_b / s_b) / 2,
                "that is the mean of both tiles. The one with larger scores weighs more.",
            ),
            Mistake(
                _merged(shrink=lambda m, n: torch.exp(m)),
                "exp of a large score overflows, and of a very negative one is 0. Subtract the larger maximum first.",
            ),
            *[
                Mistake(
                    merge,
                    "exp of the difference of both maxima overflows where the tile that it rescales is far above the "
                    "other. Subtract the larger of both: exp(largest_a - largest), which is at most 1.",
                )
                for merge in (_from_one, lambda *tiles: _from_one(*tiles[3:], *tiles[:3]))
            ],
            Mistake(
                lambda m_a, s_a, z_a, m_b, s_b, z_b: _merged(total=lambda *_: 1.0)(
                    m_a, s_a, z_a / s_a, m_b, s_b, z_b / s_b
                ),
                "each tile is divided by its own sum. Divide once, at the end, by the sum of both.",
            ),
            Mistake(
                lambda m_a, s_a, z_a, m_b, s_b, z_b: my_merge(m_a, s_a, s_a * z_a, m_b, s_b, s_b * z_b),
                "the mixtures are not divided yet, so each has its sum in it already: don't multiply by it again.",
            ),
            Mistake(
                _merged(total=lambda s_a, s_b, a, b: 1.0),
                "the mixture is not yet divided by the sum.",
            ),
            Mistake(
                _merged(shrink=lambda m, n: torch.exp(torch.maximum(m, n) - m)),
                "the sign is the wrong way round: exp(largest_a - largest), which is at most 1.",
            ),
        ],
        hints=[
            "largest = torch.maximum(largest_a, largest_b). What each tile has summed must count from there.",
            "shrink_a = torch.exp(largest_a - largest), and in the same way for b.",
            "Then (shrink_a * mixed_a + shrink_b * mixed_b), divided by the same of the sums.",
        ],
    ),
)
