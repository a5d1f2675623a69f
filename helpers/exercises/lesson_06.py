"""Exercises of lesson 06: a module, nn.Linear's weight, the first of a batch, a global variable."""

import torch
from torch import nn

from .checking import Exercises, Mistake, Question, Task


class MySelfAttention(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):  # (..., T, d_in)
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)  # (..., T, T)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values  # (..., T, d_out)


def my_matrix(linear):
    return linear.weight.detach().T.clone()  # (d_in, d_out)


def my_first(weights):
    return weights[0]  # (B, T, T) -> (T, T)


def _run(cls, d_in, d_out, x):
    """The result of a module of this class, with the weights that one of the solution starts with."""
    torch.default_generator.manual_seed(0)
    state = MySelfAttention(d_in, d_out).state_dict()
    module = cls(d_in, d_out)
    found = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    wanted = {name: tuple(parameter.shape) for name, parameter in state.items()}
    if not found:
        raise ValueError("the module has no parameters")
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(
            f"the module has {', '.join(found)}, but no {missing[0]}: its layers must be called W_query, W_key and "
            "W_value"
        )
    if wrong := [name for name in wanted if found[name] != wanted[name]]:
        raise ValueError(f"{wrong[0]} should have the shape {wanted[wrong[0]]}; its own is {found[wrong[0]]}")
    if too_many := set(found) - set(wanted):
        raise ValueError(f"the module should not have {min(too_many)}")
    module.load_state_dict(state)
    context = module.to(x.dtype)(x)
    if isinstance(context, torch.Tensor):
        if not context.requires_grad:
            raise ValueError("no gradient gets through the module: leave out .detach(), .data and .item()")
        context.sum().backward()
        for name in ("W_query", "W_key"):  # if W_value is not used, the numbers tell
            if getattr(module, name).weight.grad is None:
                raise ValueError(f"no gradient gets through to {name}: leave out .detach(), .data and .item()")
    return context


class _Variant(MySelfAttention):
    """The module with a single thing changed."""

    dim, root, mix = -1, 0.5, "values"

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = self.scores(queries, keys) / self.size(x, keys) ** self.root
        return torch.softmax(scores, dim=self.dim) @ {"values": values, "keys": keys, "queries": queries}[self.mix]

    def scores(self, queries, keys):
        return queries @ keys.transpose(-2, -1)

    def size(self, x, keys):
        return keys.shape[-1]


def _variant(**changed):
    return type("Variant", (_Variant,), changed)


def _turned(keys):
    """keys.T: all dimensions turned around."""
    return keys.permute(*reversed(range(keys.dim())))


def _weights_of(module, x):
    queries, keys = module.W_query(x), module.W_key(x)
    return torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)


def _divided_after(module, x):
    queries, keys, values = module.W_query(x), module.W_key(x), module.W_value(x)
    return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1) / keys.shape[-1] ** 0.5 @ values


class _FreshLayers(MySelfAttention):
    def forward(self, x):
        d_out, d_in = self.W_query.weight.shape
        return MySelfAttention(d_in, d_out).to(x.dtype)(x)


class _Biased(MySelfAttention):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out) for _ in range(3))


class _Plain(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = torch.rand(3, d_in, d_out)


class _Parameters(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3))


def _inputs(T, d_in, d_out, *batch):
    return lambda g: (d_in, d_out, torch.randn(*batch, T, d_in, generator=g))


def _layer(d_in, d_out):
    def make(g):
        layer = nn.Linear(d_in, d_out, bias=False)
        with torch.no_grad():
            layer.weight.copy_(torch.randn(d_out, d_in, generator=g))
        return (layer,)

    return make


def _weights(B, T):
    return lambda g: (torch.softmax(torch.randn(B, T, T, generator=g), dim=-1),)


exercise = Exercises(
    module=Task(
        MySelfAttention,
        run=_run,
        show=("d_in", "d_out", "x"),
        cases={
            "two tokens": _inputs(2, 3, 2),
            "one token": _inputs(1, 3, 4),
            "six tokens": _inputs(6, 3, 2),
            "square sizes": _inputs(4, 4, 4),
            "a batch": _inputs(5, 3, 2, 2),
            "a batch with B = T = d": _inputs(3, 3, 3, 3),
            "d_out = 32": _inputs(3, 2, 32),
            "large inputs": lambda g: (3, 2, 30 * torch.randn(4, 3, generator=g)),
            "float64": lambda g: (3, 2, torch.randn(4, 3, generator=g).double()),
        },
        right="A module that fits into any network.",
        mistakes=[
            Mistake(
                _Plain,
                "the module has no parameters, so nothing could train it. It does not know weights that are plain "
                "tensors: make them with nn.Linear.",
            ),
            Mistake(
                _Parameters,
                "you use nn.Parameter, as in version 1. The exercise asks for nn.Linear(d_in, d_out, bias=False), "
                "whose weight is stored transposed.",
            ),
            Mistake(_Biased, "your layers have a bias. Make them with bias=False."),
            Mistake(
                _FreshLayers,
                "forward makes new layers with new random weights at each call. Make them once, in __init__.",
            ),
            Mistake(
                _variant(root=0.0, scores=lambda self, q, k: q @ _turned(k)),
                "the scale is missing. And .T reverses all dimensions of a batch: .transpose(-2, -1) swaps only "
                "the last two.",
            ),
            Mistake(
                _variant(size=lambda self, x, keys: 2),
                "the scale is always the square root of 2. It must follow the keys: keys.shape[-1].",
            ),
            Mistake(
                _variant(size=lambda self, x, keys: len(keys)),
                "len(keys), or keys.shape[0], is the number of tokens, or of sentences in a batch. Take "
                "keys.shape[-1].",
            ),
            Mistake(
                type("Weights", (_Variant,), {"forward": lambda self, x: _weights_of(self, x)}),
                "these are the weights. The context vectors are weights @ values.",
            ),
            Mistake(
                type("Divided", (_Variant,), {"forward": lambda self, x: _divided_after(self, x)}),
                "you divide after softmax, so the weights no longer sum to 1. It is the scores that are divided.",
            ),
            Mistake(_variant(root=0.0), "the scale is missing."),
            Mistake(_variant(root=1.0), "you divide the scores by d_k itself. It should be its square root."),
            Mistake(
                _variant(size=lambda self, x, keys: x.shape[-1]),
                "the scale comes from d_in, the size of the input. Take keys.shape[-1].",
            ),
            Mistake(
                _variant(dim=1),
                "softmax runs along dim=1, which is the key axis of a single sentence, but the query axis of a "
                "batch. Use dim=-1.",
            ),
            Mistake(_variant(dim=-2), "softmax runs over the queries. The key axis is dim=-1."),
            Mistake(
                _variant(dim=0),
                "softmax runs along dim=0: over the queries, or over the sentences of a batch. The key axis is dim=-1.",
            ),
            Mistake(_variant(mix="keys"), "you mix the keys. It is the values that are mixed."),
            Mistake(
                _variant(scores=lambda self, q, k: k @ q.transpose(-2, -1)),
                "queries and keys have changed places: row i should hold the scores of query i.",
            ),
            Mistake(
                _variant(scores=lambda self, q, k: q @ _turned(k)),
                ".T reverses all dimensions of a batch: .transpose(-2, -1) swaps only the last two.",
            ),
        ],
        hints=[
            "__init__ makes the three layers, forward uses them. super().__init__() comes first.",
            "self.W_query = nn.Linear(d_in, d_out, bias=False), and likewise for W_key and W_value.",
            "In forward: queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x). The rest is the "
            "function of lesson 04.",
        ],
    ),
    matrix=Task(
        my_matrix,
        show=("linear",),
        axes=("input", "output"),
        cases={
            "3 to 2": _layer(3, 2),
            "2 to 5": _layer(2, 5),
            "square, 3 to 3": _layer(3, 3),
            "1 to 4": _layer(1, 4),
            "4 to 1": _layer(4, 1),
        },
        right="x @ W is then what the layer computes.",
        mistakes=[
            Mistake(
                lambda layer: layer.weight.detach().clone(),
                "that is the weight as nn.Linear keeps it, (d_out, d_in). For x @ W it is (d_in, d_out).",
            ),
            Mistake(
                lambda layer: layer.weight.detach().reshape(layer.in_features, layer.out_features),
                "reshape and view only deal the same numbers out anew. The rows must become columns: .T.",
            ),
            Mistake(
                lambda layer: torch.rand(layer.in_features, layer.out_features),
                "that is a new random matrix, not the weights of the layer.",
            ),
        ],
        hints=[
            "What is the shape of linear.weight, and what is the shape of W in x @ W?",
            "linear.weight is (d_out, d_in).",
            "linear.weight.T, and .detach() leaves its history behind.",
        ],
    ),
    first=Task(
        my_first,
        show=("weights",),
        axes=("query", "key"),
        cases={
            "one sentence of three tokens": _weights(1, 3),
            "one sentence of one token": _weights(1, 1),
            "two sentences": _weights(2, 4),
            "three sentences of three tokens": _weights(3, 3),
            "two sentences of one token": _weights(2, 1),
        },
        right="A (T, T) table for any number of sentences and of tokens.",
        mistakes=[
            Mistake(
                lambda w: w.squeeze(),
                "squeeze removes every dimension of size 1. A sentence of one token collapses, and a batch of two "
                "stays a batch.",
            ),
            Mistake(lambda w: w.squeeze(0), "squeeze(0) works only where the batch has a single sentence."),
            Mistake(lambda w: w[:, 0], "that is the first query of each sentence, not the first sentence."),
            Mistake(lambda w: w.mean(dim=0), "that is the mean over the sentences."),
            Mistake(lambda w: w[-1], "that is the last sentence, not the first."),
            Mistake(lambda w: w[:1], "a slice keeps the dimension: weights[0], not weights[:1]."),
        ],
        hints=[
            "The batch dimension comes first.",
            "An index takes a dimension away, a slice keeps it.",
        ],
    ),
    global_size=Question(
        'my_global = "b"',
        form='a letter, "a", "b", "c" or "d"',
        right="the module reads the variable anew at each call, and divides its scores by ten times as much. No "
        "error, just other weights: the quietest way to be wrong. keys.shape[-1] can't go wrong.",
        mistakes=[
            Mistake(
                "a",
                "forward doesn't remember the value that the variable had when the module was made: a global is "
                "looked up at each call.",
            ),
            Mistake(
                "c",
                "a NameError comes where there is no such variable, for instance when the class is imported from a "
                "file. Here there is one.",
            ),
            Mistake("d", "the scale is a plain number; no shape depends on it."),
        ],
        hints=[
            "When does Python look up a global variable: when the class is written, when the module is made, or when "
            "forward runs?",
            "A larger scale makes scores smaller. What does softmax make of that?",
        ],
    ),
)
