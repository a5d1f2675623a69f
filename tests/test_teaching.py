"""The page for teachers says of each lesson only what is there."""

import ast
import re

import pytest
from lessons import LESSONS, ROOT, code_cells, every_lesson, headings, markdown, outputs, parsed, plain_text, read
from pace import minutes as measured

PAGE = (ROOT / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## \[.+\]\((\d\d_\w+\.ipynb)\)\n((?s:.*?))(?=^## |\Z)", PAGE, re.MULTILINE))
DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+")


def text_of(path):
    return "\n".join(cell.source for cell in markdown(read(path)))


def section_of(path):
    return SECTIONS.get(path.name) or pytest.fail(f"TEACHING.md has no section '## [{title(path)}]({path.name})'")


def title(path):
    return next(iter(headings(text_of(path))), (1, "its title"))[1]


def minutes(text, where):
    found = re.search(r"(\d+) minutes", text)
    return int(found[1]) if found else pytest.fail(f"{where} does not say how many minutes it takes: 'N minutes'")


def everything_in(path):
    """Text, code and outputs of a lesson."""
    notebook = read(path)
    shown = [plain_text(output) + str(output.get("data", {}).get("text/html", "")) for _, output in outputs(notebook)]
    return "\n".join([cell.source for cell in notebook.cells] + shown)


def sliders(path):
    """Name of each slider -> where it can go, as the lesson's stored line says: a list of (low, high) or choices."""
    found = {}
    for cell in code_cells(read(path)):
        calls = [node for node in ast.walk(parsed(cell)) if isinstance(node, ast.Call)]
        calls = [call for call in calls if getattr(call.func, "id", "") in ("explore", "film")]
        lines = [line for output in cell.outputs for line in plain_text(output).splitlines() if "Run this cell" in line]
        assert len(calls) == len(lines), (
            f"{cell.id}: {len(lines)} stored lines for its sliders: python tools/refresh.py"
        )
        for call, line in zip(calls, lines, strict=True):
            for keyword in call.keywords:
                found.setdefault(keyword.arg, []).append(reach(keyword.arg, line))
    return found


def reach(name, line):
    """(low, high), or choices, or None for a box to tick."""
    match = re.search(rf"\b{name}\b(?:, \w+)*(?: from (\S+) to ([-\d.]*\d)| \((.*?)\))?", line)
    if not match:
        pytest.fail(f"the stored line does not name the slider {name}, python tools/refresh.py: {line}")
    low, high, choices = match.groups()
    return choices or (low and (float(low), float(high)))


def possible(value, places):
    for place in places:
        if place is None and value in ("True", "False"):
            return True
        if isinstance(place, str) and re.search(rf"(^|, ){re.escape(value)}($|, )", place):
            return True
        if isinstance(place, tuple) and re.fullmatch(r"-?\d+(\.\d+)?", value) and place[0] <= float(value) <= place[1]:
            return True
    return False


def test_there_is_a_section_for_each_lesson_in_their_order():
    for path in LESSONS:
        section_of(path)
        assert f"## [{title(path)}]({path.name})" in PAGE, (
            f"TEACHING.md: the heading of {path.name} is not '{title(path)}'"
        )
    order = [name for name in SECTIONS if name in [path.name for path in LESSONS]]
    assert order == sorted(order), "the sections of TEACHING.md are not in the order of the lessons"


@every_lesson
def test_the_length_is_the_measured_one_here_in_the_title_cell_and_in_the_readme(path):
    here, there = "its section of TEACHING.md", f"{path.name}, in its first cell,"
    named, found = minutes(section_of(path), here), measured(read(path))
    assert minutes(read(path).cells[0].source, there) == named, f"{there} names another number of minutes than {here}"
    row = re.search(rf"^.*\(notebooks/{path.name}\).*", README, re.MULTILINE) or pytest.fail("no row in README.md")
    assert f"| {named} |" in row[0], f"the row in README.md names another number of minutes than {here}, {named}"
    assert named % 5 == 0, f"{named} minutes: a multiple of 5"
    assert abs(named - found) <= 5, f"{named} minutes are named, tools/pace.py counts {found:.0f}"


@every_lesson
def test_it_has_two_to_four_questions_and_says_where_to_stop_what_to_move_and_what_to_set(path):
    section = section_of(path)
    questions = [line for line in section.splitlines() if line.startswith("| **")]
    assert 2 <= len(questions) <= 4, (
        f"its section of TEACHING.md has {len(questions)} rows '| **Heading**: ...', not 2 to 4"
    )
    for line in questions:
        assert re.sub(r"`[^`]*`", "", line).count("|") == 4, f"a row of TEACHING.md without its three cells: {line}"
    for words in ("- **Short of time:** ", "- **Move** ", "- **Set** **Exercise: "):
        count = section.count(words)
        assert count == 1, f"{count} lines of its section in TEACHING.md begin with '{words}', not one"


@every_lesson
def test_bold_names_are_headings_of_the_lesson(path):
    labels = {"Short of time:", "Move", "Set"}
    known = {text for _, text in headings(text_of(path))}
    named = set(re.findall(r"\*\*(.+?)\*\*", section_of(path))) - labels
    assert len(named) >= 3, "its section of TEACHING.md names fewer than three headings of the lesson in bold"
    assert named <= known, f"TEACHING.md names {named - known}, and the lesson has no heading called so"


@every_lesson
def test_a_question_stands_in_a_section_that_asks_one(path):
    text = text_of(path)
    for name in re.findall(r"^\| \*\*(.+?)\*\*", section_of(path), re.MULTILINE):
        asked = text.partition(f"# {name}\n")[2].partition("\n#")[0]
        assert "**Predict.**" in asked, f"TEACHING.md has a question at {name}, where the lesson has no **Predict.**"


@every_lesson
def test_numbers_with_decimals_are_in_the_lesson(path):
    there = set(DECIMAL.findall(everything_in(path)))
    for number in DECIMAL.findall(section_of(path)):
        assert number in there, f"TEACHING.md says {number}, which stands nowhere in the lesson"


@every_lesson
def test_sliders_exist_and_can_go_where_the_page_sends_them(path):
    move = "\n".join(re.findall(r"^- \*\*Move\*\* (.*)$", section_of(path), re.MULTILINE))
    there = sliders(path)
    named = [span.partition(" = ") for span in re.findall(r"`([^`]+)`", move)]
    assert named, "its section of TEACHING.md has no line '- **Move** `slider = place`: ...'"
    for name, _, value in named:
        assert name in there, f"TEACHING.md moves {name}; the lesson has {', '.join(there) or 'no slider'}"
        assert not value or possible(value, there[name]), f"TEACHING.md moves {name} to {value}: it goes {there[name]}"


def test_links_resolve():
    anchors = {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for _, text in headings(PAGE)}
    readme_anchors = {text.lower().replace(" ", "-") for _, text in headings(README)}
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGE):
        file, _, anchor = target.partition("#")
        if re.match(r"https://", target):
            continue
        assert not file or (ROOT / "notebooks" / file).is_file(), f"TEACHING.md links to {file}, which is not there"
        known = readme_anchors if file else anchors
        assert not anchor or anchor in known, f"TEACHING.md links to {target}, and no heading is called so"
    assert "(notebooks/TEACHING.md)" in README


def test_it_fits_the_page():
    lines = PAGE.splitlines()
    assert len(lines) < 340
    for line in lines:
        if line.startswith("|"):
            cells = re.sub(r"[*`]", "", line).split()
            assert max(map(len, cells)) <= 30, line


def test_it_never_opens_a_door():
    for words in ("token=''", 'token=""', "--ip", "0.0.0.0", "disable_check_xsrf", "allow_all", "password"):
        assert words not in PAGE
