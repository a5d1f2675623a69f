"""Exercises of lesson 04: queries, keys and values, shapes, a step of training, a transposed matrix."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_attention(x, W_query, W_key, W_value):
    queries = x @ W_query  # (T, d_k)
    keys = x @ W_key  # (T, d_k)
    values = x @ W_value  # (T, d_v)
    scores = queries @ keys.transpose(-2, -1)  # (T, T)
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    return weights @ values  # (T, d_v)


def my_step(W, loss_of, rate):
    W = W.detach().requires_grad_()
    loss_of(W).backward()
    return (W - rate * W.grad).detach()


def is_stored_transposed(x, W, y):
    if x.shape[-1] != W.shape[0]:
        return True  # x @ W is not possible
    return not torch.allclose(x @ W, y, atol=1e-4)


def _matrices(T, d_in, d_k, d_v, *batch):
    def make(g):
        return (
            torch.randn(*batch, T, d_in, generator=g),
            torch.randn(d_in, d_k, generator=g),
            torch.randn(d_in, d_k, generator=g),
            torch.randn(d_in, d_v, generator=g),
        )

    return make


def _turned(keys):
    """keys.T: all dimensions turned around."""
    return keys.permute(*reversed(range(keys.dim())))


def _attend(scale=None, dim=-1, mix=None, swap=False, transpose=False, turn=lambda keys: keys.transpose(-2, -1)):
    """Attention with a thing or two changed."""

    def attend(x, W_query, W_key, W_value):
        if transpose:
            W_query, W_key, W_value = W_query.T, W_key.T, W_value.T
        queries, keys, values = x @ W_query, x @ W_key, x @ W_value
        if swap:
            queries, keys = keys, queries
        by = keys.shape[-1] ** 0.5 if scale is None else scale(x, keys)
        weights = torch.softmax(queries @ turn(keys) / by, dim=dim)
        return weights @ (values if mix is None else mix(x, keys, values))

    return attend


def _run_attention(answer, x, *matrices):
    """The result, if a gradient can get through to the matrices. (W_value is used at all if the numbers are right.)"""
    matrices = [W.clone().requires_grad_() for W in matrices]
    context = answer(x, *matrices)
    shape = (*x.shape[:-1], matrices[2].shape[-1])
    if (
        isinstance(context, torch.Tensor)
        and context.shape == shape
        and not (
            context.requires_grad and None not in torch.autograd.grad(context.sum(), matrices[:2], allow_unused=True)
        )
    ):
        raise ValueError("no gradient gets through to the three matrices: leave out .detach(), .data and .item()")
    return context


def _typed(make, change):
    return lambda g: tuple(change(part) for part in make(g))


def squared_distance_from_2(W):
    return ((W - 2) ** 2).sum()


def sum_of_cubes(W):
    return (W**3).sum()


def _stored(T, d_in, d_out, transposed, zeros=0):
    def make(g):
        x, W = torch.randn(T, d_in, generator=g), torch.randn(d_in, d_out, generator=g)
        x[:zeros] = 0
        y = (x @ W) * (1 + 1e-6 * (T > 2))  # most as if added up in another order
        return x, W.T.contiguous() if transposed else W, y

    return make


exercise = Exercises(
    attention=Task(
        my_attention,
        run=_run_attention,
        show=("x", "W_query", "W_key", "W_value"),
        cases={
            "two tokens": _matrices(2, 3, 2, 2),
            "one token": _matrices(1, 3, 2, 4),
            "all sizes different": _matrices(5, 4, 3, 2),
            "square matrices": _matrices(4, 3, 3, 3),
            "large d_k": _matrices(3, 2, 64, 2),
            "a batch": _matrices(4, 3, 2, 5, 2),
            "a batch with B = T = d": _matrices(3, 3, 3, 3, 3),
            "large inputs": _typed(_matrices(3, 3, 2, 2), lambda part: 20 * part),
            "float64": _typed(_matrices(3, 4, 2, 3), torch.Tensor.double),
            "matrices that are to be trained": _typed(_matrices(3, 4, 2, 3), torch.Tensor.requires_grad_),
        },
        right="Scaled dot-product attention, from the inputs to the context vectors.",
        mistakes=[
            Mistake(_attend(lambda x, keys: 1.0), "the scale is missing: divide the scores by the square root of d_k."),
            Mistake(
                _attend(lambda x, keys: keys.shape[-1]),
                "you divide the scores by d_k itself. It should be its square root.",
            ),
            Mistake(
                _attend(lambda x, keys: x.shape[-1] ** 0.5),
                "the scale comes from d_in, the size of an input. A dot product sums over the size of a key, "
                "keys.shape[-1].",
            ),
            Mistake(
                _attend(lambda x, keys: x.shape[-2] ** 0.5),
                "the scale comes from the number of tokens, T. It should come from the size of a key, keys.shape[-1].",
            ),
            Mistake(
                _attend(dim=-2),
                "softmax runs over the queries. The key axis is dim=-1: one distribution per query.",
            ),
            Mistake(
                _attend(dim=0),
                "softmax runs along dim=0: over the queries, or over the sentences of a batch. The key axis is dim=-1.",
            ),
            Mistake(_attend(mix=lambda x, keys, values: x), "you mix the inputs. It is the values that are mixed."),
            Mistake(_attend(mix=lambda x, keys, values: keys), "you mix the keys. It is the values that are mixed."),
            Mistake(
                _attend(swap=True), "queries and keys have changed places: row i should hold the scores of query i."
            ),
            Mistake(
                _attend(transpose=True),
                "the matrices are transposed. That runs only where they are square; ours are (d_in, d_k), so it is x "
                "@ W.",
            ),
            Mistake(
                _attend(turn=_turned),
                ".T reverses all dimensions of a batch: .transpose(-2, -1) swaps only the last two.",
            ),
            Mistake(
                _attend(lambda x, keys: 1.0, turn=_turned),
                "the scale is missing: divide the scores by the square root of d_k. And .T reverses all "
                "dimensions of a batch: .transpose(-2, -1) swaps only the last two.",
            ),
            Mistake(
                _attend(lambda x, keys: 2**0.5),
                "the scale is always the square root of 2, which fits only keys of two numbers. It must follow the "
                "keys: keys.shape[-1].",
            ),
            Mistake(
                _attend(lambda x, keys: 2**0.5, turn=_turned),
                "the scale is always the square root of 2, which fits only keys of two numbers: take "
                "keys.shape[-1]. And .T reverses all dimensions of a batch: .transpose(-2, -1) swaps only the "
                "last two.",
            ),
            Mistake(
                _attend(lambda x, keys: keys.shape[-1] ** -0.5),
                "you multiply by the square root of d_k. The scores must be divided by it.",
            ),
            Mistake(
                _attend(lambda x, keys: len(keys) ** 0.5),
                "len(keys), or keys.shape[0], is the number of tokens, or of sentences in a batch. The size of a key "
                "is keys.shape[-1].",
            ),
            Mistake(
                _attend(dim=1),
                "dim=1 is the key axis of a table, but the query axis of a batch. dim=-1 is always the key axis.",
            ),
            Mistake(
                _attend(lambda x, keys: 1.0, dim=0),
                "the scale is missing, and softmax runs along dim=0, over the queries. The key axis is dim=-1.",
            ),
            Mistake(
                lambda x, Q, K, V: my_attention(x, Q, V, K),
                "keys and values have changed places: queries are compared with keys, and values are mixed.",
            ),
            Mistake(
                _attend(lambda x, keys: 1.0, mix=lambda x, keys, values: values / keys.shape[-1] ** 0.5),
                "you divide after softmax, so the weights no longer sum to 1. It is the scores that are divided.",
            ),
            Mistake(
                lambda x, *matrices: _attend(mix=lambda x, keys, values: torch.eye(x.shape[-2]).to(x))(x, *matrices),
                "these are the weights. The context vectors are weights @ values.",
            ),
            Mistake(
                lambda x, Q, K, V: x @ Q @ (x @ K).transpose(-2, -1) / K.shape[-1] ** 0.5 @ (x @ V),
                "softmax is missing: scores aren't weights yet.",
            ),
        ],
        hints=[
            "Five lines, as in the section All tokens in five lines.",
            "queries, keys and values are each x times a matrix. The scores are queries @ keys.transpose(-2, -1).",
            "weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1); return weights @ values.",
        ],
    ),
    shapes=Question(
        "my_shapes = [[5, 3], [5, 5], [5, 2]]  # (T, d_k), (T, T), (T, d_v)",
        form="three pairs of numbers, [[rows, columns], [rows, columns], [rows, columns]]",
        right="a query has d_k numbers, a row of weights one number per token, and a context vector d_v.",
        mistakes=[
            Mistake(
                lambda s: list(map(int, s[1])) == [3, 3],
                "the weights compare tokens with tokens: T rows and T columns. (3, 3) would come from queries.T @ "
                "keys.",
            ),
            Mistake(
                lambda s: list(map(int, s[2])) == [5, 3],
                "context vectors are mixtures of values, so each has d_v numbers, not d_k.",
            ),
            Mistake(
                lambda s: list(map(int, s[2])) == [5, 4],
                "context vectors are mixtures of values, not of inputs: each has d_v numbers.",
            ),
            Mistake(
                lambda s: list(map(int, s[0])) == [5, 4],
                "a query is an input times a matrix, x @ W_query, so it has d_k numbers.",
            ),
            Mistake(
                lambda s: any(int(pair[0]) != 5 for pair in s),
                "rows are tokens: all three have T = 5 rows.",
            ),
            Mistake(
                lambda s: list(map(int, s[0])) != [5, 3],
                "queries are x @ W_query, (T, d_in) times (d_in, d_k): a row per token, and d_k numbers in it.",
            ),
            Mistake(
                lambda s: list(map(int, s[1])) != [5, 5],
                "a row of weights says how one token divides its attention among all T tokens: (T, T).",
            ),
            Mistake(
                lambda s: True,
                "a context vector is weights @ values, (T, T) times (T, d_v): a row per token, and d_v numbers in it.",
            ),
        ],
        hints=[
            "x @ W_query: (T, d_in) times (d_in, d_k).",
            "A row of weights says how one token divides its attention among all tokens.",
            "weights @ values: (T, T) times (T, d_v).",
        ],
    ),
    step=Task(
        my_step,
        show=("W", "loss_of", "rate"),
        axes=("row", "number"),
        cases={
            "one entry, rate 0.1": lambda g: (torch.tensor([[1.0]]), squared_distance_from_2, 0.1),
            "a 2 x 3 matrix": lambda g: (torch.randn(2, 3, generator=g), squared_distance_from_2, 0.05),
            "another loss": lambda g: (torch.randn(3, 2, generator=g), sum_of_cubes, 0.01),
            "rate 1": lambda g: (torch.randn(2, 2, generator=g), sum_of_cubes, 1.0),
            "a negative matrix": lambda g: (-torch.rand(2, 3, generator=g), sum_of_cubes, 0.2),
            "float64": lambda g: (torch.randn(2, 3, generator=g).double(), squared_distance_from_2, 0.3),
        },
        right="A small step against the gradient makes the loss smaller.",
        mistakes=[
            Mistake(
                lambda W, loss, r: 2 * W - my_step(W, loss, r),
                "you go with the gradient, and the loss grows. A step goes against it: minus.",
            ),
            Mistake(
                lambda W, loss, r: my_step(W, loss, r) - W,
                "that is how far W moves. The new matrix is W plus this step.",
            ),
            Mistake(
                lambda W, loss, r: W - my_step(W, loss, r),
                "that is rate times the gradient. The new matrix is W minus it.",
            ),
            Mistake(
                lambda W, loss, r: my_step(W, loss, 1 / r),
                "you divide by the rate. The step is rate times the gradient: a smaller rate, a smaller step.",
            ),
            Mistake(
                lambda W, loss, r: my_step(W, loss, 2 * r),
                "the step is twice as long as it should be. Is backward called twice? Gradients add up.",
            ),
            Mistake(
                lambda W, loss, r: my_step(W, loss, 1.0), "the rate is missing: the step is rate times the gradient."
            ),
            Mistake(
                lambda W, loss, r: W - my_step(W, loss, 1.0),
                "that is the gradient itself. The new matrix is W minus rate times the gradient.",
            ),
            Mistake(
                lambda W, loss, r: W - r * torch.autograd.grad(loss(W), [W])[0],
                "W is a plain tensor, which keeps no gradient. Make one that does: W = W.detach().requires_grad_().",
            ),
            Mistake(lambda W, loss, r: W.clone(), "W has not moved."),
            Mistake(
                lambda W, loss, r: W - r * loss(W),
                "you subtract the loss. It is a single number; each entry needs its own gradient.",
            ),
        ],
        hints=[
            "W must be told to keep a gradient: W = W.detach().requires_grad_().",
            "loss_of(W).backward() leaves the gradient in W.grad.",
            "return (W - rate * W.grad).detach()",
        ],
    ),
    convention=Task(
        is_stored_transposed,
        show=("x", "W", "y"),
        cases={
            "x @ W, 3 to 2": _stored(4, 3, 2, False),
            "x @ W.T, 3 to 2": _stored(4, 3, 2, True),
            "x @ W, square": _stored(2, 2, 2, False),
            "x @ W.T, square": _stored(2, 2, 2, True),
            "x @ W, all sizes equal": _stored(3, 3, 3, False),
            "x @ W.T, all sizes equal": _stored(3, 3, 3, True),
            "x @ W.T, 2 to 4": _stored(3, 2, 4, True),
            "x @ W, the first token all zeros": _stored(3, 2, 2, False, zeros=1),
            "x @ W.T, the first token all zeros": _stored(3, 2, 2, True, zeros=1),
            "x @ W.T, one token": _stored(1, 3, 3, True),
            "x @ W, one token": _stored(1, 3, 3, False),
        },
        right="Where shapes can't tell, only a comparison of numbers can.",
        mistakes=[
            Mistake(
                lambda x, W, y: x.shape[-1] != W.shape[0],
                "shapes alone can't tell for a square matrix: compare numbers.",
            ),
            Mistake(
                lambda x, W, y: x.shape[-1] == W.shape[1],
                "for a square matrix both are possible, and you say yes to every one: compare numbers.",
            ),
            Mistake(
                lambda x, W, y: x.shape[-1] != W.shape[0] or not torch.equal(x @ W, y),
                "you compare with ==, but two ways of adding up may differ in the last digit: use torch.allclose.",
            ),
            Mistake(
                lambda x, W, y: W.shape[1] == x.shape[-1] and torch.equal(x @ W.T, y),
                "you compare with ==, but two ways of adding up may differ in the last digit: use torch.allclose.",
            ),
            *[
                Mistake(
                    wrong,
                    "both products can't always be computed: look at the shapes first. And torch.equal compares "
                    "with ==, which fails because of rounding: use torch.allclose.",
                )
                for wrong in (lambda x, W, y: torch.equal(x @ W.T, y), lambda x, W, y: not torch.equal(x @ W, y))
            ],
            *[
                Mistake(wrong, "both products can't always be computed: look at the shapes first.")
                for wrong in (
                    lambda x, W, y: torch.allclose(x @ W.T, y, atol=1e-4),
                    lambda x, W, y: not torch.allclose(x @ W, y, atol=1e-4),
                )
            ],
            Mistake(
                lambda x, W, y: x.shape[-1] != W.shape[0] or not torch.allclose(x[0] @ W, y[0], atol=1e-4),
                "you compare only the first token. If it is all zeros, it fits both: compare all tokens.",
            ),
            Mistake(lambda x, W, y: True, "you say yes to everything. Compare x @ W with y."),
            Mistake(
                lambda x, W, y: not is_stored_transposed(x, W, y),
                "it's the other way round: True means that y is x @ W.T.",
            ),
        ],
        hints=[
            "Which of the two products can be computed at all? And if both can, which one gives y?",
            "x @ W needs x.shape[-1] == W.shape[0].",
            "If that holds, return not torch.allclose(x @ W, y, atol=1e-4); else True.",
        ],
    ),
)
