"""A class at once: a real JupyterHub with students who open a lesson, run it and move a slider, all at the same time.

    python tools/classroom.py                                        10 students, lesson 03, 20 moves each
    python tools/classroom.py --students 25 --lesson 08_training

Prints what one student takes of the memory, and how long each has to wait, as tables; leaves with 1 if anything failed.
It needs Linux, and two things that the lessons do not. Into the environment of the lessons:

    python -m pip install jupyterhub
    npm install configurable-http-proxy && export PATH="$PWD/node_modules/.bin:$PATH"

There is no browser: each student is a client that talks to the server as JupyterLab does. So the time that a browser
takes to draw is not in the numbers; what is, is the way through proxy and server, and the kernel. The hub listens on
this machine alone, with a random password, and all that was started is stopped at the end.
"""

import argparse
import asyncio
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import os
import platform
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections import defaultdict
from pathlib import Path

from lessons import LESSONS, ROOT
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

PAUSE = 0.3  # seconds from one move of a slider to the next, as of somebody who drags and looks
PATIENCE = 600  # seconds for a server to start, and for a lesson to run
MOVE_PATIENCE = 60  # seconds for one move
MARK = "CLASSROOM_RUN"  # in the environment of every process that this script causes to be started
PROXY = "configurable-http-proxy"
MOVABLE = ("FloatSliderModel", "IntSliderModel", "DropdownModel")  # in the order in which they are preferred
MEASURES = {"proportional (PSS)": "Pss", "resident (RSS)": "Rss", "its own alone": "Private"}


# The hub


class Hub:
    """A JupyterHub with a process per student, all of the user who runs this script."""

    def __init__(self, folder, students):
        self.mark, self.password = secrets.token_hex(8), secrets.token_hex(16)
        self.log = folder / "hub.log"
        port, self_port, proxy_port = free_ports(3)
        self.url = f"http://127.0.0.1:{port}"
        settings = {
            "JupyterHub.bind_url": self.url,
            "JupyterHub.hub_bind_url": f"http://127.0.0.1:{self_port}",
            "ConfigurableHTTPProxy.api_url": f"http://127.0.0.1:{proxy_port}",
            "ConfigurableHTTPProxy.command": [shutil.which(PROXY)],
            "JupyterHub.db_url": f"sqlite:///{folder}/hub.sqlite",
            "JupyterHub.cookie_secret_file": f"{folder}/cookie_secret",
            "ConfigurableHTTPProxy.pid_file": f"{folder}/proxy.pid",
            "JupyterHub.authenticator_class": "dummy",
            "DummyAuthenticator.password": self.password,
            "Authenticator.allowed_users": set(students),
            "JupyterHub.spawner_class": "simple",
            "SimpleLocalProcessSpawner.home_dir_template": f"{folder}/homes/{{username}}",
            "Spawner.cmd": [sys.executable, "-m", "jupyterhub.singleuser"],
            "Spawner.args": ["--allow-root"] if os.geteuid() == 0 else [],
            "Spawner.environment": {MARK: self.mark},
            "Spawner.start_timeout": PATIENCE,
            "Spawner.http_timeout": PATIENCE,
        }
        config = folder / "jupyterhub_config.py"
        config.write_text("".join(f"c.{name} = {value!r}\n" for name, value in settings.items()), encoding="utf-8")
        for student in students:
            for name in ("notebooks", "helpers"):
                ignored = shutil.ignore_patterns("__pycache__", ".ipynb*")
                shutil.copytree(ROOT / name, folder / "homes" / student / name, ignore=ignored)
        with self.log.open("w", encoding="utf-8") as log:
            command = [sys.executable, "-m", "jupyterhub", f"--config={config}"]
            environment = {**os.environ, MARK: self.mark}
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)

    async def answers(self):
        for _ in range(300):
            with contextlib.suppress(OSError, HTTPClientError):
                await AsyncHTTPClient().fetch(f"{self.url}/hub/api/")
                return
            if self.process.poll() is not None:
                break
            await asyncio.sleep(0.2)
        raise RuntimeError(
            f"The hub does not answer:\n{self.log.read_text(encoding='utf-8', errors='replace')[-3000:]}"
        )

    def processes(self):
        """(who, kind, process id) of all that runs for this hub; who is None for the hub and its proxy."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # ended meanwhile, or somebody else's
                environment = (folder / "environ").read_bytes().split(b"\0")
                if f"{MARK}={self.mark}".encode() not in environment:
                    continue
                users = [
                    part.decode().partition("=")[2] for part in environment if part.startswith(b"JUPYTERHUB_USER=")
                ]
                kind = "kernel" if b"ipykernel" in (folder / "cmdline").read_bytes() else "server"
                found.append((users[0] if users else None, kind, int(folder.name)))
        return found

    def stop(self):
        """Stop the hub, which stops servers and proxy. Return the number of processes that had to be killed."""
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 60
        while self.processes() and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.2)
        left = self.processes()
        for *_, pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return len(left)


def free_ports(number):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


# A student


class Student:
    """Somebody who logs in, opens a lesson, runs all cells and moves a slider."""

    def __init__(self, hub, name):
        self.hub, self.name = hub, name
        self.seconds = {}
        self.moves = []  # milliseconds
        self.controls = {}  # comm id -> state, of the widgets that are open
        self.failure = None

    async def call(self, path, body=None, method=None):
        """The answer of the hub, or of the student's server, to a request of its REST API."""
        request = HTTPRequest(
            self.hub.url + path,
            method=method or ("GET" if body is None else "POST"),
            body=None if body is None else json.dumps(body),
            headers={"Authorization": f"token {self.token}"} if hasattr(self, "token") else {},
            request_timeout=PATIENCE,
        )
        answer = await AsyncHTTPClient().fetch(request)
        return json.loads(answer.body) if answer.body else None

    async def log_in(self):
        """Through the form, as anybody; then for a token, with which the rest is done."""
        page = await AsyncHTTPClient().fetch(f"{self.hub.url}/hub/login")
        cookies = [line.partition(";")[0] for line in page.headers.get_list("Set-Cookie")]
        given = dict(cookie.split("=", 1) for cookie in cookies)
        person = {"username": self.name, "password": self.hub.password}
        form = urllib.parse.urlencode({**person, "_xsrf": given["_xsrf"]})
        request = HTTPRequest(
            f"{self.hub.url}/hub/login",
            method="POST",
            body=form,
            headers={"Cookie": "; ".join(cookies)},
            follow_redirects=False,
            request_timeout=PATIENCE,
        )
        answer = await AsyncHTTPClient().fetch(request, raise_error=False)
        if answer.code != 302:
            raise RuntimeError(f"the log-in answers {answer.code} {answer.reason}")
        self.token = (await self.call(f"/hub/api/users/{self.name}/tokens", {"auth": person}))["token"]

    async def start_server(self):
        await self.log_in()
        await self.call(f"/hub/api/users/{self.name}/server", {})
        while not (await self.call(f"/hub/api/users/{self.name}"))["servers"][""]["ready"]:
            await asyncio.sleep(0.2)

    async def open_and_run(self, lesson):
        path = f"notebooks/{lesson}.ipynb"
        notebook = (await self.call(f"/user/{self.name}/api/contents/{path}"))["content"]
        session = {"path": path, "name": lesson, "type": "notebook", "kernel": {"name": "python3"}}
        kernel = (await self.call(f"/user/{self.name}/api/sessions", session))["kernel"]["id"]
        address = self.hub.url.replace("http", "ws", 1)
        request = HTTPRequest(
            f"{address}/user/{self.name}/api/kernels/{kernel}/channels",
            headers={"Authorization": f"token {self.token}"},
            request_timeout=PATIENCE,
        )
        self.socket = await websocket_connect(request, max_message_size=2**28)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                await self.run(cell)

    async def run(self, cell):
        """Run a cell, and wait until it is done and all its outputs have come."""
        content = {"code": cell["source"], "silent": False, "store_history": True, "stop_on_error": True}
        asked = await self.send("execute_request", content, {"cellId": cell["id"]})
        waited_for = {"execute_reply", "idle"}
        while waited_for:
            message = await self.receive(asked)
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "error":
                raise RuntimeError(f"cell {cell['id']} raises {content['ename']}: {content['evalue']}")
            if kind == "comm_open":
                self.controls[content["comm_id"]] = content["data"].get("state", {})
            if kind == "comm_msg" and content["data"].get("method") == "update":  # its name, for one
                self.controls.setdefault(content["comm_id"], {}).update(content["data"]["state"])
            if kind == "comm_close":
                self.controls.pop(content["comm_id"], None)
            waited_for -= {kind, content.get("execution_state")}

    async def send(self, kind, content, metadata=None):
        header = {
            "msg_id": secrets.token_hex(16),
            "msg_type": kind,
            "username": self.name,
            "session": self.name,
            "date": datetime.datetime.now(datetime.UTC).isoformat(),
            "version": "5.3",
        }
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": metadata or {}}
        await self.socket.write_message(json.dumps({**message, "content": content, "buffers": []}))
        return header["msg_id"]

    async def receive(self, asked):
        """The next message that answers the one asked."""
        while True:
            text = await self.socket.read_message()
            if text is None:
                raise RuntimeError("the kernel's connection was closed")
            message = json.loads(text)
            if message["parent_header"].get("msg_id") == asked:
                return message

    def control(self):
        """(comm id, state) of the first slider of the lesson, or else of its first list."""
        for model in MOVABLE:
            for comm, state in self.controls.items():
                if state.get("_model_name") == model:
                    return comm, state
        raise RuntimeError("the lesson has no slider and no list that a kernel answers")

    async def move(self, times):
        """Move a slider on, step by step: a move is over when the new result has come."""
        comm, state = self.control()
        shown = None
        for number in range(1, times + 1):
            start = time.perf_counter()
            data = {"method": "update", "state": moved(state, number), "buffer_paths": []}
            asked = await self.send("comm_msg", {"comm_id": comm, "data": data})
            before, shown = shown, await asyncio.wait_for(self.result(asked), MOVE_PATIENCE)
            spent = time.perf_counter() - start
            self.moves.append(1000 * spent)
            if shown == before or "Error: " in shown:
                raise RuntimeError(f"move {number} shows {shown[:200]}")
            await asyncio.sleep(max(0, PAUSE - spent))

    async def result(self, asked):
        """The HTML that the move gives, which the kernel sends as the new value of a widget beneath the sliders."""
        while True:
            message = await self.receive(asked)
            data = message["content"].get("data", {})
            if message["header"]["msg_type"] == "comm_msg" and data["method"] == "update" and "value" in data["state"]:
                return data["state"]["value"]

    async def timed(self, what, doing, patience=PATIENCE):
        """Do it, unless something has failed before; note the seconds, or the failure."""
        if self.failure:
            doing.close()
            return
        start = time.perf_counter()
        try:
            await asyncio.wait_for(doing, patience)
        except Exception as error:
            self.failure = f"{self.name}, {what}: {type(error).__name__} {error}"
        else:
            self.seconds[what] = time.perf_counter() - start


def moved(state, number):
    """What a slider or a list tells the kernel at its nth move: a step on, and after the last the first again."""
    if "index" in state:
        return {"index": (state["index"] + number) % len(state["_options_labels"])}
    steps = round((state["max"] - state["min"]) / state["step"]) + 1
    at = round((state["value"] - state["min"]) / state["step"])
    value = state["min"] + (at + number) % steps * state["step"]
    return {"value": value if state["_model_name"] == "IntSliderModel" else round(value, 10)}


# What is measured


def memory(pid):
    """Megabytes of a process by kind. PSS divides what processes share among them, so that it can be added up."""
    kinds = defaultdict(float)
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]:
        name, size = line.split()[:2]
        kinds["Private" if name.startswith(("Private_C", "Private_D")) else name.rstrip(":")] += int(size) / 1024
    return kinds


def memory_table(hub, students):
    taken = defaultdict(lambda: defaultdict(float))  # (who, server or kernel) -> kind -> megabytes
    for who, part, pid in hub.processes():
        for kind, size in memory(pid).items():
            taken[who, part][kind] += size
    print("| MB for a student (mean) | server | kernel | together |\n|:--|--:|--:|--:|")
    for title, kind in MEASURES.items():
        server, kernel = (statistics.mean(taken[s.name, part][kind] for s in students) for part in ("server", "kernel"))
        print(f"| {title} | {server:.0f} | {kernel:.0f} | {server + kernel:.0f} |")
    everything = sum(kinds["Pss"] for kinds in taken.values())
    print(f"\nHub and proxy {taken[None, 'server']['Pss']:.0f} MB; everything together {everything:.0f} MB (PSS).\n")


def time_table(students, lesson, control, spent):
    """`spent` has the processor seconds of each part, by everything that runs for the hub."""
    moves = [move for student in students for move in student.moves]
    print(f"| {len(students)} at once, `{lesson}` | median | 95 % | slowest | processor time each |")
    print("|:--|--:|--:|--:|--:|")
    for what in ("log in, start a server", "open the lesson, run all"):
        row(f"{what}, s", [student.seconds[what] for student in students], spent[what] / len(students), ".1f")
    row(f"a move of `{control}` ({len(moves)} moves), ms", moves, 1000 * spent["move"] / len(moves), ".0f")
    print()


def row(name, numbers, processor, form):
    p95 = statistics.quantiles(numbers, n=20, method="inclusive")[-1] if len(numbers) > 1 else numbers[0]
    shown = [format(number, form) for number in (statistics.median(numbers), p95, max(numbers), processor)]
    print(f"| {name} | {' | '.join(shown)} |")


def processor_seconds(hub):
    """What the processes of the hub have used of the processor so far, whatever else the machine does."""
    spent = 0
    for *_, pid in hub.processes():
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        spent += int(after_name[11]) + int(after_name[12])  # in its own code, and in the system's for it
    return spent / os.sysconf("SC_CLK_TCK")


def machine():
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = ("jupyterhub", "jupyterlab", "jupyter_server", "ipykernel", "ipywidgets", "torch", "matplotlib")
    versions = [f"Python {platform.python_version()}"] + [f"{n} {importlib.metadata.version(n)}" for n in names]
    print(f"{platform.machine()}, {os.cpu_count()} cores, {size:.0f} GB, load {os.getloadavg()[0]:.1f} at the start")
    print(", ".join(versions) + "\n")


async def lesson_of(hub, students, lesson, moves):
    """The lesson, in three parts, each begun by all at the same time. Returns the processor seconds of each part."""
    parts = {
        "log in, start a server": (Student.start_server, PATIENCE),
        "open the lesson, run all": (lambda student: student.open_and_run(lesson), PATIENCE),
        "move": (lambda student: student.move(moves), moves * MOVE_PATIENCE),
    }
    spent = {}
    for what, (do, patience) in parts.items():
        before = processor_seconds(hub)
        await asyncio.gather(*(student.timed(what, do(student), patience) for student in students))
        spent[what] = processor_seconds(hub) - before
    return spent


async def take_place(hub, names, lesson, moves):
    """Hold the lesson and print the tables. Returns the failures."""
    AsyncHTTPClient.configure(None, max_clients=10 * len(names))
    await hub.answers()
    students = [Student(hub, name) for name in names]
    spent = await lesson_of(hub, students, lesson, moves)
    well = [student for student in students if not student.failure]
    if well:
        time_table(well, lesson, well[0].control()[1]["description"], spent)
        memory_table(hub, well)
    return [student.failure for student in students if student.failure]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=10, help="how many at once (10)")
    parser.add_argument("--lesson", default="03_context_vectors", help="name of a lesson (03_context_vectors)")
    parser.add_argument("--moves", type=int, default=20, help="moves of a slider for each (20)")
    given = parser.parse_args()
    given.lesson = Path(given.lesson).stem
    lessons = [path.stem for path in LESSONS]
    if given.lesson not in lessons:
        parser.error(f"there is no lesson {given.lesson}. The lessons: {', '.join(lessons)}")
    if given.students < 1 or given.moves < 1:
        parser.error("there must be at least one student, and one move")
    return given


def check_needs():
    if not Path("/proc/self/smaps_rollup").is_file():
        raise SystemExit("This needs Linux: it reads the memory of the processes from /proc.")
    missing = []
    if importlib.util.find_spec("jupyterhub") is None:
        missing.append(f"jupyterhub:  {sys.executable} -m pip install jupyterhub")
    if shutil.which(PROXY) is None:
        missing.append(f'its proxy:   npm install {PROXY} && export PATH="$PWD/node_modules/.bin:$PATH"')
    if missing:
        raise SystemExit("\n".join(["To run this, get what is missing:", *missing]))


def main():
    given = arguments()
    check_needs()
    machine()
    names = [f"student{number:02}" for number in range(1, given.students + 1)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stopped in any way, it stops what it has started
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(Path(folder), names)
        try:
            failures = asyncio.run(take_place(hub, names, given.lesson, given.moves))
        finally:
            killed = hub.stop()
        if killed:
            failures.append(f"{killed} processes did not stop when the hub did, and were killed")
    print("Failures:" if failures else "Failures: none")
    for failure in failures:
        print("-", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
