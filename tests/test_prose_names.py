"""Code that the text of a lesson names is code of that lesson: met before, or in the next cell below.

A name in another's place, `.triu()` for `.tril()`, reads as well as the right one. What the lesson names and does not
have stands in the table below with its reason.
"""

import builtins
import re

import pytest
from lessons import LESSONS, code_cells, plain_text, read

SPAN = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"(?<!\w)[^\W\d]\w*")
EVERYWHERE = set(dir(builtins))

ELSEWHERE = "what other texts call it"
PLACE = "a place in the line that the text explains"
OF_THE_LINE = "of the wrong line that the exercise is about"
DTYPE = "the type that `.double()` gives"
# (lesson, cell) -> name -> why it need not be in the lesson's code.
EXCEPTIONS = {
    ("00_start_here", "trouble"): {"defined": "of an error that Python prints"},
    ("03_context_vectors", "function-text"): {"attention": "the file from which later lessons import"},
    ("03_context_vectors", "convex-read"): {
        "float32": "the type of every tensor of the lesson, which none has to name"
    },
    ("04_queries_keys_values", "one-text"): {"query_2": ELSEWHERE},
    ("04_queries_keys_values", "square-read"): {"Linear": "of lesson 06, to which the text points"},
    ("05_scaling", "exercise-broken"): {"d_model": OF_THE_LINE},
    ("06_attention_modules", "v1-text"): {"SelfAttention_v1": ELSEWHERE},
    ("06_attention_modules", "v2-text"): {"SelfAttention_v2": ELSEWHERE},
    ("06_attention_modules", "exercise-matrix"): {"W": "the matrix that is asked for"},
    ("06_attention_modules", "batch-text"): {"W": "any matrix"},
    ("06_attention_modules", "sentence-text"): {"unsqueeze": "another way to the same"},
    ("06_attention_modules", "exercise-global-size"): {"embed_size": OF_THE_LINE},
    ("08_training", "model-text"): {"float64": DTYPE},
    ("09_causal_attention", "keep-read"): {"triu": ELSEWHERE, "diagonal": ELSEWHERE},
    ("09_causal_attention", "dropout-text"): {"train": "the counterpart of `.eval()`, which a new module needs not"},
    ("10_multi_head", "wrapper-text"): {"d_out": ELSEWHERE},
    ("10_multi_head", "split-text"): {"B": "a size that the lesson never writes, since it takes batches of any shape"},
    ("10_multi_head", "train-text"): {"float64": DTYPE},
    ("11_image_patches", "cut-read"): {"b": PLACE},
    ("11_image_patches", "model-text"): {"index": PLACE},
}
NOTATION = ("00_start_here", "notation")  # the names of all lessons, and looked for in all

CELLS = {path.stem: read(path).cells for path in LESSONS}
TEXTS = {
    (lesson, cell.id): place
    for lesson, cells in CELLS.items()
    for place, cell in enumerate(cells)
    if cell.cell_type == "markdown" and SPAN.search(cell.source)
}


def names(source):
    """The names in the code within a text's lines, but for those that Python has everywhere."""
    text = re.sub(r"```.*?```", "", source, flags=re.DOTALL)
    return {name for span in SPAN.findall(text) for name in NAME.findall(span)} - EVERYWHERE


def met(cells, place):
    """The names that a reader meets in code and outputs up to the code that follows a text; for the title, in all."""
    end = place + 1
    while place and end < len(cells) and cells[end].cell_type != "code":
        end += 1
    while place and end < len(cells) and cells[end].cell_type == "code":
        end += 1
    shown = [cell for cell in (cells[:end] if place else cells) if cell.cell_type == "code"]
    return {
        name for cell in shown for text in (cell.source, *map(plain_text, cell.outputs)) for name in NAME.findall(text)
    }


def unknown(text):
    assert text in TEXTS, f"{text}, which {__name__}.py names, is not there or has no code any more"
    place = TEXTS[text]
    return names(CELLS[text[0]][place].source) - met(CELLS[text[0]], place)


@pytest.mark.parametrize("text", [text for text in TEXTS if text != NOTATION], ids=":".join)
def test_code_named_in_a_text_is_code_of_the_lesson(text):
    missing = unknown(text) - set(EXCEPTIONS.get(text, ()))
    assert not missing, (
        f"{missing} of {':'.join(text)} is in no code before it or just after. If it should not, tell {__name__}.py"
    )


def test_the_notation_is_that_of_the_lessons():
    lessons = [cell.source for path in LESSONS for cell in code_cells(read(path))]
    unused = unknown(NOTATION) - {name for source in lessons for name in NAME.findall(source)}
    assert not unused, f"{':'.join(NOTATION)} names what no lesson has: {unused}"


def test_no_exception_has_outlived_its_name():
    for text, exceptions in EXCEPTIONS.items():
        needless = set(exceptions) - unknown(text)
        assert not needless, (
            f"EXCEPTIONS[{text}] of {__name__}.py has {needless}, which the text does not need any more"
        )


def test_a_name_in_the_place_of_another_would_be_noticed():
    text = ("09_causal_attention", "keep-text")
    assert unknown(text) == set()
    place = TEXTS[text]
    source = CELLS[text[0]][place].source
    assert names(source.replace("`.tril()`", "`.triu()`")) - met(CELLS[text[0]], place) == {"triu"}


def test_names_are_read_as_code_reads_them():
    assert names("`a.b(c_1, 2e3)` b\n```\n`d`\n``` and `print(é)`, `f` ") == {"a", "b", "c_1", "é", "f"}
