"""film in a real JupyterLab page, and in a page exported as HTML with neither kernel nor network."""

import re
import subprocess
import sys

import nbformat
import pytest
from browser import Page
from lessons import LESSONS, ROOT, code_cells, read
from refresh import METADATA

NAMES = [
    path.name for path in LESSONS if any(re.search(r"^film\(", c.source, re.MULTILINE) for c in code_cells(read(path)))
]
INPUT = "input[type=range]"

TABLE = """
from helpers import film, heatmap

def table(step=2):
    return heatmap([[0.5, step / 10], [0.1, 0.2]], ["a", "b"], title=f"Step {step}")

film(table, step=(0, 5))
"""
FIGURE = """
from matplotlib.figure import Figure

def bars(height=1):
    figure = Figure()
    figure.subplots().bar(["a"], [height])
    figure.axes[0].set(ylim=(0, 4))
    return figure

film(bars, height=[1, 2, 3])
"""
TEXT = """
film(lambda lines: "\\n".join(["</script>"] * lines), lines=(1, 4))
"""


class Film:
    """A film in a page: its slider, and the frame."""

    def __init__(self, page, control):
        self.page, self.control = page, control
        self.root = control.locator("xpath=ancestor::div[2]")
        self.frame = self.root.locator(":scope > div").nth(1)

    def shown(self):
        """What the reader sees, as text: nbconvert writes attributes in another order."""
        return self.frame.evaluate(
            "node => JSON.stringify([...node.querySelectorAll('td, th, caption, pre, img')].map("
            "one => [one.textContent, one.title, one.src, getComputedStyle(one).backgroundColor]))"
        )

    def press(self, key):
        """Press a key; return the frame, the height of the film and the value that is read aloud."""
        self.control.focus()
        self.page.keyboard.press(key)
        self.page.wait_for_timeout(40)
        height = self.root.evaluate("node => node.offsetHeight")
        return self.shown(), height, self.control.get_attribute("aria-valuetext")


def films(page):
    page.wait_for_selector(INPUT)
    return [Film(page, control) for control in page.locator(INPUT).all()]


def check(film):
    """Every key does what it does on a slider, nothing jumps, and the same place shows the same frame."""
    stored = film.shown()
    assert stored.strip()
    assert film.control.get_attribute("aria-label")
    first = film.press("Home")
    second = film.press("ArrowRight")
    assert second[0] != first[0]
    assert film.root.locator("output").inner_text() == second[2]
    assert film.press("ArrowLeft") == first
    last = film.press("End")
    assert film.press("Home") == first
    assert film.press("End") == last
    frames = [film.press("Home")]
    while frames[-1] != last:
        frames.append(film.press("ArrowRight"))
    assert len(frames) == int(film.control.get_attribute("max")) + 1
    assert len({height for _, height, _ in frames}) == 1, "the page jumps"
    assert stored in [frame for frame, _, _ in frames]
    return frames


@pytest.fixture(scope="module")
def films_notebook(lab):
    """The name of a notebook with a film of each kind."""
    setup = code_cells(read(LESSONS[0]))[0].source
    cells = [nbformat.v4.new_code_cell(source) for source in (setup, TABLE, FIGURE, TEXT)]
    path = lab.root / "notebooks" / "films.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), path)
    return path.name


def test_films_of_every_kind_move_by_keyboard(browser, lab, films_notebook):
    notebook = Page(browser, lab, films_notebook)
    notebook.page.wait_for_function(f"() => document.querySelectorAll('{INPUT}').length === 3")
    table, figure, text = films(notebook.page)
    assert table.control.get_attribute("aria-valuetext") == "2"
    assert [frame.count('["0.3000') for frame, _, _ in check(table)] == [0, 0, 0, 1, 0, 0]
    assert len(check(figure)) == 3
    assert [frame.count("</script>") for frame, _, _ in check(text)] == [1, 2, 3, 4]
    assert "Run this cell" not in table.root.inner_text()
    assert notebook.errors == []
    notebook.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_films_of_a_lesson_move_by_keyboard(browser, lab, name):
    lesson = Page(browser, lab, name)
    for film in films(lesson.page):
        check(film)
    assert lesson.errors == []
    lesson.close()


@pytest.mark.parametrize("name", NAMES)
def test_without_trust_the_stored_frame_and_a_line_are_shown(browser, lab, name):
    lesson = Page(browser, lab, name, run=False)
    assert lesson.page.locator(INPUT).count() == 0
    line = lesson.page.locator(".jp-OutputArea-output em", has_text="Slider: ")
    assert line.count() >= 1
    assert "Run this cell" in line.first.inner_text()
    assert line.first.locator("xpath=ancestor::div[2]").locator("table, img, pre").count() >= 1
    assert lesson.errors == []
    lesson.close()


@pytest.mark.parametrize("name", NAMES)
def test_as_html_with_the_network_off_films_move(browser, tmp_path, name):
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path)]
    subprocess.run([*command, str(ROOT / "notebooks" / name)], check=True, capture_output=True)
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / name.replace(".ipynb", ".html")).as_uri())
    for film in films(page):
        check(film)
    context.close()
