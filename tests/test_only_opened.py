"""Lessons that are only opened, not run: how wide their code is, and what saving them changes."""

import json
import platform

import pytest
from browser import TOKEN, Page
from lessons import LESSONS, code_cells, read

OPEN = """async path => {
    const app = window.jupyterapp;
    await app.commands.execute('docmanager:open', {path, kernel: {shouldStart: false}});
    await app.shell.currentWidget.revealed;
    await new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)));
}"""
# The notebook as a whole, its code, and the first line of what is folded; those that show less than they hold.
WIDER = """() => {
    const panel = window.jupyterapp.shell.currentWidget.node;
    const parts = [panel, ...panel.querySelectorAll('.jp-WindowedPanel-outer, .cm-scroller, .jp-Placeholder')];
    const wider = parts.filter(part => part.scrollWidth > part.clientWidth);
    return [parts.length, wider.map(part => part.textContent.slice(0, 60))];
}"""


def test_no_code_is_wider_than_a_page_of_1000_pixels(browser, lab):
    too_wide = lab.root / "notebooks" / "wide.ipynb"
    notebook = read(LESSONS[0])
    for cell in notebook.cells:
        cell.source = "wide = " + "1 + " * 25 + "1"
    too_wide.write_text(json.dumps(notebook), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Launcher")
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    found = {}
    for path in (*LESSONS, too_wide):
        page.evaluate(OPEN, f"notebooks/{path.name}")
        parts, found[path.name] = page.evaluate(WIDER)
        assert parts > len(code_cells(read(path)))
        page.evaluate("() => window.jupyterapp.shell.currentWidget.close()")
    page.close()
    assert found.pop(too_wide.name) != []  # this is how a line of 108 characters is found
    assert {name: wider for name, wider in found.items() if wider} == {}


@pytest.mark.parametrize("name", ["03_context_vectors.ipynb", "08_training.ipynb"])
def test_a_lesson_saved_as_it_was_opened_differs_by_the_version_of_python_alone(browser, lab, name):
    path = lab.root / "notebooks" / name
    stored = path.read_text(encoding="utf-8")
    page = Page(browser, lab, name, run=False)
    page.command("docmanager:save")
    page.close()
    line = f',\n   "version": "{platform.python_version()}"'
    saved = path.read_text(encoding="utf-8")
    assert line in saved
    assert saved.replace(line, "") == stored
