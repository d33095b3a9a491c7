import assert from 'node:assert/strict';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openRun } from '../../../../src/runs/openRun.ts';
import { zipFile } from '../../../support/zipFile.ts';
import { fixtureFolder } from './foreignFixtures.ts';
import { type Files, writeFiles } from './madeRun.ts';

/** Creates a run whose files were written some seconds ago; returns its status and the note that it stalled, if any. */
async function stateOf(files: Files, writtenAgo: number): Promise<{ status: string; stalled: string | null }> {
	const folder = await mkdtemp(join(tmpdir(), 'state-'));
	try {
		await writeFiles(folder, files);
		const time = Date.now() / 1000 - writtenAgo;
		for (const name of Object.keys(files)) await utimes(join(folder, name), time, time);
		const { status, foreign } = await (await openRun(folder)).record();
		return { status, stalled: foreign?.notes.find((note) => note.includes('has stopped writing')) ?? null };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

const meta = (status: number, more = '') =>
	`run_id: 57332e2ae5e0459e9649ea4c4f59ee6d\nrun_name: only\nstart_time: 1795719933484\nstatus: ${status}\n${more}`;
/** A metric with a row every ten seconds, the last one some seconds ago. */
const metric = (ago: number) =>
	[1, 2, 3, 4].map((step) => `${Math.round(Date.now() - 1000 * (ago + 10 * (4 - step)))} 0.5 ${step}\n`).join('');
const mlflow = (status: number, ago: number) =>
	stateOf({ 'meta.yaml': meta(status), 'metrics/loss': metric(ago) }, ago);
const inspect = (status: string) => ({
	version: 2,
	status,
	eval: { task: 'add', model: 'm' },
	samples: [{ id: 1, epoch: 1, messages: [{ role: 'user', content: 'q' }] }],
});

describe('states of other programs’ runs', () => {
	it('follow the status that MLflow records', async () => {
		assert.equal((await mlflow(3, 1)).status, 'finished');
		assert.equal((await mlflow(4, 1)).status, 'crashed');
		assert.equal((await mlflow(5, 1)).status, 'stopped');
	});

	it('do not use the end of an earlier part of a run that was resumed', async () => {
		const ended = `end_time: ${Date.now() - 3_600_000}\n`;
		const files = { 'meta.yaml': meta(1, ended), 'metrics/loss': metric(1) };
		assert.deepEqual(await stateOf(files, 1), { status: 'running', stalled: null });
		assert.equal((await stateOf({ ...files, 'meta.yaml': meta(3, ended) }, 1)).status, 'finished');
		const folder = await mkdtemp(join(tmpdir(), 'state-'));
		try {
			await writeFiles(folder, files);
			const { updated } = await (await openRun(folder)).record();
			assert.ok(Date.now() / 1000 - updated < 600, `${updated}`);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});

	it('become stalled after six steps without an update, unless the run has ended', async () => {
		assert.deepEqual(await mlflow(1, 50), { status: 'running', stalled: null });
		assert.deepEqual(await mlflow(1, 70), {
			status: 'stopped',
			stalled: 'The run has stopped writing, but its files do not show that it has ended.',
		});
	});

	it('of TRL show whether the last step was reached', async () => {
		const state = (step: number) => ({
			global_step: step,
			max_steps: 25,
			log_history: [1, 2].map((logged) => ({ step: logged * 10, loss: 1 })),
		});
		assert.equal((await stateOf({ 'trainer_state.json': state(25) }, 5)).status, 'finished');
		assert.deepEqual(await stateOf({ 'checkpoint-20/trainer_state.json': state(20) }, 3600), {
			status: 'stopped',
			stalled: 'The run has stopped writing at step 20 of 25, but its files do not show that it has ended.',
		});
	});

	it('of Inspect follow its status, unless it only recorded the start', async () => {
		for (const [status, state] of [
			['success', 'finished'],
			['error', 'crashed'],
			['cancelled', 'stopped'],
		] as const) {
			assert.equal((await stateOf({ 'a.json': inspect(status) }, 1)).status, state);
		}
		const start = { name: '_journal/start.json', text: JSON.stringify({ eval: { task: 'add' } }) };
		const open = { 'a.eval': zipFile([start]) };
		assert.equal((await stateOf(open, 60)).status, 'running');
		assert.equal((await stateOf(open, 700)).status, 'stopped');
	});

	it('end at the time that the program recorded, not when the files were copied', async () => {
		for (const [name, created, updated] of [
			['inspect', '2026-11-23T09:09:37.000Z', '2026-11-23T09:42:30.000Z'],
			['inspect-tools', '2026-11-26T05:14:59.000Z', '2026-11-26T05:15:07.000Z'],
			['lm-eval', '2026-11-26T05:23:39.179Z', '2026-11-26T05:23:44.601Z'],
			['mlflow', '2026-11-26T05:37:16.138Z', '2026-11-26T05:37:16.514Z'],
			['mlflow run', '2026-11-26T19:26:00.593Z', '2026-11-26T19:26:00.611Z'],
		] as const) {
			const record = await (await openRun(fixtureFolder(name))).record();
			const times = [record.created, record.updated].map((time) => new Date(1000 * time).toISOString());
			assert.deepEqual([record.status, ...times], ['finished', created, updated], name);
		}
	});

	it('of a W&B run that ended are known', async () => {
		assert.equal((await (await openRun(fixtureFolder('wandb'))).record()).status, 'finished');
	});
});
