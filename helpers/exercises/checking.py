"""What an exercise is: `check` judges an answer and says what it shows, `hint` helps, `solution` shows code to read.

The answer to a `Task` is code, tried on fresh inputs beside the solution; that to a `Question` is a value.
"""

import _thread
import collections
import contextlib
import copy
import functools
import inspect
import re
import reprlib
import textwrap
import threading
import time
import traceback
import warnings

import torch
from IPython import get_ipython
from IPython.display import display
from IPython.utils.capture import capture_output
from torch import nn

from ..figures import new_figures
from ..heatmap import heatmap

SECONDS = 3.0  # for all inputs of a check together
_STUB = (lambda: None).__code__
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 160
_filled = textwrap.TextWrapper(width=96, subsequent_indent="    ").fill
_IN_PLACE = "it changed its argument, which its caller has lost now: x = x - 1 makes a new one, as does x = x.clone()."
_LOST = "the result has lost its gradient: leave out .detach(), .data, .item(), torch.tensor() and torch.no_grad()."
_Result = collections.namedtuple("_Result", "case arguments expected got problem")  # of one input; right: problem None


class Mistake(collections.namedtuple("Mistake", "wrong sentence")):
    """A known mistake: a wrong answer by which it is recognised, and the sentence that names it."""


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
                why = "the cell above did not run to its end, so this is an answer of before. Mend and run it first."
            elif answer is ... or _is_stub(answer):
                print(f"{self.name}: no answer yet. Write yours above; exercise.{self.name}.hint() helps.")
                return
            else:
                why, *tables = self._judge(answer)
        except KeyboardInterrupt:
            why = "the check was interrupted before it was done."
        except Exception as error:  # of an answer that behaves like no other
            why = f"the check can't make sense of this answer: {_message(error)}"
        self.solved |= not why
        if re.match(r"[a-z]+[ ,'-]", why):  # a sentence, and not code, such as norm()
            why = why[0].upper() + why[1:]
        text = f"{self.name}: not yet. {why}" if why else f"✓ {self.name}: {self._right}"
        print("\n".join(map(_filled, text.splitlines())))
        for table in tables:
            display(table)

    def hint(self):
        """Print the next hint, from a nudge to nearly the answer."""
        self._given = min(self._given + 1, len(self._hints))
        print(_filled(f"Hint {self._given} of {len(self._hints)}: {self._hints[self._given - 1]}"))
        if self._given == len(self._hints):
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
        hints, right: texts, the second for an answer that is right.
        run: how to get the result: a function of the answer and the arguments. For a module it makes one, too.
        show, axes: the names of the arguments, and of what a row and a column of the result stand for, in messages.
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
        if not callable(answer) or isinstance(answer, type) != isinstance(self.answer, type):
            wanted = "class" if isinstance(self.answer, type) else "function"
            return [f"check needs your {wanted}, without brackets, but it was given {_kind(answer)}."]
        wrong = self._wrong(answer)
        if not wrong:
            return [""]
        smallest = min(wrong, key=_size)
        for mistaken, sentence in self._mistaken:
            if len(wrong) == len(mistaken) and all(map(_same, wrong, mistaken)):
                return self._shown(smallest, sentence)
        return self._shown(smallest, f"it was tried with {smallest.case}, and {smallest.problem}")

    @functools.cached_property
    def _mistaken(self):
        """For each known mistake its wrong results, and its sentence."""
        return [(self._wrong(wrong), sentence) for wrong, sentence in self.mistakes]

    def _wrong(self, answer):
        """What the answer gives for each input for which that is wrong."""
        results = []
        with contextlib.closing(_Limit()) as limit:
            for number, (case, make) in enumerate(self._cases.items()):
                with _aside():
                    arguments = make(torch.Generator().manual_seed(number))
                    expected = self._run(self.answer, *copy.deepcopy(arguments))
                got, problem = _outcome(functools.partial(self._run, answer), arguments, expected, limit)
                if problem:
                    results.append(_Result(case, arguments, expected, got, problem))
                if limit.over:
                    break
        return results

    def _shown(self, result, why):
        """What is wrong, the input that shows it, and what was expected."""
        lines = [why, f"This input shows it ({result.case}):"]
        lines += [f"  {name} = {_write(argument)}" for name, argument in zip(self._show, result.arguments, strict=True)]
        expected, got = result.expected, result.got
        places = _places(expected, got)
        tables = _tables(expected, got, f"Yours, which differs at {places}" if places else "Yours", self._axes)
        if not tables and isinstance(got, (torch.Tensor, bool)):  # of anything else `why` has told
            lines += [f"Expected: {_write(expected)}", f"Yours:    {_write(got)}"]
            lines += [f"They differ at {places}."] if places else []
        return ["\n".join(lines), *tables]


class Question(Exercise):
    """An exercise whose answer is a value.

    Args:
        solution: a line of code that gives the right answer its name; if it is letters of options, they are a to f.
        hints, right: texts, the second for an answer that is right.
        mistakes: a list of `Mistake`, each with the wrong value or a test of the answer; the first that fits is named.
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
        self._accept = accept or (lambda answer: _is(answer, self.answer))
        self._explain = explain or (lambda answer: "")

    def _judge(self, answer):
        if _read(answer, self.answer) is None:
            return [f"the answer should be {self._form}, but it is {_kind(answer)}."]
        if self._accept(answer):
            return [""]
        for wrong, sentence in self.mistakes:
            if wrong(answer) if callable(wrong) else _is(answer, wrong):
                return [f"{sentence}\n{self._explain(answer)}"]
        form = f" The answer should be {self._form}." if isinstance(answer, str) else ""
        return [f"it is not {_write(answer)}.{form} exercise.{self.name}.hint() helps."]


class Exercises:
    """The exercises of a lesson. Each is an attribute under its name, which it learns here; `all` has them by name."""

    def __init__(self, **exercises):
        self.all = exercises
        vars(self).update(exercises)
        for name, exercise in exercises.items():
            exercise.name = name

    def __getattr__(self, name):  # only for what is not there
        raise AttributeError(f"this lesson has no exercise {name}; it has: {', '.join(vars(self).get('all', {}))}")

    def progress(self):
        """Print how many exercises of this lesson are solved."""
        solved = [name for name, exercise in self.all.items() if exercise.solved]
        print(f"{len(solved)} of {len(self.all)} solved so far" + (f": {', '.join(solved)}." if solved else "."))
        if len(solved) == len(self.all):
            print("That is all of this lesson. Well done!")


def _outcome(answer, arguments, expected, limit):
    """What an answer returns for one input, and what is wrong with it, or None."""
    given = copy.deepcopy(arguments)
    try:
        with _aside(), limit:
            got = answer(*given)
    except KeyboardInterrupt:
        if not limit.over:
            raise
    except BaseException as error:  # SystemExit, too
        return None, f"this stopped it: {_message(error)}"
    if limit.over:
        return None, f"after {SECONDS:g} seconds it had not come to an end. Is there a loop that never stops?"
    if str(getattr(got, "dtype", "")) in ("bool", "torch.bool") and not got.ndim:  # of PyTorch or NumPy
        got = bool(got)
    lost = getattr(expected, "requires_grad", False) and not getattr(got, "requires_grad", False)
    changed = _numbers_of(given) != _numbers_of(arguments)
    return got, _compare(got, expected) or (changed and _IN_PLACE) or (lost and _LOST) or None


def _compare(got, expected):
    """What is wrong with a result, or None."""
    if got is None:
        return "it returned nothing (None). Does it end with return?"
    if isinstance(expected, bool) and isinstance(got, bool):
        return None if got == expected else f"it returned {got} instead of {expected}."
    if isinstance(got, float) and getattr(expected, "shape", None) == ():
        return "it returned a plain number. Return the tensor, without .item() or float(): only that can be trained."
    if isinstance(got, tuple) and (right := [i for i, part in enumerate(got, 1) if not _compare(part, expected)]):
        return f"it returned {len(got)} results at once, and number {right[0]} is the right one: return that alone."
    if isinstance(expected, bool) or not isinstance(got, torch.Tensor):
        return f"it returned {_kind(got)} instead of {'True or False' if isinstance(expected, bool) else 'a tensor'}."
    if got.shape != expected.shape:
        return f"the result has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}."
    if got.dtype != expected.dtype:
        how = "A new tensor gets the type of another, x, by dtype=x.dtype."
        if expected.dtype == torch.bool:
            how = "It should hold True and False: dtype=torch.bool."
        return f"the result is of type {got.dtype} instead of {expected.dtype}. {how}"
    if got.isnan().any() and not expected.isnan().any():
        return "there is nan (not a number) in the result."
    close = 1e-9 if got.dtype == torch.float64 else 1e-5
    if torch.allclose(got, expected, rtol=10 * close, atol=close, equal_nan=True):
        return None
    if torch.allclose(got, expected, rtol=1e-4, atol=1e-5, equal_nan=True):
        return "the result is right only to a few digits. Has float64 been converted to float32, or rounded?"
    return "some numbers of the result are wrong."


def _numbers_of(arguments):
    """All that an answer could change in its arguments, as text: in it nan is equal to nan."""
    parts = [part for a in arguments for part in (a.parameters() if isinstance(a, nn.Module) else [a])]
    return [f"{part.tolist()}, {part.requires_grad}" for part in parts if isinstance(part, torch.Tensor)]


def _same(one, other):
    """Whether an answer and a known mistake go wrong for the same input, and in the same way."""
    if one.got is None or other.got is None:
        return (one.case, one.problem) == (other.case, other.problem)
    return one.case == other.case and not _compare(one.got, other.got)


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
    code = _code(answer)  # it is in the cell where the error came after it
    return newest in _failed and not (code and inspect.getsource(code) in cells[newest])


def _code(answer):
    """The code of a function, or of a class's `forward`."""
    return getattr(getattr(answer, "forward", answer), "__code__", None)


def _is_stub(answer):
    code = _code(answer)
    return code is not None and (code.co_code, code.co_consts) == (_STUB.co_code, _STUB.co_consts)


def _kind(value):
    return "None (nothing)" if value is None else f"{_write(value)}, which is of type {type(value).__name__}"


def _write(value):
    """A value as a message shows it."""
    if isinstance(value, torch.Tensor):
        text = " ".join(str(value.detach()).split())
        text = text if len(text) <= 160 else f"a tensor between {value.min():.4g} and {value.max():.4g}"
        return f"{text}, shape {tuple(value.shape)}"
    if inspect.isfunction(value):
        about = (inspect.getdoc(value) or "").partition("\n")[0].rstrip(".")
        return f"the function {value.__name__}" + (f" ({about})" if about else "")
    return textwrap.shorten(_short.repr(value), 160, placeholder=" …")


def _places(expected, got):
    """Where two tensors of the same shape differ, in words, or nothing."""
    if not isinstance(got, torch.Tensor) or got.shape != getattr(expected, "shape", None) or not got.dim():
        return ""
    close = torch.isclose(got.double(), expected.double(), rtol=1e-4, atol=1e-5, equal_nan=True)
    places = (~close).nonzero().tolist()
    if len(places) == got.numel() > 1:
        return "every place"
    return ", ".join(map(str, places[:4])) + (f" and {len(places) - 4} places more" if len(places) > 4 else "")


def _tables(expected, got, title, axes):
    """Both as heatmaps of one colour scale, where they are tables of at most 8 rows and columns."""
    both = (expected, got)
    if not all(isinstance(t, torch.Tensor) and t.dim() == 2 and t.numel() and max(t.shape) <= 8 for t in both):
        return []
    ends = [end for table in map(heatmap, both) for end in (table.low, table.high)]
    scale = {"axes": axes, "low": min(ends), "high": max(ends)}
    return [heatmap(expected, title="Expected", **scale), heatmap(got, title=title, **scale)]


def _message(error):
    text = "".join(traceback.format_exception_only(type(error), error))
    if isinstance(error, NameError) and error.name == "torch":
        text += " (write import torch above your function)"
    return textwrap.shorten(text, 240, placeholder=" …")


def _is(answer, value):
    """Whether an answer is this value, written in whatever form."""
    given, value = _read(answer, value), _read(value, value)
    if given is None or isinstance(value, (str, set)):
        return given == value
    return torch.allclose(given, value, rtol=0.005 if value.dim() == 0 else 0.0, atol=1e-6)


def _read(answer, right):
    """An answer in the form in which it is compared: a set of letters, a word or a tensor; None if of another kind."""
    if isinstance(right, str) and isinstance(answer, str):
        if not re.fullmatch("[a-f]+", right):
            return answer.strip().lower()
        words = [word for word in re.findall(r"[^\W\d_]+", answer.lower()) if word != "and"]
        # Letters stand alone, or in a single word. With another word between them, as in "not b", they are no list.
        return set("".join(words)) if len(words) == 1 or all(len(word) == 1 for word in words) else set()
    if not isinstance(answer, (str, bool)) and not isinstance(right, str):
        with contextlib.suppress(Exception):  # of what has no numbers
            numbers = torch.as_tensor(answer, dtype=torch.float64)
            return numbers if numbers.shape == torch.as_tensor(right).shape else None
    return None
