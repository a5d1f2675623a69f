"""How many minutes each lesson takes, exercises apart: `python tools/pace.py`.

A minute for 200 words of text (a formula has as many words as it has parts between spaces), for 20 lines of code and
for each **Predict.**, and two for each slider or film. Not counted: exercises, which a class sets as it likes; tables,
which are for looking up; **Read on**; the set-up cell; and what follows *If you like:*, up to the next heading.
"""

import re

from lessons import LESSONS, read

WORDS, LINES, SLIDER = 200, 20, 2
NOT_COUNTED = ("setup", "exercise-", "progress")


def counted(notebook):
    """The paragraphs of text and the lines of code that everybody reads."""
    text, code, optional = [], [], False
    for cell in notebook.cells:
        if cell.id.startswith(NOT_COUNTED):
            continue
        if cell.cell_type == "code":
            code += [] if optional else cell.source.splitlines()
            continue
        for paragraph in cell.source.partition("## Read on")[0].split("\n\n"):
            if paragraph.startswith(("#", "*If you like:*")):
                optional = not paragraph.startswith("#")
            if not optional:
                text.append(re.sub(r"^\|.*", "", paragraph, flags=re.MULTILINE))
    return "\n\n".join(text), [line for line in code if re.search(r"\w", line.partition("#")[0])]


def minutes(notebook):
    text, code = counted(notebook)
    words = sum(bool(re.search(r"\w", word)) for word in text.split())
    sliders = sum(line.startswith(("explore(", "film(")) for line in code)
    return words / WORDS + len(code) / LINES + text.count("**Predict.**") + SLIDER * sliders


if __name__ == "__main__":
    for path in LESSONS:
        print(f"{path.stem:24} {minutes(read(path)):4.1f}")
