import assert from 'node:assert/strict';
import { appendFile, cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';
import { followRun } from '../../../../src/runs/followRun.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { zstdFile } from '../../../support/zstdFile.ts';
import { type FixtureName, fixtureFolder, readAll } from './foreignFixtures.ts';
import { type Files, writeFiles } from './madeRun.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Follows a run; `told` contains the events since the last reset. */
async function followed(files: Files | FixtureName) {
	const folder = await mkdtemp(join(tmpdir(), 'followed-'));
	cleanups.push(() => rm(folder, { recursive: true, force: true }));
	if (typeof files === 'string') await cp(fixtureFolder(files), folder, { recursive: true });
	else await writeFiles(folder, files);
	const follower = followRun(folder, { pollMs: 3_600_000 });
	cleanups.push(() => follower.dispose());
	const metrics = new Map<number, MetricsLine>();
	const reported = { resets: 0, steps: [] as number[], errors: [] as string[], metrics };
	follower.onEvent((event) => {
		if (event.kind === 'reset') {
			reported.resets++;
			reported.steps = [];
			metrics.clear();
		} else if (event.kind === 'rollouts') reported.steps.push(...event.steps);
		else if (event.kind === 'metrics') for (const line of event.lines) metrics.set(line.step, line);
		else if (event.kind === 'error') reported.errors.push(event.failure.message);
	});
	const look = async () => {
		reported.steps = [];
		await follower.refresh();
		return reported;
	};
	await look();
	return { folder, reported, look, at: (path: string) => join(folder, path) };
}

const verlRow = (fields: object) => ({ input: 'p', output: 'o', gts: '1', score: 1, step: 1, ...fields });
const logged = (step: number, score: number) => ({ step, data: { 'critic/score/mean': score } });
const text = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const rewardsOf = async (folder: string) =>
	(await readAll(await openRun(folder))).rollouts.map(({ line }) => line.reward);

describe('following an external run', () => {
	it('lines: reports appended lines, and a partial line only once it is complete', async () => {
		const run = await followed({ 'rollouts/1.jsonl': [verlRow({})], 'metrics/a.jsonl': [logged(1, 0.5)] });
		assert.deepEqual([...run.reported.metrics.keys()], [1]);
		const half = text([logged(2, 0.75)]);
		await appendFile(run.at('metrics/a.jsonl'), half.slice(0, 20));
		assert.deepEqual([...(await run.look()).metrics.keys()], [1]);
		await appendFile(run.at('metrics/a.jsonl'), half.slice(20));
		await appendFile(run.at('rollouts/1.jsonl'), text([verlRow({ score: 0 })]));
		const { metrics, steps, resets } = await run.look();
		assert.equal(metrics.get(2)?.values.reward, 0.75);
		assert.deepEqual(steps, [1]);
		assert.equal(resets, 0);
		assert.deepEqual(await rewardsOf(run.folder), [1, 0]);
		await writeFiles(run.folder, { 'rollouts/2.jsonl': [verlRow({ step: 2 })] });
		assert.deepEqual((await run.look()).steps, [2]);
	});

	it('lines: starts over when a restart truncates a file', async () => {
		const run = await followed({
			'rollouts/1.jsonl': [verlRow({})],
			'metrics/a.jsonl': [logged(1, 0.5), logged(2, 0.6), logged(3, 0.7)],
		});
		await writeFile(run.at('metrics/a.jsonl'), text([logged(1, 0.25)]));
		const { metrics, resets } = await run.look();
		assert.deepEqual(
			[...metrics].map(([step, { values }]) => [step, values.reward]),
			[[1, 0.25]],
		);
		assert.equal(resets, 1);
		await writeFile(run.at('rollouts/1.jsonl'), '');
		assert.equal((await run.look()).resets, 2);
		assert.deepEqual(await rewardsOf(run.folder), []);
	});

	it('lines: reads rows of several steps in one file as they arrive', async () => {
		const episode = (step: number, score: number) => ({
			id: `${step}-${score}`,
			group: { id: `${step}` },
			run: { work: { type: 'train', step } },
			traces: [{ id: `t${step}-${score}`, nodes: [], rewards: { right: { score, weight: 1 } } }],
		});
		const stream = 'monitors/file/traces/stream.jsonl';
		const run = await followed({ [stream]: [episode(1, 0)] });
		await appendFile(run.at(stream), text([episode(2, 1), episode(1, 0.5)]));
		assert.deepEqual((await run.look()).steps, [1, 2]);
		const { rollouts } = await readAll(await openRun(run.folder));
		assert.deepEqual(
			rollouts.map(({ line }) => [line.step, line.reward]),
			[
				[1, 0],
				[1, 0.5],
				[2, 1],
			],
		);
	});

	it('lines: reports a step again when the trained subset adds its advantages', async () => {
		const effective = 'rollouts/step_3/train/effective/traces.jsonl';
		const run = await followed('prime-rl');
		const whole = await readFile(run.at(effective));
		await rm(run.at(effective));
		await run.look();
		const advantages = async () =>
			(await readAll(await openRun(run.folder))).rollouts.filter(
				({ line }) => line.step === 3 && line.advantage !== null,
			).length;
		assert.equal(await advantages(), 0);
		await writeFile(run.at(effective), whole);
		assert.ok((await run.look()).steps.includes(3));
		assert.equal(await advantages(), 8);
	});

	const episode = (reward: number) => ({
		episode_id: `a:${reward}`,
		task: { question: 'q' },
		trajectories: [{ name: 'solver', reward, steps: [] }],
	});
	it('JSON files: reports new and rewritten episodes', async () => {
		const folder = 'episodes/train_step_1_epoch_0';
		const run = await followed({ [`${folder}/episode_a.json`]: episode(0) });
		await writeFiles(run.folder, { [`${folder}/episode_b.json`]: episode(1) });
		assert.deepEqual((await run.look()).steps, [1]);
		assert.deepEqual(await rewardsOf(run.folder), [0, 1]);
		await writeFiles(run.folder, { [`${folder}/episode_a.json`]: episode(0.5) });
		await run.look();
		assert.ok(run.reported.steps.includes(1));
		assert.deepEqual(await rewardsOf(run.folder), [0.5, 1]);
	});

	const groups = (reward: number) =>
		`- metadata: {}\n  trajectories:\n  - messages_and_choices:\n    - content: q\n      role: user\n    reward: ${reward}\n`;
	it('YAML: reports new and rewritten files', async () => {
		const run = await followed({ 'trajectories/train/0001.yaml': groups(1) });
		await writeFiles(run.folder, { 'trajectories/train/0002.yaml': groups(0) });
		assert.deepEqual((await run.look()).steps, [2]);
		await writeFiles(run.folder, { 'trajectories/train/0002.yaml': `${groups(0.5)}${groups(0.25).replace('1', '2')}` });
		assert.deepEqual((await run.look()).steps, [2]);
		assert.deepEqual(await rewardsOf(run.folder), [1, 0.5, 0.25]);
	});

	it('Parquet: reports new and replaced files', async () => {
		const train = (step: string) => `trajectories/train/${step}.parquet`;
		const run = await followed('art');
		await cp(run.at(train('0002')), run.at(train('0003')));
		assert.deepEqual((await run.look()).steps, [3]);
		await cp(run.at(train('0000')), run.at('next'));
		await rename(run.at('next'), run.at(train('0003')));
		const { resets, steps } = await run.look();
		assert.equal(resets, 1);
		assert.deepEqual(steps, [0, 1, 2, 3]);
		const { rollouts, faults } = await readAll(await openRun(run.folder));
		assert.deepEqual(faults, []);
		const of = (step: number) => rollouts.filter(({ line }) => line.step === step).map(({ line }) => line.reward);
		assert.deepEqual(of(3), of(0));
	});

	it('event files: reports appended events, and starts over when a file is replaced', async () => {
		const file = 'events.out.tfevents.1795187451.trainer0.4242.0';
		const whole = await readFile(join(fixtureFolder('openrlhf'), file));
		const run = await followed({ [file]: whole.subarray(0, Math.floor(whole.length / 2)) });
		const before = run.reported.metrics.size;
		assert.ok(before > 0 && before < 5);
		await appendFile(run.at(file), whole.subarray(Math.floor(whole.length / 2)));
		assert.deepEqual([...(await run.look()).metrics.keys()], [1, 2, 3, 4, 5]);
		assert.equal(run.reported.resets, 0);
		await writeFile(run.at(file), whole.subarray(0, Math.floor(whole.length / 3)));
		const { metrics, resets } = await run.look();
		assert.equal(resets, 1);
		assert.ok(metrics.size < 5);
	});

	it('compressed lines: continues when a file is compressed and the next one begins', async () => {
		const stream = 'monitors/file/traces/stream';
		const episode = (id: string, step: number) => ({
			id,
			run: { work: { type: 'train', step } },
			traces: [
				{
					id,
					nodes: [
						{ message: { role: 'user', content: 'q' } },
						{ parent: 0, sampled: true, message: { role: 'assistant', content: 'a' } },
					],
					rewards: { right: { score: step, weight: 1 } },
				},
			],
		});
		const first = [episode('a', 1), episode('b', 2)];
		const run = await followed({ [`${stream}/00000.jsonl`]: first });
		assert.deepEqual(run.reported.steps, [1, 2]);
		await appendFile(run.at(`${stream}/00000.jsonl`), text([episode('c', 2)]));
		assert.ok((await run.look()).steps.includes(2));
		assert.equal(run.reported.resets, 0);
		const whole = text([...first, episode('c', 2)]).split(/(?<=\n)/);
		await writeFile(run.at(`${stream}/00000.jsonl.zst.tmp`), 'in progress');
		await rename(run.at(`${stream}/00000.jsonl.zst.tmp`), run.at(`${stream}/00000.jsonl.zst`));
		await writeFile(run.at(`${stream}/00000.jsonl.zst`), zstdFile(whole, true));
		await run.look();
		assert.deepEqual(await rewardsOf(run.folder), [1, 2, 2]);
		await rm(run.at(`${stream}/00000.jsonl`));
		await writeFile(run.at(`${stream}/00001.jsonl`), text([episode('d', 3)]));
		assert.deepEqual((await run.look()).steps, [1, 2, 3]);
		// Data already read is not read again.
		assert.equal(run.reported.resets, 0);
		assert.deepEqual(await rewardsOf(run.folder), [1, 2, 2, 3]);
		assert.deepEqual(run.reported.errors, []);
	});

	it('SQLite: reports rows as soon as they are in the write-ahead log', async () => {
		const { DatabaseSync } = await import('node:sqlite');
		const run = await followed('trackio');
		assert.deepEqual([...run.reported.metrics.keys()], [1, 2, 3, 4]);
		const database = new DatabaseSync(run.at('sums.db'));
		database.exec('pragma journal_mode = wal');
		database.exec(`insert into metrics (run_id, timestamp, run_name, step, metrics)
			select run_id, timestamp, run_name, 5, '{"train/loss": 2}' from metrics where run_name = 'second' limit 1`);
		assert.deepEqual([...(await run.look()).metrics.keys()], [1, 2, 3, 4, 5]);
		assert.equal(run.reported.metrics.get(5)?.values.loss, 2);
		assert.equal(run.reported.resets, 0);
		database.close();
	});

	it('reports a deleted folder once, and continues when it is back', async () => {
		const run = await followed({ 'rollouts/1.jsonl': [verlRow({})], 'metrics/a.jsonl': [logged(1, 0.5)] });
		await rename(run.folder, `${run.folder}-away`);
		await run.look();
		await run.look();
		assert.equal(run.reported.errors.length, 1);
		await rename(`${run.folder}-away`, run.folder);
		const { resets, steps, metrics } = await run.look();
		assert.equal(resets, 1);
		assert.deepEqual(steps, [1]);
		assert.equal(metrics.size, 1);
	});
});
