"""Twenty-two more ways to be graded as if `calc.add` were right: what `calc.py` begins with, by a name.

They look for whatever a test runner could tell its results by. None of them names a part of our grader.
"""

_NAMES = "_named = ['tests/test_calc.py::test_add', 'tests/test_calc.py::test_double']\n"
_FORGED = (
    _NAMES + "import json, os, socket, stat, sys\n"
    "_told = dict(begun=True, ended=0, must_fail='failed', changed=[], left=True)\n"
    "_told['outcomes'] = dict.fromkeys(_named, 'passed')\n"
    "def _forge(text=''):\n"
    "    for fd in range(1, 64):\n"
    "        try:\n"
    "            if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
    "                socket.socket(fileno=os.dup(fd)).sendall(json.dumps(_told).encode() + b'\\n')\n"
    "            elif text:\n"
    "                os.write(fd, text.encode())\n"
    "        except OSError: pass\n"
    "    os._exit(0)\n"
)
_SUMMARY = r"'..\n2 passed in 0.01s\n'"
_FRAMES = (
    "import sys\n"
    "def _selves():\n"
    "    frame = sys._getframe()\n"
    "    while frame:\n"
    "        yield from frame.f_locals.values()\n"
    "        frame = frame.f_back\n"
)
_IN_PYTEST = "import sys\nif 'pytest' in sys.modules:\n"


def _within_pytest(code: str) -> str:
    return _IN_PYTEST + "".join(f"    {line}\n" for line in code.splitlines())


AT_IMPORT: dict[str, str] = {
    "writes to every open socket and exits": _FORGED + "_forge()\n",
    "writes to everything that is open and prints a summary": _FORGED + f"_forge({_SUMMARY})\n",
    "forges from a signal handler": _FORGED + "import signal, time\n"
    f"signal.signal(signal.SIGALRM, lambda *_: _forge({_SUMMARY}))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.05)\ntime.sleep(1)\n",
    "forges from a thread": _FORGED + "import threading, time\n"
    f"threading.Thread(target=_forge, args=({_SUMMARY},)).start()\ntime.sleep(1)\n",
    "forges in a fork and exits": _FORGED + "if os.fork() == 0:\n    _forge()\nos.wait()\n"
    f"os.write(1, {_SUMMARY}.encode())\nos._exit(0)\n",
    "becomes another program": "import os, sys\nos.execv('/bin/true', ['true'])\n",
    "runs the tests again without assertions": "import os, sys\n"
    "if sys.flags.optimize == 0:\n"
    "    _env = dict(p.split('=', 1) for p in open('/proc/self/environ').read().split(chr(0)) if '=' in p)\n"
    "    os.execve(sys.executable, [sys.executable, '-O', *sys.orig_argv[1:]], _env)\n",
    "makes a test do nothing": _within_pytest(
        "import _pytest.python as _p\n_p.Function.runtest = lambda self: None"
    ),
    "makes a test do nothing through the module": _within_pytest(
        "import _pytest.python as _p\n_p.Function.obj = property(lambda self: (lambda **_: None))"
    ),
    "replaces the hook that calls a test": _within_pytest(
        "import gc\n"
        "for _one in gc.get_objects():\n"
        "    if type(_one).__name__ == 'HookImpl' and _one.function.__name__ == 'pytest_pyfunc_call':\n"
        "        _one.function = lambda pyfuncitem: True\n"
        "        _one.argnames = ('pyfuncitem',)"
    ),
    "replaces how pluggy calls hooks": _within_pytest(
        "import gc\n"
        "for _one in gc.get_objects():\n"
        "    if type(_one).__name__ == 'PluginManager' or type(_one).__name__.endswith('PluginManager'):\n"
        "        _inner = _one._inner_hookexec\n"
        "        def _exec(name, impls, kwargs, first, _inner=_inner):\n"
        "            if name.endswith('pyfunc_call'): return True\n"
        "            return _inner(name, impls, kwargs, first)\n"
        "        _one._inner_hookexec = _exec"
    ),
    "rewrites the exception of a call": _within_pytest(
        "import _pytest.runner as _r\n"
        "_made = _r.CallInfo.from_call.__func__\n"
        "def _call(cls, *args, **named):\n"
        "    found = _made(cls, *args, **named)\n"
        "    found.excinfo = None\n"
        "    return found\n"
        "_r.CallInfo.from_call = classmethod(_call)"
    ),
    "changes what a socket sends": "import socket\n"
    "_real = socket.socket.sendall\n"
    "def _send(self, data, *args):\n"
    "    for name in (b'test_add\": ', b'test_double\": '):\n"
    "        data = data.replace(name + b'\"failed\"', name + b'\"passed\"')\n"
    "    return _real(self, data.replace(b'\"ended\": 1', b'\"ended\": 0'), *args)\n"
    "socket.socket.sendall = _send\n",
    "swaps what is collected": _FRAMES + "for _each in list(_selves()):\n"
    "    if type(_each).__name__ == 'Module' and hasattr(_each, 'nodeid'):\n"
    "        _real = _each.collect\n"
    "        def _collect(_real=_real):\n"
    "            for item in _real():\n"
    "                item.obj = lambda: None\n"
    "                yield item\n"
    "        _each.collect = _collect\n",
    "replaces the code of the tests from a thread": _within_pytest(
        "import threading, time\n"
        "def _swap():\n"
        "    for _ in range(2000):\n"
        "        for module in list(sys.modules.values()):\n"
        "            for name in ('test_add', 'test_double'):\n"
        "                one = vars(module).get(name) if hasattr(module, '__dict__') else None\n"
        "                if hasattr(one, '__code__'): one.__code__ = (lambda: None).__code__\n"
        "        time.sleep(0)\n"
        "threading.Thread(target=_swap, daemon=True).start()"
    ),
    "swaps the test as it is called": "import sys\n"
    "def _profile(frame, event, arg):\n"
    "    if event == 'call' and frame.f_code.co_name.endswith('pyfunc_call'):\n"
    "        item = frame.f_locals.get('pyfuncitem')\n"
    "        if item is not None: item.obj = lambda: None\n"
    "sys.setprofile(_profile)\n",
    "jumps over the assertions": "import sys\n"
    "def _trace(frame, event, arg):\n"
    "    if frame.f_code.co_name in ('test_add', 'test_double'):\n"
    "        frame.f_trace_lines = True\n"
    "        lines = sorted({line for *_, line in frame.f_code.co_lines() if line})\n"
    "        if event == 'line' and frame.f_lineno == lines[1]:\n"
    "            frame.f_trace = None\n"
    "            raise SystemExit(0)\n"
    "    return _trace\n"
    "sys.settrace(_trace)\n",
    "ends the session as if it were over": _FRAMES + "for _each in list(_selves()):\n"
    "    if type(_each).__name__ == 'Session':\n"
    "        _each.shouldstop = 'done'\n"
    "        _each.testsfailed = 0\n",
    "writes into the memory of its parent": "import os\n"
    "for _pid in {os.getppid(), 1, 2}:\n"
    "    try:\n"
    "        with open(f'/proc/{_pid}/mem', 'r+b', 0) as _mem:\n"
    "            for _line in open(f'/proc/{_pid}/maps'):\n"
    "                _place, _rights = _line.split()[:2]\n"
    "                if 'rw' not in _rights or '[v' in _line: continue\n"
    "                _a, _b = (int(_x, 16) for _x in _place.split('-'))\n"
    "                _mem.seek(_a); _data = _mem.read(_b - _a)\n"
    "                _new = _data.replace(b'failed', b'passed')\n"
    "                _mem.seek(_a); _mem.write(_new)\n"
    "    except Exception: pass\n",
}
#: Where the code that is called does it: `add` itself.
WHEN_CALLED: dict[str, str] = {
    "forges when it is called": _FORGED + "def add(a, b):\n    _forge()\n",
    "forges and prints when it is called": _FORGED + f"def add(a, b):\n    _forge({_SUMMARY})\n",
    "turns its caller into a passed test": _FRAMES + "def add(a, b):\n"
    "    for each in list(_selves()):\n"
    "        if type(each).__name__ == 'Function' and hasattr(each, 'nodeid'):\n"
    "            import _pytest.runner as runner\n"
    "            real = runner.CallInfo\n"
    "            for one in list(each.session.items): one.obj = lambda: None\n"
    "            raise real\n",
}
DOUBLE = "\n\ndef double(a):\n    return a * 2\n"
