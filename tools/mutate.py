"""Make the mistakes of `mutants.py`, one by one, and see whether a test notices each.

    python tools/mutate.py                    all of them, then a table; the exit code is 1 where one stays unnoticed
    python tools/mutate.py --kind code        one kind
    python tools/mutate.py --only 02:naive    one mutant
    python tools/mutate.py --list             what there is
    python tools/mutate.py --write            all, and store the table in tools/mutation_score.md

It works on copies of the project. Each mutant gets the tests that could notice it and no others: it is killed where
pytest says that a test has failed; any other end, such as an error in the collection, stops the run. Mutants that
each must fail a test of their own, such as digits in different cells of a lesson, share one run.
"""

import argparse
import ast
import contextlib
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
from lessons import ROOT
from mutants import KINDS, MUTANTS

TABLE = ROOT / "tools" / "mutation_score.md"
SECONDS = 600  # for one run of pytest
MAY_SURVIVE = {"text"}  # prose holds more numbers than a test can know

PROSE = "tests/test_prose_numbers.py"
FORM = ("tests/test_lessons_form.py", PROSE, "tests/test_expected_values.py")
OF_ATTENTION = (
    "tests/test_attention.py",
    "tests/test_causal_and_heads.py",
    "tests/test_positions.py",
    "tests/test_blocks.py",
    "tests/test_two_sequences.py",
    "tests/test_fast_attention.py",
    "tests/test_patches.py",
)
SAME_AS_IN_HELPERS = (*OF_ATTENTION, "-k", "lesson")  # the functions that a lesson builds
# For each file of the helpers the tests that might notice, one selection after the other until one does.
OF_EXPLORE = ("tests/test_explore.py", "-k", "not real_kernel")
OF_HELPERS = {
    "helpers/heatmap.py": [("tests/test_heatmap.py",), ("notebooks/02_softmax.ipynb",)],
    "helpers/explore.py": [OF_EXPLORE, ("notebooks/01_dot_product_scores.ipynb",)],
    "helpers/result.py": [OF_EXPLORE],
    "helpers/sliders.py": [OF_EXPLORE],
    "helpers/film.py": [("tests/test_film.py",), ("notebooks/08_training.ipynb",)],
    "helpers/figures.py": [("tests/test_drawing.py",), ("tests/test_explore.py", "-k", "figure or picture")],
    "helpers/sentence.py": [("tests/test_expected_values.py",)],
    "helpers/environment.py": [("tests/test_environment.py",)],
    "helpers/attention.py": [OF_ATTENTION],
    "helpers/checks.py": [OF_ATTENTION],
    "helpers/real_model.py": [("tests/test_real_model.py",)],
    "helpers/exercises/checking.py": [
        ("tests/test_exercises.py", "-k", "progress or hints or argument or random or smallest"),  # the quick ones
        ("tests/test_exercises.py", "-k", "not solved_lesson"),
    ],
}


def main():
    arguments = parse()
    chosen = [m for m in MUTANTS if arguments.kind in (None, m.kind) and arguments.only in (None, m.name)]
    if not chosen:
        sys.exit(f"there is no mutant {arguments.only or ''} of this kind: --list shows all")
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.kind:7} {mutant.name:40} {mutant.file} {mutant.where}: {mutant.old!r} -> {mutant.new!r}")
        return 0
    with copies_of_the_project(arguments.jobs) as copies:
        survivors = try_all(chosen, copies)
    table = report(chosen, survivors)
    print(table)
    if arguments.write:
        TABLE.write_text(table, encoding="utf-8", newline="\n")
    return int(any(mutant.kind not in MAY_SURVIVE for mutant in survivors))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the mutants and run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time (2)")
    parser.add_argument("--write", action="store_true", help=f"store the table in {TABLE.name}")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("--jobs must be at least 1")
    if arguments.write and (arguments.kind or arguments.only or arguments.list):
        parser.error("--write is for a run of all mutants: leave out --kind, --only and --list")
    return arguments


# Where a mutant is made


def mutated(mutant, source):
    """The source of the mutant's file with its change."""
    if mutant.kind == "helper":
        start, end = span(mutant, source)
        return source[:start] + changed(mutant, source[start:end]) + source[end:]
    notebook = nbformat.reads(source, as_version=4)
    cells = [cell for cell in notebook.cells if cell.id == mutant.where]
    if len(cells) != 1:
        raise ValueError(f"{mutant.kind} {mutant.name}: {mutant.file} has no cell {mutant.where}")
    wanted = "markdown" if mutant.kind == "text" else "code"
    if cells[0].cell_type != wanted:
        raise ValueError(f"{mutant.kind} {mutant.name}: the cell {mutant.where} is no {wanted} cell")
    if mutant.kind == "output":
        change_output(mutant, cells[0])
    else:
        cells[0].source = changed(mutant, cells[0].source)
    return nbformat.writes(notebook) + "\n"


def changed(mutant, text):
    check_found_once(mutant, text.count(mutant.old))
    return text.replace(mutant.old, mutant.new)


def change_output(mutant, cell):
    places = [(output, "text") for output in cell.outputs if "text" in output]
    places += [(output.data, kind) for output in cell.outputs for kind in output.get("data", {})]
    check_found_once(mutant, sum(data[kind].count(mutant.old) for data, kind in places))
    for data, kind in places:
        data[kind] = data[kind].replace(mutant.old, mutant.new)


def check_found_once(mutant, count):
    if count != 1:
        where = f"{mutant.file} {mutant.where}".rstrip()
        raise ValueError(f"{mutant.kind} {mutant.name}: {mutant.old!r} stands {count} times in {where}, not once")


def span(mutant, source):
    """Where the source of the mutant's function begins and ends."""
    node = ast.parse(source)
    for name in filter(None, mutant.where.split(".")):
        found = [child for child in node.body if getattr(child, "name", None) == name]
        if len(found) != 1:
            raise ValueError(f"helper {mutant.name}: {mutant.file} has no {mutant.where}")
        (node,) = found
    if not mutant.where:
        return 0, len(source)
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: node.lineno - 1])), sum(map(len, lines[: node.end_lineno]))


@contextlib.contextmanager
def made(mutants, project):
    """Within it, the copy of the project has these mutants."""
    originals = {}
    try:
        for mutant in mutants:
            file = project / mutant.file
            source = file.read_text(encoding="utf-8")
            originals.setdefault(file, source)
            file.write_text(mutated(mutant, source), encoding="utf-8", newline="\n")
        yield
    finally:
        for file, source in originals.items():
            file.write_text(source, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def copies_of_the_project(count):
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder, str(number)) for number in range(count)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        yield copies


# What runs


def tests_for(mutant):
    """The selections of tests that could notice a mutant alone in its run, in order."""
    if mutant.kind == "helper":
        return OF_HELPERS[mutant.file]
    return [(mutant.file,), FORM, SAME_AS_IN_HELPERS]


def groups(mutants):
    """The mutants that share a run: those of outputs by lesson, those of texts all; but no two in the same cell."""
    shared = {}
    for mutant in mutants:
        if mutant.kind in ("output", "text"):
            tests = mutant.file if mutant.kind == "output" else PROSE
            number = 0
            while any(m.file == mutant.file and m.where == mutant.where for m in shared.get((tests, number), [])):
                number += 1
            shared.setdefault((tests, number), []).append(mutant)
    return [((tests,), group) for (tests, _), group in shared.items()]


def try_all(mutants, copies):
    """The mutants that no test notices."""
    together = groups(mutants)
    alone = [mutant for mutant in mutants if mutant.kind in ("code", "helper")]
    selections = dict.fromkeys(
        [tests for tests, _ in together] + [tests for mutant in alone for tests in tests_for(mutant)]
    )
    free = queue.Queue()
    for copy in copies:
        free.put(copy)

    def lend(task, *arguments):
        copy = free.get()
        try:
            return task(copy, *arguments)
        finally:
            free.put(copy)

    survivors = []
    with ThreadPoolExecutor(len(copies)) as pool:
        print(f"first without any mutant: {len(selections)} selections of tests, which must pass", flush=True)
        for baseline in as_completed([pool.submit(lend, must_pass, tests) for tests in selections]):
            baseline.result()
        tasks = [pool.submit(lend, try_together, *group) for group in together]
        tasks += [pool.submit(lend, try_alone, mutant) for mutant in alone]
        try:
            for task in as_completed(tasks):
                for mutant, killed, seconds in task.result():
                    print(
                        f"{'killed' if killed else 'SURVIVED':8}  {mutant.kind:6}  {mutant.name}  {seconds:.0f} s",
                        flush=True,
                    )
                    survivors += [] if killed else [mutant]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [mutant for mutant in mutants if mutant in survivors]


def must_pass(project, tests):
    status, text, seconds = pytest(project, tests)
    if status != 0:
        raise RuntimeError(f"{' '.join(tests)} fails without any mutant:\n{text}")
    print(f"passes    {' '.join(tests)}  {seconds:.0f} s", flush=True)


def try_alone(project, mutant):
    spent = 0
    with made([mutant], project):
        for tests in tests_for(mutant):
            status, _, seconds = pytest(project, (*tests, "-x"))
            spent += seconds
            if status == 1:
                return [(mutant, True, spent)]
    return [(mutant, False, spent)]


def try_together(project, tests, mutants):
    with made(mutants, project):
        _, text, seconds = pytest(project, tests)
        failed = set(re.findall(r"^FAILED (\S+::(?:Cell \d+|\S+))", text, re.MULTILINE))
        return [(mutant, bool(tests_of(mutant, project) & failed), seconds / len(mutants)) for mutant in mutants]


def tests_of(mutant, project):
    """The tests of which one must fail for this mutant of an output or a text, whatever else fails."""
    lesson = Path(mutant.file)
    if mutant.kind == "text":
        of_text = f"[{lesson.stem}:{mutant.where}]"
        return {
            f"{PROSE}::test_the_numbers_of_a_text_are_those_of_the_outputs{of_text}",
            f"{PROSE}::test_a_whole_number_that_follows_from_something_does{of_text}",
        }
    cells = nbformat.read(project / lesson, as_version=4).cells
    ids = [cell.id for cell in cells if cell.cell_type == "code"]
    return {f"{mutant.file}::Cell {ids.index(mutant.where)}"}


def pytest(project, arguments):
    """Run pytest in the copy: its exit code, 0 or 1, what it printed, and the seconds it took."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--color=no", "-p", "no:cacheprovider", *arguments]
    # A stored .pyc is taken for new where size and second of the change are those of the file before.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    start = time.monotonic()
    run = subprocess.run(command, cwd=project, env=environment, capture_output=True, encoding="utf-8", timeout=SECONDS)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.returncode, run.stdout, time.monotonic() - start


def report(mutants, survivors):
    """The table of a run, as Markdown."""
    made_of, alive = Counter(m.kind for m in mutants), Counter(m.kind for m in survivors)
    lines = [
        "# Do the tests notice mistakes?",
        "",
        "Mistakes made on purpose, one by one (`mutants.py`), and whether a test failed. Reproduce it with",
        "`python tools/mutate.py --write`.",
        "",
        "| kind | what | killed | of | score |",
        "|:--|:--|--:|--:|--:|",
    ]
    for kind, what in KINDS.items():
        if all_of_it := made_of[kind]:
            killed = all_of_it - alive[kind]
            lines.append(f"| {kind} | {what} | {killed} | {all_of_it} | {killed / all_of_it:.0%} |")
    killed = len(mutants) - len(survivors)
    lines += [f"| all | | {killed} | {len(mutants)} | {killed / len(mutants):.0%} |", ""]
    if survivors:
        lines += ["Not noticed:", ""]
        lines += [f"- {m.kind}, {m.name}: `{m.old}` as `{m.new}`" for m in survivors]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
