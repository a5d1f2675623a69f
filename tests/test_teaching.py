"""The page for teachers says of each lesson only what is there."""

import ast
import re

from lessons import LESSONS, ROOT, code_cells, every_lesson, headings, markdown, outputs, plain_text, read
from pace import minutes as measured

PAGE = (ROOT / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## \[.+\]\((\d\d_\w+\.ipynb)\)\n((?s:.*?))(?=^## |\Z)", PAGE, re.MULTILINE))
DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+")


def text_of(path):
    return "\n".join(cell.source for cell in markdown(read(path)))


def minutes(text):
    return int(re.search(r"(\d+) minutes", text)[1])


def everything_in(path):
    """Text, code and outputs of a lesson."""
    notebook = read(path)
    shown = [plain_text(output) + str(output.get("data", {}).get("text/html", "")) for _, output in outputs(notebook)]
    return "\n".join([cell.source for cell in notebook.cells] + shown)


def sliders(path):
    """Name of each slider -> where it can go, as the lesson's stored line says: a list of (low, high) or choices."""
    found = {}
    for cell in code_cells(read(path)):
        calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        calls = [call for call in calls if getattr(call.func, "id", "") in ("explore", "film")]
        lines = [line for output in cell.outputs for line in plain_text(output).splitlines() if "Run this cell" in line]
        for call, line in zip(calls, lines, strict=True):
            for keyword in call.keywords:
                found.setdefault(keyword.arg, []).append(reach(keyword.arg, line))
    return found


def reach(name, line):
    """(low, high), or choices, or None for a box to tick."""
    match = re.search(rf"\b{name}\b(?:, \w+)*(?: from (\S+) to ([-\d.]*\d)| \((.*?)\))?", line)
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
    assert list(SECTIONS) == [path.name for path in LESSONS]
    for path in LESSONS:
        assert f"## [{headings(text_of(path))[0][1]}]({path.name})" in PAGE


@every_lesson
def test_the_length_is_the_measured_one_here_in_the_title_cell_and_in_the_readme(path):
    named = minutes(SECTIONS[path.name])
    assert named == minutes(text_of(path))
    assert f"| {named} |" in re.search(rf"^.*\(notebooks/{path.name}\).*", README, re.MULTILINE)[0]
    assert named % 5 == 0
    assert abs(named - measured(read(path))) <= 5


@every_lesson
def test_it_has_two_to_four_questions_and_says_where_to_stop_what_to_move_and_what_to_set(path):
    section = SECTIONS[path.name]
    questions = [line for line in section.splitlines() if line.startswith("| **")]
    assert 2 <= len(questions) <= 4
    for line in questions:
        assert re.sub(r"`[^`]*`", "", line).count("|") == 4, line
    for words in ("- **Short of time:** ", "- **Move** ", "- **Set** **Exercise: "):
        assert section.count(words) == 1, words


@every_lesson
def test_bold_names_are_headings_of_the_lesson(path):
    labels = {"Short of time:", "Move", "Set"}
    known = {text for _, text in headings(text_of(path))}
    named = set(re.findall(r"\*\*(.+?)\*\*", SECTIONS[path.name])) - labels
    assert len(named) >= 3
    assert named <= known, named - known


@every_lesson
def test_a_question_stands_in_a_section_that_asks_one(path):
    text = text_of(path)
    for name in re.findall(r"^\| \*\*(.+?)\*\*", SECTIONS[path.name], re.MULTILINE):
        asked = text.partition(f"# {name}\n")[2].partition("\n#")[0]
        assert "**Predict.**" in asked, name


@every_lesson
def test_numbers_with_decimals_are_in_the_lesson(path):
    there = set(DECIMAL.findall(everything_in(path)))
    for number in DECIMAL.findall(SECTIONS[path.name]):
        assert number in there, number


@every_lesson
def test_sliders_exist_and_can_go_where_the_page_sends_them(path):
    move = re.search(r"^- \*\*Move\*\* (.*)$", SECTIONS[path.name], re.MULTILINE)[1]
    there = sliders(path)
    named = [span.partition(" = ") for span in re.findall(r"`([^`]+)`", move)]
    assert named
    for name, _, value in named:
        assert name in there, name
        assert not value or possible(value, there[name]), f"{name} = {value}: it goes {there[name]}"


def test_links_resolve():
    anchors = {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for _, text in headings(PAGE)}
    readme_anchors = {text.lower().replace(" ", "-") for _, text in headings(README)}
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGE):
        file, _, anchor = target.partition("#")
        if re.match(r"https://", target):
            continue
        assert not file or (ROOT / "notebooks" / file).is_file(), target
        assert not anchor or anchor in (readme_anchors if file else anchors), target
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
