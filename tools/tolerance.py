"""Numbers that another machine may print a little differently, such as results of training.

The line that prints them says in the lesson by how much, for the reader and for the comparison alike:

    print(f"{name:8} {share:.2f}")  # give or take 0.05

Only numbers that the marked print formats with decimals are given this room; all else in its lines is compared exactly.
"""

import ast
import copy
import re

MARK = "# give or take "


def marked(source):
    """(pattern of the printed line, tolerance) of each marked print; its groups are the numbers with decimals.

    Raises ValueError where a mark has no number behind it, or stands where no number with decimals is printed.
    """
    found = []
    for place, line in enumerate(source.splitlines(), start=1):
        if MARK not in line:
            continue
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        prints = [call for call in calls if ast.unparse(call.func) == "print" and call.end_lineno == place]
        pattern = re.compile(" ".join(pattern_of(part) for call in prints for part in call.args))
        if not pattern.groups:
            raise ValueError(f"the mark stands where no number with decimals is printed: {line.strip()}")
        found.append((pattern, float(line.partition(MARK)[2].rstrip(" %"))))
    return found


def pattern_of(part):
    """What an argument of print looks like on the page."""
    if isinstance(part, ast.Constant):
        return re.escape(str(part.value))
    if isinstance(part, ast.JoinedStr):
        return "".join(map(pattern_of, part.values))
    spec = ast.unparse(part.format_spec)[2:-1] if getattr(part, "format_spec", None) else ""
    if not re.search(r"\.\d+[f%]$", spec):
        return ".*?"
    padding = " *" if re.match(r"[<>^]?\d", spec) else ""
    return rf"({padding}-?[\d,]*\d(?:\.\d+)?{padding})" + "%" * spec.endswith("%")


def settled(source, stored, fresh):
    """The fresh outputs of a cell, each marked line as it is stored where both agree. Raises ValueError as above."""
    patterns, fresh = marked(source), copy.deepcopy(fresh)
    streams = ([output for output in outputs if output.output_type == "stream"] for outputs in (stored, fresh))
    for old, new in zip(*streams, strict=False):
        before, after = old.text.split("\n"), new.text.split("\n")
        if len(before) == len(after):
            pairs = zip(before, after, strict=True)
            new.text = "\n".join(one if agree(patterns, one, other) else other for one, other in pairs)
    return fresh


def agree(patterns, one, other):
    """Whether two lines are of the same marked print, with numbers within its tolerance and the same rest."""
    for pattern, tolerance in patterns:
        found = [pattern.fullmatch(line) for line in (one, other)]
        if all(found):
            numbers = [[float(number.replace(",", "")) for number in match.groups()] for match in found]
            near = all(abs(a - b) <= tolerance + 1e-9 for a, b in zip(*numbers, strict=True))
            if near and rest(found[0]) == rest(found[1]):
                return True
    return False


def rest(match):
    """A line with its numbers taken out."""
    line = match.string
    for number in range(match.re.groups, 0, -1):
        line = line[: match.start(number)] + "\0" + line[match.end(number) :]
    return line
