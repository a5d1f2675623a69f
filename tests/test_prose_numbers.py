"""Numbers in the text of a lesson are those of its outputs, as precisely as the text writes them.

Each number with decimals, and each percentage, must stand in an output or a line of code beside the text; or, where it
has enough digits not to be met by chance, anywhere in the lesson. For the others the tables below say where they come
from. Whole numbers stand everywhere, as labels: of these only what a table below names, which follows from something.
"""

import math
import re
from fractions import Fraction

import pytest
from lessons import LESSONS, cell_of, lesson, plain_text, read

# A number with decimals; or with "per cent" or "%" behind it, also as the first of two: "97 and 100 per cent".
WRITTEN = re.compile(
    r"(?<![\w.])(?P<percentage>-?\d+(?:\.\d+)?)(?= (?:and -?\d+(?:\.\d+)? )?(?:per cent|%))"
    r"|(?<![\w.])-?\d*\.\d+(?!\w|\.\d)"
)
PRINTED = re.compile(r"(?<![\w.])(-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)(%?)")
EXACT = Fraction(1, 10**12)  # what float arithmetic may be off
DIGITS_OF_ITS_OWN = 3  # with so many a number is hardly met by chance elsewhere in the lesson

# Texts that repeat a cell further away: text -> cells.
REPEATED = {
    ("00_start_here", "slider-read"): [("02_softmax", "temperature")],  # sharpness 100 is temperature 0.01
    ("01_dot_product_scores", "explore-read"): [("01_dot_product_scores", "tokens")],
    ("02_softmax", "explore-read"): [("01_dot_product_scores", "pairs")],
    ("03_context_vectors", "one-text"): [("01_dot_product_scores", "tokens")],
    ("03_context_vectors", "exercise-hull"): [("01_dot_product_scores", "tokens")],
    ("04_queries_keys_values", "large-text"): [("02_softmax", "break"), ("04_queries_keys_values", "square")],
}

# Numbers that no output shows, because only a slider leads there or because they take a step more: how to get them.
CALCULATED = {
    ("00_start_here", "slider-read"): {"0.1667": "1 / 6"},
    ("01_dot_product_scores", "tokens-read"): {
        "0.5": "int(10 * INPUTS[1, 0]) / 10",
        "0.6": "int(10 * INPUTS[1, 2]) / 10",
    },
    ("02_softmax", "break-text"): {"3.4": "torch.finfo(torch.float32).max / 1e38"},
    ("02_softmax", "gradients-read"): {"0.25": "0.5 * (1 - 0.5)"},  # the most that w (1 - w) can be
    ("02_softmax", "temperature-read"): {"0.0196": "INPUTS[1] @ (INPUTS[1] - INPUTS[2])"},
    ("02_softmax", "explore-read"): {
        "0.0084": "INPUTS[4] @ (INPUTS[2] - INPUTS[1])",
        "0.010": "10**-2",
        "0.70": "torch.softmax(INPUTS @ INPUTS[4] / 0.01, dim=-1).max()",
        "0.001": "10**-3",
    },
    ("02_softmax", "curves-read"): {"0.001": "10**-3", "0.0196": "INPUTS[1] @ (INPUTS[1] - INPUTS[2])"},
    ("04_queries_keys_values", "large-read"): {"1.41": "math.sqrt(2)"},
    ("10_multi_head", "cost-read"): {  # of twice the tokens, from the numbers in the table above
        "3.0": "25_165_824 / 8_388_608",
        "3.3": "83_886_080 / 25_165_824",
    },
    ("11_image_patches", "model-text"): {"25": "1 / 4"},
    ("15_a_real_model", "title"): {"22.7": "22_713_728 / 1e6"},  # as the first cell counts
}

# Numbers that repeat nothing: bounds in a question, and the like.
GIVEN = {
    ("02_softmax", "exercise-detector"): ["0.01"],  # an error that the answer must find
    ("01_dot_product_scores", "explore-text"): ["0.5"],  # a place of the slider
    ("02_softmax", "explore-text"): ["0.9"],  # a bound to look for with the slider
    ("03_context_vectors", "exercise-hull"): ["0.9"],  # a number out of reach
    ("03_context_vectors", "entropy-read"): ["100"],  # the most that there is
    ("04_queries_keys_values", "large-read"): ["0.2"],  # a bound: "no weight is above"
    ("05_scaling", "exercise-broken"): ["0.5"],  # an exponent
    ("05_scaling", "explore-text"): ["0.9"],  # a bound to look for with the slider
    ("05_scaling", "explore-read"): ["0.9"],  # the same
    ("06_attention_modules", "exercise-global-size"): ["0.5"],  # an exponent
    ("07_position", "sinus-text"): ["3.5"],  # a section of a paper
    ("08_training", "scale-text"): ["0.95"],  # a bound to look for
    ("08_training", "scale-read"): ["0.9"],  # "near"
    ("10_multi_head", "result-read"): ["95"],  # of trainings that the lesson does not run
    ("11_image_patches", "trap-text"): ["95"],  # a bound in a question
    ("11_image_patches", "verdicts-read"): ["99"],  # of trainings that the lesson does not run
    ("13_two_sequences", "align-read"): [".75", ".83"],  # of trainings that the lesson does not run
    ("13_two_sequences", "pad-read"): [".17", ".34"],  # the same
    ("12_blocks_and_layers", "depth-read"): [".48", ".98"],  # of trainings that the lesson does not run
    ("12_blocks_and_layers", "cut-read"): [".15", ".21", ".88"],  # the same
    ("12_blocks_and_layers", "exercise-heads"): [  # rows that are made up
        f"0.{digits}" for digits in ("01", "02", "03", "04", "83", "90")
    ],
    ("15_a_real_model", "exercise-sink"): ["0.9", "0.1", "0.05", "0.5"],  # of a row that is made up
}

# Whole numbers that follow from something: a piece of the text, and how to get each number in it.
OWN_SCORES = "((INPUTS @ INPUTS.T).argmax(dim=1) == torch.arange(6)).sum()"  # tokens whose best key is their own
COUNTED = {
    ("01_dot_product_scores", "angle-read"): {r"only (\w+) of (\w+) do:": [OWN_SCORES, "len(INPUTS)"]},
    ("01_dot_product_scores", "speed-read"): {r"all (\d+) dot products": ["64 * 64"]},
    ("01_dot_product_scores", "explore-read"): {  # the slider goes in steps of 5
        r"at about (\d+) degrees;": ["max(range(0, 361, 5), key=lambda angle: scores_at(angle)[4])"],
        r"From (\d+) to (\d+) degrees": [
            "min(angle for angle in range(0, 361, 5) if (scores_at(angle) < 0).all())",
            "max(angle for angle in range(0, 361, 5) if (scores_at(angle) < 0).all())",
        ],
        r"at 225 the longest vectors, \*(\w+)\* and \*(\w+)\*, have the lowest": [
            f"TOKENS[sorted(scores_at(225).argsort()[:2].tolist())[{place}]]" for place in (0, 1)
        ],
    },
    ("02_softmax", "temperature-read"): {r"all (\w+) weights are near one": ["len(INPUTS)"]},
    ("05_scaling", "grow-read"): {
        r": (\d+) for (\d+), (\d+) for (\d+)": ["math.sqrt(64)", "64", "math.sqrt(1024)", "1024"]
    },
    ("05_scaling", "explore-read"): {r"d_k = (\d+)\$ on, which is (\d+) on the slider": ["2**7", "7"]},
    ("08_training", "run-text"): {
        r"(\d+) steps of (\d+) words are (\d+) words": ["50", "64", "50 * 64"],
        r"8\^6 = (262\\,144)\$": ["8**6"],
    },
    ("10_multi_head", "result-read"): {r"a guess among (\d+) tokens is right in (\d+) per cent": ["12", "100 / 12"]},
    ("10_multi_head", "curve-read"): {r"of the four layers at (\d+)": ["2 * 64"]},
    ("11_image_patches", "draw-read"): {
        r"Patches (\d+), (\d+), (\d+), (\d+) and (\d+) are all black": [f"black_patches()[{n}]" for n in range(5)],
        r"(\w+) rows of (\w+), so \$T = (\d+)\$ patches, of (\d+)": ["12 / 4", "20 / 4", "12 * 20 / 4**2", "4**2"],
    },
    ("11_image_patches", "cut-text"): {
        r"the (\d+) rows into (\d+) × (\d+)": ["12", "12 / 4", "4"],
        r"the (\d+) columns into (\d+) × (\d+)": ["20", "20 / 4", "4"],
    },
    ("11_image_patches", "wrong-text"): {r"reshape\((\d+), (\d+)\)": ["12 * 20 / 4**2", "4**2"]},
    ("11_image_patches", "controls-read"): {r"all (\d+) pixels": ["16 * 5 * 5"]},
    ("11_image_patches", "cost-read"): {
        r"(\d+) × 224 pixels has (\d+) patches of (\d+)": ["224", "(224 / 16) ** 2", "16"]
    },
    ("14_fast_attention", "size-read"): {
        r"(\d+) KiB per token, and not (\d+)": ["2 * 80 * 8 * 128 * 2 / 1024", "2 * 32 * 32 * 128 * 2 / 1024"]
    },
    ("14_fast_attention", "explore-read"): {r"(\d+), whichever block it is": ["12 * 3"]},
}
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]

LESSON_CELLS = {path.stem: read(path).cells for path in LESSONS}


class Written:
    """A number as the text writes it: `start` is its place in the source of the cell, `half` half its last digit.

    One digit, such as 0.01, stands for itself: 0.0091 does not justify it.
    """

    def __init__(self, text, start, percentage):
        self.text, self.start, self.percentage = text, start, percentage
        decimals = len(text.partition(".")[2]) + (2 if percentage else 0)
        self.value = Fraction(text) / (100 if percentage else 1)
        self.digits = len(text.lstrip("-0.").replace(".", ""))
        self.half = Fraction(1, 2 * 10**decimals) if self.digits > 1 else EXACT

    def is_in(self, numbers):
        return any(abs(self.value - number) <= self.half for number in numbers)


def written(source):
    """The numbers in the text of a cell. The address of a link, such as arxiv.org/abs/1706.03762, is none."""
    source = re.sub(r"(?<=\]\()https://[^)\s]+", lambda link: " " * len(link[0]), source)
    return [Written(m[0], m.start(), m["percentage"] is not None) for m in WRITTEN.finditer(source)]


def printed(text):
    """The numbers with decimals in an output or in code, and the percentages, exactly as they stand there."""
    found = PRINTED.findall(text)
    return {Fraction(n) / (100 if sign else 1) for n, sign in found if sign or "." in n or "e" in n}


def shown(cells):
    """The numbers in code cells and in their outputs. A heatmap's text has the same as its table."""
    numbers = set()
    for cell in cells:
        if cell.cell_type == "code":
            numbers |= printed("\n".join([cell.source, *map(plain_text, cell.outputs)]))
    return numbers


def nearby(cells, place):
    """The code cells before a text, up to the text before, and those behind it."""
    before, behind = place, place + 1
    while before and cells[before - 1].cell_type == "code":
        before -= 1
    while behind < len(cells) and cells[behind].cell_type == "code":
        behind += 1
    return cells[before:behind]


def sources(lesson, place):
    """The numbers that a text may repeat: those beside it, and those of the lesson."""
    cells = LESSON_CELLS[lesson]
    beside = nearby(cells, place)
    for other, name in REPEATED.get((lesson, cells[place].id), []):
        beside = [*beside, *(cell for cell in LESSON_CELLS.get(other, []) if cell.id == name)]
    return shown(beside), shown(cells)


def is_found(number, beside, everywhere):
    return number.is_in(beside) or (number.digits >= DIGITS_OF_ITS_OWN and number.is_in(everywhere))


def calculate(formula):
    return Fraction(float(evaluate(formula)))


def evaluate(formula):
    import torch

    from helpers import INPUTS, TOKENS
    from helpers.attention import patches

    def scores_at(angle):
        """Of a query of length 1 with this angle, in the plane of the first two numbers."""
        return INPUTS[:, :2] @ torch.tensor([math.cos(math.radians(angle)), math.sin(math.radians(angle))])

    def black_patches():
        """The numbers of the patches of lesson 11's image in which nothing is drawn."""
        source = cell_of(lesson("11_image_patches"), "draw").source
        names = {"torch": torch}
        exec(source[source.index("row, column = ") : source.index("def show")], names)
        return (patches(names["image"], 4) == 0).all(dim=-1).nonzero().flatten().tolist()

    known = {"INPUTS": INPUTS, "TOKENS": TOKENS, "math": math, "torch": torch}
    return eval(formula, known | {"black_patches": black_patches, "scores_at": scores_at})


TEXTS = {
    (lesson, cell.id): (place, written(cell.source))
    for lesson, cells in LESSON_CELLS.items()
    for place, cell in enumerate(cells)
    if cell.cell_type == "markdown" and written(cell.source)
}


@pytest.mark.parametrize("text", TEXTS, ids=":".join)
def test_the_numbers_of_a_text_are_those_of_the_outputs(text):
    place, numbers = TEXTS[text]
    beside, everywhere = sources(text[0], place)
    for number in numbers:
        if number.text in GIVEN.get(text, []):
            continue
        formula = CALCULATED.get(text, {}).get(number.text)
        if formula is not None:
            right = calculate(formula)
            assert number.is_in([right]), (
                f"{number.text} is not {formula}, {float(right)}, as {where('CALCULATED', text)} has it"
            )
        else:
            also = [
                f", nor in {':'.join(cell)}, where {where('REPEATED', text)} sends it"
                for cell in REPEATED.get(text, [])
            ]
            assert is_found(number, beside, everywhere), (
                f"{':'.join(text)}: {number.text} stands in no output beside it{''.join(also)}. "
                f"If the text is right, say in a table of {__name__}.py where the number comes from"
            )


def where(table, text):
    """The entry of a table, for a message."""
    return f"{table}[{text}] of {__name__}.py"


@pytest.mark.parametrize("text", COUNTED, ids=":".join)
def test_a_whole_number_that_follows_from_something_does(text):
    entry = where("COUNTED", text)
    source = {cell.id: cell.source for cell in LESSON_CELLS.get(text[0], [])}.get(text[1])
    assert source, f"{entry} is about a cell that is not there any more"
    for phrase, formulas in COUNTED[text].items():
        found = list(re.finditer(phrase, source, re.IGNORECASE))
        assert len(found) == 1, f"{entry}: the text has {phrase!r} {len(found)} times, not once"
        for number, formula in zip(found[0].groups(), formulas, strict=True):
            right, digits = evaluate(formula), number.replace("\\,", "").lower()
            expected = right if isinstance(right, str) else str(round(float(right)))
            if digits in WORDS and not isinstance(right, str):
                digits = str(WORDS.index(digits))
            assert digits == expected.lower(), f"{entry}: {found[0][0]!r}: {number} is not {formula}"


@pytest.mark.parametrize("name", ["REPEATED", "CALCULATED", "GIVEN"])
def test_no_exception_has_outlived_its_number(name):
    table = globals()[name]
    for text, exceptions in table.items():
        entry = where(name, text)
        assert text in TEXTS, f"{entry}: this text has no numbers any more. Take the entry out"
        numbers = {number.text for number in TEXTS[text][1]}
        for exception in exceptions:
            if table is REPEATED:
                lesson, cell = exception
                there = {one.id for one in LESSON_CELLS.get(lesson, [])}
                assert cell in there, f"{entry}: {lesson} has no cell {cell} any more"
            else:
                assert exception in numbers, f"{entry}: the text has no {exception} any more"


def changed_digits(number):
    """The number with each of its digits changed in turn."""
    for place, digit in enumerate(number.text):
        if digit.isdigit():
            other = str((int(digit) + 1) % 10)
            text = number.text[:place] + other + number.text[place + 1 :]
            yield Written(text, number.start, number.percentage)


def test_nearly_every_wrong_digit_would_be_noticed():
    unnoticed, tried = [], 0
    for text, (place, numbers) in TEXTS.items():
        beside, everywhere = sources(text[0], place)
        for number in numbers:
            if number.text in [*GIVEN.get(text, []), *CALCULATED.get(text, {})]:
                continue
            for wrong in changed_digits(number):
                tried += 1
                if is_found(wrong, beside, everywhere):
                    unnoticed.append(f"{':'.join(text)} {number.text} as {wrong.text}")
    assert tried > 300
    assert len(unnoticed) < 0.07 * tried, unnoticed  # numbers of one or two digits meet another by chance


def test_written_reads_numbers_as_a_reader_does():
    link = "[not this](https://arxiv.org/abs/1706.03762)"
    found = written(
        f"At .5 or -0.25, 98 per cent (not 7, 3.11.2 or x_0.5), {link} between 97 and 100 per cent, 25 %; $1.41$."
    )
    assert [(number.text, float(number.value)) for number in found] == [
        (".5", 0.5),
        ("-0.25", -0.25),
        ("98", 0.98),
        ("97", 0.97),
        ("100", 1.0),
        ("25", 0.25),
        ("1.41", 1.41),
    ]


def test_a_number_is_compared_as_precisely_as_it_is_written():
    rounded, percentage = written("0.24, 98 per cent")
    assert rounded.is_in(printed("0.2379"))
    assert not rounded.is_in(printed("0.2333"))
    assert percentage.is_in(printed("0.9817"))
    assert percentage.is_in(printed("97.6%"))
    one_digit, *_ = written("0.01")
    assert one_digit.is_in(printed("0.0100"))
    assert not one_digit.is_in(printed("0.0091"))  # or a change from 0.01 to 0.009 would not be noticed
    assert not percentage.is_in(printed("0.9712 98"))  # a whole number is a label
