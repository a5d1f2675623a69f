"""Numbers that another machine may print a little differently: how far off they may be, and that nothing else may."""

import nbformat
import pytest
from lessons import code_cells, every_lesson, read
from tolerance import MARK, marked, settled

SOURCE = """print(f"{name:6} share {share:6.2f}, d_k = {d_k}, {rate:.0%} right")  # give or take 0.05
print(f"exact: {other:.2f}")
print(
    "and", f"{again:.1f}", "times"
)  # give or take 2"""
STORED = """one    share   0.98, d_k = 16, 7% right
two    share  10.00, d_k = 16, 7% right
exact: 0.50
and 30.5 times
"""


def stream(text):
    return nbformat.v4.new_output("stream", text=text)


def after(text, source=SOURCE):
    """What is left to compare of a text that a run printed, beside the stored one."""
    (output,) = settled(source, [stream(STORED)], [stream(text)])
    return output.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.98", "0.98"),
        ("0.98", "0.93"),
        ("0.98", "1.03"),
        (" 10.00", "  9.95"),  # padded to the same width
        ("30.5", "28.5"),
        ("30.5", "32.5"),
    ],
)
def test_a_number_within_the_tolerance_counts_as_the_stored_one(old, new):
    assert after(STORED.replace(old, new)) == STORED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.98", "0.92"),
        ("0.98", "1.04"),
        ("0.98", "-0.98"),
        ("30.5", "32.6"),
        ("30.5", "nan"),
        ("30.5", "inf"),
        ("30.5", ""),
        ("7%", "8%"),  # the tolerance is that of the numbers as they are printed
        ("d_k = 16", "d_k = 17"),
        ("share", "shape"),
        ("times", "times or so"),
        ("exact: 0.50", "exact: 0.51"),
        ("exact", "exactly"),
        ("exact: 0.50\n", ""),
        ("exact: 0.50\n", "exact: 0.50\nexact: 0.50\n"),
        ("times\n", "times"),
    ],
)
def test_anything_else_is_left_to_differ(old, new):
    assert old in STORED
    changed = STORED.replace(old, new)
    assert after(changed) != STORED


def test_a_line_that_differs_does_not_change_those_that_agree():
    assert after(STORED.replace("0.98", "0.97").replace("30.5", "40.5")) == STORED.replace("30.5", "40.5")


def test_without_a_mark_nothing_is_changed():
    text = STORED.replace("0.98", "0.97")
    assert after(text, SOURCE.replace(MARK, "# ")) == text


@pytest.mark.parametrize(
    "source",
    [
        "x = 0.5  # give or take 0.1",
        "print('about half')  # give or take 0.1",
        "print(f'{count} of {total}')  # give or take 0.1",
        "print(f'{count:3} of {total:3}')  # give or take 0.1",
        "print(f'{x:.2f}')\n# give or take 0.1",
        "print(f'{x:.2f}')  # give or take a little",
    ],
)
def test_a_mark_with_no_number_is_an_error(source):
    with pytest.raises(ValueError, match=r"no number with decimals|could not convert"):
        marked(source)


@every_lesson
def test_the_marks_of_a_lesson_can_be_read(path):
    for cell in code_cells(read(path)):
        assert len(marked(cell.source)) == cell.source.count("give or take"), cell.id
