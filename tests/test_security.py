"""Tokens, titles and answers are text, whatever is in them; and nobody is told to open a door."""

import html.parser
import re
import sys

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch
from browser import Page
from lessons import LESSONS, ROOT, code_cells, read
from playwright.sync_api import expect
from refresh import METADATA
from test_film import frames

from helpers import explore, film, heatmap
from helpers.exercises.checking import Exercises, Question, Task
from helpers.explore import Explorer
from helpers.result import error_line, html_of, joined, result_of

TEXTS = [
    "<script>window.hacked = 1; alert(1)</script>",
    '<img src=x onerror="window.hacked = 2; alert(2)">',
    "</script>",
    '"><b onmouseover=alert(3)>',
    "' & \" &amp; &lt;",
    "$x^2$",
    r"\(y^2\)",
    "**bold** [link](javascript:alert(4))",
    "`code` # head",
]
every_text = pytest.mark.parametrize("text", TEXTS)
OUR_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "div", "em", "pre", "span", "img"}
OUR_TAGS |= {"style", "script"}


class Shown(html.parser.HTMLParser):
    """What a browser makes of a page: its text without scripts, its tags, and its attributes."""

    def __init__(self, page):
        super().__init__()
        self.text, self.tags, self.attributes = "", [], []
        self.feed(page)
        self.close()
        assert set(self.tags) <= OUR_TAGS
        assert not [name for name, _ in self.attributes if name.startswith("on") or name == "href"]

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        if self.cdata_elem is None:
            self.text += data


@pytest.fixture
def bundles(monkeypatch):
    """What explore and film display: dictionaries from MIME type to data."""
    displayed = []
    for module in ("helpers.explore", "helpers.film"):
        monkeypatch.setattr(sys.modules[module], "display", lambda data, **_: displayed.append(data))
    return displayed


def table(text):
    return heatmap(torch.eye(2), [text, "b"], title=text, axes=(text, text))


def fail(text):
    raise ValueError(text)


def draw(text):
    figure, ax = plt.subplots()
    ax.set_title(text, parse_math=False)
    print("and a line")  # so that the picture is a part of a page, with its description
    return figure


@every_text
def test_a_heatmap_shows_it_in_cells_caption_and_hints(text):
    bundle = table(text)._repr_mimebundle_()
    shown = Shown(bundle["text/html"])
    assert shown.text.count(text) == 7  # title and axes in the caption, the axes in the corner, a row, a column
    assert ("title", f"{text} and {text}: 1.0000") in shown.attributes
    assert bundle["text/plain"].count(text) == 5


@every_text
def test_explore_shows_it_in_a_table_a_text_and_an_error(text):
    for function in (table, fail, lambda text: [print(text), table(text)][1]):
        outputs, error = result_of(function, {"text": text})
        data, _ = joined(outputs if error is None else [*outputs, error_line(error, {"text": text})])
        assert text in Shown(data["text/html"]).text
        assert text in data["text/plain"]
    assert result_of(lambda text: text, {"text": text}) == ([({"text/plain": text}, {})], None)


@every_text
def test_explore_shows_it_in_the_line_for_sliders_and_their_labels(bundles, text):
    explore(lambda **sliders: "", **{text: [text, "b"]})
    line = next(data["text/html"] for data in bundles if "em" in data.get("text/html", ""))
    assert Shown(line).text.count(text) == 2
    control = Explorer(lambda **sliders: "", {text: (0, 1)}).controls[text]
    assert control.description == text
    assert control.description_allow_html is False


@every_text
def test_film_shows_it_in_every_frame_and_ends_its_script_once(bundles, text):
    film(table, text=[text, "b"])
    film(lambda text: text, text=[text, "b"])
    for bundle in bundles:
        shown = Shown(bundle["text/html"])
        assert shown.text.count(text) > 1
        assert shown.tags.count("script") == bundle["text/html"].count("</script") == 1
        first, _ = frames(bundle)
        assert text in Shown(first).text


@every_text
def test_a_figure_shows_it_in_its_description(text):
    data, _ = joined(result_of(draw, {"text": text})[0])
    (description,) = [value for name, value in Shown(html_of(data)).attributes if name == "alt"]
    assert text in description


@every_text
def test_exercises_say_it_as_plain_text(capsys, text):
    question = Question('x = "a"', right="", mistakes=[], hints=["no"], form=text)
    task = Task(lambda x: x, cases={text: lambda g: (torch.eye(2),)}, mistakes=[], hints=[""], right="", show=("x",))
    Exercises(question=question, task=task)
    for ask in (lambda: question.check(1), lambda: task.check(lambda x: fail(text))):
        ask()
        assert text in " ".join(capsys.readouterr().out.split())  # printed: no front end takes that for HTML


NOTEBOOK = f"""
import torch
from helpers import explore, film, heatmap
from helpers.exercises.checking import Exercises, Question
texts = {TEXTS!r}
everything = "  ".join(texts)
table = lambda text=everything: heatmap(torch.eye(len(texts)), texts, title=text)
def fail(text):
    raise ValueError(everything)
exercise = Exercises(question=Question('x = "a"', right="", mistakes=[], hints=[""], form=everything))
"""
CELLS = {
    "table": "table()",
    "table's text": "print(table())",
    "explored table": "explore(lambda text: heatmap([[1.0]], [everything]), text=texts)",
    "explored text": "explore(lambda text: everything, text=texts)",
    "explored error": "explore(fail, text=texts)",
    "label": "explore(lambda **sliders: everything, **{texts[0] + texts[1]: (0, 3)})",
    "film": "film(lambda text: table(), text=texts)",
    "film of text": "film(lambda text: everything, text=texts)",
    "exercise": "exercise.question.check(1)",
}


def test_in_jupyterlab_everything_is_seen_as_text_and_nothing_runs(browser, lab):
    setup = code_cells(read(LESSONS[0]))[0].source
    cells = [nbformat.v4.new_code_cell(source) for source in (setup, NOTEBOOK, *CELLS.values())]
    path = lab.root / "notebooks" / "texts.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), path)
    lesson = Page(browser, lab, path.name, run=False)
    page, dialogs = lesson.page, []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    lesson.command("notebook:run-all-cells")
    areas = page.locator(".jp-Cell-outputArea")
    areas.last.locator("text=not yet").wait_for()
    for what, area in zip(
        CELLS, areas.all()[2:], strict=True
    ):  # a widget is shown only once its parts are there, whenever that is
        for text in TEXTS:
            expect(area, what).to_contain_text(text, use_inner_text=True, timeout=60_000)
    assert areas.count() == 2 + len(CELLS)
    page.wait_for_timeout(1000)  # for whatever would still be typeset, or run
    assert page.locator("input[type=range]").count() == 2
    for slider in page.locator("input[type=range]").all():
        slider.focus()
        for _ in TEXTS:
            page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert page.locator("label", has_text=TEXTS[-1]).count() == 2, "the last choice is not shown"
    expect(page.locator(".widget-label", has_text="alert(1)")).to_be_visible()
    assert dialogs == []
    assert page.evaluate("() => window.hacked === undefined")
    outputs = ".jp-OutputArea-output"
    assert page.locator(f"{outputs} [onerror], {outputs} [onmouseover], {outputs} b, {outputs} img").count() == 0
    assert page.locator(f"{outputs} mjx-container").count() == 0
    assert lesson.errors == []
    lesson.close()


DOORS = {  # a setting that opens the server to others: how it may be written, and an example
    "no token": (r"""token['"]?( *[=:] *(''|"")|=( |$))""", "jupyter lab --IdentityProvider.token=''"),
    "no password": (r"""password['"]?( *[=:] *(''|"")|=( |$))""", "c.ServerApp.password = ''"),
    "all interfaces": (r"""\bip['"]?\s*[= ]\s*['"]?(0\.0\.0\.0|\*|::)""", "jupyter lab --ip=0.0.0.0"),
    "all origins": (r"""allow_origin(_pat)?['"]?\s*=\s*['"]?(\*|\.\*)""", "--ServerApp.allow_origin='*'"),
    "no check of requests": (r"disable_check_xsrf", "--ServerApp.disable_check_xsrf=True"),
    "no authentication": (r"allow_unauthenticated_access|\ballow_remote_access", "c.ServerApp.allow_remote_access"),
}


@pytest.mark.parametrize(("pattern", "example"), DOORS.values(), ids=DOORS)
def test_nobody_is_told_to_open_a_door(pattern, example):
    door = re.compile(pattern, re.MULTILINE)
    assert door.search(example)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    texts = {"README.md": readme} | {path.name: "\n".join(c.source for c in read(path).cells) for path in LESSONS}
    assert [name for name, text in texts.items() if door.search(text)] == []
