import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { median, summarizeRun } from '../../../src/cli/runSummary.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord } from '../runs/runFixtures.ts';

async function makeRun(context: TestContext): Promise<{ folder: string; writer: RunWriter }> {
	const folder = await mkdtemp(join(tmpdir(), 'rl-summary-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	return { folder, writer: await RunWriter.create(folder, initialRecord) };
}

const evaluation = (name: string, step: number, accuracy: number) => ({
	name,
	step,
	problems: 100,
	samples: 1,
	temperature: 1,
	accuracy,
	low: accuracy - 0.1,
	high: accuracy + 0.1,
});

const line = (step: number, time: number, stage: string, values: Record<string, number | null>) => ({
	step,
	time,
	stage,
	values,
});

test('the accuracies before and after, and the times, refer to the grpo stage', async (context) => {
	const { folder, writer } = await makeRun(context);
	await writer.writeEvaluation(4, 'heldout', [], evaluation('heldout', 4, 0.15));
	await writer.appendMetrics(line(4, 100, 'sft', { step_time: 9, loss: 1 }));
	await writer.writeEvaluation(5, 'heldout', [], evaluation('heldout', 5, 0.25));
	await writer.writeEvaluation(5, 'until', [], evaluation('until', 5, 0.5));
	await writer.appendMetrics(line(5, 110, 'sft', { step_time: 9, 'time/evaluate': 3 }));
	// Two batches with two updates and one with a single update; the first line of each has the batch metrics.
	const batch = { 'completions/mean_length': 7, reward: 0.5 };
	await writer.appendMetrics(line(6, 112, 'grpo', { ...batch, step_time: 1.5 }));
	await writer.appendMetrics(line(7, 112.6, 'grpo', { step_time: 0.5 }));
	await writer.appendMetrics(line(8, 114, 'grpo', { ...batch, step_time: 1 }));
	await writer.appendMetrics(line(9, 119.5, 'grpo', { step_time: 0.5, 'time/evaluate': 5 }));
	await writer.appendMetrics(line(10, 123.5, 'grpo', { ...batch, step_time: 4 }));
	await writer.writeEvaluation(9, 'heldout', [], evaluation('heldout', 9, 0.4));
	await writer.writeEvaluation(10, 'heldout', [], evaluation('heldout', 10, 0.75));
	await writer.close();
	assert.deepEqual(await summarizeRun(folder), {
		before: { accuracy: 0.25, low: 0.15, high: 0.35 },
		after: { accuracy: 0.75, low: 0.65, high: 0.85 },
		// 1.5 (its own time, because another stage came before) + 0.6 + 1.4 + (5.5 - 5) + 4
		trainingSeconds: 8,
		// Batches take 2, 1.5 and 4 seconds.
		stepSeconds: 2,
		updatesPerStep: 2,
		run: folder,
	});
});

test('pauses and gaps between attempts do not count as training time', async (context) => {
	const { folder, writer } = await makeRun(context);
	await writer.writeEvaluation(0, 'heldout', [], evaluation('heldout', 0, 0.1));
	await writer.appendMetrics(line(0, 99, 'grpo', { 'eval/heldout/accuracy': 0.1 }));
	await writer.appendMetrics(line(1, 100, 'grpo', { reward: 0, 'completions/mean_length': 1, step_time: 0.5 }));
	await writer.appendEvent({ type: 'paused', step: 1, time: 101 });
	await writer.appendEvent({ type: 'continued', step: 1, time: 900 });
	await writer.appendMetrics(line(2, 901, 'grpo', { reward: 0, 'completions/mean_length': 1, step_time: 0.75 }));
	await writer.writeEvaluation(2, 'heldout', [], evaluation('heldout', 2, 0.2));
	await writer.close();
	const { trainingSeconds, before } = await summarizeRun(folder);
	assert.equal(before.accuracy, 0.1);
	assert.equal(trainingSeconds, 1 + 0.75);
});

test('a run without grpo updates between two evaluations has no summary', async (context) => {
	const { folder, writer } = await makeRun(context);
	await writer.appendMetrics(line(1, 1, 'sft', { step_time: 1 }));
	await writer.writeEvaluation(1, 'heldout', [], evaluation('heldout', 1, 0.2));
	await assert.rejects(summarizeRun(folder), {
		reason: 'missing',
		message: /no held-out evaluations before and after/,
	});
	await writer.appendMetrics(line(2, 2, 'grpo', { step_time: 1 }));
	await assert.rejects(summarizeRun(folder), { reason: 'missing' });
	await writer.close();
});

test('median', () => {
	assert.equal(median([3, 1, 2]), 2);
	assert.equal(median([4, 1, 3, 2]), 2.5);
	assert.equal(median([]), 0);
});
