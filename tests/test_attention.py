"""The functions that the lessons build, against PyTorch's own and against the cells that introduce them."""

import math

import pytest
import torch
from lessons import LESSONS, code_cells, read

from helpers import INPUTS
from helpers.attention import dot_product_scores, entropy, simple_attention, softmax, softmax_naive

SHAPES = [(1, 1), (1, 5), (4, 1), (6, 3), (2, 5, 4), (2, 3, 7, 2)]


def random(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def from_lesson(name, cell_id):
    """The functions that a cell of a lesson defines."""
    notebook = read(next(path for path in LESSONS if path.stem == name))
    source = next(cell.source for cell in code_cells(notebook) if cell.id == cell_id)
    head = source.split("\n\n\n")[0]  # the definition, without the experiment after it
    names = {"torch": torch, "softmax_naive": softmax_naive}
    exec(head, names)
    return names


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


def test_entropy_at_its_ends():
    assert entropy(torch.tensor([[0.0, 1.0, 0.0]])).tolist() == [0]
    torch.testing.assert_close(entropy(torch.full((2, 5), 0.2)), torch.full((2,), math.log(5)))


def test_lesson_and_helpers_have_the_same_functions():
    scores, inputs = random(2, 4, 5, scale=4), random(2, 4, 3)
    naive = from_lesson("02_softmax", "naive")["softmax_naive"]
    stable = from_lesson("02_softmax", "repair")["softmax"]
    attention = from_lesson("03_context_vectors", "function")["simple_attention"]
    for dim in (-1, 0):
        torch.testing.assert_close(naive(scores, dim=dim), softmax_naive(scores, dim=dim))
        torch.testing.assert_close(stable(100 * scores, dim=dim), softmax(100 * scores, dim=dim))
    torch.testing.assert_close(attention(inputs), simple_attention(inputs))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: dot_product_scores(random(6, 3), random(6, 2)), ValueError, r"queries is \(6, 3\).*keys is \(6, 2\)"),
        (lambda: dot_product_scores(random(3), random(6, 3)), ValueError, r"queries .*\(3,\).*queries\[None, :\]"),
        (lambda: dot_product_scores([[1.0]], random(6, 3)), TypeError, "queries must be a tensor, not list"),
        (lambda: dot_product_scores(random(6, 3), torch.ones(6, 3, dtype=int)), TypeError, "keys must hold floating"),
        (lambda: softmax([1.0, 2.0]), TypeError, "scores must be a tensor"),
        (lambda: softmax(torch.tensor([1, 2])), TypeError, r"scores must hold floating.*int64.*scores\.float\(\)"),
        (lambda: softmax_naive(torch.tensor([True])), TypeError, "scores must hold floating"),
        (lambda: simple_attention(random(3)), ValueError, "inputs must hold one vector per row"),
        (lambda: entropy(torch.tensor([0.5, 0.6])), ValueError, "1.1000"),
        (lambda: entropy(torch.tensor([1.5, -0.5])), ValueError, "negative.*-0.5000"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
