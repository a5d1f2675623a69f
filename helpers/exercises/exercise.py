"""What an exercise is: `check` judges an answer and says what it shows, `hint` helps, `solution` shows code to read.

There are two kinds. The answer to a `Task` is code, a function or a module class, which is tried on fresh inputs and
compared with the solution. The answer to a `Question` is a value: a letter, a number, a shape, a tensor.

Both know the solution as code, which is also what `solution` shows, and the known mistakes: for each a sentence, and a
wrong answer by which it is recognised.
"""

import contextlib
import copy
import dis
import functools
import inspect
import random
import re
import reprlib
import sys
import sysconfig
import textwrap
import time
import traceback
import warnings

import numpy as np
import torch
from IPython.display import display
from IPython.utils.capture import capture_output
from torch import nn

from ..figures import new_figures
from ..heatmap import heatmap

SECONDS = 3.0  # for all inputs of a check together
_TABLE = 8  # a result with at most so many rows and columns is shown as heatmaps
_WIDTH = 96  # characters in a line
_IDLE = {"RESUME", "NOP", "CACHE", "MAKE_CELL", "COPY_FREE_VARS", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 160


class Exercise:
    """What tasks and questions share: a name, hints one after the other, a solution, and whether it is solved."""

    def __init__(self, *, hints):
        self.name = "?"  # set by `Exercises`
        self.solved = False
        self._hints = hints
        self._given = 0

    def check(self, answer=...):
        """Say whether the answer is right, and if not, what it shows. Never raises."""
        try:
            text, *tables = self._judge(answer)
        except KeyboardInterrupt:
            text, tables = self._not_yet("the check was interrupted before it was done."), []
        except Exception as error:  # of an answer that behaves like no other
            text, tables = self._not_yet(f"the check can't make sense of this answer: {_message(error)}"), []
        print("\n".join(textwrap.fill(line, _WIDTH, subsequent_indent="    ") for line in text.splitlines()))
        for table in tables:
            display(table)

    def hint(self):
        """Print the next hint, from a nudge to nearly the answer."""
        self._given = min(self._given + 1, len(self._hints))
        hint = f"Hint {self._given} of {len(self._hints)}: {self._hints[self._given - 1]}"
        print(textwrap.fill(hint, _WIDTH))
        if self._given == len(self._hints):
            print(f"That was the last. exercise.{self.name}.solution() shows the solution.")

    def solution(self):
        """Print the solution, as code to read."""
        print(self.code())

    def _right(self, remark):
        self.solved = True
        return f"✓ {self.name}: {remark}"

    def _not_yet(self, why):
        sentence = re.match(r"[a-z]+[ ,'-]", why)  # and not code, such as norm()
        return f"{self.name}: not yet. {why[:1].upper() if sentence else why[:1]}{why[1:]}"

    def _untouched(self):
        return f"{self.name}: no answer yet. Write yours above; exercise.{self.name}.hint() helps."


class Task(Exercise):
    """An exercise whose answer is a function, or a class of modules.

    Args:
        solution: the right function or class; its source is what `solution` prints, its name that of the answer.
        cases: for each input a description and the arguments, as a function of a random generator.
        mistakes: for each known mistake the sentence that names it, and a function or class that makes it.
        hints: texts.
        right: what to say when the answer is right.
        run: how to get the result: a function of the answer and the arguments. For a module it makes one, too.
        show: the names of the arguments, as a message says them.
    """

    def __init__(self, solution, *, cases, mistakes, hints, right, show, run=None):
        super().__init__(hints=hints)
        self.answer = solution
        self.mistakes = mistakes
        self._cases = cases
        self._remark = right
        self._show = show
        self._run = run or (lambda answer, *arguments: answer(*arguments))

    def code(self):
        """The solution, which defines the answer under the name that the lesson uses."""
        return textwrap.dedent(inspect.getsource(self.answer)).rstrip()

    def _judge(self, answer):
        if answer is ... or _is_stub(answer):
            return [self._untouched()]
        wanted = "class" if isinstance(self.answer, type) else "function"
        if not (isinstance(answer, type) if wanted == "class" else callable(answer) and not isinstance(answer, type)):
            return [self._not_yet(f"check needs your {wanted}, without brackets, but it was given {_kind(answer)}.")]
        results = self._try(answer)
        wrong = [result for result in results if result.problem]
        if not wrong:
            return [self._right(f"right for all {len(results)} inputs. {self._remark}")]
        smallest = _smallest(wrong)
        known = (sentence for sentence, mistaken in self._mistaken.items() if _same(wrong, mistaken))
        return self._explain(smallest, next(known, f"it was tried with {smallest.case}, and {smallest.problem}"))

    @functools.cached_property
    def _mistaken(self):
        """What each known mistake gives for the inputs for which it is wrong, by its sentence."""
        tried = {sentence: self._try(mistake, trusted=True) for sentence, mistake in self.mistakes.items()}
        return {sentence: [result for result in results if result.problem] for sentence, results in tried.items()}

    def _try(self, answer, *, trusted=False):
        """What the answer gives for each input, beside what it should. An answer of ours needs no time limit."""
        clock = None if trusted else _Clock()
        results = []
        for number, (case, make) in enumerate(self._cases.items()):
            with _aside():
                arguments = make(torch.Generator().manual_seed(number))
                expected = self._run(self.answer, *copy.deepcopy(arguments))
            result = _Result(case, arguments, expected)
            result.try_out(functools.partial(self._run, answer), clock)
            results.append(result)
            if result.timed_out:
                break
        return results

    def _explain(self, result, why):
        """The verdict, and the input for which the answer is wrong, with what was expected."""
        lines = [self._not_yet(why), f"This input shows it ({result.case}):"]
        lines += [f"  {name} = {_write(argument)}" for name, argument in zip(self._show, result.arguments, strict=True)]
        tables = _tables(result)
        if not tables and result.error is None and not result.timed_out:
            expected, got = _write(result.expected), _write(result.got)
            lines += [f"Expected: {expected}", f"Yours:    {got}"]
            if expected == got and (difference := _first_difference(result)):  # both are too large to be written out
                lines.append(difference)
        return ["\n".join(lines), *tables]


class Question(Exercise):
    """An exercise whose answer is a value.

    Args:
        solution: a line of code that gives the right answer its name. Where the answer is letters of options, it has
            only letters from a to f.
        right: what to say when the answer is right.
        mistakes: for each known mistake the sentence that names it, and the wrong value, or a function of the answer
            that tells whether it is this mistake.
        hints: texts.
        accept: a function of the answer that tells whether it is right, where more than one answer is.
        form: what an answer looks like, as in "a letter, one of a, b and c".
        explain: a function of a wrong answer that gives a line about it.
    """

    def __init__(self, solution, *, right, mistakes, hints, form, accept=None, explain=None):
        super().__init__(hints=hints)
        names = {}
        exec(solution, {"torch": torch}, names)
        self.answer = list(names.values())[-1]
        self.mistakes = mistakes
        self._solution = solution
        self._remark = right
        self._form = form
        self._accept = accept or _is(self.answer)
        self._explain = explain or (lambda answer: "")

    def code(self):
        """The solution, which gives the answer the name that the lesson uses."""
        return self._solution

    def _judge(self, answer):
        if answer is ...:
            return [self._untouched()]
        if not _alike(answer, self.answer):
            return [self._not_yet(f"the answer should be {self._form}, but it is {_kind(answer)}.")]
        if self._accept(answer):
            return [self._right(self._remark)]
        for sentence, mistake in self.mistakes.items():
            if (mistake if callable(mistake) else _is(mistake))(answer):
                return ["\n".join(filter(None, [self._not_yet(sentence), self._explain(answer)]))]
        return [self._not_yet(f"it is not {_write(answer)}.")]


class Exercises:
    """The exercises of a lesson. Each is an attribute under its name, which it learns here; `all` has them by name."""

    def __init__(self, **exercises):
        self.all = exercises
        for name, exercise in exercises.items():
            exercise.name = name

    def __getattr__(self, name):
        if name in vars(self).get("all", {}):
            return self.all[name]
        raise AttributeError(f"this lesson has no exercise {name}; it has: {', '.join(vars(self).get('all', {}))}")

    def __dir__(self):
        return [*self.all, "progress"]

    def progress(self):
        """Print how many exercises of this lesson are solved."""
        solved = [name for name, exercise in self.all.items() if exercise.solved]
        print(f"{len(solved)} of {len(self.all)} solved so far" + (f": {', '.join(solved)}." if solved else "."))
        if len(solved) == len(self.all):
            print("That is all of this lesson. Well done!")


# What an answer gives


class OutOfTime(BaseException):
    """Raised in an answer that runs too long. No Exception, so that the answer's own `except` does not catch it."""


class _Result:
    """What an answer gave for one input, and in `problem` what is wrong with it, or None."""

    def __init__(self, case, arguments, expected):
        self.case = case
        self.arguments = arguments
        self.expected = expected
        self.got = self.error = self.problem = None
        self.timed_out = False

    def try_out(self, answer, clock):
        given = copy.deepcopy(self.arguments)
        try:
            with _aside(), clock or contextlib.nullcontext():
                self.got = answer(*given)
            trained = isinstance(self.got, torch.Tensor) and self.got.requires_grad
            if isinstance(self.got, torch.Tensor) and self.got.layout == torch.strided:
                self.got = self.got.detach().as_subclass(torch.Tensor).clone()
        except KeyboardInterrupt:
            raise
        except OutOfTime:
            self.timed_out = True
            self.problem = f"after {SECONDS:g} seconds it had not come to an end. Is there a loop that never stops?"
        except BaseException as error:
            self.error = error
            self.problem = f"this stopped it: {_message(error)}"
        else:
            self.problem = _compare(self.got, self.expected) or _changed(self.arguments, given)
            if (
                not self.problem
                and isinstance(self.expected, torch.Tensor)
                and self.expected.requires_grad
                and not trained
            ):
                self.problem = (
                    "the numbers are right, but the result has lost its gradient, and nothing could be trained with "
                    "it. Leave out .detach(), .data, .item(), torch.tensor() and torch.no_grad()."
                )


def _compare(got, expected):
    """What is wrong with a result, or None."""
    if got is None:
        return "it returned nothing (None). Does it end with return?"
    if isinstance(expected, bool):
        if isinstance(got, np.bool_) or (isinstance(got, torch.Tensor) and got.dtype == torch.bool and got.dim() == 0):
            got = bool(got)
        if not isinstance(got, bool):
            return f"it returned {_kind(got)} instead of True or False."
        return None if got == expected else f"it returned {got} instead of {expected}."
    if not isinstance(got, torch.Tensor):
        return f"it returned {_kind(got)} instead of a tensor."
    if got.shape != expected.shape:
        return f"the result has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}."
    if got.dtype != expected.dtype and expected.dtype == torch.bool:
        return f"the result is of type {got.dtype}. It should hold True and False: dtype=torch.bool."
    if got.dtype != expected.dtype:
        return (
            f"the result is of type {got.dtype} instead of {expected.dtype}. A new tensor gets the type of another, x, "
            "by dtype=x.dtype."
        )
    if got.isnan().any() and not expected.isnan().any():
        return "there is nan (not a number) in the result."
    try:
        close = 1e-9 if got.dtype == torch.float64 else 1e-5
        torch.testing.assert_close(got, expected, rtol=10 * close, atol=close, equal_nan=True)
    except AssertionError:
        if torch.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True):
            return "the result is right only to a few digits. Has float64 been converted to float32, or rounded?"
        return "some numbers of the result are wrong."
    return None


def _changed(before, after):
    """Whether the answer has changed an argument in place."""
    for old, new in zip(before, after, strict=True):
        if not _identical(old, new):
            return (
                "it changed its argument itself, in place, so that whoever called it has lost what was there. "
                "Make a new one: x = x - 1 instead of x -= 1, or begin with x = x.clone()."
            )
    return None


def _identical(old, new):
    if isinstance(old, torch.Tensor):
        alike = old.shape == new.shape and old.requires_grad == new.requires_grad
        return alike and torch.allclose(old, new, rtol=0, atol=0, equal_nan=True)
    if isinstance(old, nn.Module):
        pairs = zip(old.parameters(), new.parameters(), strict=True)
        return all(_identical(one, other) for one, other in pairs)
    return not isinstance(old, list) or old == new


def _same(wrong, mistaken):
    """Whether a known mistake goes wrong for the same inputs as the answer, and in the same way."""
    return [result.case for result in wrong] == [result.case for result in mistaken] and all(
        map(_equal_results, wrong, mistaken)
    )


def _equal_results(one, other):
    if one.timed_out:
        return False
    if one.error is not None or other.error is not None:
        return _message(one.error) == _message(other.error)
    if one.got is None or other.got is None:
        return False
    return type(one.got) is type(other.got) and _compare(one.got, other.got) is None


def _smallest(wrong):
    """The result for the smallest input; of float64 only where nothing else is wrong, since it is not the matter."""

    def size(result):
        tensors = [argument for argument in result.arguments if isinstance(argument, torch.Tensor)]
        return any(t.dtype == torch.float64 for t in tensors), sum(t.numel() for t in tensors)

    return min(wrong, key=size)


@contextlib.contextmanager
def _aside():
    """Within it prints, displays, figures and warnings are dropped. Afterwards random generators are as they were.

    So is torch's type for new tensors.
    """
    dtype, state, numpy_state = torch.get_default_dtype(), random.getstate(), np.random.get_state()
    with capture_output(), new_figures(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.default_generator.manual_seed(0)  # torch.manual_seed is slow: it notes its callers
            torch.set_default_dtype(torch.float32)
            try:
                yield
            finally:
                torch.set_default_dtype(dtype)
                random.setstate(state)
                np.random.set_state(numpy_state)


# The time limit

_LIBRARIES = ("<frozen", *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class _Clock:
    """Raises OutOfTime in what runs within it, once that has taken SECONDS in all, or has waited ten times as long.

    Python looks at the clock before each step of the learner's code: that works on every system and in every thread.
    What it can't stop is a single call that waits outside Python, such as time.sleep; a loop that catches all that is
    raised, with a bare except; and one after a RecursionError that was caught, with which Python ends the tracing. For
    these there is the kernel's interrupt or restart.
    """

    def __init__(self):
        self._used = 0.0
        # Python drops its own reference to the function when tracing ends, which an endless recursion can bring about
        # while the function is being called: without this one, the kernel would die.
        self._tracer = self._look

    def __enter__(self):
        self._before = sys.gettrace()
        self._start, self._start_waiting = time.thread_time(), time.monotonic()
        sys.settrace(self._tracer)

    def __exit__(self, *error):
        sys.settrace(self._before)
        self._used += time.thread_time() - self._start

    def _look(self, frame, event, argument):
        used = self._used + time.thread_time() - self._start  # by this thread: other programs take no time from it
        if used > SECONDS or time.monotonic() - self._start_waiting > 10 * SECONDS:
            raise OutOfTime
        if frame.f_code.co_filename.startswith(_LIBRARIES):  # their loops end, and take long if looked at step by step
            return None
        frame.f_trace_opcodes = True  # a loop may stand in a single line
        return self._tracer


# Words for what was given


def _is_stub(answer):
    """Whether nothing has been written into the function, or into the class's `forward`."""
    if isinstance(answer, type):
        made = vars(answer).get("__init__")
        empty = made is None or set(made.__code__.co_names) <= {"super", "__init__"}
        return empty and _is_stub(vars(answer).get("forward"))
    if not inspect.isfunction(answer):
        return False
    steps = list(dis.get_instructions(answer))
    returned = [step.argval for step in steps if step.opname.endswith("CONST")]
    return all(step.opname in _IDLE for step in steps) and returned == [None]


def _kind(value):
    """A value in a learner's words."""
    if value is None:
        return "None (nothing)"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, nn.Module):
        return f"a module, {type(value).__name__}"
    if callable(value):
        return f"the function {getattr(value, '__name__', type(value).__name__)}"
    return f"{_write(value)}, which is of type {type(value).__name__}"


def _write(value):
    if isinstance(value, torch.Tensor):
        text = " ".join(str(value.detach()).split())
        if len(text) <= 160:
            return f"{text}, shape {tuple(value.shape)}"
        return f"a tensor of shape {tuple(value.shape)}, between {value.min():.4g} and {value.max():.4g}"
    if inspect.isfunction(value):
        lines = (value.__doc__ or "").strip().splitlines()
        return f"the function {value.__name__}" + (f" ({lines[0].rstrip('.')})" if lines else "")
    text = " ".join(_short.repr(value).split())
    text = text if len(text) <= 160 else f"{text[:159]}…"
    return f"something of type {type(value).__name__}" if " instance at 0x" in text else text


def _first_difference(result):
    """Where two tensors of the same shape begin to differ, or nothing."""
    expected, got = result.expected, result.got
    if not all(isinstance(tensor, torch.Tensor) for tensor in (expected, got)):
        return ""
    if (expected.shape, expected.dtype) != (got.shape, got.dtype):  # which has been told
        return ""
    places = (~torch.isclose(got, expected.detach(), rtol=1e-4, atol=1e-5, equal_nan=True)).nonzero().tolist()
    if not places:
        return ""
    place = tuple(places[0])
    return (
        f"The first number that differs is at {list(place)}: {expected[place]:.4f} expected, yours is {got[place]:.4f}."
    )


def _message(error):
    try:
        text = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
    except Exception:
        text = type(error).__name__
    return text if len(text) <= 240 else f"{text[:239]}…"


def _tables(result):
    """Expected and given result as heatmaps, where both are small tables that differ."""
    both = (result.expected, result.got)
    if not all(isinstance(table, torch.Tensor) and table.dim() == 2 and table.numel() for table in both):
        return []
    if max(*result.expected.shape, *result.got.shape) > _TABLE or torch.equal(*both):
        return []
    titles = ("Expected", "Yours")
    return [heatmap(table, axes=("row", "column"), title=title) for table, title in zip(both, titles, strict=True)]


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
    if isinstance(value, list):  # of whole numbers
        return lambda answer: torch.equal(_numbers(answer), _numbers(value))
    return lambda answer: torch.allclose(_numbers(answer), _numbers(value), rtol=0.005, atol=1e-6)
