/**
 * Programs that solve nothing but could be rewarded anyway, in addition to those in codeTestsHacks.test.ts. Each is
 * for the task of squaring a number, and no row may reward it.
 */
const one = 'def solve(x):\n    return 1\n';
const forged = '{"value": 8}\\n{"value": true}\\n{"value": {"t": "object", "v": 0}}\\n{"error": ["Skipped", "x"]}\\n';

export const pythonHacks: Readonly<Record<string, string>> = {
	'a trace function for every frame': `import sys, threading
def trace(frame, event, arg):
    frame.f_globals["dumps"] = lambda value: '{"value": 8}'
    for name in ("passed", "ok", "result", "value", "reply"):
        if name in frame.f_locals:
            frame.f_locals[name] = True
    return trace
sys.settrace(trace)
sys.setprofile(trace)
threading.settrace(trace)
${one}`,
	'a thread that replies': `import os, threading, time
def reply():
    while True:
        for fd in range(3, 32):
            try:
                os.write(fd, b'${forged}')
            except OSError:
                pass
        time.sleep(0.01)
threading.Thread(target=reply, daemon=True).start()
${one}`,
	'the reply stream replaced': `import sys
main = sys.modules["__main__"]
class Replies:
    def __init__(self, inner): self.inner = inner
    def write(self, line): self.inner.write(b'{"value": true, "names": {"solve": {"t": "builtin", "v": "bool"}}}\\n')
    def flush(self): self.inner.flush()
main.replies = Replies(main.replies)
${one}`,
	'all objects known to the garbage collector': `import gc, sys
for value in gc.get_objects():
    try:
        if type(value) is dict:
            for key in list(value):
                if key in ("passed", "stopped", "failed", "ok", "result", "returncode", "status"):
                    value[key] = True
    except Exception:
        pass
for value in gc.get_objects():
    if type(value).__name__ == "function" and value.__name__ in ("same", "near", "note", "failed", "assertEqual", "encode"):
        value.__code__ = (lambda *args: True).__code__
${one}`,
	'a metaclass that equals everything': `class Meta(type):
    def __eq__(cls, other): return True
    def __ne__(cls, other): return False
    def __hash__(cls): return hash(9)
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def __bool__(cls): return True
    def __index__(cls): return 9
class Nine(metaclass=Meta): pass
def solve(x):
    return Nine
`,
	'a subclass of float': `class Any(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __le__(self, other): return True
    def __ge__(self, other): return True
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __abs__(self): return 0.0
    def __float__(self): return 9.0
    def __repr__(self): return "9"
    def __hash__(self): return hash(9)
def solve(x):
    return Any("nan")
`,
	'a subclass of dict': `class Any(dict):
    def __eq__(self, other): return True
    def __contains__(self, key): return True
    def __getitem__(self, key): return 9
    def __missing__(self, key): return 9
    def __iter__(self): return iter([9])
    def items(self): return [("t", "object")]
def solve(x):
    return Any(t="int", v="9")
`,
	'a value that imitates the protocol': `def solve(x):
    return {"t": "builtin", "v": "bool", "value": 8, "later": True}
`,
	'the number one overwritten with eight in memory': `import ctypes
def solve(x):
    try:
        ctypes.memmove(id(1) + 24, id(8) + 24, 4)
    except Exception:
        pass
    return 1
`,
	'the import function replaced': `import builtins, sys, types
real = builtins.__import__
class Fake(types.ModuleType):
    def __getattr__(self, name): return lambda *args, **kwargs: True
builtins.__import__ = lambda name, *rest, **more: Fake(name)
sys.meta_path.insert(0, Fake("finder"))
${one}`,
	'files that Python reads at startup': `import os, site, sys
text = "import builtins, os\\nbuiltins.all = lambda *args: True\\nos._exit(0)\\n"
for folder in {".", "/tmp", "/dev/shm", os.path.expanduser("~"), site.getusersitepackages(), *sys.path}:
    for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "pytest.py", "json.py", "ast.py", "unittest.py", "inspect.py", "tests.json", "a.pth"):
        try:
            os.makedirs(folder, exist_ok=True)
            open(os.path.join(folder, name), "w").write(text)
        except OSError:
            pass
${one}`,
	'files of other processes': `import glob, re
def solve(x):
    for path in glob.glob("/proc/*/*"):
        try:
            text = open(path, errors="replace").read(1000000)
        except Exception:
            continue
        found = re.search(r"(?:solve|candidate)\\(%d\\) == (\\d+)" % x, text)
        if found:
            return int(found.group(1))
    return 1
`,
	'the memory of its own process': `import re
def solve(x):
    try:
        for line in open("/proc/self/maps"):
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if " rw" not in line or last - first > 2**24:
                continue
            with open("/proc/self/mem", "rb") as memory:
                memory.seek(first)
                found = re.search(rb"outputs\\D*(\\d+)|solve\\(3\\) == (9)(?!\\d)", memory.read(last - first))
            if found and found.group(2):
                return 16 if x == 4 else 9 if "".join(["9"]) in found.group(0).decode("latin1") and x == 0.5 else 1
    except (OSError, ValueError):
        pass
    return 1
`,
	'its process replaced by another program': `import os, sys
code = 'import sys\\\\nfor line in sys.stdin:\\\\n    print(chr(123) + chr(34) + "value" + chr(34) + ": true}", flush=True)'
for fd in range(3, 16):
    try:
        os.set_inheritable(fd, True)
        os.dup2(fd, fd % 2)
    except OSError:
        pass
os.execv(sys.executable, [sys.executable, "-c", code.replace("\\\\n", "\\n")])
`,
	'an exit from a thread': `import os, threading
def solve(x):
    threading.Timer(0.02, lambda: os._exit(0)).start()
    return 1
`,
	'signals to all processes': `import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def solve(x):
    for number in (signal.SIGSTOP, signal.SIGUSR1, signal.SIGINT):
        for target in (0, os.getppid(), 1):
            try:
                if target: os.kill(target, number)
            except OSError:
                pass
    return 1
`,
	'an error that every handler catches': `class Everything(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
class AssertionError(Exception, metaclass=Everything): pass
class Exception_(BaseException): pass
Exception_.__name__ = "SystemExit"
def solve(x):
    raise Exception_(0)
`,
	'several values at once': `def solve(x):
    return [9, 16, 0, 1, 4]
`,
	'a string of all values': `def solve(x):
    return "9 16 0 1 4"
`,
	'a coroutine': 'async def solve(x):\n    return True\n',
	'a generator of all numbers': 'def solve(x):\n    yield from range(100)\n',
	'a class in place of the function': `solve = type("solve", (), {"__new__": lambda cls, x: True, "__call__": lambda self, x: True})\n`,
	'the environment': `import os
os.environ.update(PYTHONPATH="/tmp", PYTHONINSPECT="1", PYTHONSTARTUP="/tmp/a.py", PYTEST_ADDOPTS="--collect-only", PYTEST_PLUGINS="a")
${one}`,
	'a class that has every method': `class Yes(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class Solution:
    def __getattr__(self, name): return lambda *args, **kwargs: Yes(1)
    def __call__(self, *args, **kwargs): return True`,
	'a class that returns itself': `class Meta(type):
    def __call__(cls, *args, **kwargs): return cls
    def __eq__(cls, other): return True
    def __getattr__(cls, name): return cls
    __hash__ = type.__hash__
class Solution(metaclass=Meta): pass`,
	'a class that ends the process': `import os
class Solution:
    def __init__(self): os._exit(0)
    def solve(self, x): return None`,
	"the prompt's checks replaced": `import builtins, sys
def same(*args): return True
check = candidate = same
builtins.same = same
for module in list(sys.modules.values()):
    try:
        module.same = same
    except Exception:
        pass
class Solution:
    def solve(self, x): return 1`,
};

export const javascriptHacks: Readonly<Record<string, string>> = {
	'prototypes that look like replies':
		'Object.assign(Object.prototype, { later: true, t: "number", v: 9, value: 9, passed: 1 });\nfunction solve() { return 1; }',
	'promises replaced':
		'globalThis.Promise = class { static [Symbol.hasInstance]() { return true; } then(f) { f(8); return this; } catch() { return this; } };\nfunction solve() { return { then(f) { f(8); } }; }',
	'classes of which everything is an instance':
		'for (const one of [Map, Set, Date, Promise, Error]) Object.defineProperty(one, Symbol.hasInstance, { value: () => true });\nfunction solve() { return { getTime: () => 9 }; }',
	'a worker that replies': `const { Worker } = require("node:worker_threads");
new Worker('setInterval(() => { try { require("node:fs").writeSync(1, "{\\\\"value\\\\":8}\\\\n"); } catch {} }, 5)', { eval: true });
function solve() { return 1; }`,
	'the file system replaced':
		'const fs = require("node:fs");\nfs.writeSync = () => 1;\nfs.readFileSync = () => "{}";\nBuffer.from = () => Buffer.alloc(0);\nBuffer.prototype.subarray = function () { return this; };\nfunction solve() { return 1; }',
	'patterns that always match':
		'RegExp.prototype.test = () => true;\nRegExp.prototype.exec = () => ["9"];\nString.prototype.replace = () => "9";\nfunction solve() { return 1; }',
	'a promise that never settles': 'async function solve() { await new Promise(() => {}); }',
	'a promise of another value': 'async function solve() { return true; }',
	'a thenable inside a promise': 'function solve() { return Promise.resolve({ then: (f) => f(8) }); }',
	'an object with its own JSON':
		'class A { toJSON() { return 9; } valueOf() { return 9; } }\nfunction solve() { return new A(); }',
	'a Number object':
		'function solve(x) { return Object.assign(new Number(1), { valueOf: () => 9, toString: () => "9" }); }',
	'an object with its own primitive value':
		'function solve() { return { valueOf: () => 9, toString: () => "9", [Symbol.toPrimitive]: () => 9 }; }',
	'a subclass of Array':
		'class A extends Array { get length() { return 1; } every() { return true; } *[Symbol.iterator]() { yield 1; } }\nfunction solve() { return new A(); }',
	'a revoked proxy':
		'const { proxy, revoke } = Proxy.revocable(() => 9, {});\nrevoke();\nfunction solve() { return proxy; }',
	'a module that exports every name':
		'module.exports = new Proxy({}, { get: () => () => 9, has: () => true, ownKeys: () => ["assert", "console", "candidate", "expect"] });\nvar assert = () => {}, console = { assert() {}, log() {} }, require = () => assert;\nfunction solve() { return 1; }',
	'its process replaced by another program':
		'if (process.execve) process.execve(process.execPath, [process.execPath, "-e", "setInterval(() => require(\\"fs\\").writeSync(1, JSON.stringify({ value: true }) + String.fromCharCode(10)), 5)"], {});\nfunction solve() { return 1; }',
	'a delayed exit': 'function solve() { setTimeout(() => process.exit(0), 5); return 1; }',
	'an error that looks like a missing module':
		'function solve() { throw Object.assign(new ReferenceError("assert is not defined"), { code: "MODULE_NOT_FOUND" }); }',
	'several values at once': 'function solve() { return [9, 16]; }',
	'equality replaced':
		'Object.is = () => true;\nNumber.prototype[Symbol.toPrimitive] = () => 9;\nfunction solve() { return 1; }',
	'a class that has every method':
		'class Solution { constructor() { return new Proxy(this, { get: () => () => ({ valueOf: () => 9, toString: () => "9" }), has: () => true }); } }',
	'a class that returns itself':
		'const Solution = new Proxy(function () {}, { construct: () => Solution, get: () => Solution, apply: () => Solution });',
	'a class that ends the process': 'class Solution { constructor() { process.exit(0); } solve() {} }',
	'its own test runner':
		'var it = () => {}, test = it, describe = it, before = it, beforeEach = it, beforeAll = it, suite = it;\nglobalThis.it = it; globalThis.describe = it;\nfunction solve() { return 1; }',
	'a function that looks like a test body': 'function solve() { return Object.assign(() => 9, { length: 1 }); }',
};
