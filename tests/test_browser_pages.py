"""The lessons as they are seen without a run, as exported pages, and in a dark and a light theme."""

import subprocess
import sys

import pytest
from browser import Page, serious
from lessons import LESSONS, ROOT, outputs, read

NAMES = [path.name for path in LESSONS]


CONTRAST = """() => {
    const parse = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const ground = node => {
        for (; node; node = node.parentElement) {
            const colour = parse(getComputedStyle(node).backgroundColor);
            if (colour.length === 3 || colour[3] > 0.5) return colour;
        }
        return [255, 255, 255];
    };
    const poor = [];
    let texts = 0;
    for (const part of document.querySelectorAll('.jp-OutputArea-output, .jp-RenderedMarkdown')) {
        const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
        for (let text; (text = walker.nextNode()); ) {
            const node = text.parentElement;
            if (!text.textContent.trim() || !node.offsetParent || node.closest('mjx-container')) continue;
            texts += 1;
            const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
            const ratio = (a + 0.05) / (b + 0.05);
            if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${text.textContent.trim().slice(0, 40)}`);
        }
    }
    return [texts, poor];
}"""


def test_all_text_has_enough_contrast_in_both_themes(browser, lab, tmp_path):
    lesson = Page(browser, lab, "02_softmax.ipynb")
    pictures = []
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        lesson.command("apputils:change-theme", theme=theme)
        lesson.page.wait_for_function(f"() => document.body.dataset.jpThemeName === {theme!r}")
        lesson.page.wait_for_timeout(300)
        texts, poor = lesson.page.evaluate(CONTRAST)
        assert texts > 300
        assert poor == []
        assert serious(lesson.page, theme) == []
        pictures.append(lesson.page.screenshot(path=tmp_path / f"{theme}.png"))
    assert pictures[0] != pictures[1]
    lesson.close()


def shown_without_running(page, name, trusted):
    """The tables, pictures and lines in place of sliders that a reader sees, and those that are stored.

    Where a notebook is trusted, its films move, and have no such line.
    """
    stored = [output.get("data", {}) for _, output in outputs(read(ROOT / "notebooks" / name))]
    expected = (
        sum("<table" in data.get("text/html", "") for data in stored),
        sum("image/png" in data for data in stored),
        sum(
            "Run this cell" in data.get("text/plain", "") and not (trusted and "<script>" in data["text/html"])
            for data in stored
        ),
    )
    seen = (
        page.locator(".jp-OutputArea-output table caption").count(),
        page.locator(".jp-OutputArea-output img").evaluate_all("all => all.filter(one => one.naturalWidth > 0).length"),
        page.locator(".jp-OutputArea-output", has_text="Run this cell").count(),
    )
    return seen, expected


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("name", ["02_softmax.ipynb", "03_context_vectors.ipynb"])
def test_a_lesson_shows_its_results_before_it_is_run(browser, lab, name, trusted):
    if trusted:
        lab.trust(name)
    lesson = Page(browser, lab, name, run=False)
    of_cells = lesson.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".filter(cell => cell.model.type === 'code').map(cell => cell.model.trusted)"
    )
    assert set(of_cells) == {trusted}
    seen, expected = shown_without_running(lesson.page, name, trusted)
    assert seen == expected
    assert min(expected[:2]) > 0
    table = lesson.page.locator(".jp-OutputArea-output table td[style*=background]").first
    assert table.evaluate("node => getComputedStyle(node).backgroundColor") != "rgba(0, 0, 0, 0)"
    assert "Error displaying widget" not in lesson.page.locator(".jp-Notebook").inner_text()
    assert lesson.errors == []
    lesson.close()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of all lessons as HTML, from their stored outputs."""
    folder = tmp_path_factory.mktemp("html")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(folder), *map(str, LESSONS)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_as_html_with_the_network_off_everything_is_shown(browser, exported, name):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((exported / name.replace(".ipynb", ".html")).as_uri())
    stored = [output.get("data", {}) for _, output in outputs(read(ROOT / "notebooks" / name))]
    assert page.locator("table caption").count() == sum("<caption" in data.get("text/html", "") for data in stored)
    pictures = page.locator(".jp-RenderedImage img").evaluate_all("all => all.map(one => one.naturalWidth > 0)")
    assert pictures == [True] * sum("image/png" in data for data in stored)
    for cell in page.locator("td[style*=background]").all()[:1]:
        assert cell.evaluate("node => getComputedStyle(node).backgroundColor") != "rgba(0, 0, 0, 0)"
    context.close()
