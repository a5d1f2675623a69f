"""What every lesson has in common, so that a reader finds a way and a maintainer no surprise."""

import ast
import itertools
import json
import math
import re

import nbformat
from lessons import LESSONS, LONGEST_LINE, ROOT, code_cells, every_lesson, headings, markdown, outputs, plain_text, read
from pace import minutes
from refresh import METADATA

TITLES = {path.name: read(path).cells[0].source.splitlines()[0].removeprefix("# ") for path in LESSONS}
LONGEST_LESSON = 40  # minutes


def test_lessons_are_numbered_without_a_gap():
    assert [path.name[:2] for path in LESSONS] == [f"{number:02}" for number in range(len(LESSONS))]


@every_lesson
def test_every_code_cell_has_been_run_in_order(path):
    last = 1
    for cell in code_cells(read(path)):  # a cell that was added later has the count of the one before: tools/refresh.py
        assert cell.execution_count, f"{cell.id} was not run: python tools/refresh.py notebooks/{path.name}"
        assert cell.execution_count >= last, f"{cell.id} ran too early: python tools/refresh.py notebooks/{path.name}"
        last = cell.execution_count


@every_lesson
def test_the_same_collapsed_setup_cell_comes_first(path):
    first, here = code_cells(read(LESSONS[0]))[0], code_cells(read(path))[0]
    assert here.id == "setup"
    assert here.source == first.source
    assert here.metadata == {"jupyter": {"source_hidden": True}}


@every_lesson
def test_cell_ids_are_unique_and_speak(path):
    ids = [cell.id for cell in read(path).cells]
    assert len(set(ids)) == len(ids)
    for name in ids:
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name), name
        assert not re.fullmatch(r"[0-9a-f-]{8,}", name), f"{name} was made by a machine"


@every_lesson
def test_no_exercise_stands_between_a_question_and_its_answer(path):
    cells = read(path).cells
    for before, cell in itertools.pairwise(cells):
        if cell.cell_type == "markdown" and cell.id.startswith("exercise-"):
            assert before.cell_type == "code" or "**Predict.**" not in before.source.split("\n\n")[-1], cell.id
        if before.id.startswith("exercise-") and before.id.endswith("-check"):
            assert not re.match(r"\*\*Read\.|\*Figure", cell.source), cell.id


@every_lesson
def test_no_cell_is_empty_or_hides_from_the_comparison(path):
    for cell in read(path).cells:
        assert cell.source.strip(), f"{cell.id} is empty"
        assert cell.source == cell.source.strip("\n"), f"{cell.id} begins or ends with an empty line"
        if cell.cell_type == "code":
            # nbval would skip the cell, ignore its outputs, or accept an exception
            assert not re.search(r"NBVAL|PYTEST_VALIDATE", cell.source), cell.id
            assert not cell.metadata.get("tags"), cell.id
            assert not cell.source.rstrip().endswith(";"), f"{cell.id}: nbval cannot run a cell that ends so"


@every_lesson
def test_no_output_is_an_error_or_a_warning(path):
    for name, output in outputs(read(path)):
        assert output.output_type != "error", name
        assert output.get("name") != "stderr", name
        assert "Traceback" not in plain_text(output), name
        for words in ("Error: ", "returned nothing"):  # how explore shows a failing function
            assert words not in plain_text(output), name


@every_lesson
def test_nothing_of_the_machine_is_stored(path):
    hint = "JupyterLab stored this when the lesson was run: git checkout notebooks, or python tools/refresh.py"
    notebook = read(path)
    assert notebook.metadata == METADATA, hint  # no `version`, no `widgets`
    text = json.dumps([output for _, output in outputs(notebook)])
    assert "widget-view" not in text, hint
    assert not re.search(r"(?<![\w.:/])/(?:home|root|tmp|usr|var|opt|Users|work|mnt)/|[A-Z]:\\\\", text)
    assert not re.search(r"object at 0x[0-9a-f]+", text)


@every_lesson
def test_each_file_is_small(path):
    assert path.stat().st_size < 300_000


@every_lesson
def test_headings_are_in_order(path):
    found = headings("\n".join(cell.source for cell in markdown(read(path))))
    assert found[0] == (1, TITLES[path.name])
    assert [level for level, _ in found].count(1) == 1
    for (before, _), (level, text) in itertools.pairwise(found):
        assert level <= before + 1, f"{text!r} skips a level"


@every_lesson
def test_links_resolve(path):
    notebook = read(path)
    anchors = {text.replace(" ", "-") for cell in markdown(notebook) for _, text in headings(cell.source)}
    for cell in markdown(notebook):
        for text, target in re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", cell.source):
            file, _, anchor = target.partition("#")
            if re.match(r"https?:", target):
                continue
            assert not file or (path.parent / file).is_file(), f"{cell.id}: {target}"
            if file in TITLES and file:
                assert text in (TITLES[file], f"lesson {file[:2]}", f"Lesson {file[:2]}"), (
                    f"{cell.id}: [{text}] is not the title of {file}"
                )
            assert file or anchor in anchors, f"{cell.id}: {target}"


@every_lesson
def test_it_leads_on(path):
    last = read(path).cells[-1].source
    number = LESSONS.index(path)
    to = LESSONS[number + 1] if number + 1 < len(LESSONS) else LESSONS[0]
    assert f"({to.name})" in last


@every_lesson
def test_every_lesson_moves_and_asks(path):
    notebook = read(path)
    assert any(re.search(r"^(explore|film)\(", cell.source, re.MULTILINE) for cell in code_cells(notebook))
    text = "\n".join(cell.source for cell in markdown(notebook))
    assert text.count("**Predict.**") >= 1
    assert text.count("**Read.**") >= 1
    assert "**You will** be able to" in notebook.cells[0].source
    if path != LESSONS[0]:
        assert text.count("**Predict.**") >= 4
        assert "**You need**" in notebook.cells[0].source
        assert "## Summary" in notebook.cells[-1].source


@every_lesson
def test_each_question_is_one_and_is_run_and_read_before_the_next(path):
    steps = ""  # P for a question, r for a cell that is run, R for what it showed
    for cell in read(path).cells:
        if cell.id.startswith("exercise-") or cell.id == "how-alone":  # which explains the words
            continue
        if cell.cell_type == "code":
            steps += "r"
            continue
        for paragraph in cell.source.split("\n\n"):
            if "**Predict.**" in paragraph:
                assert paragraph.startswith("**Predict.**"), f"{cell.id}: a question is a paragraph of its own"
                assert paragraph.count("?") == 1, f"{cell.id}: one question, {paragraph!r}"
                steps += "P"
            elif paragraph.startswith("**Read.**"):
                steps += "R"
    assert re.fullmatch(r"(Pr+R|r|R)*", steps), steps


@every_lesson
def test_it_can_be_worked_through_in_one_sitting(path):
    assert minutes(read(path)) <= LONGEST_LESSON


def test_minutes_leave_out_what_is_optional_and_exercises():
    new = nbformat.v4
    cells = [
        new.new_markdown_cell("# A title\n\nTwo words\n\n**Predict.** Why?", id="text"),
        new.new_code_cell("explore(f, x=3)\n# a comment\n)", id="code"),
        new.new_markdown_cell("*If you like:* four more words", id="more"),
        new.new_code_cell("print(1)", id="more-code"),
        new.new_markdown_cell("### An exercise", id="exercise-one"),
        new.new_markdown_cell("## Summary\n\n| a | table |\n\n## Read on\n\nA book", id="summary"),
    ]
    words, lines = len(["A", "title", "Two", "words", "Predict", "Why", "Summary"]), 1
    found = minutes(new.new_notebook(cells=cells))
    assert math.isclose(found, words / 200 + lines / 20 + 1 + 2)


@every_lesson
def test_what_is_optional_is_marked_the_same_way_everywhere(path):
    """As lesson 00 says and tools/pace.py counts: a paragraph that begins so, and all up to the next heading."""
    for cell in markdown(read(path)):
        for paragraph in cell.source.split("\n\n"):
            if re.search(r"if you like|can be skipped|for those who", paragraph, re.IGNORECASE):
                assert paragraph.startswith("*If you like:*") or cell.id == "how-alone", cell.id


@every_lesson
def test_cells_are_short_and_lines_fit_the_page(path):
    for cell in code_cells(read(path)):
        lines = cell.source.splitlines()
        assert len(lines) <= (36 if cell.source.startswith("class ") else 30), cell.id  # a class can't be cut in two
        assert max(map(len, lines)) <= LONGEST_LINE, cell.id
    for name, output in outputs(read(path)):
        assert max(map(len, plain_text(output).splitlines()), default=0) <= 130, name


@every_lesson
def test_no_later_cell_takes_a_name_that_moves_under_a_slider(path):
    """After Run All, the function of an explore would draw into the figure of another cell."""
    cells = [ast.parse(cell.source) for cell in code_cells(read(path))]
    for number, cell in enumerate(cells):
        if not any(ast.unparse(part).startswith("explore(") for part in cell.body):
            continue
        functions = [part for part in cell.body if isinstance(part, ast.FunctionDef)]
        used = {node.id for part in functions for node in ast.walk(part) if isinstance(node, ast.Name)}
        for later in cells[number + 1 :]:
            statements = [part for part in later.body if not isinstance(part, (ast.FunctionDef, ast.ClassDef))]
            names = [node for part in statements for node in ast.walk(part) if isinstance(node, ast.Name)]
            taken = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            made_here = {node.id for part in cell.body for node in ast.walk(part) if isinstance(node, ast.Name)}
            assert not used & taken & made_here - local_names(functions)


@every_lesson
def test_a_moving_heatmap_keeps_its_colours(path):
    """With ends that follow the numbers, the same weight would change its colour from move to move."""
    functions = {}
    for cell in code_cells(read(path)):
        tree = ast.parse(cell.source)
        functions |= {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
        for mover in calls(tree, "explore", "film"):
            for call in calls(functions[mover.args[0].id], "heatmap"):
                ends = {word.arg: word.value for word in call.keywords}
                assert all(is_number(ends.get(end)) for end in ("low", "high")), f"{cell.id}: {ast.unparse(call)}"


def calls(tree, *names):
    """The calls of functions of these names."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return [call for call in found if call.func.id in names]


def is_number(node):
    """Whether a piece of code is a number, written as such, with or without a minus."""
    return isinstance(getattr(node, "operand", node), ast.Constant)


def local_names(functions):
    """What functions assign themselves, arguments included."""
    nodes = [node for part in functions for node in ast.walk(part)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


@every_lesson
def test_figures_name_their_axes(path):
    for cell in code_cells(read(path)):
        if "subplots(" in cell.source:
            assert "xlabel=" in cell.source, cell.id
            assert re.search(r"title=|title\.set_text\(", cell.source), cell.id


@every_lesson
def test_each_figure_is_described_below_in_one_line(path):
    cells = read(path).cells
    for cell, after in itertools.pairwise(cells):
        if any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
            first = after.source.splitlines()[0]
            assert after.cell_type == "markdown", cell.id
            assert re.fullmatch(r"\*Figure: .{30,}\*", first), f"{cell.id}: {first!r}"


@every_lesson
def test_each_lesson_imports_what_it_uses_from_helpers_alone(path):
    allowed = {"math", "io", "collections", "sys", "pathlib", "time", "torch", "matplotlib", "helpers", "ipywidgets"}
    for cell in code_cells(read(path)):
        for node in ast.walk(ast.parse(cell.source)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, cell.id


def test_the_table_of_lessons_is_complete():
    start = "\n".join(cell.source for cell in markdown(read(LESSONS[0])))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in LESSONS[1:]:
        assert f"[{TITLES[path.name]}]({path.name})" in start
    for path in LESSONS:
        assert f"[{TITLES[path.name]}](notebooks/{path.name})" in readme
