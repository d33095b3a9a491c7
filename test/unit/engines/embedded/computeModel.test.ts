import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLearner } from '../../../../src/engines/embedded/createLearner.ts';
import { elementCount, initialParameters, parameterSpecs } from '../../../../src/engines/embedded/model/parameters.ts';
import type { ModelShape } from '../../../../src/engines/shared/modelShape.ts';
import { tinyShape } from './computeHarness.ts';

/**
 * Reference transformer computed element by element in double precision from the published formulas: RMSNorm (Zhang and
 * Sennrich 2019, eq. 4), scaled dot-product attention (Vaswani 2017, eq. 1), SiLU (Elfwing 2017, eq. 4), pre-norm
 * blocks.
 */

type Matrix = number[][];

const multiply = (a: Matrix, b: Matrix): Matrix =>
	a.map((row) => (b[0] as number[]).map((_, j) => row.reduce((n, x, k) => n + x * (b[k]?.[j] as number), 0)));
const add = (a: Matrix, b: Matrix): Matrix => a.map((row, i) => row.map((x, j) => x + (b[i]?.[j] as number)));
const rmsNorm = (x: Matrix, weight: number[]): Matrix =>
	x.map((row) => {
		const root = Math.sqrt(row.reduce((n, value) => n + value * value, 0) / row.length + 1e-5);
		return row.map((value, j) => (value / root) * (weight[j] as number));
	});
const softmax = (row: number[]): number[] => {
	const weights = row.map((x) => Math.exp(x - Math.max(...row)));
	const sum = weights.reduce((n, w) => n + w, 0);
	return weights.map((w) => w / sum);
};

function attention(x: Matrix, qkv: Matrix, heads: number): Matrix {
	const all = multiply(x, qkv);
	const width = x[0]?.length as number;
	const size = width / heads;
	return all.map((row, t) => {
		const read: number[] = [];
		for (let h = 0; h < heads; h++) {
			const part = (line: number[], kind: number) => line.slice(kind * width + h * size, kind * width + (h + 1) * size);
			const query = part(row, 0);
			const seen = all.slice(0, t + 1);
			const scores = seen.map(
				(other) => part(other, 1).reduce((n, k, i) => n + k * (query[i] as number), 0) / Math.sqrt(size),
			);
			const weights = softmax(scores);
			for (let i = 0; i < size; i++) {
				read.push(seen.reduce((n, other, s) => n + (weights[s] as number) * (part(other, 2)[i] as number), 0));
			}
		}
		return read;
	});
}

/** Computes the log-probability of each token after the first. */
function logprobs(shape: ModelShape, flat: Float32Array, tokens: readonly number[], temperature: number): number[] {
	const parameters = new Map<string, Matrix>();
	let offset = 0;
	for (const { name, shape: size } of parameterSpecs(shape)) {
		const columns = size.at(-1) as number;
		const rows = elementCount(size) / columns;
		parameters.set(
			name,
			Array.from({ length: rows }, (_, r) => [...flat.slice(offset + r * columns, offset + (r + 1) * columns)]),
		);
		offset += rows * columns;
	}
	const get = (name: string) => parameters.get(name) as Matrix;
	const vector = (name: string) => get(name)[0] as number[];
	let x: Matrix = tokens
		.slice(0, -1)
		.map((token, t) =>
			(get('embedding.tokens')[token] as number[]).map((e, j) => e + (get('embedding.positions')[t]?.[j] as number)),
		);
	for (let layer = 0; layer < shape.layers; layer++) {
		const block = `blocks.${layer}`;
		const normed = rmsNorm(x, vector(`${block}.attention.norm`));
		const read = attention(normed, get(`${block}.attention.qkv`), shape.heads);
		x = add(x, multiply(read, get(`${block}.attention.output`)));
		const up = multiply(rmsNorm(x, vector(`${block}.feed_forward.norm`)), get(`${block}.feed_forward.up`));
		const active = up.map((row) => row.map((z) => z / (1 + Math.exp(-z))));
		x = add(x, multiply(active, get(`${block}.feed_forward.down`)));
	}
	const logits = multiply(rmsNorm(x, vector('norm')), get('head'));
	return logits.map((row, t) => {
		const probabilities = softmax(row.map((z) => z / temperature));
		return Math.log(probabilities[tokens[t + 1] as number] as number);
	});
}

const parameters = initialParameters(tinyShape, 4).map((p, i) => p + 0.3 * Math.sin(i));
const policy = await createLearner({
	shape: tinyShape,
	parameters,
	device: 'cpu',
	workers: 1,
	sampleRows: 4,
	trainRows: 4,
});
after(() => policy.dispose());

test('log-probabilities match the formulas', async () => {
	const rows = [
		[1, 3, 4, 5, 2],
		[1, 6, 6, 3, 0, 4, 5, 3, 2],
		[1, 2],
	].map((tokens) => ({ tokens, promptLength: 1 }));
	for (const temperature of [1, 0.6]) {
		const computed = await policy.logprobs(rows, 'policy', temperature);
		rows.forEach(({ tokens }, i) => {
			logprobs(tinyShape, parameters, tokens, temperature).forEach((expected, t) => {
				assert.ok(Math.abs((computed[i]?.[t] as number) - expected) < 1e-5);
			});
		});
	}
});
