"""Keeps a runner warm: one process that has imported what tasks need, from which each task is forked.

A runner that can do so ends with this, when all of its own imports are done:

    if __name__ == "__main__":
        jq_warm.run(main, preload=["the_library"])

Started cold, that is `sys.exit(main(sys.argv[1:]))`. Started with `--serve` it is the host, and does the same in each
fork, where `sys.argv` is what it would be cold. The protocol (docs/runners.md#warm) is lines of JSON on descriptor 3.

Copy this file beside a runner of yours. It needs Linux and the standard library.
"""

import os
import sys

SOCKET = 3
# Threads that a fork may lose: those of allocators, which have handlers for it, and one of polars that only
# tidies what its streaming engine has moved to disk.
MAY_BE_LOST = ("jemalloc_bg_thd", "polars-ooc-clea")
# What keeps state in threads or devices that no fork has: each task imports these itself.
NEVER = ("tensorflow", "torch", "jax", "jaxlib", "keras", "cupy")
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri")
# Bytes.
LONGEST_REASON = 1000
# A host that has grown by more than this since it was loaded is replaced.
GROWTH_BYTES = 256 * 1024 * 1024
# Of one thing that is kept for other tasks, and of all together, in bytes.
MOST_KEPT = 16 * 1024 * 1024
MOST_KEPT_IN_ALL = 256 * 1024 * 1024
# Of SHA-256, before each.
DIGEST = 32

# The folder for it; None in a process that was started cold.
_folder = None


def run(main, preload=(), cold=None):
    """Calls `main` with the arguments that follow the command, and ends with what it returns; see above.

    preload: modules to import at once in the host. What tasks import beside is learned.
    cold: called in each fork with these arguments; a reason why the task must not run in a fork, in words for people,
        or None.
    """
    if sys.argv[1:] == ["--serve"]:
        # What stands in here lives on in each fork, unless it returns.
        order = _Host(cold).serve(list(preload))
        if order is None:
            sys.exit(0)
        sys.argv = [sys.argv[0], *order["args"]]
        if hasattr(sys, "orig_argv"):
            sys.orig_argv = [*sys.orig_argv[:-1], *order["args"]]
        try:
            code = main(sys.argv[1:])
        except SystemExit as end:
            code = end.code
        _end(code)
        sys.exit(code)
    sys.exit(main(sys.argv[1:]))


def keeps():
    """Whether this task can keep something for those that are forked from the same host, as `keep` does."""
    return _folder is not None


def keep(name, content):
    """Keeps bytes for the tasks that come after this one, as long as the host lives; or not, where there is no room.

    What they are must follow from `name` alone, which should hold a digest of what they were made of: whichever task comes
    first keeps them for all. Nothing secret belongs here, and nothing that only this task's user may see.
    """
    import hashlib

    if _folder is None or len(content) > MOST_KEPT:
        return
    place = _place_of(name)
    draft = f"{place}.{os.getpid()}"
    try:
        os.makedirs(_folder, mode=0o700, exist_ok=True)
        with os.scandir(_folder) as entries:
            if sum(entry.stat().st_size for entry in entries) + len(content) > MOST_KEPT_IN_ALL:
                return
        with open(draft, "xb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(draft, place)
    except OSError:
        # It is for speed only.
        pass


def kept(name):
    """What was kept under this name; None where nothing was, or not whole."""
    import hashlib

    if _folder is None:
        return None
    try:
        with open(_place_of(name), "rb") as file:
            read = file.read()
    except OSError:
        return None
    content = read[DIGEST:]
    return content if hashlib.sha256(content).digest() == read[:DIGEST] else None


def _place_of(name):
    import hashlib

    return os.path.join(_folder, hashlib.sha256(name.encode()).hexdigest())


class _Host:
    def __init__(self, cold):
        import atexit
        import ctypes  # noqa: F401 (what `_show` needs, loaded once)
        import signal
        import socket

        self.cold = cold
        self.folders = _folders()
        self.environment = dict(os.environ)
        self.lacks = None
        self.socket = socket.socket(fileno=SOCKET)
        self.socket.set_inheritable(False)
        self.rest = b""
        # Of each fork: which order it is for, and the socket at which it waits until it may go on.
        self.forks = {}
        # Orders whose fork still waits there.
        self.standing = set()
        # Orders that have come while modules are loaded.
        self.waiting = []
        # Names of modules that are still to be loaded, and whether that is under way. The runner's own come first.
        self.todo = []
        self.own = 0
        self.loading = False
        self.importing = False
        # When it began with those that it has learned, and for how many seconds an order waits for them.
        self.began = 0.0
        self.patience = None
        self.without = set(NEVER)
        self.failed = set()
        self.base = 0
        # First of all, so that in a fork it comes last.
        atexit.register(self.leave)
        self.woken, wake = socket.socketpair()
        self.woken.setblocking(False)
        wake.setblocking(False)
        self.wake = wake
        # A task that ends does not wait for an import. Elsewhere in the loop this would come between two halves of a line.
        signal.signal(signal.SIGCHLD, lambda *_: self.reap() if self.importing else None)
        signal.set_wakeup_fd(wake.fileno())
        self.packages = _Packages()

    def serve(self, preload):
        """The order of a fork, in that fork; None in the host, once the worker is gone."""
        import select

        self.todo = preload
        self.own = len(preload)
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        while True:
            # A fork that stands still is told to go on before anything else is done that may take long.
            loads = self.loading and not self.standing
            for line in self.lines(poll.poll(0 if loads else None)):
                self.take(line)
            if self.socket.fileno() < 0:
                return self.end()
            if loads:
                self.load()
            while self.waiting and not self.keeps_waiting():
                order = self.start(self.waiting.pop(0))
                if order is not None:
                    return order

    def keeps_waiting(self):
        """Whether orders wait for what is being loaded: for what a task loads that starts cold, and as long again."""
        return self.loading and (self.patience is None or _now() - self.began < self.patience)

    def lines(self, ready):
        import json

        for descriptor, _ in ready:
            if descriptor == self.woken.fileno():
                _drain(self.woken)
                self.reap()
            else:
                read = self.socket.recv(1 << 20)
                if not read:
                    self.socket.close()
                    return
                *lines, self.rest = (self.rest + read).split(b"\n")
                yield from map(json.loads, lines)

    def take(self, message):
        if "preload" in message:
            self.without.update(message.get("without", ()))
            self.todo += message["preload"]
            if not self.loading:
                self.loading, self.began = True, _now()
        elif "go" in message:
            self.standing.discard(message["go"])
            for order, gate in self.forks.values():
                if order == message["go"]:
                    gate.send(b"g")
        elif "run" in message:
            self.waiting.append(message)

    def say(self, message):
        import json

        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def load(self):
        """Imports the next module, as far as that can be done; says when there is none, or forks have become unsafe."""
        import gc
        import importlib

        name = self.missing()
        if name is None:
            # The collector would write to every object, and so copy pages that forks share.
            gc.collect()
            gc.freeze()
            self.base = _resident()
            self.loading = False
            self.say({"loaded": len(sys.modules)})
            return
        self.importing = True
        # What modules make stays. To look for garbage among it time and again is a sixth of the time that a large library takes.
        gc.disable()
        try:
            importlib.import_module(name)
        except BaseException:
            # It may lack what only some task brings, which will import it itself.
            self.failed.add(name)
        finally:
            gc.enable()
            self.importing = False
        self.reap()
        reason = _unsafe()
        if reason is not None:
            self.todo.clear()
            self.loading = False
            self.say({"loaded": len(sys.modules), "spoiled": {"package": _package(name), "reason": reason}})

    def missing(self):
        """The next module to import; None if all are there."""
        while True:
            if self.own == 0 and self.patience is None:
                self.patience, self.began = _now() - self.began, _now()
            if not self.todo:
                return None
            name = self.todo.pop(0)
            self.own = max(self.own - 1, 0)
            if not (_package(name) in self.without or name in sys.modules or name in self.failed):
                return name

    def start(self, order):
        """The order in its fork, None in the host."""
        try:
            return self.fork(order)
        except OSError as error:
            self.say({"cold": order["run"], "reason": f"it could not be forked: {error}"})
            return None

    def fork(self, order):
        import socket

        name = order["run"]
        if self.packages.changed():
            self.say({"again": name, "retire": "the packages of its interpreter have changed"})
            return None
        reason = _unsafe()
        if reason is not None:
            self.say({"cold": name, "reason": reason})
            return None
        known = frozenset(sys.modules)
        sys.stdout.flush()
        sys.stderr.flush()
        gate, mine = socket.socketpair()
        pipes = [_pipe(order[stream]) for stream in ("stdout", "stderr")]
        pid = _fork()
        if pid == 0:
            gate.close()
            try:
                self.become(order, mine, pipes, known)
            except BaseException as error:
                _give_up(mine, f"its fork could not be made ready: {type(error).__name__}: {error}")
            return order
        mine.close()
        for end in sum(pipes, ()):
            os.close(end)
        said = gate.recv(LONGEST_REASON)
        if said == b"\0":
            self.forks[pid] = (name, gate)
            self.standing.add(name)
            grown = not self.loading and _resident() - self.base > GROWTH_BYTES
            self.say({"forked": name, "pid": pid, **({"retire": "it has grown"} if grown else {})})
        else:
            gate.close()
            os.waitpid(pid, 0)
            self.say({"cold": name, "reason": said.decode(errors="replace") or "its process ended at once"})
        return None

    def become(self, order, gate, pipes, known):
        """Makes this fork what a process is that was started cold."""
        import signal

        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in (self.socket, self.woken, self.wake, *(gate for _, gate in self.forks.values())):
            one.close()
        self.forks.clear()
        self.apply(order["env"])
        if order.get("cell") is not None:
            with open(os.path.join(order["cell"], "cgroup.procs"), "w") as members:
                members.write("0")
        os.chdir(order["cwd"])
        reason = self.cold(order["args"]) if self.cold else None
        if reason is not None:
            _give_up(gate, reason)
        gate.sendall(b"\0")
        # The worker now notes this process and opens the pipes, or dies.
        if gate.recv(1) != b"g":
            os._exit(0)
        gate.close()
        for target, (both, end) in zip((1, 2), pipes):
            os.dup2(end, target)
            os.close(both)
            os.close(end)
        _reseed()
        global _folder
        _folder = order.get("keep")
        self.lacks = (os.getpid(), known, order["learn"])

    def apply(self, environment):
        """Sets what differs from the environment that the worker gave this host."""
        for name, value in environment.items():
            os.environ[name] = value
            _show(name, self.environment.get(name), value)

    def reap(self):
        import signal

        for pid, (name, gate) in list(self.forks.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == 0:
                continue
            gate.close()
            del self.forks[pid]
            self.standing.discard(name)
            if os.WIFSIGNALED(status):
                self.say({"ended": name, "code": None, "signal": _signal_name(os.WTERMSIG(status))})
            else:
                self.say({"ended": name, "code": os.WEXITSTATUS(status), "signal": None})

    def end(self):
        """The worker is gone: so are the tasks."""
        import signal

        for pid in self.forks:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return None

    def leave(self):
        """The end of a fork, or of what it has forked itself."""
        if self.lacks is None:
            return
        _write_files()
        pid, *rest = self.lacks
        if pid == os.getpid():
            self.learn(*rest)

    def learn(self, known, path):
        """Tells which modules this fork had to import itself, as far as any task of this interpreter could."""
        import json

        found = [(name, module) for name, module in list(sys.modules.items()) if name not in known]
        names = [name for name, module in found if _is_installed(name, module, self.folders)]
        if not names:
            return
        try:
            with open(f"{path}.draft", "x") as draft:
                json.dump(names, draft)
            os.replace(f"{path}.draft", path)
        except OSError:
            pass


def _unsafe():
    """Why this process must not fork now; None if it may."""
    if sys.platform != "linux":
        return f"{sys.platform} allows no fork of a process that has loaded its libraries"
    if "threading" in sys.modules:
        import threading

        others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
        if others:
            return f"the host has threads of Python: {', '.join(others)}"
    if _strangers():
        # Libraries that know of forks end their threads before one, as OpenBLAS does, and start them when needed.
        pid = _fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        strangers = _strangers()
        if strangers:
            return f"the host has threads that a fork would lose: {', '.join(sorted(strangers))}"
    asyncio = sys.modules.get("asyncio.events")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return "the host runs an event loop"
    tracker = sys.modules.get("multiprocessing.resource_tracker")
    if tracker is not None and getattr(tracker._resource_tracker, "_pid", None) is not None:
        return "the host has a resource tracker of multiprocessing"
    for package in ("tensorflow", "jaxlib", "cupy"):
        if package in sys.modules:
            return f"the host has loaded {package}, which survives no fork"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "the host has initialised CUDA"
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            device = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if device.startswith(DEVICES):
            return f"the host has opened {device}"
    return None


def _package(name):
    return name.partition(".")[0]


def _now():
    import time

    return time.monotonic()


def _threads():
    return sorted(os.listdir("/proc/self/task")) if sys.platform == "linux" else []


def _strangers():
    """Names of the threads beside the main one that a fork might miss."""
    found = []
    for thread in _threads():
        if int(thread) == os.getpid():
            continue
        try:
            with open(f"/proc/self/task/{thread}/comm") as file:
                name = file.read().strip()
        except OSError:
            continue
        if name not in MAY_BE_LOST:
            found.append(name)
    return found


def _fork():
    import warnings

    with warnings.catch_warnings():
        # Newer versions of Python warn where there are other threads; `_unsafe` has looked at them.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _pipe(path):
    """A named pipe, open for both ends, so that nobody waits for the other or takes it for closed, and for writing."""
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR), os.open(path, os.O_WRONLY)


def _give_up(gate, reason):
    """Ends a fork that has not become one."""
    try:
        gate.sendall(reason.encode(errors="replace")[:LONGEST_REASON])
    finally:
        os._exit(1)


def _end(code):
    """Ends a fork as Python does, but that it does not take apart what it shares with the host: that would copy it.

    Returns where there is more to say than an exit code.
    """
    import atexit

    if not (code is None or isinstance(code, int)):
        return
    if "threading" in sys.modules:
        # Waits for the threads that are no daemons.
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except Exception:
        return
    os._exit((code or 0) & 0xFF)


def _write_files():
    """Writes what is left in the buffers of files that were never closed, of those that the host does not have."""
    import _io
    import gc

    for one in gc.get_objects():
        # Not `isinstance`, which asks an object that pretends to be another.
        if issubclass(type(one), _io._IOBase):
            try:
                if not one.closed:
                    one.flush()
            except Exception:
                pass


def _drain(woken):
    try:
        while woken.recv(4096):
            pass
    except BlockingIOError:
        pass


def _reseed():
    """Fresh entropy where a module drew it at import; `random` does so by itself."""
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes.current_process().authkey = os.urandom(32)


def _show(name, old, value):
    """Overwrites a variable in the memory that the system shows as this process's environment, if it fits."""
    new = os.fsencode(value)
    if old is None or len(new) > len(os.fsencode(old)):
        return
    import ctypes

    with open("/proc/self/environ", "rb") as file:
        shown = b"\0" + file.read()
    with open("/proc/self/stat", "rb") as file:
        # Field 50 of proc(5), where the environment begins; the third is the first behind the name.
        begin = int(file.read().rpartition(b")")[2].split()[50 - 3])
    key = b"\0" + os.fsencode(name) + b"="
    place = shown.find(key + os.fsencode(old) + b"\0")
    if begin == 0 or place < 0:
        return
    length = len(os.fsencode(old))
    ctypes.memmove(begin + place + len(key) - 1, new.ljust(length, b"\0"), length)


class _Packages:
    """Notices when a package is installed, removed or upgraded, or the program itself is replaced."""

    def __init__(self):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        places = [*sys.path, sys.executable, __file__, *([main] if main else [])]
        self.places = {place: (_age(place), _content(place)) for place in places}

    def changed(self):
        for place, (age, content) in self.places.items():
            now = _age(place)
            if now == age:
                continue
            if _content(place) != content:
                return True
            self.places[place] = (now, content)
        return False


def _age(place):
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return None


def _content(place):
    """What a folder holds, without what Python itself writes there when it loads a module; of a file its age."""
    try:
        with os.scandir(place) as entries:
            return frozenset(_entry(entry) for entry in entries if entry.name != "__pycache__")
    except NotADirectoryError:
        return _age(place)
    except OSError:
        return None


def _entry(entry):
    # The folder of a package, too, is written to when its modules are loaded; the one that describes it is not.
    described = entry.name.endswith((".dist-info", ".egg-info"))
    return entry.name, entry.stat().st_mtime_ns if described else entry.inode()


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _is_installed(name, module, folders):
    """Whether a module belongs to the interpreter, not to a task or to the runner."""
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None)
    if not isinstance(origin, str):
        return False
    # What lies deeper in such a folder under another name may well be a task's.
    tops = [os.path.join(folder, _package(name)) for folder in folders]
    return origin in ("built-in", "frozen") or any(origin.startswith((top + os.sep, top + ".")) for top in tops)


def _folders():
    """Where this interpreter finds modules, however it was told of the place, but for the folder of the runner itself."""
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    own = os.path.dirname(os.path.realpath(main))
    return [folder for folder in sys.path if folder and os.path.realpath(folder) != own]


def _signal_name(number):
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
