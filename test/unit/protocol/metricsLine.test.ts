import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { decode } from '../../../src/protocol/decode.ts';
import { decodeMetricsLine, metricsLineSchema } from '../../../src/protocol/metricsLine.ts';

const odd: readonly unknown[] = [
	1,
	-0.5,
	Number.POSITIVE_INFINITY,
	Number.NaN,
	null,
	'x',
	true,
	[],
	{},
	[1],
	{ a: 1 },
	undefined,
	'',
];
const keys = ['step', 'time', 'stage', 'reward', 'rewards/a/mean', '__proto__', 'constructor', 'é', '', '0', '17'];

test('the fast decoder accepts the same input as the schema, with the same result', () => {
	const random = Random.of('metrics lines', 1);
	const pick = <T>(values: readonly T[]): T => values[random.int(values.length)] as T;
	let taken = 0;
	for (let i = 0; i < 5000; i++) {
		const entries: [string, unknown][] = [
			['step', random.int(8) === 0 ? pick(odd) : i],
			['time', random.int(8) === 0 ? pick(odd) : 0.1 * i],
			['stage', random.int(8) === 0 ? pick(odd) : 'grpo'],
		];
		for (let n = random.int(6); n > 0; n--) entries.push([pick(keys.slice(3)), pick(odd)]);
		if (random.int(10) === 0) entries.splice(random.int(entries.length), 1);
		// As produced by JSON.parse: `__proto__` can be an own key, and there is no undefined.
		const value: unknown = JSON.parse(JSON.stringify(Object.fromEntries(entries)));
		for (const candidate of [value, Object.fromEntries(entries)]) {
			const expected = decode(metricsLineSchema, candidate);
			const actual = decodeMetricsLine(candidate);
			assert.deepEqual(actual, expected.ok ? expected.value : null, JSON.stringify(candidate));
			if (actual === null) continue;
			taken++;
			for (const [name, number] of Object.entries(actual.values)) {
				assert.ok(number === null || Number.isFinite(number), name);
				assert.notEqual(name, 'step');
			}
			assert.equal(Object.getPrototypeOf(actual.values), Object.prototype);
		}
	}
	assert.ok(taken > 2000);
	for (const value of odd) assert.equal(decodeMetricsLine(value), null);
});

test('numbers are kept, and other values are dropped', () => {
	assert.deepEqual(
		decodeMetricsLine(JSON.parse('{"step":3,"time":2.5,"stage":"sft","a":0.1,"b":null,"c":"1","d":1e400}')),
		{
			step: 3,
			time: 2.5,
			stage: 'sft',
			values: { a: 0.1, b: null },
		},
	);
});
