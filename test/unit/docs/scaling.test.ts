import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
	type Device,
	decodeRate,
	forwardFlops,
	keyValueBytes,
	knownDevices,
	knownModels,
	type ModelShape,
	stepCost,
	type Workload,
} from '../../scripts/scaling/costModel.ts';
import { scalingTable } from '../../scripts/scaling/scalingTable.ts';

const model = (name: string) => knownModels.find((each) => each.name === name) as ModelShape;
const device = (name: string) => knownDevices.find((each) => each.name === name) as Device;
const work: Workload = {
	prompts: 64,
	group: 8,
	promptTokens: 200,
	completionTokens: 800,
	scoringPasses: 1,
	checkpointing: true,
};
const near = (actual: number, expected: number) =>
	assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual} is not ${expected}`);

test('formulas match hand-computed values', () => {
	// 2 x 28 layers x 4 heads x 128 x 2 bytes
	assert.equal(keyValueBytes(model('7B')), 57_344);
	near(forwardFlops(model('7B'), 1000), 2 * 7.62e9 + 4 * 28 * 3584 * 1000);
	// One row: each token reads the weights once, 15.24 GB at 60% of 3.35 TB/s, and 57 kB of keys and values.
	near(decodeRate(model('7B'), device('H100 80 GB'), 1, 1), (3.35e12 * 0.6) / (15.24e9 + 57_344));
	const one = stepCost(model('7B'), device('H200'), 8, work);
	const tokens = 512 * 1000;
	near(one.update, (4 * tokens * forwardFlops(model('7B'), 1000)) / (8 * 989e12 * 0.35));
	near(one.score * 4, one.update);
	near(one.total, one.generate + one.score + one.update + one.communicate);
	near(one.trained * one.total, 512 * 800);
});

test('scales correctly with every resource', () => {
	const h200 = device('H200');
	const rates = [1, 8, 64, 512].map((rows) => decodeRate(model('7B'), h200, rows, 600));
	for (let i = 1; i < rates.length; i++) assert.ok((rates[i] as number) > (rates[i - 1] as number));
	// Many rows share each read of the weights, so twice as many devices are less than twice as fast.
	const [four, eight] = [4, 8].map((devices) => stepCost(model('7B'), h200, devices, work).generate);
	assert.ok((four as number) / (eight as number) < 2);
	assert.equal(stepCost(model('7B'), h200, 1, work).communicate, 0);
	assert.ok(stepCost(model('32B'), h200, 8, work).memory > 8 * 9e9);
});

test('the table in docs/scaling.md matches the model', async () => {
	const text = await readFile(join(import.meta.dirname, '../../../docs/scaling.md'), 'utf8');
	assert.ok(text.includes(scalingTable()), `the table is\n${scalingTable()}`);
});
