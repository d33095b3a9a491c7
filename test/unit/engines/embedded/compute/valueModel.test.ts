import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { causalMask } from '../../../../../src/engines/embedded/compute/causalMask.ts';
import { createLearner } from '../../../../../src/engines/embedded/createLearner.ts';
import type { Learner, ValueRow } from '../../../../../src/engines/embedded/learner.ts';
import {
	elementCount,
	initialParameters,
	initialValueParameters,
	valueParameterSpecs,
} from '../../../../../src/engines/embedded/model/parameters.ts';
import { gradientName, valueGradientProgram } from '../../../../../src/engines/embedded/model/programs.ts';
import { adam, differenceError, distance, type Feed, Program, somePlaces, tinyShape } from '../computeHarness.ts';

const specs = valueParameterSpecs(tinyShape);

function parameterFeeds(flat: readonly number[]): Record<string, Feed> {
	let offset = 0;
	return Object.fromEntries(
		specs.map(({ name, shape }) => {
			const start = offset;
			offset += elementCount(shape);
			return [name, { shape, values: flat.slice(start, offset) }];
		}),
	);
}

test('gradient of the value loss matches central differences in double precision', async () => {
	const random = Random.of('value gradients', 1);
	const [rows, tokens] = [3, 5];
	const initial = initialValueParameters(tinyShape, initialParameters(tinyShape, 3));
	const flat = Array.from(initial, (x) => x + 0.3 * random.normal());
	const inputs: Record<string, Feed> = {
		tokens: {
			shape: [rows, tokens],
			values: Array.from({ length: rows * tokens }, () => random.int(tinyShape.vocabulary)),
			type: 'int32',
		},
		surprises: { shape: [rows, tokens, 1], values: Array.from({ length: rows * tokens }, () => 3 * random.next()) },
		mask: { shape: [tokens, tokens], values: Array.from(causalMask(tokens)) },
		// Binary outcomes and fractions, like hard and soft labels; positions with zero weight have arbitrary labels.
		labels: {
			shape: [rows, tokens],
			values: Array.from({ length: rows * tokens }, (_, i) => [0, 1, 0.25, 0.8][i % 4] ?? 0),
		},
		weights: {
			shape: [rows, tokens],
			values: Array.from({ length: rows * tokens }, (_, i) => (i % 5 === 0 ? 0 : 0.1)),
		},
	};
	const program = await Program.compile(valueGradientProgram(tinyShape, 'float64'));
	const result = await program.run({ ...parameterFeeds(flat), ...inputs });
	const gradient = specs.flatMap((spec) => result[gradientName(spec.name)] as number[]);
	assert.equal(gradient.length, flat.length);
	let expected = 0;
	for (const [i, p] of (result.values as number[]).entries()) {
		const [y, w] = [inputs.labels?.values[i] as number, inputs.weights?.values[i] as number];
		expected -= w * (y * Math.log(p) + (1 - y) * Math.log(1 - p));
	}
	assert.ok(Math.abs((result.loss?.[0] as number) - expected) < 1e-10, `${result.loss?.[0]} is not ${expected}`);
	const loss = async (changed: readonly number[]) =>
		(await program.run({ ...parameterFeeds(changed), ...inputs })).loss?.[0] as number;
	let offset = 0;
	const places = specs.flatMap((spec) => {
		const size = elementCount(spec.shape);
		const some = somePlaces(size, 3, random).map((i) => offset + i);
		offset += size;
		return some;
	});
	const error = await differenceError(flat, gradient, places, loss);
	assert.ok(error < 1e-5, `relative error ${error}`);
	assert.ok(gradient.some((x) => Math.abs(x) > 1e-3));
	const single = await Program.compile(valueGradientProgram(tinyShape));
	const rounded = await single.run({ ...parameterFeeds(flat), ...inputs });
	const largest = gradient.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
	const singles = specs.flatMap((spec) => rounded[gradientName(spec.name)] as number[]);
	assert.ok(distance(singles, gradient) < 1e-5 * largest);
});

const learners: Learner[] = [];
after(() => Promise.all(learners.map((learner) => learner.dispose())));

async function learner(workers: number): Promise<Learner> {
	const made = await createLearner({
		shape: tinyShape,
		seed: 1,
		device: 'cpu',
		workers,
		sampleRows: 5,
		trainRows: 3,
	});
	learners.push(made);
	return made;
}

/**
 * Builds rows whose text is correct if its last token is 4, so the outcome is unknown after the prompt and certain at
 * the end.
 */
function rowsOf(step: number): ValueRow[] {
	const random = Random.of('value rows', step);
	return Array.from({ length: 16 }, () => {
		const length = 1 + random.int(4);
		const tokens = [1, 2, ...Array.from({ length }, () => 3 + random.int(2))];
		const label = tokens.at(-1) === 4 ? 1 : 0;
		const labels = new Float32Array(length + 1).fill(label);
		const weights = new Float32Array(length + 1);
		weights[length] = 1 / 16;
		return { tokens, promptLength: 2, labels, weights };
	});
}

test('a new head starts from the policy trunk and predicts 0.5, learns, and leaves the policy unchanged', async () => {
	const policy = await learner(2);
	const before = (await policy.state()).parameters;
	assert.deepEqual(policy.heads, []);
	await assert.rejects(policy.values(rowsOf(0), 'value'), { reason: 'missing' });
	await policy.addHead('value');
	assert.deepEqual(policy.heads, ['value']);
	const first = await policy.values(rowsOf(0), 'value');
	assert.deepEqual(
		first.map((values) => [...values]),
		rowsOf(0).map(({ labels }) => [...labels].map(() => 0.5)),
	);
	let loss = 0;
	for (let step = 0; step < 40; step++) ({ loss } = await policy.updateHead('value', rowsOf(step), adam));
	assert.ok(loss < 0.2, `loss ${loss}`);
	const values = await policy.values(rowsOf(100), 'value');
	for (const [i, { labels }] of rowsOf(100).entries()) {
		assert.equal(Math.round(values[i]?.at(-1) as number), labels.at(-1));
	}
	assert.deepEqual((await policy.state()).parameters, before);
	assert.equal((await policy.headState('value')).updates, 40);
});

test('head updates are bit-identical with 1, 2 and 3 workers, and after a restore', async () => {
	const outcomes: unknown[] = [];
	for (const workers of [1, 2, 3]) {
		const policy = await learner(workers);
		await policy.addHead('process');
		const results: unknown[] = [];
		for (let step = 0; step < 4; step++) {
			if (step === 2) {
				const state = await policy.headState('process');
				await policy.updateHead('process', rowsOf(9), adam);
				await policy.restoreHead('process', state);
			}
			results.push(await policy.updateHead('process', rowsOf(step), adam));
		}
		outcomes.push({
			results,
			state: await policy.headState('process'),
			values: await policy.values(rowsOf(7), 'process'),
		});
	}
	assert.deepEqual(outcomes[1], outcomes[0]);
	assert.deepEqual(outcomes[2], outcomes[0]);
});
