"""The functions that the lessons build, against PyTorch's own and against the cells that introduce them."""

import math

import pytest
import torch
from lessons import definitions
from tensors import random

from helpers import INPUTS
from helpers.attention import (
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    attention,
    attention_weights,
    dot_product_scores,
    entropy,
    simple_attention,
    softmax,
    softmax_naive,
)

SHAPES = [(1, 1), (1, 5), (4, 1), (6, 3), (2, 5, 4), (2, 3, 7, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_all_dot_products(shape):
    queries, keys = random(*shape), random(*shape[:-2], 3, shape[-1], seed=1)
    scores = dot_product_scores(queries, keys)
    assert scores.shape == (*shape[:-1], 3)
    torch.testing.assert_close(scores, torch.einsum("...id,...jd->...ij", queries, keys))


@pytest.mark.parametrize("function", [softmax, softmax_naive])
@pytest.mark.parametrize("dim", [-1, 0])
@pytest.mark.parametrize("shape", [(5,), *SHAPES])
def test_softmax_is_torch_softmax_for_moderate_scores(function, dim, shape):
    scores = random(*shape)
    torch.testing.assert_close(function(scores, dim=dim), torch.softmax(scores, dim=dim))


@pytest.mark.parametrize("scores", [[1000.0, 0, 1], [-104.0, -105], [88.5, 88.5], [-1e30, 1e30], [-math.inf, 0.0]])
def test_softmax_survives_where_the_naive_one_fails(scores):
    scores = torch.tensor(scores)
    torch.testing.assert_close(softmax(scores), torch.softmax(scores, dim=-1))
    assert scores.isinf().any() or not torch.allclose(softmax_naive(scores), torch.softmax(scores, dim=-1))


def test_softmax_of_a_fully_masked_row_is_nan():
    assert softmax(torch.full((3,), -math.inf)).isnan().all()


def test_naive_softmax_fails_in_three_ways():
    assert softmax_naive(torch.tensor([1000.0, 0, 1])).isnan().tolist() == [True, False, False]
    assert softmax_naive(torch.tensor([-104.0, -105])).isnan().all()
    assert softmax_naive(torch.tensor([88.5, 88.5])).tolist() == [0, 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_simple_attention_is_scaled_dot_product_attention_with_scale_one(shape):
    inputs = random(*shape, scale=3)
    context, weights = simple_attention(inputs)
    expected = torch.nn.functional.scaled_dot_product_attention(inputs, inputs, inputs, scale=1.0)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(shape[:-1]))


def test_simple_attention_is_permutation_equivariant_and_leaves_its_input():
    before, order = INPUTS.clone(), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(simple_attention(INPUTS[order])[0], simple_attention(INPUTS)[0][order])
    assert torch.equal(before, INPUTS)


@pytest.mark.parametrize("shape", SHAPES)
def test_entropy_is_that_of_torch_distributions(shape):
    weights = torch.softmax(random(*shape), dim=-1)
    torch.testing.assert_close(entropy(weights), torch.distributions.Categorical(probs=weights).entropy())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_entropy_takes_weights_of_every_precision(dtype):
    for seed in range(50):
        weights = torch.softmax(random(4, 9, seed=seed), dim=-1).to(dtype)
        expected = torch.special.entr(weights.double()).sum(dim=-1)
        torch.testing.assert_close(entropy(weights).double(), expected, rtol=0.02, atol=0.02)


def test_entropy_at_its_ends():
    assert entropy(torch.tensor([[0.0, 1.0, 0.0]])).tolist() == [0]
    torch.testing.assert_close(entropy(torch.full((2, 5), 0.2)), torch.full((2,), math.log(5)))


def test_lesson_and_helpers_have_the_same_functions():
    scores, inputs = random(2, 4, 5, scale=4), random(2, 4, 3)
    scored = definitions("01_dot_product_scores", "function")["dot_product_scores"]
    naive = definitions("02_softmax", "naive")["softmax_naive"]
    stable = definitions("02_softmax", "naive", "repair")["softmax"]
    attention = definitions("03_context_vectors", "function")["simple_attention"]
    keys = random(2, 7, 3, seed=1)  # other than the queries, or nobody sees which of the two is transposed
    torch.testing.assert_close(scored(inputs, keys), dot_product_scores(inputs, keys))
    for dim in (-1, 0):
        torch.testing.assert_close(naive(scores, dim=dim), softmax_naive(scores, dim=dim))
        torch.testing.assert_close(stable(100 * scores, dim=dim), softmax(100 * scores, dim=dim))
    torch.testing.assert_close(attention(inputs), simple_attention(inputs))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_is_scaled_dot_product_attention(shape, dtype):
    *batch, T, d_k = shape
    queries = random(*batch, T, d_k).to(dtype)
    keys, values = random(*batch, 4, d_k, seed=1).to(dtype), random(*batch, 4, 3, seed=2).to(dtype)
    context, weights = attention(queries, keys, values)
    torch.testing.assert_close(context, torch.nn.functional.scaled_dot_product_attention(queries, keys, values))
    assert weights.shape == (*batch, T, 4)
    torch.testing.assert_close(weights @ values, context)


def test_attention_matches_the_lesson_on_random_batches():
    lesson = definitions("04_queries_keys_values", "function")["attention"]
    for seed in range(5):
        arguments = random(2, 5, 3, seed=seed), random(2, 7, 3, seed=seed + 9), random(2, 7, 4, seed=seed + 19)
        torch.testing.assert_close(lesson(*arguments), attention(*arguments))


MODULES = [
    (SelfAttentionV1, "v1", {}),
    (SelfAttentionV2, "v2", {}),
    (SelfAttentionV2, "v2", {"qkv_bias": True}),
    (SelfAttention, "sentence", {}),
    (SelfAttention, "sentence", {"qkv_bias": False}),
]


@pytest.mark.parametrize(("module", "cell", "options"), MODULES)
def test_modules_match_the_lesson_on_random_batches(module, cell, options):
    lesson = definitions("06_attention_modules", cell, attention=attention)[module.__name__]
    for seed, (d_in, d_out) in enumerate([(3, 2), (2, 5), (1, 1), (4, 4)]):
        torch.manual_seed(seed)
        ours = module(d_in, d_out, **options)
        torch.manual_seed(seed)
        theirs = lesson(d_in, d_out, **options)
        assert ours.state_dict().keys() == theirs.state_dict().keys()
        for shape in ((6, d_in), (2, 6, d_in), (1, 1, d_in)):
            torch.testing.assert_close(ours(random(*shape)), theirs(random(*shape)))


@pytest.mark.parametrize(("module", "cell", "options"), MODULES)
def test_modules_treat_each_sentence_of_a_batch_alone(module, cell, options):
    built, batch = module(3, 2, **options), random(4, 6, 3)

    def context(x):
        result = built(x)
        return result[0] if isinstance(result, tuple) else result

    assert context(batch).shape == (4, 6, 2)
    torch.testing.assert_close(context(batch), torch.stack([context(sentence) for sentence in batch]))


def test_every_parameter_gets_a_gradient():
    for module in (SelfAttentionV1(3, 2), SelfAttentionV2(3, 2)):
        module(INPUTS).pow(2).sum().backward()
        assert all(parameter.grad.abs().sum() > 0 for parameter in module.parameters())


def test_versions_agree_once_weights_are_copied_transposed():
    v1, v2 = SelfAttentionV1(3, 2), SelfAttentionV2(3, 2)
    v1.load_state_dict({name.removesuffix(".weight"): weight.T for name, weight in v2.state_dict().items()})
    torch.testing.assert_close(v1(INPUTS), v2(INPUTS))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: dot_product_scores(random(6, 3), random(6, 2)),
            ValueError,
            r"queries and keys must have the same size in dimension -1, but queries is \(6, 3\) and keys is \(6, 2\)",
        ),
        (lambda: dot_product_scores(random(3), random(6, 3)), ValueError, r"queries .*\(3,\).*queries\[None, :\]"),
        (lambda: dot_product_scores([[1.0]], random(6, 3)), TypeError, "queries must be a tensor, not list"),
        (lambda: dot_product_scores(random(6, 3), torch.ones(6, 3, dtype=int)), TypeError, "keys must hold floating"),
        (lambda: softmax([1.0, 2.0]), TypeError, "scores must be a tensor"),
        (lambda: softmax(torch.tensor([1, 2])), TypeError, r"scores must hold floating.*int64.*scores\.float\(\)"),
        (lambda: softmax_naive(torch.tensor([True])), TypeError, "scores must hold floating"),
        (lambda: softmax_naive([1.0, 2.0]), TypeError, "scores must be a tensor"),
        (lambda: simple_attention(random(3)), ValueError, "inputs must hold one vector per row"),
        (
            lambda: attention(random(6, 3), random(4, 3), random(5, 2)),
            ValueError,
            r"the same size in dimension -2, but keys is \(4, 3\) and values is \(5, 2\)",
        ),
        (lambda: attention(random(6, 3), random(4, 2), random(4, 2)), ValueError, r"queries is \(6, 3\)"),
        (lambda: attention(random(6, 3), random(4, 3), random(4)), ValueError, "values must hold one vector per row"),
        (lambda: SelfAttentionV1(3, 2)(random(6, 4)), ValueError, r"x must end in d_in = 3.*\(6, 4\)"),
        (lambda: SelfAttentionV2(3, 2)(torch.ones(6, 3, dtype=int)), TypeError, "x must hold floating"),
        (lambda: SelfAttention(3, 2)(random(3)), ValueError, "x must hold one vector per row"),
        (lambda: SelfAttention(3, 2)(INPUTS.tolist()), TypeError, "x must be a tensor, not list"),
        (lambda: SelfAttentionV1(3, 0), ValueError, "d_out must be at least 1, not 0"),
        (lambda: SelfAttentionV2(-1, 2), ValueError, "d_in must be at least 1, not -1"),
        (lambda: SelfAttention(3.0, 2), TypeError, "d_in must be a whole number, not 3.0"),
        (lambda: entropy([0.5, 0.5]), TypeError, "weights must be a tensor, not list"),
        (lambda: entropy(torch.tensor([0.5, float("nan")])), ValueError, "the smallest is nan"),
        (lambda: entropy(torch.tensor([[0.5, 0.5], [0.5, 0.6]])), ValueError, "the sums go from 1.0000 to 1.1000"),
        (lambda: entropy(torch.tensor([1.5, -0.5])), ValueError, "must not be negative, .* the smallest is -0.5"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


# Whatever torch can do


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dot_product_scores(x, x),
        softmax_naive,
        softmax,
        lambda x: simple_attention(x)[0],
        lambda x: attention_weights(x, x),
        lambda x: attention(x, x, x)[0],
        SelfAttentionV1(4, 4).to("meta"),
        SelfAttentionV2(4, 4).to("meta"),
        lambda x: SelfAttention(4, 4).to("meta")(x)[1],
    ],
)
def test_all_runs_on_the_device_of_its_input(call):
    result = call(torch.empty(2, 4, 4, device="meta"))  # a device without numbers, and every machine has it
    assert result.is_meta
    assert result.shape == (2, 4, 4)


@pytest.mark.parametrize("module", [SelfAttentionV1, SelfAttentionV2, SelfAttention])
def test_modules_mix_precisions_as_torch_does(module):
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 4), module(4, 4)), random(6, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(x)
    torch.testing.assert_close(mixed, model(x), rtol=0.02, atol=0.02, check_dtype=False)
