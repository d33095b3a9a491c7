import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiteralFault, LiteralReader } from '../../../../src/core/transcript/pythonReader.ts';
import { PythonCall } from '../../../../src/core/transcript/pythonValue.ts';

const read = (text: string) => new LiteralReader(text).value();
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
const fault = (text: string) => {
	try {
		read(text);
	} catch (error) {
		assert.ok(error instanceof LiteralFault, String(error));
		return { message: error.message, offset: error.offset };
	}
	return assert.fail(`${text} was read`);
};

test('reads constants, numbers and containers', () => {
	assert.deepEqual(plain(read("{'a': None, 'b': [True, False], 3: (1,), 'c': {1, 2}, None: -0x1F}")), {
		'3': [1],
		a: null,
		b: [true, false],
		c: [1, 2],
		None: -31,
	});
	assert.deepEqual(read('[1_000, .5, 1e3, -2.5E-1, 0b101, 0o17, +3]'), [1000, 0.5, 1000, -0.25, 5, 15, 3]);
	assert.deepEqual(read('[inf, -inf, (7), ()]'), [Infinity, -Infinity, 7, []]);
	assert.ok(Number.isNaN(read('nan')));
	assert.deepEqual(read('[ # a comment\n1, \\\n2, ]'), [1, 2]);
});

test('reads strings as written by repr and json', () => {
	assert.equal(read(String.raw`'it\'s "so" \n\t\\ \x41\u00e9\U0001F600 \101 \q'`), 'it\'s "so" \n\t\\ Aé😀 A \\q');
	assert.equal(read(String.raw`r'\n' "b" u'c'`), '\\nbc');
	assert.equal(read("'''two\nlines 'quoted' '''"), "two\nlines 'quoted' ");
	assert.equal(read(String.raw`b'\xff'`), 'ÿ');
	assert.equal(new LiteralReader(String.raw`"\ud83d\ude00 \/"`, 0, { dialect: 'json' }).value(), '😀 /');
});

test('calls keep their name and arguments and are not executed', () => {
	const call = read("a.B(1, 'x', content='y', more={'k': C()})") as PythonCall;
	assert.ok(call instanceof PythonCall);
	assert.deepEqual([call.name, call.positional, call.named.content], ['a.B', [1, 'x'], 'y']);
	assert.equal(read("<Role.USER: 'user'>"), "<Role.USER: 'user'>");
});

test('prototype property names are ordinary keys', () => {
	const table = read("{'__proto__': {'polluted': 1}, 'constructor': 2}") as Record<string, unknown>;
	assert.deepEqual(Object.keys(table), ['__proto__', 'constructor']);
	assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('non-literals are errors at their position', () => {
	assert.deepEqual(fault('[1, x]'), { message: 'Unexpected name x, expected a value', offset: 4 });
	assert.deepEqual(fault('[1 2]'), { message: 'Unexpected "2", expected "," or "]"', offset: 3 });
	assert.deepEqual(fault("{'a': 1"), { message: 'Unexpected end of text, expected "}"', offset: 7 });
	assert.deepEqual(fault("['a\nb']"), { message: 'Unterminated string on this line', offset: 1 });
	assert.deepEqual(fault("'abc"), { message: 'Unterminated string', offset: 0 });
	assert.deepEqual(fault(String.raw`'\x4'`), { message: '"\\x" must be followed by 2 digits', offset: 1 });
	assert.deepEqual(fault('1 + 1'.replace('1 ', '[1 ')), { message: 'Unexpected "+", expected "," or "]"', offset: 3 });
	assert.deepEqual(fault('[x for x in y]'), { message: 'Unexpected name x, expected a value', offset: 1 });
	assert.deepEqual(fault('f"{1}"'), { message: 'Unexpected name f, expected a value', offset: 0 });
	assert.deepEqual(fault('lambda: 0'), { message: 'Unexpected name lambda, expected a value', offset: 0 });
	assert.deepEqual(fault('12abc'), { message: 'Invalid number', offset: 0 });
	assert.deepEqual(fault('{1, 2: 3}'), { message: 'Unexpected key in a set', offset: 4 });
	assert.equal(fault('').message, 'Unexpected end of text, expected a value');
});

test('depth and number of values are limited', () => {
	assert.match(fault('['.repeat(100_000)).message, /Nested more than 200 levels deep/);
	assert.match(fault('f('.repeat(100_000)).message, /Nested more than 200 levels deep/);
	const few = new LiteralReader('[1, 2, 3, 4]', 0, { limits: { depth: 10, values: 3 } });
	assert.throws(() => few.value(), /More than 3 values/);
});

test('a truncated list returns its complete elements', () => {
	const values: unknown[] = [];
	const broken = new LiteralReader("['a', 'b', 'c").list((value) => values.push(value) > 0);
	assert.deepEqual(values, ['a', 'b']);
	assert.equal(broken?.offset, 11);
});

test('random literals are read as written', () => {
	let state = 7;
	const next = (below: number) => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	const letters = ['a', "'", '"', '\\', '\n', 'é', '😀', '\u202e', '\0', ' ', '[', '}'];
	const repr = (value: unknown): string => {
		if (value === null) return 'None';
		if (value === true) return 'True';
		if (value === false) return 'False';
		if (typeof value === 'string') {
			const body = value
				.replaceAll('\\', '\\\\')
				.replaceAll("'", "\\'")
				.replaceAll('\n', '\\n')
				.replaceAll('\0', '\\x00');
			return `'${body}'`;
		}
		if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
		if (typeof value === 'object') {
			return `{${Object.entries(value as object)
				.map(([key, inner]) => `${repr(key)}: ${repr(inner)}`)
				.join(', ')}}`;
		}
		return String(value);
	};
	const make = (depth: number): unknown => {
		switch (next(depth > 4 ? 4 : 6)) {
			case 0:
				return [null, true, false][next(3)];
			case 1:
				return next(2) === 0 ? next(1000) - 500 : next(1000) / 8;
			case 2:
			case 3:
				return Array.from({ length: next(8) }, () => letters[next(letters.length)]).join('');
			case 4:
				return Array.from({ length: next(4) }, () => make(depth + 1));
			default:
				return Object.fromEntries(
					Array.from({ length: next(4) }, (_, i) => [`k${i}${letters[next(9)]}`, make(depth + 1)]),
				);
		}
	};
	for (let i = 0; i < 500; i++) {
		const value = make(0);
		assert.deepEqual(plain(read(repr(value))), plain(value), repr(value));
	}
});

test('mutated text results in a value or an error, and nothing else', () => {
	const text = `[AIMessage(content='a\\n"b"', kwargs={'x': [1, 2.5, None], 'y': ("z",)}), <A: 1>, {'s', 't'}]`;
	let state = 11;
	const next = (below: number) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	let values = 0;
	for (let i = 0; i < 5000; i++) {
		const at = next(text.length);
		const mutated = text.slice(0, at) + '[]{}()\'"\\,:=<>#\n0aé'[next(20)] + text.slice(at + next(3));
		try {
			read(mutated);
			values++;
		} catch (error) {
			assert.ok(error instanceof LiteralFault, `${mutated}: ${error}`);
			assert.ok(error.offset >= 0 && error.offset <= mutated.length);
		}
	}
	assert.ok(values > 100 && values < 4900, `${values}`);
});
