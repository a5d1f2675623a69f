"""The lessons in a real JupyterLab page: everything runs, every slider works, nothing flickers, anybody can use it."""

import pytest
from browser import Lab, Page, serious
from lessons import LESSONS, ROOT, code_cells, read

NAMES = [path.name for path in LESSONS]
MOVES = {"slider": ("ArrowRight", "ArrowLeft"), "combobox": ("ArrowDown", "ArrowUp"), "checkbox": ("Space", "Space")}
MOVES["text"] = ("x", "Backspace")


def run_lessons(names):
    """A fixture: a lesson, run from top to bottom. Each test that asks for it is run for each of these."""

    @pytest.fixture(scope="module", params=names, name="lesson")
    def lesson(request, browser, lab):
        page = Page(browser, lab, request.param)
        page.name = request.param
        yield page
        page.close()

    return lesson


lesson = run_lessons(NAMES[: len(NAMES) // 2])  # the others: test_browser_later.py


def notebook_of(name):
    return read(ROOT / "notebooks" / name)


def kind(control):
    return control.evaluate("node => node.getAttribute('role') || {SELECT: 'combobox'}[node.tagName] || node.type")


def test_a_lesson_runs_without_an_error(lesson):
    assert lesson.errors == []
    for kind_of_output in ("error", "stderr"):
        found = lesson.page.locator(f'[data-mime-type="application/vnd.jupyter.{kind_of_output}"]')
        assert found.count() == 0, found.first.inner_text()
    counts = lesson.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets"
        ".filter(cell => cell.model.type === 'code').map(cell => cell.model.executionCount)"
    )
    assert counts == list(range(1, len(counts) + 1))
    assert "Error displaying widget" not in lesson.page.locator(".jp-Notebook").inner_text()


def test_every_explore_is_there(lesson):
    expected = sum("\nexplore(" in f"\n{cell.source}" for cell in code_cells(notebook_of(lesson.name)))
    assert len(lesson.explores()) == expected


def test_every_control_moves_the_result_and_back_without_flicker(lesson):
    for explore in lesson.explores():
        for control in explore.controls():
            there, back = MOVES[kind(control)]
            start = explore.settled()
            if kind(control) == "slider":
                readout = control.locator("xpath=ancestor::*[contains(@class, 'widget-slider')]").locator(
                    ".widget-readout"
                )
                value = readout.inner_text()
                low, now, high = (float(control.get_attribute(f"aria-value{end}")) for end in ("min", "now", "max"))
                there, back = (there, back) if now - low < high - now else (back, there)
            explore.cell.scroll_into_view_if_needed()
            explore.watch()
            explore.press(control, there, before=start)
            for _ in range(0 if kind(control) == "checkbox" else 3):
                lesson.page.keyboard.press(there)
            moved = explore.settled()
            assert moved != start
            for _ in range(4 if kind(control) == "text" else 0):
                lesson.page.keyboard.press(back)
            for _ in range(4 if kind(control) == "slider" else 0):
                if readout.inner_text() != value:  # a short slider has hit its end on the way
                    lesson.page.keyboard.press(back)
            if kind(control) == "combobox":
                control.select_option(index=1)
            elif kind(control) == "checkbox":
                control.press(back)
            came_back = explore.becomes(start) if kind(control) in ("slider", "text") else explore.settled()
            heights, empty, frames = explore.watched()
            assert came_back
            assert frames > 10
            assert empty == 0, f"{empty} of {frames} frames without a result"
            if kind(control) != "text":  # a longer sentence has a larger table
                assert len(heights) == 1, f"the page jumps: heights {heights}"
    assert lesson.errors == []


def test_a_quick_drag_ends_on_its_last_value(lesson):
    for explore in lesson.explores():
        for handle in explore.cell.locator(".noUi-handle").all()[:1]:
            explore.cell.scroll_into_view_if_needed()
            handle.scroll_into_view_if_needed()
            track = handle.locator("xpath=ancestor::*[contains(@class, 'noUi-base')]").bounding_box()
            box = handle.bounding_box()
            y = box["y"] + box["height"] / 2
            mouse = lesson.page.mouse
            mouse.move(box["x"] + box["width"] / 2, y)
            mouse.down()
            for share in (0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.35, 0.65, 0.4, 0.6):
                mouse.move(track["x"] + share * track["width"], y, steps=5)
            mouse.up()
            after_drag = explore.settled()
            # One step away and back again is calculated afresh for the value that the handle shows.
            explore.press(handle, "ArrowRight", before=after_drag)
            lesson.page.keyboard.press("ArrowLeft")
            assert explore.becomes(after_drag)


def test_every_control_has_a_name_and_is_reached_by_tab(lesson):
    for explore in lesson.explores():
        labels = explore.cell.locator(".widget-label").all()
        for label in labels:
            assert label.evaluate("node => node.scrollWidth <= node.clientWidth"), f"{label.inner_text()} is cut"
        for handle in explore.cell.locator(".noUi-handle").all():
            assert handle.get_attribute("aria-label") in [label.inner_text() for label in labels]
            readout = handle.locator("xpath=ancestor::*[contains(@class, 'widget-slider')]").locator(".widget-readout")
            assert handle.get_attribute("aria-valuetext") == readout.inner_text()
        controls = explore.controls()
        controls[0].focus()
        reached = set()
        for _ in range(3 * len(controls)):
            place = "() => [...document.querySelectorAll('.widget-vbox *')].indexOf(document.activeElement)"
            reached.add(lesson.page.evaluate(place))
            lesson.page.keyboard.press("Tab")
        places = "(node) => [...document.querySelectorAll('.widget-vbox *')].indexOf(node)"
        assert {control.evaluate(places) for control in controls} <= reached


def test_axe_has_no_serious_finding(lesson):
    assert serious(lesson.page, "light") == []


def test_every_picture_is_described(lesson):
    pictures = lesson.page.locator(".jp-RenderedImage img")
    assert all(alt.startswith("Figure:") for alt in pictures.evaluate_all("all => all.map(one => one.alt)"))


def test_in_class_all_can_be_read_from_the_last_row(lesson):
    """As TEACHING.md advises for a projector: a zoomed page is one of fewer pixels, each of which is drawn larger."""
    zoom = 1.25
    lesson.page.set_viewport_size({"width": round(1280 / zoom), "height": round(720 / zoom)})
    lesson.command("application:toggle-presentation-mode")
    lesson.command("application:toggle-left-area")
    lesson.page.wait_for_timeout(500)  # for the figures, which are laid out again
    small, wide = lesson.page.evaluate(
        """least => {
            const notebook = document.querySelector(".jp-Notebook"), small = {}, wide = [];
            const texts = document.createTreeWalker(notebook, NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) {
                const text = texts.currentNode.textContent.trim(), node = texts.currentNode.parentElement;
                const outside = "[class*=Prompt], .jp-Placeholder, .jp-Notebook-footer, mjx-container";
                if (!text || !node.checkVisibility() || node.closest(outside)) continue;
                if (parseFloat(getComputedStyle(node).fontSize) < least) small[node.tagName] = text;
            }
            const areas = ".jp-OutputArea-output, .jp-RenderedMarkdown, .explore-live";
            for (const area of notebook.querySelectorAll(areas)) {
                if (area.scrollWidth > area.clientWidth + 1) wide.push(area.innerText.slice(0, 60));
            }
            return [small, wide];
        }""",
        20 / zoom,
    )
    lesson.command("application:toggle-presentation-mode")
    lesson.command("application:toggle-left-area")
    lesson.page.set_viewport_size({"width": 1280, "height": 1000})
    assert small == {}
    assert wide == []


def test_a_cell_run_again_has_one_set_of_sliders_that_work(browser, lab):
    lesson = Page(browser, lab, "07_position.ipynb")
    lesson.command("notebook:run-all-cells")
    lesson.page.wait_for_timeout(500)
    (explore,) = lesson.explores()
    assert explore.cell.locator(".widget-slider").count() == 1
    explore.press(explore.controls()[1], "ArrowRight")
    assert lesson.errors == []
    lesson.close()


def test_an_exercise_answers_what_is_typed(browser, lab):
    page = Page(browser, lab, "03_context_vectors.ipynb")
    ids = [cell.id for cell in notebook_of("03_context_vectors.ipynb").cells]
    cells = page.page.locator(".jp-Notebook .jp-Cell")
    answer, check = (cells.nth(ids.index(f"exercise-context-{part}")) for part in ("answer", "check"))

    def verdict_on(code):
        answer.locator(".cm-content").click()
        page.page.keyboard.press("Control+a")
        page.page.keyboard.type(code)
        page.page.keyboard.press("Shift+Enter")
        check.locator(".cm-content").click()
        before = check.locator(".jp-InputPrompt").inner_text()
        page.page.keyboard.press("Shift+Enter")
        page.page.wait_for_function(
            "([cell, before]) => /[0-9]/.test(cell.innerText) && cell.innerText !== before",
            arg=[check.locator(".jp-InputPrompt").element_handle(), before],
        )
        return check.locator(".jp-OutputArea")

    try:
        check.locator(".jp-OutputArea", has_text="no answer yet").wait_for()
        mean = "values.mean(dim=-2, keepdim=True).expand(*weights.shape[:-1], -1)"
        wrong = verdict_on(f"def my_context(weights, values): return {mean}")
        assert "Every token gets the mean of all values." in wrong.inner_text()
        assert wrong.locator("table caption").all_inner_texts()[:2] == [
            "Expected: token (row), number (column)",
            "Yours, which differs at every place: token (row), number (column)",
        ]
        right = verdict_on("def my_context(weights, values): return weights @ values")
        assert right.inner_text().startswith("✓ context: right for all")
        assert page.errors == []
    finally:
        page.close()


def test_notebook_7_runs_a_lesson(browser, tmp_path):
    server = Lab(tmp_path, app="notebook")
    try:
        lesson = Page(browser, server, "03_context_vectors.ipynb", path="notebooks", run=False)
        own = list(lesson.errors)  # of Notebook itself: 7.6 reports one before anything has run
        lesson.command("notebook:run-all-cells")
        lesson.page.wait_for_selector(".widget-vbox .noUi-handle")
        lesson.page.wait_for_timeout(1000)
        (explore,) = lesson.explores()
        for control in explore.controls():
            explore.press(control, MOVES[kind(control)][0])
        assert lesson.page.locator('[data-mime-type="application/vnd.jupyter.error"]').count() == 0
        assert lesson.errors == own
        lesson.close()
    finally:
        server.stop()
