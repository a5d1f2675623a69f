"""The glossary of lesson 00 has every term that a lesson sets in bold, in three scripts.

What is bold is a term if it has at most three words and nothing but letters in them. A label, such as **You will** or
**Predict.**, is none, and neither are the words below, which are bold for stress.
"""

import functools
import re

import pytest
from lessons import LESSONS, cell_of, markdown, read

LABELS = {"you will", "you need"}
STRESSED = {
    *(
        "all",
        "all frozen",
        "added",
        "appended",
        "backwards",
        "columns",
        "different",
        "differences",
        "first",
        "just before",
    ),
    *("key axis", "larger without", "learn", "place", "row", "rows", "shares", "stable", "turned", "two", "where"),
    "without positions",
}
BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
FORMS = {"freezes": "frozen"}


@functools.cache
def rows():
    """The rows of the glossary: English, simplified and traditional Chinese, meaning."""
    text = cell_of(LESSONS[0], "glossary").source
    table = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in table[2:]]


def glossary():
    """Its terms."""
    return [row[0] for row in rows()]


def terms(source):
    """The terms that a text sets in bold, as the glossary writes them if it has them."""
    for bold in BOLD.findall(source):
        term = bold.lower()
        if re.fullmatch(r"[a-z-]+( [a-z-]+){0,2}", term) and term not in LABELS | STRESSED:
            yield next((form for form in forms(term) if in_glossary(form)), term)


def forms(term):
    return [FORMS.get(term, term), term.removesuffix("s"), term.removesuffix("es")]


def in_glossary(term):
    """Whether it has the term, alone or as the last words of a longer one: the *score* is the *attention score*."""
    return any(f" {one.lower()}".endswith(f" {term}") for one in glossary())


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_term_in_bold_is_in_the_glossary(path):
    missing = [(cell.id, term) for cell in markdown(read(path)) for term in terms(cell.source) if not in_glossary(term)]
    assert missing == [], (
        f"not in the glossary of {LESSONS[0].name}. Bold for stress alone? Then say so in {__name__}.py"
    )


def test_a_term_that_is_missing_is_found():
    found = list(terms("**Predict.** A **gizmo** has two **small gizmos**: **two**, **scores**, **$W_q$ frozen**."))
    assert found == ["gizmo", "small gizmos", "score"]
    assert [in_glossary(term) for term in found] == [False, False, True]


def test_each_term_stands_once_with_all_its_columns():
    assert len(glossary()) > 40
    for row in rows():
        assert glossary().count(row[0]) == 1, f"the glossary has {row[0]} twice"
        assert len(row) == 4, f"the glossary's row of {row[0]} has {len(row)} cells, not 4"
        assert all(row), f"a cell is empty in the glossary's row of {row[0]}"
        for chinese in row[1:3]:
            assert re.search(r"[\u4e00-\u9fff]", chinese), row[0]


def test_no_character_is_in_the_wrong_script():
    pairs = {(s, t) for _, one, other, _ in rows() if len(one) == len(other) for s, t in zip(one, other, strict=True)}
    simplified, traditional = ("".join(column) for column in list(zip(*rows(), strict=True))[1:3])
    assert len(pairs) > 50
    for s, t in pairs:
        assert s == t or (s not in traditional and t not in simplified), f"{s}, {t}"
