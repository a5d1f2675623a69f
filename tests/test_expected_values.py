"""Every number that the source documents print, and the canonical ones of later lessons, right in a stored output."""

import pytest
from lessons import LESSONS, cell_of, expected_values, lesson, numbers, outputs, plain_text, read

CASES = {case["id"]: case for case in expected_values()["cases"]}


def case(name):
    return CASES.get(name) or pytest.fail(
        f"tests/expected_values.json has no case {name} any more, which this test needs"
    )


def flatten(value):
    return [float(f"{value:.4f}")] if isinstance(value, (int, float)) else [n for part in value for n in flatten(part)]


def found(value, texts):
    """Whether the numbers of `value` stand in one of the texts, one after the other."""
    wanted = flatten(value)
    return any(
        shown[start : start + len(wanted)] == wanted
        for shown in map(numbers, texts)
        for start in range(len(shown) - len(wanted) + 1)
    )


def stored_texts():
    return [plain_text(output) for path in LESSONS for _, output in outputs(read(path))]


@pytest.mark.parametrize("name", CASES)
def test_a_lesson_shows_it(name):
    assert found(CASES[name]["value"], stored_texts()), f"no stored output shows {name}: {CASES[name]['value']}"


@pytest.mark.parametrize("name", CASES)
def test_one_wrong_digit_would_be_noticed(name):
    wrong = flatten(CASES[name]["value"])
    wrong[-1] += 0.0003
    assert not found(wrong, stored_texts())


def test_a_vanished_output_would_be_noticed():
    value = case("context_journey")["value"]
    others = [path for path in LESSONS if path != lesson("03_context_vectors")]  # the one that shows it
    assert not found(value, [plain_text(output) for path in others for _, output in outputs(read(path))])


def test_the_wrong_sums_are_shown_where_they_are_explained():
    sums = case("row_sums")
    path = lesson("02_softmax")
    for name in ("puzzle-sums", "puzzle-second"):
        shown = list(map(plain_text, cell_of(path, name).outputs))
        for which in ("printed", "value"):
            assert found(sums[which], shown), f"{path.name}, {name} does not show {sums[which]}"


def test_the_repeated_words_have_equal_rows_and_columns():
    outputs_of_cell = cell_of(lesson("06_attention_modules"), "sentence").outputs
    shown = numbers("".join(map(plain_text, outputs_of_cell)))[:64]
    assert len(shown) == 64, "06_attention_modules.ipynb, sentence shows no table of 8 x 8: python tools/refresh.py"
    rows = [shown[start : start + 8] for start in range(0, 64, 8)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    for row in rows:
        assert abs(sum(row) - 1) < 0.005  # eight numbers of three decimals
    for first, second in ((0, 3), (1, 4), (2, 5)):
        assert rows[first] == rows[second]
        assert columns[first] == columns[second]
    assert rows[0] != rows[1]


def test_the_inputs_are_those_of_the_sources():
    from helpers import INPUTS, TOKENS

    expected = expected_values()["inputs"]
    assert list(TOKENS) == expected["tokens"]
    assert flatten(INPUTS.tolist()) == flatten(expected["value"])


def test_numbers_reads_what_python_and_torch_print():
    assert numbers("tensor([ 4., -2.0000, nan, inf, 1e5, 3]) x_1 a0.5 0.25") == [4.0, -2.0, 0.25]
