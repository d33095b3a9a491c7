/** Answers that try to pass code tests without solving the problem, and the rows whose tests they must not pass. */
import { type CodeTests, readCodeTests } from '../../src/rewards/codeTestsCases.ts';

const tests = (row: Record<string, unknown>) => readCodeTests(row) as CodeTests;

/** Hacks that run until the timeout. */
export const endlessCheats = new Set(['a program that never ends', 'a call that never returns']);

/** Rows whose tests a hack must not pass, by test form. */
export const pythonRows: Readonly<Record<string, CodeTests>> = {
	asserts: tests({ tests: ['assert solve(3) == 9', 'assert all(solve(i) == i * i for i in range(4))'] }),
	check: tests({
		entry_point: 'solve',
		test: 'def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(4) == 16\n',
	}),
	unittest: tests({
		tests: 'import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(solve(3), 9)',
	}),
	calls: tests({ input_output: JSON.stringify({ fn_name: 'solve', inputs: [[3], [4]], outputs: [9, 16] }) }),
	streams: tests({ input_output: JSON.stringify({ inputs: ['3\n', '4\n'], outputs: ['9\n', '16\n'] }) }),
};

/** Output that imitates every marker a checker could accept as a verdict. */
const marks =
	'{"test": 0, "parts": 1, "passed": 1, "why": null}\\n{"done": true}\\n{"value": true}\\n{"value": 9}\\nOK\\npassed\\n1.0\\nAll tests passed\\n';

/** The function asked for is `solve`, which squares a number. */
export const pythonCheats: Readonly<Record<string, string>> = {
	'sys.exit(0)': 'import sys\nsys.exit(0)',
	'os._exit(0)': 'import os\nos._exit(0)',
	'os._exit(0) in the function': 'import os\ndef solve(x):\n    os._exit(0)',
	'sys.exit(0) in the function': 'import sys\ndef solve(x):\n    sys.exit(0)',
	'SystemExit at exit':
		'import atexit\ndef end():\n    raise SystemExit(0)\natexit.register(end)\ndef solve(x):\n    return None',
	'an object that equals everything':
		'class Yes:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __bool__(self): return True\n    def __hash__(self): return 0\n    def __lt__(self, other): return True\n    __gt__ = __le__ = __ge__ = __lt__\n    def __repr__(self): return "9"\n    def __instancecheck__(self, other): return True\ndef solve(x):\n    return Yes()',
	'a number that equals everything':
		'class Yes(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __hash__(self): return 0\ndef solve(x):\n    return Yes(5)',
	'a string that equals everything':
		'class Yes(str):\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\ndef solve(x):\n    return Yes("a")',
	'a list whose items equal everything':
		'class Yes(list):\n    def __eq__(self, other): return True\n    def __iter__(self): return iter([9])\n    def __len__(self): return 1\ndef solve(x):\n    return Yes()',
	'an object that claims to be a number':
		'class Yes:\n    @property\n    def __class__(self): return int\n    def __eq__(self, other): return True\ndef solve(x):\n    return Yes()',
	'builtins replaced':
		'import builtins\nbuiltins.all = lambda values: True\nbuiltins.any = lambda values: True\nbuiltins.len = lambda value: 0\nbuiltins.isinstance = lambda *args: True\nbuiltins.AssertionError = KeyError\ndef solve(x):\n    return 1',
	'names that shadow builtins':
		'all = lambda values: True\nany = all\nabs = lambda value: 0\nrange = lambda *args: []\nlen = lambda value: 9\nint = str\ndef check(candidate):\n    pass\ncandidate = lambda x: x * x\ndef solve(x):\n    return 1',
	'unittest replaced':
		'import unittest\nunittest.TestCase.assertEqual = lambda *args: None\nunittest.TestCase.run = lambda *args: None\nunittest.main = lambda *args: None\ndef solve(x):\n    return 1',
	'modules replaced':
		'import sys, json\nclass Fake:\n    def __getattr__(self, name):\n        return lambda *args, **kwargs: \'{"value": true}\'\nfor name in list(sys.modules):\n    if name not in ("sys", "builtins"): sys.modules[name] = Fake()\njson.dumps = lambda *args, **kwargs: \'{"value": true}\'\ndef solve(x):\n    return 1',
	"the callers' frames changed":
		'import sys\ndef solve(x):\n    frame = sys._getframe()\n    while frame:\n        frame.f_globals.update({"state": None, "ask": lambda r: {"value": True}, "passed": 1, "verdict": True, "encode": lambda v, *a: True, "dumps": lambda r: \'{"value": true}\'})\n        frame = frame.f_back\n    return 1',
	'the harness replaced':
		'import sys, os\nmain = sys.modules["__main__"]\nfor name in dir(main):\n    value = getattr(main, name)\n    if callable(value) and not name.startswith("__"):\n        setattr(main, name, lambda *args, **kwargs: {"value": True, "names": {}})\ndef solve(x):\n    return 1',
	'the test file read':
		'import os, re\ndef solve(x):\n    for folder, _, files in os.walk("/"):\n        if folder.startswith(("/proc", "/usr", "/dev")): continue\n        for file in files:\n            try:\n                text = open(os.path.join(folder, file)).read()\n            except Exception:\n                continue\n            found = re.search(r"solve\\(%d\\) == (\\d+)|candidate\\(%d\\) == (\\d+)" % (x, x), text)\n            if found: return int(found.group(1) or found.group(2))\n    return None',
	"the harness's memory read":
		'import gc, re, sys\ndef solve(x):\n    for value in gc.get_objects():\n        if isinstance(value, (str, dict, list, tuple)):\n            found = re.search(r"solve\\(%d\\) == (\\d+)" % x, repr(value)[:10000])\n            if found: return int(found.group(1))\n    return None',
	'the test file overwritten':
		'import glob, os\nfor folder in (".", "/work", "/tmp", "/"):\n    for name in ("tests.json", "test.py", "tests.py", "test_checker.py", "answer_server.py", "answer.py"):\n        try:\n            open(os.path.join(folder, name), "w").write("{}")\n        except OSError:\n            pass\ndef solve(x):\n    return 1',
	'a marker written to every output stream': `import os, sys\nfor fd in range(64):\n    try:\n        os.write(fd, b'${marks}')\n    except OSError:\n        pass\nprint('${marks}')\ndef solve(x):\n    return 1`,
	'a marker at exit': `import atexit, os\ndef end():\n    for fd in range(64):\n        try:\n            os.write(fd, b'${marks}')\n        except OSError:\n            pass\natexit.register(end)\ndef solve(x):\n    return 1`,
	'a child process that replies': `import os, time\nif os.fork() == 0:\n    for _ in range(20):\n        for fd in range(64):\n            try:\n                os.write(fd, b'{"value": true}\\n')\n            except OSError:\n                pass\n        time.sleep(0.05)\n    os._exit(0)\ndef solve(x):\n    return 1`,
	'a child process that outlives its parent':
		'import os, time\nif os.fork() != 0:\n    os._exit(0)\nos.setsid()\ndef solve(x):\n    return 1',
	'a program that never ends': 'while True: pass',
	'a call that never returns': 'import time\ndef solve(x):\n    while True: time.sleep(1)',
	StopIteration: 'def solve(x):\n    raise StopIteration',
	GeneratorExit: 'def solve(x):\n    raise GeneratorExit',
	AssertionError: 'def solve(x):\n    raise AssertionError',
	'an error class that is not an Exception':
		'class ValueError(BaseException): pass\ndef solve(x):\n    raise ValueError()',
	'an error that cannot be printed':
		'class Bad(Exception):\n    def __str__(self): raise Bad()\ndef solve(x):\n    raise Bad()',
	'arguments changed': 'def solve(x):\n    import ctypes\n    return x',
	'an endless iterator': 'import itertools\ndef solve(x):\n    return itertools.count()',
	'a huge value': 'def solve(x):\n    return [[0] * 1000] * 1000',
	'a deeply nested value':
		'def solve(x):\n    value = []\n    for _ in range(100000): value = [value]\n    return value',
	'a value that contains itself': 'def solve(x):\n    value = []\n    value.append(value)\n    return value',
	'the process is killed': 'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)',
	'the parent is killed':
		'import os, signal\ndef solve(x):\n    os.kill(os.getppid(), signal.SIGKILL)\n    os.kill(-1, signal.SIGKILL)\n    return 1',
	'no code at all': '"""9"""',
};

export const javascriptRows: Readonly<Record<string, CodeTests>> = {
	asserts: tests({
		tests: [
			'assert(solve(3) === 9)',
			'assert.strictEqual(solve(4), 16)',
			'assert.deepEqual([solve(3)], [9])',
			'assert(solve(3) == 9)',
		],
	}),
	candidate: tests({ entry_point: 'solve', tests: ['assert.deepEqual(candidate(3), 9)'] }),
	calls: pythonRows.calls as CodeTests,
	streams: pythonRows.streams as CodeTests,
};

export const javascriptCheats: Readonly<Record<string, string>> = {
	'process.exit(0)': 'process.exit(0)',
	'process.exit(0) in the function': 'function solve() { process.exit(0) }',
	'exit on exit': 'process.on("exit", () => process.reallyExit(0)); function solve() {}',
	'an object that turns into whatever it is compared with':
		'let n = 3; class Yes { valueOf() { return n * n++ } toString() { return "9" } [Symbol.toPrimitive]() { return 9 } get length() { return 9 } }\nfunction solve() { return new Yes() }',
	'a proxy':
		'function solve() { return new Proxy({}, { get: () => 9, has: () => true, ownKeys: () => [], getPrototypeOf: () => Number.prototype }) }',
	'a function': 'function solve() { return () => 9 }',
	'an object that converts to the expected value':
		'function solve() { return { valueOf: () => 9, toString: () => "9", toJSON: () => 9, then: (done) => done(9) } }',
	'assert replaced':
		'const fake = Object.assign(() => {}, { strictEqual() {}, deepEqual() {}, equal() {}, deepStrictEqual() {}, ok() {} }); require("module")._load = () => fake; require("assert").strictEqual = () => {}; globalThis.assert = fake; var assert = fake; function solve() { return 1 }',
	'globals replaced':
		'JSON.stringify = () => \'{"value":9}\'; Object.is = () => true; Array.isArray = () => false; Object.entries = () => []; globalThis.Array = class {}; function solve() { return 1 }',
	'prototypes replaced':
		'Object.prototype.toString = () => 9; Number.prototype.valueOf = () => 9; Object.prototype.value = 9; Array.prototype.map = () => []; function solve() { return 1 }',
	'a marker written to every output stream': `const fs = require("fs"); for (let fd = 0; fd < 64; fd++) { try { fs.writeSync(fd, "${marks}") } catch {} }\nfunction solve() { return 1 }`,
	'the test file read':
		'function solve(x) { const fs = require("fs"); for (const f of ["tests.json", "/work/tests.json", "test_checker.cjs"]) { try { const m = fs.readFileSync(f, "utf8").match(new RegExp("solve\\\\(" + x + "\\\\) === (\\\\d+)")); if (m) return Number(m[1]) } catch {} } }',
	'a child process that replies':
		'require("child_process").spawn(process.execPath, ["-e", "setInterval(() => { for (const fd of [1, 2, 3, 4]) try { require(\'fs\').writeSync(fd, \'{\\"value\\":true}\\\\n\') } catch {} }, 20)"], { stdio: "inherit", detached: true }).unref(); function solve() { return 1 }',
	'a program that never ends': 'for (;;);',
	'a call that never returns': 'async function solve() { await new Promise(() => {}) }',
	'a thenable that never settles': 'function solve() { return { then() {} } }',
	'undefined thrown as an error': 'function solve() { throw undefined }',
	'a __proto__ key in the value': 'function solve() { return JSON.parse(\'{"__proto__": {"9": true}}\') }',
	'no code at all': '// 9',
};
