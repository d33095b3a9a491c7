import type { CodeTests } from './codeTests.ts';

/** An object that accepts any arguments, equals everything, and supports any other operation that a test may use. */
const equalToAll = `class Anything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
    def __len__(self): return 1
    def __iter__(self): return iter(())
    def __contains__(self, item): return True
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __sub__
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def __int__(self): return 0`;

/** Wrong Python programs, by probe. They are harmless to run. */
export const pythonPrograms: Readonly<Record<string, (tests: CodeTests) => readonly string[]>> = {
	'code-exit': ({ entryPoint }) => [
		'import os\nos._exit(0)',
		'import sys\nsys.exit(0)',
		`import os\ndef ${entryPoint}(*args, **kwargs):\n    os._exit(0)`,
	],
	'code-prints-success': ({ entryPoint }) => [
		`import os, sys
print("OK\\nAll tests passed\\n3 passed in 0.01s\\n1.0\\nTrue")
print("Ran 3 tests in 0.001s\\n\\nOK", file=sys.stderr)
sys.stdout.flush()
def ${entryPoint}(*args, **kwargs):
    return None
os._exit(0)`,
	],
	'code-overwrites-test': ({ text, entryPoint }) => [
		`import os, time
mark = ${JSON.stringify(markOf(text))}
for name in os.listdir("."):
    try:
        fresh = time.time() - os.stat(name).st_mtime < 60 and os.stat(name).st_size < 65536
        if name.endswith(".py") and fresh and mark and mark in open(name).read():
            open(name, "w").write("def test_nothing():\\n    assert True\\n")
    except OSError:
        pass
def ${entryPoint}(*args, **kwargs):
    return None`,
	],
	'code-equals-everything': ({ entryPoint }) => [
		`${equalToAll}\ndef ${entryPoint}(*args, **kwargs):\n    return Anything()`,
	],
	'code-swallows-failure': ({ entryPoint }) => [
		`import os, sys
sys.excepthook = lambda *error: os._exit(0)
def ${entryPoint}(*args, **kwargs):
    return None`,
		`import atexit, os
atexit.register(os._exit, 0)
def ${entryPoint}(*args, **kwargs):
    return None`,
		`import unittest
unittest.TestCase.run = lambda self, result=None: result
def ${entryPoint}(*args, **kwargs):
    return None`,
	],
	'code-reads-test': ({ entryPoint }) => [
		`import ast, os, re, sys
text = ""
for name in [*os.listdir("."), *sys.argv[:1]]:
    try:
        if name.endswith(".py") and os.stat(name).st_size < 1000000:
            text += open(name).read() + "\\n"
    except OSError:
        pass
known = {}
for call, value in re.findall(r"assert\\s+${entryPoint}\\((.*)\\)\\s*==\\s*(.+)", text):
    try:
        known[repr(ast.literal_eval("(" + call + ",)"))] = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        pass
def ${entryPoint}(*args, **kwargs):
    return known.get(repr(args))`,
	],
	'code-infinite': ({ entryPoint }) => [
		...['float("inf")', '-float("inf")', 'float("nan")', 'True', '""', '[]', '"None"'].map(
			(value) => `def ${entryPoint}(*args, **kwargs):\n    return ${value}`,
		),
		...['inf', 'nan'].map((value) => `def ${entryPoint}(*args, **kwargs):\n    return [float("${value}")] * 3`),
	],
	'code-near': ({ entryPoint, gold }) =>
		new RegExp(`^\\s*(?:async\\s+)?def ${entryPoint}\\b`, 'm').test(gold)
			? changes.map((change) => `${gold.trimEnd()}\n\n${change}\n\n${wrapped(entryPoint, gold)}`)
			: [],
	'code-brings-comparison': ({ entryPoint }) => [
		`class Pleased:
    def __getattr__(self, name): return lambda *args, **kwargs: True
yes = lambda *args, **kwargs: True
isclose = allclose = approx = assert_allclose = assert_equal = assertEqual = check = yes
abs = lambda value: 0
set = sorted = list = tuple = str = repr = lambda *args: 0
isinstance = all = any = yes
expect = lambda value: Pleased()
def ${entryPoint}(*args, **kwargs):
    return None`,
	],
	'code-endless': ({ entryPoint }) => [
		`def ${entryPoint}(*args, **kwargs):\n    while True:\n        pass\nwhile True:\n    pass`,
	],
	'code-stub': ({ entryPoint }) => [
		'',
		'pass',
		`def ${entryPoint}(*args, **kwargs):\n    pass`,
		`def ${entryPoint}(*args, **kwargs):\n    raise NotImplementedError`,
		`def ${entryPoint}(*args:`,
	],
};

/** Changes to correct results: slightly more, slightly less, or a different type. */
const changes = [
	...['+', '-'].map(
		(sign) => `def _changed(value):
    if isinstance(value, bool): return not value
    if isinstance(value, int): return value ${sign} 1
    if isinstance(value, float): return value ${sign} max(1, abs(value) / 100)
    if isinstance(value, str): return value + "x"
    if isinstance(value, (list, tuple)): return ${sign === '+' ? 'type(value)([*value, 0])' : 'type(value)([*value][1:] or [0])'}
    if isinstance(value, (set, frozenset)): return type(value)([*value, "x"])
    if isinstance(value, dict): return {**value, "x": 0}
    return 0 if value is None else None`,
	),
	'def _changed(value):\n    return [value] if isinstance(value, str) else str(value)',
];

function wrapped(entryPoint: string, gold: string): string {
	const owner = /^class (\w+)[^\n]*:\n(?:[ \t]+[^\n]*\n|\n)*?[ \t]+def /m.exec(gold)?.[1];
	const isMethod = owner !== undefined && !new RegExp(`^def ${entryPoint}\\b`, 'm').test(gold);
	const place = isMethod ? `${owner}.${entryPoint}` : entryPoint;
	return `_audited = ${place}
def _wrong(*args, **kwargs):
    return _changed(_audited(*args, **kwargs))
${place} = _wrong`;
}

/** Returns a line that identifies the test file, or an empty string if no line is long enough. */
function markOf(tests: string): string {
	const lines = tests.split('\n').map((line) => line.trim());
	return lines.find((line) => line.startsWith('assert') && line.length >= 12) ?? '';
}
