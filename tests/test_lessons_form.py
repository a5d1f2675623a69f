"""What every lesson has in common, so that a reader finds a way and a maintainer no surprise."""

import ast
import itertools
import json
import math
import re

import nbformat
import pytest
from lessons import (
    LESSONS,
    LONGEST_LINE,
    NOTEBOOKS,
    ROOT,
    cell_of,
    code_cells,
    every_lesson,
    headings,
    is_whole,
    markdown,
    outputs,
    parsed,
    plain_text,
    read,
)
from pace import minutes
from refresh import METADATA

TITLES = {path.name: read(path).cells[0].source.partition("\n")[0].removeprefix("# ") for path in LESSONS}
LONGEST_LESSON = 40  # minutes


def test_lessons_are_numbered_without_a_gap():
    for number, path in enumerate(LESSONS):
        assert path.name[:2] == f"{number:02}", f"no whole lesson {number:02} stands before {path.name}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_can_be_read(path):
    assert is_whole(path), f"notebooks/{path.name} is no notebook with cells: git checkout notebooks/{path.name}"


@every_lesson
def test_every_code_cell_has_been_run_in_order(path):
    last = 1
    for cell in code_cells(read(path)):  # a cell that was added later has the count of the one before: tools/refresh.py
        assert cell.execution_count, f"{cell.id} was not run: python tools/refresh.py notebooks/{path.name}"
        assert cell.execution_count >= last, f"{cell.id} ran too early: python tools/refresh.py notebooks/{path.name}"
        last = cell.execution_count


@every_lesson
def test_the_same_collapsed_setup_cell_comes_first(path):
    setup, here = cell_of(LESSONS[0], "setup"), cell_of(path, "setup")
    same = f"copy the cell setup of {LESSONS[0].name}, before all other code"
    assert code_cells(read(path))[0].id == "setup", same
    assert here.source == setup.source, same
    assert here.metadata == {"jupyter": {"source_hidden": True}}, (
        f'the cell setup is to be {{"source_hidden": true}}: {same}'
    )


@every_lesson
def test_cell_ids_are_unique_and_speak(path):
    ids = [cell.id for cell in read(path).cells]
    for cell in read(path).cells:
        name, how = cell.id, "write `# id: a-speaking-name` (text: `<!-- id: ... -->`) in its first line and refresh it"
        begins = f"the cell {name}, {cell.source[:30]!r}"
        assert ids.count(name) == 1, f"{begins}, has the id of another: {how}"
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name), f"{begins}, needs another id: {how}"
        assert not re.fullmatch(r"[0-9a-f-]{8,}", name), f"{begins}, has an id that a machine made: {how}"


@every_lesson
def test_no_exercise_stands_between_a_question_and_its_answer(path):
    cells = read(path).cells
    for before, cell in itertools.pairwise(cells):
        if cell.cell_type == "markdown" and cell.id.startswith("exercise-"):
            asked = before.cell_type == "markdown" and "**Predict.**" in before.source.split("\n\n")[-1]
            assert not asked, f"{cell.id} stands between the question of {before.id} and its code: move it"
        if before.id.startswith("exercise-") and before.id.endswith("-check"):
            reads = re.match(r"\*\*Read\.|\*Figure", cell.source)
            assert not reads, f"{before.id} stands between code and what {cell.id} says of it: move the exercise"


@every_lesson
def test_no_cell_is_empty_or_hides_from_the_comparison(path):
    for cell in read(path).cells:
        assert cell.source.strip(), f"{cell.id} is empty"
        assert cell.source == cell.source.strip("\n"), f"{cell.id} begins or ends with an empty line"
        if cell.cell_type == "code":
            # nbval would skip the cell, ignore its outputs, or accept an exception
            assert not re.search(r"NBVAL|PYTEST_VALIDATE", cell.source), f"{cell.id}: its outputs are to be compared"
            assert not cell.metadata.get("tags"), f"{cell.id}: take its tags out"
            assert not cell.source.rstrip().endswith(";"), f"{cell.id}: nbval cannot run a cell that ends so"


@every_lesson
def test_no_output_is_an_error_or_a_warning(path):
    for name, output in outputs(read(path)):
        assert output.output_type != "error", f"{name} raises an error: mend it, and python tools/refresh.py"
        assert output.get("name") != "stderr", f"{name} warns: {plain_text(output)}"
        for words in ("Traceback", "Error: ", "returned nothing"):  # the last two: explore, of a failing function
            assert words not in plain_text(output), f"{name} shows {words!r}: mend it, and python tools/refresh.py"


@every_lesson
def test_nothing_of_the_machine_is_stored(path):
    hint = "JupyterLab stored this when the lesson was run: git checkout notebooks, or python tools/refresh.py"
    notebook = read(path)
    assert notebook.metadata == METADATA, hint  # no `version`, no `widgets`
    for cell, output in outputs(notebook):
        text = json.dumps(output)
        assert "widget-view" not in text, f"{cell}: {hint}"
        for other in (
            r"(?<![\w.:/])/(?:home|root|tmp|usr|var|opt|Users|work|mnt)/|[A-Z]:\\\\",
            r"object at 0x[0-9a-f]+",
        ):
            assert not (found := re.search(other, text)), f"{cell} prints {found[0]!r}, another thing on each machine"


@every_lesson
def test_each_file_is_small(path):
    assert path.stat().st_size < 300_000, "smaller figures or fewer of them, or a film with fewer steps"


@every_lesson
def test_headings_are_in_order(path):
    found = headings("\n".join(cell.source for cell in markdown(read(path))))
    assert found[:1] == [(1, TITLES[path.name])], "the first cell is the title: '# NN Name'"
    for (before, _), (level, text) in itertools.pairwise(found):
        assert level > 1, f"# {text}: only the title has one #"
        assert level <= before + 1, f"{'#' * level} {text} skips a level: the heading before has {before} #"


@every_lesson
def test_links_resolve(path):
    notebook = read(path)
    anchors = {text.replace(" ", "-") for cell in markdown(notebook) for _, text in headings(cell.source)}
    for cell in markdown(notebook):
        for text, target in re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", cell.source):
            file, _, anchor = target.partition("#")
            if re.match(r"https?:", target):
                continue
            assert not file or (path.parent / file).is_file(), f"{cell.id} links to {file}, which is not there"
            if file in TITLES and file:
                assert text in (TITLES[file], f"lesson {file[:2]}", f"Lesson {file[:2]}"), (
                    f"{cell.id}: [{text}] is not the title of {file}"
                )
            assert file or anchor in anchors, f"{cell.id} links to {target}, and no heading is called so"


@every_lesson
def test_it_leads_on(path):
    last = read(path).cells[-1]
    to = (NOTEBOOKS + NOTEBOOKS[:1])[NOTEBOOKS.index(path) + 1]
    assert f"({to.name})" in last.source, f"the last cell, {last.id}, is to end with a link to the next: ({to.name})"


@every_lesson
def test_every_lesson_moves_and_asks(path):
    notebook, is_first = read(path), path == LESSONS[0]
    first, last = notebook.cells[0], notebook.cells[-1]
    moves = any(re.search(r"^(explore|film)\(", cell.source, re.MULTILINE) for cell in code_cells(notebook))
    assert moves, "no cell moves: add one with explore(...) or film(...)"
    text = "\n".join(cell.source for cell in markdown(notebook))
    for word, least in {"**Predict.**": 1 if is_first else 4, "**Read.**": 1}.items():
        assert text.count(word) >= least, f"{text.count(word)} paragraphs begin with {word}, at least {least} should"
    for words in ["**You will** be able to"] + ["**You need**"] * (not is_first):
        assert words in first.source, f"the first cell, {first.id}, does not say {words}"
    assert is_first or "## Summary" in last.source, f"the last cell, {last.id}, is not the summary: ## Summary"


@every_lesson
def test_each_question_is_one_and_is_run_and_read_before_the_next(path):
    step, last = "R", ""  # P for a question, r for a cell that is run, R for what it showed
    for cell in read(path).cells:
        if cell.id.startswith("exercise-") or cell.id == "how-alone":  # which explains the words
            continue
        if cell.cell_type == "code":
            step = {"P": "Pr", "Pr": "Pr"}.get(step, "R")
            continue
        for paragraph in cell.source.split("\n\n"):
            if "**Predict.**" in paragraph:
                assert paragraph.startswith("**Predict.**"), f"{cell.id}: a question is a paragraph of its own"
                assert paragraph.count("?") == 1, f"{cell.id}: one question, {paragraph!r}"
                assert step == "R", f"{cell.id} asks before the question of {last} has its code and its **Read.**"
                step, last = "P", cell.id
            elif paragraph.startswith("**Read.**"):
                assert step != "P", f"{cell.id}: between the question of {last} and this **Read.** no code is run"
                step = "R"
    assert step == "R", f"the question of {last} is not followed by its code and a **Read.**"


@every_lesson
def test_it_can_be_worked_through_in_one_sitting(path):
    found = minutes(read(path))
    assert found <= LONGEST_LESSON, f"{found:.0f} minutes, {LONGEST_LESSON} at most: shorten it (tools/pace.py counts)"


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
                marked = paragraph.startswith("*If you like:*") or cell.id == "how-alone"
                assert marked, f"{cell.id}: what can be skipped is a paragraph that begins with *If you like:*"


@every_lesson
def test_cells_are_short_and_lines_fit_the_page(path):
    for cell in code_cells(read(path)):
        lines = cell.source.splitlines()
        longest = 36 if cell.source.startswith("class ") else 30  # a class can't be cut in two
        assert len(lines) <= longest, f"{cell.id} has {len(lines)} lines, {longest} at most: make two cells of it"
        for line in lines:
            assert len(line) <= LONGEST_LINE, f"{cell.id}: longer than {LONGEST_LINE}: {line}"
    for name, output in outputs(read(path)):
        for line in plain_text(output).splitlines():
            assert len(line) <= 130, f"{name} prints a line longer than 130: {line}"


@every_lesson
def test_no_later_cell_takes_a_name_that_moves_under_a_slider(path):
    """After Run All, the function of an explore would draw into the figure of another cell."""
    cells = [(cell, parsed(cell)) for cell in code_cells(read(path))]
    for number, (cell, tree) in enumerate(cells):
        if not any(ast.unparse(part).startswith("explore(") for part in tree.body):
            continue
        functions = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
        used = {node.id for part in functions for node in ast.walk(part) if isinstance(node, ast.Name)}
        for later, its_tree in cells[number + 1 :]:
            statements = [part for part in its_tree.body if not isinstance(part, (ast.FunctionDef, ast.ClassDef))]
            names = [node for part in statements for node in ast.walk(part) if isinstance(node, ast.Name)]
            taken = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            made_here = {node.id for part in tree.body for node in ast.walk(part) if isinstance(node, ast.Name)}
            both = used & taken & made_here - local_names(functions)
            assert not both, f"{later.id} takes a name that moves in {cell.id}: rename {', '.join(both)} in one of them"


@every_lesson
def test_a_moving_heatmap_keeps_its_colours(path):
    """With ends that follow the numbers, the same weight would change its colour from move to move."""
    functions = {}
    for cell in code_cells(read(path)):
        tree = parsed(cell)
        functions |= {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
        for mover in calls(tree, "explore", "film"):
            name = mover.args[0].id
            assert name in functions, f"{cell.id} moves {name}, and no cell up to here defines it"
            for call in calls(functions[name], "heatmap"):
                ends = {word.arg: word.value for word in call.keywords}
                fixed = all(is_number(ends.get(end)) for end in ("low", "high"))
                assert fixed, f"{cell.id}: give {ast.unparse(call)} low= and high= as numbers"


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
            assert "xlabel=" in cell.source, f"{cell.id}: the figure needs an xlabel="
            assert re.search(r"title=|title\.set_text\(", cell.source), f"{cell.id}: the figure needs a title="


@every_lesson
def test_each_figure_is_described_below_in_one_line(path):
    cells = read(path).cells
    for cell, after in itertools.pairwise(cells):
        if any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
            caption = re.match(r"\*Figure: .{30,}\*$", after.source, re.MULTILINE)
            assert caption, (
                f"the cell after {cell.id}, {after.id}, is to begin with *Figure: what it shows, 30 letters on.*"
            )


@every_lesson
def test_each_lesson_imports_what_it_uses_from_helpers_alone(path):
    allowed = {"math", "io", "collections", "sys", "pathlib", "time", "torch", "matplotlib", "helpers", "ipywidgets"}
    for cell in code_cells(read(path)):
        for node in ast.walk(parsed(cell)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in allowed, f"{cell.id}: a lesson does not import {name}"


def test_the_table_of_lessons_is_complete():
    start = "\n".join(cell.source for cell in markdown(read(LESSONS[0])))
    row = "has no row for the lesson in its table, with the link"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in LESSONS[1:]:
        link = f"[{TITLES[path.name]}]({path.name})"
        assert link in start, f"{LESSONS[0].name} {row} {link}"
    for path in LESSONS:
        link = f"[{TITLES[path.name]}](notebooks/{path.name})"
        assert link in readme, f"README.md {row} {link}"
