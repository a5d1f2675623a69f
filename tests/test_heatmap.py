"""The heatmap: what its table and its text say, and what it answers to odd matrices and labels."""

import base64
import html.parser
import io
import math
import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from wcwidth import wcswidth

from helpers import INPUTS, TOKENS, heatmap
from helpers.heatmap import MOST_TOKENS, Heatmap, _luminance

SCORES = INPUTS @ INPUTS.T
WEIGHTS = torch.softmax(SCORES, dim=-1)


class Table(html.parser.HTMLParser):
    """The first table of a heatmap: its header cells, its rows of (text, colour, hint), and the caption."""

    def __init__(self, heatmap):
        super().__init__()
        self.caption, self.columns, self.rows, self.names, self.tags = "", [], [], [], []
        self._place = None
        self.feed(heatmap._repr_mimebundle_()["text/html"].split('<table style="font-size: 1em;" role="img"')[0])

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if tag == "span":  # a sign that would start a formula; it stands in a label
            return
        self._place = {"caption": "caption", "th": attributes.get("scope"), "td": "cell"}.get(tag)
        if self._place == "row":
            self.names.append("")
            self.rows.append([])
        elif self._place == "col":
            self.columns.append("")
        elif self._place == "cell" and "title" in attributes:
            style = dict(part.split(":", 1) for part in attributes["style"].strip(" ;").split(";"))
            self.rows[-1].append(["", style["background-color"].strip(), attributes["title"], style[" color"].strip()])
        elif self._place == "cell":
            self._place = None

    def handle_endtag(self, tag):
        self._place = self._place if tag == "span" else None

    def handle_data(self, data):
        if self._place == "caption":
            self.caption += data
        elif self._place == "col":
            self.columns[-1] += data
        elif self._place == "row":
            self.names[-1] += data
        elif self._place == "cell":
            self.rows[-1][-1][0] += data

    def texts(self):
        return [[cell[0] for cell in row] for row in self.rows]


def rgb(colour):
    return tuple(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_every_number_stands_in_its_row_and_column():
    table = Table(heatmap(WEIGHTS, TOKENS, title="Weights"))
    assert table.caption == "Weights: query (row) to key (column)"
    assert table.names == table.columns == list(TOKENS)
    assert table.texts() == [[f"{w:.4f}" for w in row] for row in WEIGHTS.tolist()]
    assert table.rows[1][2][2] == "journey attends to starts: 0.2333"


def test_rows_are_queries_and_columns_keys():
    table = Table(heatmap([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]], ["q0", "q1"], ["k0", "k1", "k2"], decimals=1))
    assert (table.names, table.columns) == (["q0", "q1"], ["k0", "k1", "k2"])
    assert table.texts() == [["1.5", "2.5", "3.5"], ["4.5", "5.5", "6.5"]]
    assert table.rows[1][0][2] == "q1 and k0: 4.5"


def test_plain_text_is_aligned_and_complete():
    lines = str(heatmap(SCORES, TOKENS, highlight=1)).splitlines()
    assert lines[0] == "query (row) to key (column)"
    assert len(set(map(len, lines[1:-1]))) == 1
    assert lines[1].split() == list(TOKENS)
    assert [line.replace("▶ ", "").split()[0] for line in lines[2:-1]] == list(TOKENS)
    assert [line.split()[-6:] for line in lines[2:-1]] == [[f"{s:.4f}" for s in row] for row in SCORES.tolist()]
    assert [line.startswith("▶") for line in lines[2:-1]] == [False, True, False, False, False, False]
    assert lines[-1] == "colour scale from 0.2935 to 1.4950"


def test_the_highlighted_row_is_marked_in_the_table():
    table = Table(heatmap(SCORES, TOKENS, highlight=3))
    assert [name.startswith("▶") for name in table.names] == [False, False, False, True, False, False]


@pytest.mark.parametrize(
    "matrix",
    [
        WEIGHTS.clone().requires_grad_(),
        WEIGHTS.double(),
        WEIGHTS.numpy(),
        WEIGHTS.tolist(),
        list(WEIGHTS),
        list(WEIGHTS.clone().requires_grad_()),
        [list(row) for row in WEIGHTS.clone().requires_grad_()],
        tuple(map(tuple, WEIGHTS.tolist())),
        WEIGHTS.T.contiguous().T,
        torch.nn.Parameter(WEIGHTS),
    ],
)
def test_tensors_arrays_and_lists_give_the_same(matrix):
    assert str(heatmap(matrix, TOKENS)) == str(heatmap(WEIGHTS, TOKENS))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_short_floats_are_shown_with_the_numbers_they_hold(kind):
    matrix = torch.tensor([[0.5, 0.25]], dtype=kind)
    assert Table(heatmap(matrix)).texts() == [["0.5000", "0.2500"]]


def test_whole_numbers_and_masks_are_shown_without_decimals():
    assert Table(heatmap(torch.tensor([[1, 20]]))).texts() == [["1", "20"]]
    assert Table(heatmap(torch.ones(2, 2).tril().bool())).texts() == [["1", "0"], ["1", "1"]]
    assert Table(heatmap([[2**62 + 1, 0]])).texts() == [[str(2**62 + 1), "0"]]


def test_the_matrix_is_copied():
    matrix = WEIGHTS.clone()
    shown = heatmap(matrix, TOKENS)
    before = str(shown)
    matrix.zero_()
    assert str(shown) == before


def test_colours_rise_with_the_numbers():
    table = Table(heatmap([[0.0, 0.25, 0.5, 0.75, 1.0]]))
    lightness = [_luminance(*rgb(cell[1])) for cell in table.rows[0]]
    assert lightness == sorted(lightness)
    assert len(set(lightness)) == 5


def test_negative_numbers_get_a_scale_centred_on_zero():
    shown = heatmap([[-1.0, 0.0, 4.0, -4.0]])
    assert (shown.low, shown.high) == (-4, 4)
    negative, zero, positive, most_negative = [rgb(cell[1]) for cell in Table(shown).rows[0]]
    assert min(zero) > 240  # white
    assert positive[0] > positive[2]  # red
    assert most_negative[2] > most_negative[0]  # blue
    assert min(negative) > min(most_negative)
    assert "colour scale from -4.0000 to 4.0000" in str(shown)


def test_the_scale_can_be_fixed_and_clips():
    shown = heatmap([[0.2, 0.9]], low=0, high=0.5)
    assert (shown.low, shown.high) == (0, 0.5)
    assert Table(shown).texts() == [["0.2000", "0.9000"]]
    assert heatmap([[0.2]], low=-1).low == -1
    assert rgb(Table(shown).rows[0][1][1]) == rgb(Table(heatmap([[0.0, 0.5]], low=0, high=0.5)).rows[0][1][1])


@pytest.mark.parametrize(
    "matrix", [[[0.0]], [[0.5, 0.5]], [[7.0]], [[-3.0]], torch.zeros(3, 3), torch.full((2, 2), 1 / 6)]
)
def test_a_constant_matrix_has_one_colour(matrix):
    assert len({cell[1] for row in Table(heatmap(matrix)).rows for cell in row}) == 1


def test_colours_depend_on_the_digits_shown_and_on_nothing_else():
    noise = 1e-6 * torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    rounded = torch.tensor([[float(f"{w:.4f}") for w in row] for row in WEIGHTS.tolist()])
    assert heatmap(rounded + 1e-7 * noise)._repr_mimebundle_() == heatmap(rounded)._repr_mimebundle_()


def test_a_tiny_negative_number_is_a_zero_without_sign():
    shown = heatmap([[-1e-9, 0.5]])
    assert Table(shown).texts() == [["0.0000", "0.5000"]]
    assert shown.low == 0


@pytest.mark.parametrize("colour_text", [[[-1.0, -0.7, -0.3, 0.0, 0.3, 0.7, 1.0]], [[i / 20 for i in range(21)]]])
def test_text_is_readable_on_every_colour(colour_text):
    for _, ground, _, text in Table(heatmap(colour_text)).rows[0]:
        light, dark = sorted((_luminance(*rgb(ground)), _luminance(*rgb(text))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("colour", "luminance"),
    [
        ((255, 0, 0), 0.2126),
        ((0, 255, 0), 0.7152),
        ((0, 0, 255), 0.0722),
        ((255, 255, 255), 1.0),
        ((0, 0, 0), 0.0),
        ((128, 128, 128), 0.2159),
        ((10, 10, 10), 0.0030),
    ],
)
def test_luminance_is_that_of_wcag(colour, luminance):
    assert _luminance(*colour) == pytest.approx(luminance, abs=5e-5)


def test_nan_and_infinity_are_shown_as_such():
    shown = heatmap([[math.nan, math.inf, -math.inf, 0.25, 0.75]])
    cells = Table(shown).rows[0]
    assert [cell[0] for cell in cells] == ["nan", "inf", "-inf", "0.2500", "0.7500"]
    assert len({cell[1] for cell in cells}) == 4  # nan, both infinities, and the two numbers
    assert (shown.low, shown.high) == (0.25, 0.75)
    assert str(heatmap(torch.full((2, 2), math.nan))).count("nan") == 4


def test_extreme_numbers_stay_readable():
    assert Table(heatmap([[1.7e308, -1.7e308]])).texts() == [["1.7000e+308", "-1.7000e+308"]]
    assert Table(heatmap([[1e-9, 2e-9]])).texts() == [["1.0000e-09", "2.0000e-09"]]
    assert Table(heatmap([[0.123456]], decimals=2)).texts() == [["0.12"]]
    assert Table(heatmap([[0.876]], decimals=2)).texts() == [["0.88"]]  # rounded, not cut off


HOSTILE = "<script>alert('x')</script> & \"quotes\""


def test_tokens_and_titles_are_text_never_html():
    shown = heatmap([[0.1, 0.9]], [HOSTILE], [HOSTILE, "<b>"], title=HOSTILE, axes=("<i>", "<u>"))
    table = Table(shown)
    assert table.names == [HOSTILE]
    assert table.columns == [HOSTILE, "<b>"]
    assert table.caption.startswith(HOSTILE)
    assert table.rows[0][0][2] == f"{HOSTILE} and {HOSTILE}: 0.1000"
    assert set(table.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize(
    "tokens",
    [["the", "the", "the"], ["a" * 30, "b", "c"], ["👩‍👩‍👧", "😀", "é"], ["注意力", "机制", "x"], [1, 2.5, None]],
)
def test_odd_tokens_are_shown_in_full_and_aligned(tokens):
    shown = heatmap(torch.eye(3), tokens)
    assert Table(shown).names == [str(token) for token in tokens]
    lines = str(shown).splitlines()[1:-1]
    assert len({wcswidth(line) for line in lines}) == 1


def test_tokens_that_would_not_be_seen_are_written_out():
    shown = heatmap(torch.eye(5), ["\n", "", " ", "a\tb", "\ud83d"])
    assert Table(shown).names == [r"'\n'", "''", "' '", r"a\tb", r"\ud83d"]
    str(shown).encode()


HEBREW = ["[CLS]", "שלום", "עולם!", "م٢", "[SEP]"]
ISOLATED = ["[CLS]", "\u2068שלום\u2069", "\u2068עולם!\u2069", "\u2068م٢\u2069", "[SEP]"]


def test_labels_that_run_from_right_to_left_leave_numbers_and_keys_in_their_order():
    # Without the two signs a screen shows a row of such a name from its last number to its first.
    shown = heatmap(torch.eye(5), HEBREW, highlight=1, axes=("token", "מפתח"))
    table = Table(shown)
    assert (table.names, table.columns) == ([ISOLATED[0], "▶ " + ISOLATED[1], *ISOLATED[2:]], ISOLATED)
    assert table.caption == "token (row), \u2068מפתח\u2069 (column)"
    assert table.rows[1][2][2] == f"{ISOLATED[1]} and {ISOLATED[2]}: 0.0000"
    header, *rows = str(shown).splitlines()[1:-1]
    assert header.split() == ISOLATED
    assert [row.replace("▶ ", "").split()[0] for row in rows] == ISOLATED
    assert len({wcswidth(line) for line in (header, *rows)}) == 1
    assert f"▶ {ISOLATED[1]}→{ISOLATED[1]}" in str(heatmap(torch.eye(5, 41), HEBREW, HEBREW + 36 * ["x"], highlight=1))


def test_a_picture_has_the_labels_without_signs_that_fonts_lack():
    ax = heatmap(torch.eye(5), HEBREW, axes=("token", "מפתח")).plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == HEBREW
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("token", "מפתח")


def test_labels_may_come_as_tensors_and_arrays():
    assert heatmap(torch.eye(2), torch.tensor([7, 8]), np.array(["a", "b"])).queries == ["7", "8"]
    assert heatmap(torch.eye(2), list(torch.tensor([7, 8]))).queries == ["7", "8"]


def test_without_labels_rows_and_columns_are_numbered():
    table = Table(heatmap(torch.rand(2, 3)))
    assert (table.names, table.columns) == (["0", "1"], ["0", "1", "2"])
    assert Table(heatmap(torch.rand(2, 3), ["a", "b"])).columns == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1.0, 2.0],), ValueError, r"matrix must have two dimensions.*\(2,\).*pass \[matrix\]"),
        ((torch.rand(2),), ValueError, r"matrix must have two dimensions.*\(2,\).*pass \[matrix\]"),
        (((torch.rand(2, 3), torch.rand(2, 2)),), ValueError, "must be one matrix, not a tuple of 2: choose one"),
        (((torch.rand(3, 3), torch.rand(3, 3)),), ValueError, r"\(2, 3, 3\).*Choose .* matrix\[0\]$"),
        (([[1, [2]], [3, 4]],), ValueError, "matrix must be rows of equal length, one number per key"),
        ((torch.eye(2), {"a", "b"}), TypeError, "queries must be a list of labels"),
        ((torch.eye(2), None, torch.tensor(1)), TypeError, "keys must be a list of labels"),
        ((torch.rand(2, 3, 3),), ValueError, r"matrix .*\(2, 3, 3\).*Choose .* matrix\[0\]$"),
        ((torch.rand(1, 2, 3, 3),), ValueError, r"matrix .*\(1, 2, 3, 3\).*Choose .* matrix\[0\]\[0\]$"),
        ((torch.tensor(1.0),), ValueError, r"matrix .*\(\)"),
        ((torch.empty(0, 3),), ValueError, r"matrix must not be empty.*\(0, 3\)"),
        (([[]],), ValueError, r"matrix must not be empty.*\(1, 0\)"),
        (([[1.0, 2.0], [3.0]],), ValueError, "matrix must be rows of equal length"),
        (([["a", "b"]],), TypeError, "matrix must hold real numbers.*list holds str$"),
        (([[1.0, None]],), TypeError, "matrix must hold real numbers.*NoneType"),
        ((torch.rand(2, 2) * 1j,), TypeError, "complex"),
        ((None,), TypeError, "matrix must hold real numbers.*None"),
        (("abc",), TypeError, "matrix must hold real numbers.*str"),
        ((torch.eye(3), ["a", "b"]), ValueError, "queries has 2 labels, but matrix has 3 rows"),
        ((torch.rand(2, 3), ["a", "b"], ["c"]), ValueError, "keys has 1 labels, but matrix has 3 columns"),
        ((torch.eye(3), "abc"), TypeError, "queries must be a list of labels.*'abc'"),
        ((torch.eye(3), 3), TypeError, "queries must be a list of labels"),
    ],
)
def test_bad_matrices_and_labels_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        heatmap(*arguments)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"highlight": 3}, ValueError, "highlight must be a row from 0 to 2, not 3"),
        ({"highlight": -1}, ValueError, "highlight"),
        ({"highlight": "journey"}, TypeError, "highlight must be a row from 0 to 2, not 'journey'"),
        ({"decimals": 2.5}, TypeError, "decimals must be a number of digits from 0 to 10, not 2.5"),
        ({"decimals": -1}, ValueError, "decimals must be a number of digits from 0 to 10, not -1"),
        ({"low": 2.0}, ValueError, "low must be below high.*from 2 to 1"),
        ({"low": 0.5, "high": 0.5}, ValueError, "low must be below high.*from 0.5 to 0.5"),
        ({"high": math.nan}, ValueError, "low must be below high, both finite.*to nan"),
        ({"low": -math.inf}, ValueError, "low must be below high, both finite.*from -inf"),
        ({"low": torch.rand(2)}, TypeError, "low must be a number or None, not tensor"),
        ({"low": "lowest"}, TypeError, "low must be a number or None, not 'lowest'"),
        ({"axes": "query"}, TypeError, "axes must be a list of labels, not 'query'"),
        ({"axes": ["query"]}, ValueError, "axes has 1 labels, but matrix has 2 dimensions"),
    ],
)
def test_bad_options_are_named(options, error, words):
    with pytest.raises(error, match=words):
        heatmap(torch.eye(3), **options)


def test_a_long_sequence_becomes_a_picture_with_a_summary():
    matrix = torch.eye(MOST_TOKENS + 1)
    matrix[3] = math.nan
    bundle = heatmap(matrix, title="Long")._repr_mimebundle_()
    assert set(bundle) == {"image/png", "text/plain"}
    Image.open(io.BytesIO(base64.b64decode(bundle["image/png"]))).verify()
    size = MOST_TOKENS + 1
    first, second = bundle["text/plain"].splitlines()
    assert first == f"Long: query (row) to key (column), {size} x {size}, from 0.0000 to 1.0000, {size} nan or inf"
    assert second.split(": ")[1].split() == ["3→-" if i == 3 else f"{i}→{i}" for i in range(size)]
    assert set(heatmap(torch.eye(MOST_TOKENS))._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_plot_draws_the_same_numbers_and_labels():
    matrix = torch.tensor([[-1.0, 0.5, math.nan], [0.0, 2.0, 1.0]])
    ax = heatmap(matrix, ["q0", "q1"], ["k0", "k1", "k2"], title="A title").plot()
    drawn = ax.images[0].get_array()
    assert np.ma.filled(drawn, -9).tolist() == [[-1, 0.5, -9], [0, 2, 1]]
    assert ax.images[0].get_clim() == (-2, 2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["q0", "q1"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["k0", "k1", "k2"]
    assert (ax.get_title(), ax.get_ylabel(), ax.get_xlabel()) == ("A title", "query", "key")


def test_plot_takes_axes_of_the_caller():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert heatmap(WEIGHTS, TOKENS).plot(ax) is ax


def test_labels_may_be_read_only_once():
    shown = heatmap(torch.eye(2), (token for token in "ab"))
    assert (shown.queries, shown.keys) == (["a", "b"], ["a", "b"])


def test_spaces_at_the_ends_of_a_token_are_seen():
    assert heatmap(torch.eye(2), ["the", " the "]).queries == ["the", "␣the␣"]


def test_what_is_masked_is_refused():
    row = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    for matrix in (row[None], [row, row]):
        with pytest.raises(TypeError, match=r"matrix must hold real numbers.*NoneType"):
            heatmap(matrix)


def test_options_may_be_tensors_of_one_number():
    scores = torch.tensor([[0.5, 0.25], [1.0, 2.0]])
    shown = heatmap(scores, highlight=scores.sum(dim=1).argmax(), low=scores.min(), high=scores.max())
    assert (shown.highlight, shown.low, shown.high) == (1, 0.25, 2)


@pytest.mark.parametrize(
    ("matrix", "options"),
    [
        ([[0.1, torch.finfo(torch.float64).min], [0.3, 0.4]], {}),
        ([[0.1, torch.finfo(torch.float32).min], [0.3, 0.4]], {}),
        ([[-5e-324, 1.0]], {}),
        ([[-1.0, 2.0]], {"low": -1e-300, "high": 0}),
    ],
)
def test_the_ends_of_the_floats_can_be_shown(matrix, options):
    shown = heatmap(matrix, **options)
    assert len(Table(shown).rows) == len(matrix)
    str(shown)


def test_a_title_stays_on_one_line():
    shown = heatmap(torch.eye(2), title="two\nlines")
    assert str(shown).splitlines()[0] == "two lines: query (row) to key (column)"
    assert str(heatmap(torch.eye(2), title="")).splitlines()[0] == "query (row) to key (column)"


def test_pictures_take_dollars_long_labels_and_a_highlight():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain, marked = (heatmap(torch.rand(2, 45), ["$^$", "$a$ b"], title="$x$" * 40, highlight=h) for h in (None, 1))
        assert plain._repr_mimebundle_()["image/png"]
        ax = marked.plot()
        ax.figure.draw_without_rendering()
        assert [label.get_text() for label in ax.get_yticklabels()] == ["$^$", "$a$ b"]
        assert len(ax.patches) == 1
        assert "▶ $a$ b→" in str(marked)

        ax = heatmap(torch.eye(2), ["x" * 30, "y" * 30]).plot()
        ax.figure.draw_without_rendering()
        assert ax.get_position().width > 0.3


def test_the_series_has_one_kind_of_heatmap():
    assert isinstance(heatmap(WEIGHTS), Heatmap)


def test_a_negated_view_and_large_half_numbers_are_shown():
    turned = (torch.eye(3) * 1j).conj().imag
    assert turned.is_neg()
    assert heatmap(turned).matrix.tolist() == (-torch.eye(3)).tolist()
    heatmap(torch.full((3, 3), 60000.0).half())._repr_mimebundle_()  # a warning would be an error


def test_half_of_a_pair_of_surrogates_does_not_stop_the_page():
    heatmap([[1.0]], ["a\ud800"], title="t\ud800")._repr_mimebundle_()["text/html"].encode()
