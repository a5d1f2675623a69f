"""One meaning for each symbol: the table of lesson 00 has those of all lessons, and here are those of a single one."""

import ast
import io
import re
import tokenize
from collections import Counter

import pytest
from lessons import LESSONS, ROOT, cell_of, code_cells, markdown, read

# What a single lesson needs and explains.
LOCAL = {
    "01": {r"\varphi": "the angle between two vectors"},
    "02": {"c": "a number that is subtracted from all scores"},
    "03": {"H": "the entropy of a row"},
    "05": {r"\delta": "1 on the diagonal, 0 elsewhere", "DRAWS": "a constant of the lesson"},
    "07": {"p": "the vector of a place", r"\omega": "how fast a pair turns"},
    "08": {"N": "the number of rows of logits"},
    "13": {"h": "the width of a kernel"},
    "12": {
        "f": "a layer",
        r"\mu": "the mean of a token's numbers",
        r"\sigma": "their standard deviation",
        r"\beta": "what LayerNorm adds",
    },
    "10": {"vocab_size": "the number of different tokens"},
}
EVERYDAY = {"e"}  # of the exponential
GREEK = {r"\alpha", r"\delta", r"\omega", r"\tau", r"\theta", r"\varphi", r"\lambda", r"\mu", r"\sigma", r"\beta"}
INDICES = "ijmnt"
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)
SYMBOL = re.compile(r"(num_heads|\\[A-Za-z]+|[A-Za-z])(?:_(\{[^{}]*\}|[A-Za-z0-9]))?")
FILES = [ROOT / "helpers/attention.py", *sorted((ROOT / "helpers/exercises").glob("lesson_*.py"))]


def formulas(source):
    """The formulas of a text; code is none."""
    return [one or other for one, other in FORMULA.findall(re.sub(r"```.*?```|`[^`]*`", "", source, flags=re.DOTALL))]


def symbols(formula):
    """Its symbols: d_{in} and W_q as they are, x_i and x_{2m} as x with the indices i and m, which are symbols, too."""
    formula = formula.replace(r"\text{num\_heads}", "num_heads").replace("'", "").replace(r"\,", " ")
    formula = re.sub(r"\\(text|mathrm|begin|end)\{[^{}]*\}", " ", formula)
    for name, below in SYMBOL.findall(formula):
        below = below.strip("{}")
        letters = re.findall(r"[A-Za-z]", below)
        if name.startswith("\\") and name not in GREEK:  # an operator, such as \sum
            yield from symbols(below)
        elif below != "in" and all(letter in INDICES for letter in letters):
            yield from (name, *letters)
        else:
            yield f"{name}_{below}"


def rows():
    """The rows of the table, each as its cells."""
    text = cell_of(LESSONS[0], "notation").source
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| $")]
    return [[cell.strip() for cell in row] for row in cells]


def in_table():
    """Every symbol of the first column as often as it stands there; an index of another symbol does not count."""
    count = Counter()
    for row in rows():
        for formula in formulas(row[0]):
            names = list(symbols(formula))
            count.update(names if len(names) == 1 else [name for name in names if name not in INDICES])
    return count


def names_in_table():
    """The names of the second column, as they stand in shapes."""
    return {name for row in rows() for code in re.findall(r"`(.+?)`", row[1]) for name in re.findall(r"\w+", code)}


def shapes(comment):
    """The names in the shapes of a comment, (T, d_k) and the like. A word such as height explains itself."""
    for group in re.findall(r"\(([^()]*,[^()]*)\)", comment):
        if re.fullmatch(r"[\w\s.,*/+-]+", group):
            names = re.findall(r"[^\W\d]\w*", group)
            yield from (name for name in names if not re.fullmatch(r"[A-Za-z]?[a-z]{2,}", name))


def comments(source):
    """The comments and docstrings of code; none of what is no Python, which another test names."""
    try:
        ast.parse(source)
    except SyntaxError:
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or token.string.startswith('"""'):
            yield token.string


def local(number):
    return set(LOCAL.get(number, {}))


def unknown_symbols(cells, number):
    known = set(in_table()) | local(number) | EVERYDAY
    found = [(cell.id, name) for cell in cells for formula in formulas(cell.source) for name in symbols(formula)]
    return [(cell, name) for cell, name in found if name not in known]


def unknown_names(source, number):
    known = names_in_table() | local(number)
    return [name for comment in comments(source) for name in shapes(comment) if name not in known]


def test_no_symbol_stands_twice():
    for name, count in in_table().items():
        assert count == 1, f"the table of {LESSONS[0].name} has {name} {count} times"
    assert set(INDICES) <= set(in_table())
    assert len(in_table()) > 25


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_formulas_and_shapes_of_a_lesson_have_the_symbols_of_the_table(path):
    notebook, number = read(path), path.stem[:2]
    cells = [cell for cell in markdown(notebook) if cell.id != "notation"]  # which also names those of a book
    add = f"add it to the table of {LESSONS[0].name}, or, if this lesson alone needs it, to LOCAL of {__name__}.py"
    assert unknown_symbols(cells, number) == [], add
    for cell in code_cells(notebook):
        assert unknown_names(cell.source, number) == [], f"a shape in {cell.id}: {add}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shapes_in_the_helpers_have_them_too(path):
    number = path.stem.removeprefix("lesson_")
    assert unknown_names(path.read_text(encoding="utf-8"), number) == [], f"add it to the table of {LESSONS[0].name}"


@pytest.mark.parametrize("number", LOCAL)
def test_what_is_local_is_used_there_and_has_no_other_meaning(number):
    assert not local(number) & (set(in_table()) | names_in_table())
    assert not any(local(number) & local(other) for other in LOCAL if other != number)
    path = next((path for path in LESSONS if path.stem.startswith(number)), None)
    assert path, f"LOCAL of {__name__}.py has symbols of lesson {number}, which is missing or broken"
    notebook = read(path)
    used = {name for cell in markdown(notebook) for formula in formulas(cell.source) for name in symbols(formula)}
    used |= {name for cell in code_cells(notebook) for one in comments(cell.source) for name in shapes(one)}
    unused = local(number) - used
    assert not unused, f"LOCAL of {__name__}.py has symbols that lesson {number} does not use: {unused}"


def test_a_symbol_that_is_in_no_table_is_found():
    assert list(symbols(r"q_i K^{\top} / \sqrt{d_k}")) == ["q", "i", "K", "d_k"]
    assert list(symbols(r"\sum_{m=1}^{d_k} x'_{2m+1} \mathrm{Var}(y)")) == ["m", "d_k", "x", "m", "y"]
    assert list(symbols(r"\text{num\_heads} \cdot d_{head} \cos\theta")) == ["num_heads", "d_head", r"\theta"]
    assert not {"y", r"\theta", "V_k"} & set(in_table())
    assert list(shapes("# (..., T, 2 * d_q) and (height, N); (see there, twice) (T,)")) == ["T", "d_q", "N", "T"]
    assert unknown_names("x = 1  # (T, d_k) @ (d_k, V)", "04") == ["V"]
    assert unknown_names("x = 1  # (N, d_k)", "08") == []
    assert unknown_names("x = 1  # (N, d_k)", "09") == ["N"]
