import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { columnOn, overlay, placesOf, sharedNames } from '../../../../src/core/comparison/overlay.ts';
import { flattenRecipe, recipeDiff } from '../../../../src/core/comparison/recipeDiff.ts';
import { maxNames, maxPoints, RunCurves } from '../../../../src/core/comparison/runCurves.ts';

const line = (step: number, values: Record<string, number | null>, time = step * 10) => ({
	step,
	time,
	stage: 'grpo',
	values,
});

describe('run curves', () => {
	test('keep every row if they are short', () => {
		const curves = new RunCurves();
		curves.append([
			line(1, { reward: 0.5 }),
			line(2, { reward: null, loss: 3 }),
			line(3, { reward: 0.7, num_tokens: 90 }),
		]);
		const { step, names, values, tokens, rowsPerPoint } = curves.take(['reward', 'loss', 'nothing']);
		assert.deepEqual([[...step], names, rowsPerPoint], [[1, 2, 3], ['reward', 'loss'], 1]);
		assert.deepEqual([...(values[0] as Float64Array)], [0.5, Number.NaN, 0.7]);
		assert.deepEqual([...(values[1] as Float64Array)], [Number.NaN, 3, Number.NaN]);
		assert.deepEqual([...tokens], [Number.NaN, Number.NaN, 90]);
		assert.deepEqual([curves.hasTokens, curves.lastStep], [true, 3]);
	});

	test('average several rows per point if they are long, and use every row', () => {
		const curves = new RunCurves();
		const rows = maxPoints * 5 + 3;
		for (let step = 1; step <= rows; step++)
			curves.append([line(step, { reward: step, now: step % 100 === 0 ? 1 : null })]);
		assert.equal(curves.rowsPerPoint, 8);
		assert.ok(curves.points <= maxPoints);
		const { step, values } = curves.take(['reward', 'now']);
		assert.equal(step.at(-1), rows);
		// The first point averages steps 1 to 8.
		assert.equal(values[0]?.[0], 4.5);
		assert.equal(step[0], 8);
		const weights = Array.from(step, (end, i) => end - (step[i - 1] ?? 0));
		const sum = weights.reduce((total, rowsOf, i) => total + rowsOf * (values[0]?.[i] as number), 0);
		assert.equal(sum, (rows * (rows + 1)) / 2);
		assert.equal(values[1]?.filter((value) => value === 1).length, Math.floor(rows / 100));
	});

	test('a repeated step discards later steps, and a step reported twice becomes one row', () => {
		const curves = new RunCurves();
		curves.append([1, 2, 3, 4].map((step) => line(step, { reward: step })));
		curves.append([line(3, { reward: 30 })]);
		curves.append([line(3, { loss: 7 })]);
		const { step, values } = curves.take(['reward', 'loss']);
		assert.deepEqual([...step], [1, 2, 3]);
		assert.deepEqual([...(values[0] as Float64Array)], [1, 2, 30]);
		assert.equal(values[1]?.[2], 7);
	});

	test('limit the number of metrics', () => {
		const curves = new RunCurves();
		curves.append([line(1, Object.fromEntries(Array.from({ length: maxNames + 7 }, (_, i) => [`m${i}`, i])))]);
		assert.equal(curves.names.length, maxNames);
		assert.equal(curves.droppedNames, 7);
	});
});

describe('an overlay', () => {
	const run = (steps: number[], times: number[], tokens: number[]) => {
		const curves = new RunCurves();
		curves.append(
			steps.map((step, i) => line(step, { reward: step / 10, num_tokens: tokens[i] ?? null }, times[i] as number)),
		);
		return curves.take(['reward']);
	};
	const a = run([1, 2, 4], [100, 110, 130], [10, 20, 40]);
	const b = run([2, 3], [500, 505], []);

	test('contains every position from any run exactly once', () => {
		const steps = overlay([a, b], 'step');
		assert.deepEqual([...steps.x], [1, 2, 3, 4]);
		assert.deepEqual([...columnOn(steps, 0, a.values[0] as Float64Array)], [0.1, 0.2, Number.NaN, 0.4]);
		assert.deepEqual([...columnOn(steps, 1, b.values[0] as Float64Array)], [Number.NaN, 0.2, 0.3, Number.NaN]);
		assert.deepEqual([...overlay([a, b], 'time').x], [0, 5, 10, 30]);
	});

	test('omits rows without a position on the axis', () => {
		const tokens = overlay([a, b], 'tokens');
		assert.deepEqual([...tokens.x], [10, 20, 40]);
		assert.ok(columnOn(tokens, 1, b.values[0] as Float64Array).every(Number.isNaN));
	});

	test('a clock that was set back does not move the axis backward', () => {
		assert.deepEqual([...placesOf(run([1, 2, 3], [100, 90, 120], []), 'time')], [0, 0, 20]);
	});

	test('shared metrics occur in at least two runs', () => {
		assert.deepEqual(
			sharedNames([
				['a', 'b'],
				['b', 'c'],
				['c', 'd', 'd'],
			]),
			['b', 'c'],
		);
	});
});

describe('recipe comparison', () => {
	test('lists differences by key', () => {
		const one = { model: { layers: 2 }, stages: [{ type: 'grpo', beta: 0, betas: [0.9, 0.99] }], empty: [] };
		const two = { model: { layers: 2 }, stages: [{ type: 'grpo', beta: 0.04, betas: [0.9, 0.95] }], extra: null };
		const diff = recipeDiff([one, two, undefined]);
		assert.deepEqual(diff.changed, [
			{ key: 'stages[0].beta', values: ['0', '0.04', null] },
			{ key: 'stages[0].betas', values: ['[0.9,0.99]', '[0.9,0.95]', null] },
			{ key: 'empty', values: ['[]', null, null] },
			{ key: 'extra', values: [null, 'null', null] },
		]);
		assert.deepEqual([diff.same, diff.without, diff.cut], [2, [2], 0]);
	});

	test('detects differences anywhere in long values', () => {
		const long = 'x'.repeat(5000);
		const diff = recipeDiff([{ system: `${long}1` }, { system: `${long}2` }, { system: `${long}1` }]);
		assert.deepEqual([diff.changed.map(({ key }) => key), diff.same], [['system'], 0]);
		assert.ok(diff.changed[0]?.values.every((value) => (value?.length ?? 0) < 2100));
	});

	test('stays bounded for hostile recipes', () => {
		let deep: unknown = 1;
		for (let i = 0; i < 5000; i++) deep = { a: deep };
		assert.equal(flattenRecipe(deep).size, 1);
		const wide = flattenRecipe(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 'x'.repeat(10)])));
		assert.equal(wide.size, 5000);
		assert.deepEqual(recipeDiff([JSON.parse('{"__proto__": {"a": 1}}'), {}]).changed, [
			{ key: '__proto__.a', values: ['1', null] },
		]);
	});
});
