"""What an exercise is: `check` judges an answer and says what it shows, `hint` helps, `solution` shows code to read.

There are two kinds. The answer to a `Task` is code, a function or a module class, which is tried on fresh inputs and
compared with the solution. The answer to a `Question` is a value: a letter, a number, a shape, a tensor.

Both know the solution as code, which is also what `solution` shows, and the known mistakes.
"""

import _thread
import contextlib
import copy
import functools
import inspect
import math
import re
import textwrap
import threading
import time
import traceback
import warnings
from typing import NamedTuple

import torch
from IPython import get_ipython
from IPython.display import display
from IPython.utils.capture import capture_output
from torch import nn

from ..figures import new_figures
from ..heatmap import heatmap

SECONDS = 3.0  # for all inputs of a check together
_TABLE = 8  # a result with at most so many rows and columns is shown as heatmaps
_WIDTH = 96  # characters in a line
_LONGEST = 160  # characters of a value in a message


class Mistake(NamedTuple):
    """A known mistake: a wrong answer by which it is recognised, and the sentence that names it."""

    wrong: object
    sentence: str


class Exercise:
    """What tasks and questions share: known mistakes, hints one after the other, a solution, and whether solved."""

    def __init__(self, answer, called, code, *, right, mistakes, hints):
        self.name = "?"  # set by `Exercises`
        self.solved = False
        self.answer = answer
        self.code = code
        self.mistakes = mistakes
        self._called = called  # the answer's name in the lesson
        self._right = right
        self._hints = hints
        self._given = 0

    def check(self, answer=...):
        """Say whether the answer is right, and if not, what it shows. Never raises."""
        tables = []
        try:
            if _left_over(self._called, answer):
                why = (
                    "the cell above did not run to its end, so this is an earlier answer. Mend and run that cell first."
                )
            elif answer is ... or _is_stub(answer):
                print(f"{self.name}: no answer yet. Write yours above; exercise.{self.name}.hint() helps.")
                return
            else:
                why, *tables = self._judge(answer) or [""]
        except KeyboardInterrupt:
            why = "the check was interrupted before it was done."
        except Exception as error:  # of an answer that behaves like no other
            why = f"the check can't make sense of this answer: {_message(error)}"
        self.solved |= not why
        why = re.sub(r"^[a-z](?=[a-z]*[ ,'-])", lambda first: first[0].upper(), why)  # but code stays, such as norm()
        text = f"{self.name}: not yet. {why}" if why else f"✓ {self.name}: {self._right}"
        print("\n".join(textwrap.fill(line, _WIDTH, subsequent_indent="    ") for line in text.splitlines()))
        for table in tables:
            display(table)

    def hint(self):
        """Print the next hint, from a nudge to nearly the answer."""
        count = len(self._hints)
        self._given = min(self._given + 1, count)
        print(textwrap.fill(f"Hint {self._given} of {count}: {self._hints[self._given - 1]}", _WIDTH))
        if self._given == count:
            print(f"That was the last. exercise.{self.name}.solution() shows the solution.")

    def solution(self):
        """Print the solution, as code to read."""
        print(self.code)


class Task(Exercise):
    """An exercise whose answer is a function, or a class of modules.

    Args:
        solution: the right function or class; its source is what `solution` prints, its name that of the answer.
        cases: for each input a description and the arguments, as a function of a random generator.
        mistakes: a list of `Mistake`, each with a function or class that makes it.
        hints: texts.
        right: what to say when the answer is right.
        run: how to get the result: a function of the answer and the arguments. For a module it makes one, too.
        show: the names of the arguments, as a message says them.
        axes: what a row and a column of the result stand for.
    """

    def __init__(self, solution, *, cases, mistakes, hints, right, show, axes=("token", "number"), run=None):
        code = textwrap.dedent(inspect.getsource(solution)).rstrip()
        right = f"right for all {len(cases)} inputs. {right}"
        super().__init__(solution, solution.__name__, code, right=right, mistakes=mistakes, hints=hints)
        self._cases = cases
        self._show = show
        self._axes = axes
        self._run = run or (lambda answer, *arguments: answer(*arguments))

    def _judge(self, answer):
        """What is wrong, and tables that show it; or None."""
        wanted = "class" if isinstance(self.answer, type) else "function"
        if not (isinstance(answer, type) if wanted == "class" else callable(answer) and not isinstance(answer, type)):
            return [f"check needs your {wanted}, without brackets, but it was given {_kind(answer)}."]
        wrong = [result for result in self._try(answer) if result.problem]
        if not wrong:
            return None
        smallest = min(wrong, key=_size)
        for mistaken, sentence in self._mistaken:
            if len(wrong) == len(mistaken) and all(map(_same, wrong, mistaken)):
                return self._explain(smallest, sentence)
        return self._explain(smallest, f"it was tried with {smallest.case}, and {smallest.problem}")

    @functools.cached_property
    def _mistaken(self):
        """For each known mistake what it gives for the inputs for which it is wrong, and its sentence."""
        return [([r for r in self._try(wrong) if r.problem], sentence) for wrong, sentence in self.mistakes]

    def _try(self, answer):
        """What the answer gives for each input, beside what it should."""
        results = []
        with contextlib.closing(_Limit()) as limit:
            for number, (case, make) in enumerate(self._cases.items()):
                with _aside():
                    arguments = make(torch.Generator().manual_seed(number))
                    expected = self._run(self.answer, *copy.deepcopy(arguments))
                results.append(_Result(case, arguments, expected, functools.partial(self._run, answer), limit))
                if limit.over:
                    break
        return results

    def _explain(self, result, why):
        """What is wrong, and the input that shows it, with what was expected."""
        lines = [why, f"This input shows it ({result.case}):"]
        lines += [f"  {name} = {_write(argument)}" for name, argument in zip(self._show, result.arguments, strict=True)]
        expected, got, tables = result.expected, result.got, []
        if isinstance(got, (torch.Tensor, bool)):  # of others `why` says all
            places = _places(expected, got)
            tables = _tables(expected, got, f"Yours, which differs at {places}" if places else "Yours", self._axes)
            if not tables:
                lines += [f"Expected: {_write(expected)}", f"Yours:    {_write(got)}"]
                lines += [f"They differ at {places}."] if places else []
        return ["\n".join(lines), *tables]


class Question(Exercise):
    """An exercise whose answer is a value.

    Args:
        solution: a line of code that gives the right answer its name. Where the answer is letters of options, it has
            only letters from a to f.
        right: what to say when the answer is right.
        mistakes: a list of `Mistake`, each with the wrong value, or with a function of the answer that tells whether it
            is this mistake. The first that fits is named.
        hints: texts.
        accept: a function of the answer that tells whether it is right, where more than one answer is.
        form: what an answer looks like, as in "a letter, one of a, b and c".
        explain: a function of a wrong answer that gives a line about it.
    """

    def __init__(self, solution, *, right, mistakes, hints, form, accept=None, explain=None):
        names = {}
        exec(solution, {"torch": torch}, names)
        ((called, answer),) = names.items()
        super().__init__(answer, called, solution, right=right, mistakes=mistakes, hints=hints)
        self._form = form
        self._accept = accept or _is(self.answer)
        self._explain = explain or (lambda answer: "")

    def _judge(self, answer):
        if not _alike(answer, self.answer):
            return [f"the answer should be {self._form}, but it is {_kind(answer)}."]
        if self._accept(answer):
            return None
        for wrong, sentence in self.mistakes:
            if (wrong if callable(wrong) else _is(wrong))(answer):
                return [f"{sentence}\n{self._explain(answer)}"]
        form = f" The answer should be {self._form}." if isinstance(answer, str) else ""
        return [f"it is not {_write(answer)}.{form} exercise.{self.name}.hint() helps."]


class Exercises:
    """The exercises of a lesson. Each is an attribute under its name, which it learns here; `all` has them by name."""

    def __init__(self, **exercises):
        self.all = exercises
        for name, exercise in exercises.items():
            exercise.name = name
            setattr(self, name, exercise)

    def __getattr__(self, name):  # only for what is not there
        raise AttributeError(f"this lesson has no exercise {name}; it has: {', '.join(vars(self).get('all', {}))}")

    def progress(self):
        """Print how many exercises of this lesson are solved."""
        solved = [name for name, exercise in self.all.items() if exercise.solved]
        print(f"{len(solved)} of {len(self.all)} solved so far" + (f": {', '.join(solved)}." if solved else "."))
        if len(solved) == len(self.all):
            print("That's all of them in this lesson. Well done!")


# What an answer gives

_IN_PLACE = (
    "it changed its argument itself, in place, so that whoever called it has lost what was there. Make a new one: "
    "x = x - 1 instead of x -= 1, or begin with x = x.clone()."
)
_NO_GRADIENT = (
    "the numbers are right, but the result has lost its gradient, and nothing could be trained with it. Leave out "
    ".detach(), .data, .item(), torch.tensor() and torch.no_grad()."
)


class _Result:
    """What an answer gives for one input, and in `problem` what is wrong with it, or None."""

    def __init__(self, case, arguments, expected, answer, limit):
        self.case = case
        self.arguments = arguments
        self.expected = expected
        self.got = self.error = None
        given = copy.deepcopy(arguments)
        try:
            with _aside(), limit:
                self.got = answer(*given)
        except BaseException as error:  # SystemExit, too
            if isinstance(error, KeyboardInterrupt) and not limit.over:
                raise
            self.error = error
            self.problem = f"this stopped it: {_message(error)}"
        else:
            lost = getattr(expected, "requires_grad", False) and not getattr(self.got, "requires_grad", False)
            self.got = _plain(self.got)
            self.problem = _compare(self.got, expected)
            if not self.problem and _content(given) != _content(arguments):
                self.problem = _IN_PLACE
            elif not self.problem and lost:
                self.problem = _NO_GRADIENT
        if limit.over:
            self.got = self.error = None
            self.problem = f"after {SECONDS:g} seconds it had not come to an end. Is there a loop that never stops?"


def _plain(got):
    """A result without its history; True and False of PyTorch or NumPy as those of Python."""
    if str(getattr(got, "dtype", "")) in ("bool", "torch.bool") and got.ndim == 0:
        return bool(got)
    return got.detach() if isinstance(got, torch.Tensor) else got


def _compare(got, expected):
    """What is wrong with a result, or None."""
    if got is None:
        return "it returned nothing (None). Does it end with return?"
    if isinstance(expected, bool):
        if not isinstance(got, bool):
            return f"it returned {_kind(got)} instead of True or False."
        return None if got == expected else f"it returned {got} instead of {expected}."
    if isinstance(got, float) and not expected.dim():
        return "it returned a plain number. Return the tensor, without .item() or float(): only that can be trained."
    if isinstance(got, tuple) and (right := [i for i, part in enumerate(got, 1) if not _compare(part, expected)]):
        return f"it returned {len(got)} results at once, and number {right[0]} is the right one: return that alone."
    if not isinstance(got, torch.Tensor):
        return f"it returned {_kind(got)} instead of a tensor."
    if got.shape != expected.shape:
        return f"the result has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}."
    if got.dtype != expected.dtype:
        true = "It should hold True and False: dtype=torch.bool."
        how = true if expected.dtype == torch.bool else "A new tensor gets the type of another, x, by dtype=x.dtype."
        return f"the result is of type {got.dtype} instead of {expected.dtype}. {how}"
    if got.isnan().any() and not expected.isnan().any():
        return "there is nan (not a number) in the result."
    close = 1e-9 if got.dtype == torch.float64 else 1e-5
    if torch.allclose(got, expected, rtol=10 * close, atol=close, equal_nan=True):
        return None
    if torch.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True):
        return "the result is right only to a few digits. Has float64 been converted to float32, or rounded?"
    return "some numbers of the result are wrong."


def _content(argument):
    """All that an answer could change in arguments, in a form in which nan is equal to nan."""
    if isinstance(argument, nn.Module):
        argument = tuple(argument.parameters())
    if isinstance(argument, tuple):
        return [_content(part) for part in argument]
    if isinstance(argument, torch.Tensor):
        return f"{argument.tolist()}, {argument.shape}, {argument.requires_grad}"
    return repr(argument)


def _same(one, other):
    """Whether an answer and a known mistake go wrong for the same input, and in the same way."""
    if one.case != other.case:
        return False
    if one.error is not None or other.error is not None:
        return _message(one.error) == _message(other.error)
    return other.got is not None and type(one.got) is type(other.got) and _compare(one.got, other.got) is None


def _size(result):
    """What the smallest input is found by. One of float64 counts last: where others are wrong it is not the matter."""
    tensors = [argument for argument in result.arguments if isinstance(argument, torch.Tensor)]
    return any(t.dtype == torch.float64 for t in tensors), sum(t.numel() for t in tensors)


@contextlib.contextmanager
def _aside():
    """Within it prints, displays, figures and warnings are dropped; torch's generator is afterwards as it was."""
    with capture_output(), new_figures(), warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # torch.manual_seed is slow: it notes its callers
            yield


class _Limit:
    """Interrupts what runs within it, as the kernel's interrupt does, once a check has computed for SECONDS.

    A busy machine takes none of them away. It can't stop a call that waits outside Python, such as time.sleep, nor a
    loop with a bare except: for these there is the kernel's restart. Only the main thread can be interrupted.
    """

    def __init__(self):
        self.over = self._running = False
        self._lock = threading.Lock()
        self._closed = threading.Event()
        if threading.current_thread() is threading.main_thread():
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        start = time.process_time()
        while not self._closed.wait(0.2):  # again, for an interrupt is lost where none can be raised, as in a finaliser
            with self._lock:
                self.over = time.process_time() - start > SECONDS
                if self.over and self._running:
                    _thread.interrupt_main()

    def __enter__(self):
        with self._lock:
            self._running = not self.over
        if not self._running:  # the time was up between two inputs
            raise KeyboardInterrupt

    def __exit__(self, *error):
        with self._lock:  # an interrupt that came while this waited is raised in here, not behind
            self._running = False

    def close(self):
        """No interrupt comes any more."""
        self._closed.set()


# The cell of the answer

_failed = set()  # the numbers of the cells that ended in an error


def _note(result):
    if not result.success:
        _failed.add(result.execution_count)


if get_ipython():
    get_ipython().events.register("post_run_cell", _note)


def _left_over(called, answer):
    """Whether the newest cell that gives this name an answer ended in an error, so that the answer is an older one."""
    cells = get_ipython().history_manager.input_hist_raw if get_ipython() else []  # also those that did not compile
    gives = re.compile(rf"^\s*((def|class)\s+{called}\b|{called}\s*=(?!=))", re.MULTILINE)
    newest = max((number for number, cell in enumerate(cells) if gives.search(cell)), default=None)
    if newest not in _failed:
        return False
    functions = filter(inspect.isfunction, (answer, *getattr(answer, "__dict__", {}).values()))
    with contextlib.suppress(StopIteration, OSError):  # no function, no source
        return inspect.getsource(next(functions).__code__) not in cells[newest]  # else the error came after it
    return True


# Words for what was given


def _is_stub(answer):
    """Whether nothing has been written into the function, or into the class's `forward`."""
    if isinstance(answer, type):
        made = vars(answer).get("__init__")
        empty = made is None or set(made.__code__.co_names) <= {"super", "__init__"}
        return empty and _is_stub(vars(answer).get("forward"))
    code, nothing = getattr(answer, "__code__", None), (lambda: None).__code__
    return code is not None and (code.co_code, code.co_consts) == (nothing.co_code, nothing.co_consts)


def _kind(value):
    """A value in a learner's words."""
    if value is None:
        return "None (nothing)"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value):
        kind = "module" if isinstance(value, nn.Module) else "function"
        return f"the {kind} {getattr(value, '__name__', type(value).__name__)}"
    return f"{_write(value)}, which is of type {type(value).__name__}"


def _write(value):
    if isinstance(value, torch.Tensor):
        text = " ".join(str(value.detach()).split())
        if len(text) <= _LONGEST:
            return f"{text}, shape {tuple(value.shape)}"
        return f"a tensor of shape {tuple(value.shape)}, between {value.min():.4g} and {value.max():.4g}"
    if inspect.isfunction(value):
        lines = (value.__doc__ or "").strip().splitlines()
        return f"the function {value.__name__}" + (f" ({lines[0].rstrip('.')})" if lines else "")
    text = textwrap.shorten(repr(value), _LONGEST, placeholder="…")
    return f"something of type {type(value).__name__}" if " object at 0x" in text else text


def _places(expected, got):
    """Where two tensors of the same shape differ, in words, or nothing."""
    alike = isinstance(expected, torch.Tensor) and isinstance(got, torch.Tensor) and expected.shape == got.shape
    if not alike or expected.dtype != got.dtype or not got.dim():
        return ""
    places = (~torch.isclose(got, expected.detach(), rtol=1e-4, atol=1e-5, equal_nan=True)).nonzero().tolist()
    if len(places) == expected.numel() > 1:
        return "every place"
    return ", ".join(map(str, places[:4])) + (f" and {len(places) - 4} places more" if len(places) > 4 else "")


def _tables(expected, got, title, axes):
    """Both as heatmaps of one colour scale, where they are small tables."""
    both = (expected, got)
    if not all(isinstance(t, torch.Tensor) and t.dim() == 2 and t.numel() and max(t.shape) <= _TABLE for t in both):
        return []
    numbers = [n for table in both for n in table.flatten().tolist() if math.isfinite(n)]
    scale = {"low": min(numbers), "high": max(numbers)} if len(set(numbers)) > 1 else {}
    return [heatmap(expected, axes=axes, title="Expected", **scale), heatmap(got, axes=axes, title=title, **scale)]


def _message(error):
    text = " ".join(traceback.format_exception_only(type(error), error))
    if isinstance(error, NameError) and error.name == "torch":
        text += " (write import torch above your function)"
    return textwrap.shorten(text, 240, placeholder="…")


# Values


def _numbers(answer):
    """The numbers of an answer as a tensor, or None if it has none."""
    with contextlib.suppress(Exception):
        if not isinstance(answer, (bool, str)):
            return torch.as_tensor(answer, dtype=torch.float64)
    return None


def _letters(answer):
    """The letters of the options in an answer: those that stand alone, or those of a single word of such letters.

    With any word but "and" between them it is no list of letters, and has none: "not b" is not "b".
    """
    words = [word for word in re.findall(r"[^\W\d_]+", answer.lower()) if word != "and"]
    return sorted(set("".join(words))) if len(words) == 1 or all(len(word) == 1 for word in words) else []


def _alike(answer, right):
    """Whether an answer is of the kind of the right one: letters, or as many numbers."""
    if isinstance(right, str):
        return type(answer) is str
    given = _numbers(answer)
    return given is not None and given.shape == _numbers(right).shape


def _is(value):
    """A function that tells whether an answer of the right kind is this value."""
    if isinstance(value, str) and re.fullmatch("[a-f]+", value):
        return lambda answer: _letters(answer) == _letters(value)
    if isinstance(value, str):
        return lambda answer: answer.strip().lower() == value.lower()
    close = 0.0 if isinstance(value, list) else 0.005  # lists are of whole numbers
    return lambda answer: torch.allclose(_numbers(answer), _numbers(value), rtol=close, atol=1e-6)
