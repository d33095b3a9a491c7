import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CutValue, JsonCutter } from '../../../src/files/jsonCutter.ts';

const fields = {
	name: { into: 'value', bytes: 1000 },
	list: { into: 'entries', bytes: 1000 },
	table: { into: 'entries', bytes: 1000 },
	short: { into: 'entries', bytes: 5 },
} as const;

function cut(text: string, chunk: number): { values: (Omit<CutValue, 'bytes'> & { text: string })[]; ended: boolean } {
	const values: (Omit<CutValue, 'bytes'> & { text: string })[] = [];
	const cutter = new JsonCutter(fields, ({ bytes, ...value }) =>
		values.push({ ...value, text: bytes.toString('utf8') }),
	);
	const all = Buffer.from(text);
	for (let at = 0; at < all.length; at += chunk) cutter.push(all.subarray(at, at + chunk));
	return { values, ended: cutter.ended };
}

const value = {
	skipped: { list: [1, 2], name: 'inner', deep: [[{ a: '}]' }]] },
	name: 'a "quoted" \\ name with é and [ brackets',
	list: [1, 'two, "2" \\', null, { list: [3], name: '\\' }, [[]], -0.5, '', true],
	none: [],
	table: { a: 1, 'b\\"': 'B', c: { table: { d: 'e' } }, '': [] },
	short: ['abc', 'abcd', 12345, 123456],
	last: { name: 'x' },
};

test('fields are cut out of an object, however it is chunked and formatted', () => {
	for (const indent of [0, 2]) {
		const text = ` ${JSON.stringify(value, null, indent)}\n`;
		const bytes = Buffer.from(text);
		for (const chunk of [1, 2, 3, 7, 64, 10_000]) {
			const { values, ended } = cut(text, chunk);
			assert.ok(ended);
			const parsed = (field: string) =>
				values.filter((one) => one.field === field).map((one) => JSON.parse(one.text) as unknown);
			assert.deepEqual(parsed('name'), [value.name]);
			assert.deepEqual(parsed('list'), value.list);
			assert.deepEqual(parsed('table'), Object.values(value.table));
			const keys = values.filter(({ field }) => field === 'table').map(({ key }) => JSON.parse(`"${key}"`) as string);
			assert.deepEqual(keys, Object.keys(value.table));
			const short = values.filter(({ field }) => field === 'short');
			assert.deepEqual(
				short.map(({ text: part, whole }) => [part, whole]),
				[
					['"abc"', true],
					['"abcd', false],
					['12345', true],
					['12345', false],
				],
			);
			for (const { start, end, text: part, whole } of values) {
				if (whole) assert.equal(bytes.toString('utf8', start, end), part);
			}
		}
	}
});

test('values other than objects are rejected, and incomplete ones are not complete', () => {
	for (const text of ['[1]', '"a"', ' 1', 'null']) assert.throws(() => cut(text, 10), /not an object/);
	const { values, ended } = cut('{"list": [1, {"a": 2}, {"b": ', 4);
	assert.ok(!ended);
	assert.deepEqual(
		values.map(({ text }) => text),
		['1', '{"a": 2}'],
	);
	assert.deepEqual(
		cut('{"list": {}, "table": [], "name": 5}', 3).values.map(({ field, text }) => [field, text]),
		[['name', '5']],
	);
	assert.throws(() => cut(`{"a":${'['.repeat(1 << 21)}`, 1 << 22), /nested more than/);
});
