"""Causal attention and several heads, against PyTorch's own and against the cells that introduce them."""

from functools import partial

import pytest
import tensors
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from lessons import definitions
from tensors import examples
from torch import nn

from helpers import INPUTS
from helpers.attention import (
    CausalAttention,
    MultiHeadAttention,
    MultiHeadAttentionWrapper,
    attention,
    attention_weights,
    causal_mask,
)

sizes = st.integers(1, 6)
batches = st.lists(st.integers(1, 3), max_size=2)
seeds = st.integers(0, 1000)
NAMES = ("W_query", "W_key", "W_value")
random = partial(tensors.random, dtype=torch.float64)


def leaks(module, x):
    """Whether the change of some token moves a result before it."""
    before = module(x)
    for j in range(1, x.shape[-2]):
        changed = x.clone()
        changed[..., j, :] += 3
        if not torch.allclose(module(changed)[..., :j, :], before[..., :j, :], atol=1e-10, equal_nan=True):
            return True
    return False


def as_one(wrapper, module):
    """Copy the weights of the wrapper's heads into the split version, without a last layer."""
    with torch.no_grad():
        for name in NAMES:
            for part in ("weight", "bias") if wrapper.heads[0].W_query.bias is not None else ("weight",):
                stacked = torch.cat([getattr(getattr(head, name), part) for head in wrapper.heads])
                getattr(getattr(module, name), part).copy_(stacked)
        module.out_proj.weight.copy_(torch.eye(module.out_proj.out_features))
        module.out_proj.bias.zero_()
    return module


# The mask


@given(T=st.integers(1, 30))
@examples
def test_causal_mask_keeps_the_past_and_itself(T):
    mask = causal_mask(T)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= query for key in range(T)] for query in range(T)]


@given(batch=batches, T=sizes, S=sizes, d_k=sizes, d_v=sizes, seed=seeds)
@examples
def test_attention_with_a_mask_is_scaled_dot_product_attention(batch, T, S, d_k, d_v, seed):
    queries, keys = random(*batch, T, d_k, seed=seed), random(*batch, S, d_k, seed=seed + 1)
    values = random(*batch, S, d_v, seed=seed + 2)
    mask = random(*batch, T, S, seed=seed + 3) > 0
    mask[..., 0] = True  # no row is empty
    context, weights = attention(queries, keys, values, mask)
    torch.testing.assert_close(context, F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask))
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(*batch, T, dtype=weights.dtype))
    assert torch.equal(weights, attention_weights(queries, keys, mask))


@given(batch=batches, T=sizes, d=sizes, seed=seeds)
@examples
def test_a_causal_mask_is_what_pytorch_calls_causal(batch, T, d, seed):
    x = random(*batch, T, d, seed=seed)
    context, _ = attention(x, x, x, causal_mask(T))
    torch.testing.assert_close(context, F.scaled_dot_product_attention(x, x, x, is_causal=True))


@given(B=sizes, T=sizes, S=sizes, d=sizes, seed=seeds)
@examples
def test_a_padding_mask_is_repeated_for_each_query(B, T, S, d, seed):
    queries, keys = random(B, T, d, seed=seed), random(B, S, d, seed=seed + 1)
    real = random(B, S, seed=seed + 2) > 0
    real[:, 0] = True
    _, weights = attention(queries, keys, keys, real[:, None, :])
    for sentence in range(B):
        kept = real[sentence]
        _, alone = attention(queries[sentence], keys[sentence, kept], keys[sentence, kept])
        torch.testing.assert_close(weights[sentence][:, kept], alone)


def test_no_mask_and_a_mask_that_keeps_all_give_the_same():
    x = random(2, 5, 3)
    assert torch.equal(attention(x, x, x)[0], attention(x, x, x, torch.ones(5, 5, dtype=torch.bool))[0])


def test_a_row_that_hides_every_key_is_nan_and_only_that():
    x, mask = random(4, 3), causal_mask(4)
    mask[2] = False
    context, weights = attention(x, x, x, mask)
    assert context.isnan().any(dim=-1).tolist() == [False, False, True, False]
    assert weights[2].isnan().all()


# Modules


@given(batch=batches, T=sizes, d_in=sizes, d_out=sizes, more=st.integers(0, 3), bias=st.booleans(), seed=seeds)
@examples
def test_causal_attention_is_pytorchs_on_the_same_projections(batch, T, d_in, d_out, more, bias, seed):
    torch.manual_seed(seed)
    module = CausalAttention(d_in, d_out, T + more, qkv_bias=bias).double()
    x = random(*batch, T, d_in, seed=seed)
    expected = F.scaled_dot_product_attention(module.W_query(x), module.W_key(x), module.W_value(x), is_causal=True)
    torch.testing.assert_close(module(x), expected)


@given(batch=batches, T=sizes, d_head=sizes, num_heads=st.integers(1, 4), bias=st.booleans(), seed=seeds)
@examples
def test_several_heads_are_nn_multiheadattention_with_copied_weights(batch, T, d_head, num_heads, bias, seed):
    torch.manual_seed(seed)
    d_model = num_heads * d_head
    ours = MultiHeadAttention(d_model, d_model, T, num_heads=num_heads, qkv_bias=bias).double()
    theirs = nn.MultiheadAttention(d_model, num_heads, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([getattr(ours, name).weight for name in NAMES]))
        theirs.in_proj_bias.zero_()
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([getattr(ours, name).bias for name in NAMES]))
        theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    x = random(*batch, T, d_model, seed=seed)
    flat = x.reshape(-1, T, d_model)
    output, weights = ours(x, return_weights=True)
    expected = theirs(flat, flat, flat, attn_mask=~causal_mask(T), average_attn_weights=False)  # True = hide
    torch.testing.assert_close(output.reshape(-1, T, d_model), expected[0])
    torch.testing.assert_close(weights.reshape(-1, num_heads, T, T), expected[1])
    assert torch.equal(ours(x), output)


@given(batch=batches, T=sizes, d_in=sizes, d_head=sizes, num_heads=st.integers(1, 4), bias=st.booleans(), seed=seeds)
@examples
def test_side_by_side_and_split_are_one_function(batch, T, d_in, d_head, num_heads, bias, seed):
    torch.manual_seed(seed)
    wrapper = MultiHeadAttentionWrapper(d_in, d_head, T, num_heads=num_heads, qkv_bias=bias).double()
    split = MultiHeadAttention(d_in, num_heads * d_head, T, num_heads=num_heads, qkv_bias=bias).double()
    x = random(*batch, T, d_in, seed=seed)
    assert wrapper(x).shape == (*batch, T, num_heads * d_head)
    torch.testing.assert_close(as_one(wrapper, split)(x), wrapper(x))


def test_reversed_heads_and_a_view_without_transpose_are_noticed():
    class Shortcut(MultiHeadAttention):
        def split(self, x):
            return x.reshape(*x.shape[:-2], self.num_heads, x.shape[-2], -1)

    torch.manual_seed(0)
    wrapper, x = MultiHeadAttentionWrapper(3, 2, 6).double(), random(6, 3)
    shortcut = as_one(wrapper, Shortcut(3, 4, 6).double())
    assert shortcut(x).shape == wrapper(x).shape
    assert not torch.allclose(shortcut(x), wrapper(x))
    assert leaks(shortcut, x)
    expected = wrapper(x)
    wrapper.heads = wrapper.heads[::-1]
    assert not torch.allclose(wrapper(x), expected)


def built(T):
    return [
        CausalAttention(3, 4, T),
        MultiHeadAttentionWrapper(3, 2, T),
        MultiHeadAttention(3, 4, T, num_heads=2),
        MultiHeadAttention(3, 4, T, num_heads=4, qkv_bias=True),
    ]


def kind(module):
    return type(module).__name__


@pytest.mark.parametrize("module", built(7), ids=kind)
def test_no_module_leaks_and_a_prefix_gives_the_same(module):
    module, x = module.double(), random(2, 7, 3)
    assert not leaks(module, x)
    torch.testing.assert_close(module(x[:, :4]), module(x)[:, :4])
    torch.testing.assert_close(module(x[:, :1]), module(x)[:, :1])


@pytest.mark.parametrize(
    "mask",
    [None, causal_mask(6).T, torch.ones(6, 6, dtype=torch.bool).tril(1), torch.ones(6, 6, dtype=torch.bool).tril(2)],
    ids=["none", "upside down", "one column too many", "two columns too many"],
)
def test_the_leakage_test_notices_wrong_masks(mask):
    assert leaks(lambda x: attention(x, x, x, mask)[0], random(6, 3))
    assert not leaks(lambda x: attention(x, x, x, causal_mask(6))[0], random(6, 3))


@pytest.mark.parametrize("number", range(4))
def test_a_state_goes_into_a_module_for_longer_texts(number):
    torch.manual_seed(0)
    short = built(6)[number]
    torch.manual_seed(1)
    longer = built(9)[number]
    state = short.state_dict()
    assert not any("mask" in name for name in state)
    assert not torch.allclose(short(INPUTS), longer(INPUTS))
    longer.load_state_dict(state)
    assert torch.equal(short(INPUTS), longer(INPUTS))


@pytest.mark.parametrize("module", built(6), ids=kind)
def test_the_mask_follows_the_module_and_is_not_trained(module):
    assert all("mask" not in name for name, _ in module.named_parameters())
    module.to("meta")
    assert all(buffer.device.type == "meta" for buffer in module.buffers())
    assert list(module.buffers())
    assert module(torch.empty(2, 6, 3, device="meta")).shape == (2, 6, 4)


@pytest.mark.parametrize("module", built(6), ids=kind)
def test_modules_mix_precisions_as_torch_does(module):
    model = nn.Sequential(nn.Linear(3, 3), module)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(INPUTS)
    assert mixed.dtype == torch.bfloat16
    torch.testing.assert_close(mixed.float(), model(INPUTS), rtol=0.02, atol=0.02)


def test_a_mask_is_made_on_the_device_in_use():
    with torch.device("meta"):
        x = torch.empty(2, 4, 3)
        assert attention(x, x, x, causal_mask(4))[0].is_meta


@pytest.mark.parametrize("module", built(6), ids=kind)
def test_every_parameter_gets_a_gradient(module):
    module(INPUTS).pow(2).sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad.abs().sum() > 0 or name == "W_key.bias", name  # which softmax ignores


def legible(kind, T, heads, p):
    """A module whose outputs are, head by head, the weights that the values are multiplied by, and then their sum.

    For the inputs eye(T) each head's values are an identity with a column of ones beside it.
    """
    torch.manual_seed(0)
    own = {} if kind is CausalAttention else {"num_heads": heads}
    d_out = heads * (T + 1) if kind is MultiHeadAttention else T + 1
    module = kind(T, d_out, T, dropout=p, **own)
    values = torch.cat([torch.eye(T), torch.ones(1, T)])  # (T + 1, T): the weight of a layer
    with torch.no_grad():
        for part in getattr(module, "heads", [module]):
            part.W_value.weight.copy_(values.repeat(heads if kind is MultiHeadAttention else 1, 1))
        if kind is MultiHeadAttention:
            module.out_proj.weight.copy_(torch.eye(d_out))
            module.out_proj.bias.zero_()
    return module


@pytest.mark.parametrize("p", [0.2, 0.5])
@pytest.mark.parametrize(
    ("kind", "heads"), [(CausalAttention, 1), (MultiHeadAttentionWrapper, 3), (MultiHeadAttention, 3)]
)
def test_dropout_takes_weights_and_scales_the_others(kind, heads, p):
    T, B = 5, 200
    module, x = legible(kind, T, heads, p), torch.eye(T).expand(B, T, T)
    after, sums = module(x).detach().unflatten(-1, (heads, T + 1)).split([T, 1], dim=-1)  # (B, T, heads, T), (..., 1)
    before, ones = module.eval()(x).detach().unflatten(-1, (heads, T + 1)).split([T, 1], dim=-1)
    torch.testing.assert_close(ones, torch.ones_like(ones))  # with nothing dropped
    visible, dropped = before > 0, after == 0
    assert abs(dropped[visible].float().mean() - p) < 0.03
    torch.testing.assert_close(after[visible & ~dropped], before[visible & ~dropped] / (1 - p))
    torch.testing.assert_close(sums, after.sum(dim=-1, keepdim=True))  # dropped before the values come in, not after
    assert (dropped[:, -1, :, 0] != dropped[:, -2, :, 0]).any()  # each query loses keys of its own: no value is dropped
    assert all((dropped[:, -1, 0] != dropped[:, -1, head]).any() for head in range(1, heads))  # and so does each head


@pytest.mark.parametrize("kind", [CausalAttention, MultiHeadAttentionWrapper, MultiHeadAttention])
def test_dropout_is_off_in_eval_and_on_in_training(kind):
    torch.manual_seed(0)
    module, quiet = kind(3, 4, 6, dropout=0.5), kind(3, 4, 6)
    quiet.load_state_dict(module.state_dict())
    assert not torch.allclose(module(INPUTS), quiet(INPUTS))
    assert torch.equal(module.eval()(INPUTS), quiet(INPUTS))


def test_weights_are_returned_before_dropout():
    module = MultiHeadAttention(3, 4, 6, dropout=0.9)
    torch.manual_seed(0)
    output, weights = module(INPUTS, return_weights=True)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 6))
    torch.manual_seed(0)
    assert torch.equal(module(INPUTS), output)


# The lessons


def test_the_functions_of_the_lesson_are_those_of_the_helpers():
    names = definitions("09_causal_attention", "keep", "function")
    queries, keys, values = random(2, 5, 3), random(2, 7, 3, seed=1), random(2, 7, 4, seed=2)
    mask = random(2, 5, 7, seed=3) > 0
    mask[..., 0] = True
    assert torch.equal(names["causal_mask"](5), causal_mask(5))
    for given_mask in (None, mask):
        torch.testing.assert_close(
            names["attention"](queries, keys, values, given_mask), attention(queries, keys, values, given_mask)
        )
        torch.testing.assert_close(
            names["attention_weights"](queries, keys, given_mask), attention_weights(queries, keys, given_mask)
        )


@pytest.mark.parametrize(
    ("module", "lesson", "cell"),
    [
        (CausalAttention, "09_causal_attention", "module"),
        (MultiHeadAttentionWrapper, "10_multi_head", "wrapper"),
        (MultiHeadAttention, "10_multi_head", "module"),
    ],
)
def test_the_modules_of_the_lessons_are_those_of_the_helpers(module, lesson, cell):
    needed = definitions("09_causal_attention", "keep", "function", "module")
    own = definitions(lesson, cell)
    own.update({name: needed[name] for name in ("causal_mask", "attention_weights")})
    own.setdefault("CausalAttention", needed["CausalAttention"])
    for seed, (options, shape) in enumerate([({}, (6, 3)), ({"qkv_bias": True}, (2, 5, 3)), ({}, (2, 3, 1, 3))]):
        torch.manual_seed(seed)
        ours = module(3, 4, 6, **options)
        torch.manual_seed(seed)
        theirs = own[module.__name__](3, 4, 6, **options)
        assert ours.state_dict().keys() == theirs.state_dict().keys()
        x = random(*shape, dtype=torch.float32)
        torch.testing.assert_close(ours(x), theirs(x))
        if module is MultiHeadAttention:
            torch.testing.assert_close(ours(x, return_weights=True), theirs(x, return_weights=True))


# Bad input


def attend(mask):
    x = random(2, 4, 3)
    return attention(x, x, x, mask)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: causal_mask(0), ValueError, "T must be at least 1, not 0"),
        (lambda: causal_mask(2.5), TypeError, "T must be a whole number, not 2.5"),
        (lambda: attend(torch.ones(4, 4)), TypeError, r"mask must hold booleans.*float32.*mask\.bool\(\)"),
        (lambda: attend(torch.ones(4, 4, dtype=int)), TypeError, "mask must hold booleans.*int64"),
        (lambda: attend([[True]]), TypeError, "mask must be a tensor, not list"),
        (
            lambda: attend(causal_mask(4).to("meta")),
            ValueError,
            r"mask is on meta, the scores on cpu: mask\.to\(scores",
        ),
        (lambda: attend(causal_mask(5)), ValueError, r"\(2, 4, 4\).*its shape is \(5, 5\)"),
        (lambda: attend(torch.ones(3, 4, 4).bool()), ValueError, r"\(2, 4, 4\).*its shape is \(3, 4, 4\)"),
        (lambda: attend(torch.ones(2, 2, 4, 4).bool()), ValueError, r"its shape is \(2, 2, 4, 4\)"),
        (lambda: CausalAttention(3, 2, 0), ValueError, "context_length must be at least 1, not 0"),
        (lambda: CausalAttention(3, 2, 4)(INPUTS), ValueError, r"x has 6 tokens.*\(6, 3\).*context_length = 4"),
        (lambda: CausalAttention(3, 2, 6)(INPUTS[0]), ValueError, "x must hold one vector per row"),
        (lambda: CausalAttention(2, 2, 6)(INPUTS), ValueError, r"x must end in d_in = 2.*\(6, 3\)"),
        (lambda: MultiHeadAttentionWrapper(3, 2, 6, num_heads=0), ValueError, "num_heads must be at least 1, not 0"),
        (lambda: MultiHeadAttentionWrapper(3, 0, 6), ValueError, "d_head must be at least 1, not 0"),
        (lambda: MultiHeadAttentionWrapper(3, 2, 4)(INPUTS), ValueError, "context_length = 4"),
        (lambda: MultiHeadAttention(3, 5, 6), ValueError, "d_out = 5 can't be split into 2 heads"),
        (lambda: MultiHeadAttention(3, 4, 6, num_heads=2.0), TypeError, "num_heads must be a whole number, not 2.0"),
        (lambda: MultiHeadAttention(3, 4, 4)(INPUTS), ValueError, "x has 6 tokens.*context_length = 4"),
        (lambda: MultiHeadAttention(3, 4, 6)(torch.ones(6, 3, dtype=int)), TypeError, "x must hold floating"),
        (lambda: MultiHeadAttention(3, 4, 6, num_heads=0), ValueError, "num_heads must be at least 1, not 0"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
