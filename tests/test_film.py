"""film without a browser: what is stored, frame by frame."""

import html
import json
import re
import sys

import matplotlib.pyplot as plt
import pytest
import torch
from IPython.display import Markdown, Math

from helpers import INPUTS, TOKENS, film, heatmap
from helpers.result import html_of, joined, result_of

SCORES = INPUTS @ INPUTS.T


@pytest.fixture
def shown(monkeypatch):
    """What has been displayed: a list of dictionaries from MIME type to data."""
    bundles = []
    monkeypatch.setattr(sys.modules["helpers.film"], "display", lambda data, raw: bundles.append(data))
    return bundles


def stored(bundle):
    """The data in the script of a film."""
    return json.loads(re.search(r"^const film = (.*);$", bundle["text/html"], re.MULTILINE)[1])


def frames(bundle):
    """The frames that the script will show, put together as it does."""
    data = stored(bundle)
    columns = [column.split(" ") if isinstance(column, str) else column for column in data["columns"]]
    result = []
    for n in range(len(data["positions"])):
        rest = zip(data["slots"], data["skeleton"][1:], strict=True)
        result.append(data["skeleton"][0] + "".join(columns[slot][n] + part for slot, part in rest))
    return result


def first_frame(bundle):
    """What a reader sees for whom scripts do not run."""
    return bundle["text/html"].partition("<script>")[0]


def table(result):
    return html_of(result._repr_mimebundle_())


def weights(step=0):
    g = torch.Generator().manual_seed(step)
    return heatmap(torch.softmax(3 * torch.randn(6, 6, generator=g), dim=-1), TOKENS, title=f"Step {step}", decimals=2)


def test_every_frame_is_what_the_function_returns_there(shown):
    assert film(weights, step=(0, 50)) is None
    (bundle,) = shown
    assert frames(bundle) == [table(weights(step)) for step in range(51)]
    assert stored(bundle)["positions"] == [str(step) for step in range(51)]
    assert set(bundle) == {"text/html", "text/plain"}


def test_a_film_is_small_and_fetches_nothing(shown):
    film(weights, step=(0, 50))
    film(lambda step: heatmap(weights(step).matrix, TOKENS), step=(0, 50))
    for bundle in shown:
        assert len(json.dumps(bundle["text/html"])) < 120_000
        assert not re.search(r"https?:|//\w+\.\w|import|fetch", bundle["text/html"])
        assert " id=" not in bundle["text/html"]  # there may be several films in a page


def test_a_film_that_is_large_says_how_large_it_is(shown, capsys):
    film(lambda step: str(step) * 300_000, step=(1, 9))
    assert capsys.readouterr().out == ""
    film(lambda step: str(step) * 600_000, step=(1, 9))
    assert capsys.readouterr().out == (
        "This film takes 5 MB of the notebook: 9 frames of 600 kB. A larger step makes fewer frames.\n"
    )
    assert len(shown) == 2


def test_the_first_frame_is_there_without_a_script(shown):
    film(weights, step=(0, 50, 10))
    line = "Slider: step from 0 to 50. Run this cell (Shift+Enter) to move it."
    assert table(weights(0)) in first_frame(shown[0])
    assert f"<em>{line}</em>" in first_frame(shown[0])
    assert "<input" not in shown[0]["text/html"]
    assert shown[0]["text/plain"] == f"{line}\n{weights(0)!r}"
    assert stored(shown[0])["start"] == 0


def test_it_starts_at_the_default_of_the_argument(shown):
    def f(temperature=1.0):
        return heatmap(torch.softmax(SCORES / temperature, dim=-1), TOKENS)

    film(f, temperature=(0.5, 2.0, 0.1))
    data = stored(shown[0])
    assert data["positions"][:3] == ["0.5", "0.6", "0.7"]
    assert data["positions"][-1] == "2.0"
    assert data["positions"][data["start"]] == "1.0"
    assert table(f()) in first_frame(shown[0])
    assert repr(f()) in shown[0]["text/plain"]


@pytest.mark.parametrize(
    ("slider", "expected"),
    [
        ((0, 3), [0, 1, 2, 3]),
        ((0, 10, 4), [0, 4, 8]),
        ((0.0, 1.0), [n / 10 for n in range(11)]),
        ((0.1, 0.75, 0.2), [0.1, 0.3, 0.5, 0.7]),
        ([1, 10, 100], [1, 10, 100]),
        (["a", "b"], ["a", "b"]),
        (torch.tensor([2, 4]), [2, 4]),
        ((1, 200), list(range(1, 201))),  # the most that there may be
    ],
)
def test_the_positions_are_those_of_an_explore(shown, slider, expected):
    seen = []
    film(lambda value: seen.append(value) or "text", value=slider)
    assert seen == expected
    assert stored(shown[0])["positions"] == [str(value) for value in expected]


@pytest.mark.parametrize("bad", ["</script><script>alert(1)</script>", "<!--<script>", "a|b ~ 1 2", "$x$ & \u2028 \\"])
def test_odd_tokens_and_titles_stay_text(shown, bad):
    def f(step=0):
        return heatmap([[0.25, 0.75 - step / 10]], [bad], [bad, "b"], title=f"{bad} {step}")

    film(f, step=(0, 2))
    film(lambda step: f"{bad} {step}", step=(0, 2))
    assert frames(shown[0]) == [table(f(step)) for step in range(3)]
    assert [html.unescape(frame) for frame in frames(shown[1])] == [f"<pre>{bad} {step}</pre>" for step in range(3)]
    for bundle in shown:
        script = bundle["text/html"].partition("<script>")[2]
        assert script.count("</script") == script.count("<script") + 1 == 1
        assert "<!--" not in script


def test_frames_of_another_build_are_stored_whole(shown):
    def f(T=2):
        return heatmap(torch.eye(T))

    film(f, T=(2, 4))
    assert frames(shown[0]) == [table(f(T)) for T in (2, 3, 4)]


def test_figures_and_several_results(shown):
    def draw(height=1):
        figure, ax = plt.subplots(figsize=(2, 2))
        ax.bar(["a"], [height])
        ax.set(ylim=(0, 3), title=f"height {height}")
        return figure

    def both(height=1):
        print("printed", height)
        draw(height)
        return f"returned {height}"

    for function in (draw, both):
        film(function, height=(1, 3))
        assert not plt.get_fignums()
        expected = [html_of(joined(result_of(function, {"height": height})[0])[0]) for height in (1, 2, 3)]
        assert frames(shown[-1]) == expected
        assert len(set(expected)) == 3
        assert 'alt="Figure.' in first_frame(shown[-1])


def test_a_line_written_anew_is_stored_in_its_last_state(shown):
    def progress(step):
        for done in range(step + 1):  # as tqdm writes
            print(f"\r{done}/{step}", end="", file=sys.stderr)

    film(progress, step=(1, 3))
    assert frames(shown[0]) == [f"<pre>{step}/{step}</pre>" for step in (1, 2, 3)]


def test_the_same_film_is_stored_to_the_letter_the_same(shown):
    for _ in range(2):
        film(weights, step=(0, 5))
    assert shown[0] == shown[1]


def identity(step=0):
    return str(step)


def fails(step=0):
    return str(1 / (step - 3))


async def waits(step=0):
    return "text"


def yields(step=0):
    yield "text"


@pytest.mark.parametrize(
    ("function", "slider", "kind", "words"),
    [
        (identity, {}, ValueError, r"exactly one slider, such as step=\(0, 50\)"),
        (lambda a, b: "", {"a": (0, 1), "b": (0, 1)}, ValueError, "exactly one slider, not 2: a, b"),
        (
            identity,
            {"stop": (0, 1)},
            TypeError,
            "identity has no argument stop .*; its arguments are: step",
        ),
        (lambda a, step: "", {"step": (0, 1)}, TypeError, "needs a slider, or a default, for: a"),
        ("text", {"step": (0, 1)}, TypeError, "needs a function, not 'text'"),
        (identity, {"step": 3}, TypeError, r"slider step must be \(low, high\).* not 3"),
        (identity, {"step": True}, TypeError, "not True"),
        (identity, {"step": (5, 1)}, ValueError, r"slider step can't move: \(5, 1\)"),
        (identity, {"step": []}, ValueError, "slider step"),
        (identity, {"step": (0, 200)}, ValueError, "slider step has 201 positions, more than 200: take a larger step"),
        (identity, {"step": list(range(201))}, ValueError, "201 positions"),
        (identity, {"step": (0, 1e9, 1e-3)}, ValueError, "positions, more than 200"),
        (identity, {"step": (-5, 5, 2)}, ValueError, "slider step can't start at 0, .* -5, -3, -1, ..."),
        (fails, {"step": (0, 5)}, RuntimeError, "with step = 3 the function raised ZeroDivisionError: "),
        (lambda step: None, {"step": (7, 9)}, RuntimeError, "with step = 7 .* returned nothing"),
        (waits, {"step": (0, 5)}, RuntimeError, "with step = 0 .* the function is async"),
        (yields, {"step": (0, 5)}, RuntimeError, "with step = 0 .* the function yields"),
        (lambda step: Markdown("**bold**"), {"step": (1, 2)}, TypeError, "with step = 1 .* text/markdown, .* explore"),
        (lambda step: Math("x^2"), {"step": (1, 2)}, TypeError, "with step = 1 .* text/latex, which a film can't"),
        (lambda step: "\x1b[31mred", {"step": (1, 2)}, TypeError, "text with colours"),
    ],
)
def test_bad_input_is_told_in_words(shown, function, slider, kind, words):
    with pytest.raises(kind, match=words):
        film(function, **slider)
    assert shown == []
