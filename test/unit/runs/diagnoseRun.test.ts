import assert from 'node:assert/strict';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { annotationFolder } from '../../../src/runs/annotationFolder.ts';
import { diagnoseRun } from '../../../src/runs/diagnoseRun.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import type { RunContent } from '../../../src/runs/runContent.ts';
import { StepFactsCache } from '../../../src/runs/stepFactsCache.ts';
import { sampledSteps, stepFactsOf } from '../../../src/runs/stepFactsOf.ts';
import { root } from '../../scripts/paths.ts';

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));
const temporary = async () => {
	const folder = await mkdtemp(join(tmpdir(), 'diagnose-'));
	folders.push(folder);
	return folder;
};

const fixture = (path: string) => openRun(join(root, 'test/fixtures', path));

describe('run diagnosis', () => {
	it('is correct on the fixtures: reports truncated completions, and nothing for short runs', async () => {
		const trl = await diagnoseRun(await fixture('trl-run'));
		assert.deepEqual(
			trl.alerts.map(({ id, step, lastStep }) => [id, step, lastStep]),
			[['overlong', 20, 30]],
		);
		for (const path of ['verl', 'prime-rl/run', 'nemo-rl/exp_001', 'tinker/log', 'skyrl']) {
			const { alerts, kind, summary } = await diagnoseRun(await fixture(path));
			assert.deepEqual(alerts, [], path);
			// Too few steps to conclude that everything is fine.
			assert.equal(kind, 'short', path);
			assert.match(summary, /^Too few batches to diagnose \(\d+ of 20\)\.$/, path);
		}
	});

	it('finds causes and evidence in external rollouts without writing next to them', async () => {
		const folder = await temporary();
		await cp(join(root, 'test/fixtures/verl'), folder, { recursive: true });
		await rm(join(folder, 'rollouts'), { recursive: true });
		await rm(join(folder, 'metrics'), { recursive: true });
		await mkdir(join(folder, 'rollouts'));
		for (let step = 1; step <= 30; step++) {
			const row = (input: string, output: string, score: number) =>
				JSON.stringify({ input, output, gts: '4', score, step, acc: score > 0 });
			const rows = [0, 1, 2, 3].map((i) => row(`What is ${step} + 1? Use \\boxed{}.`, `It is ${i}, I think`, 0));
			const others = [0, 1, 2, 3].map((i) => row(`What is ${step} + 2? Use \\boxed{}.`, `About ${i} or so`, 0));
			await writeFile(join(folder, 'rollouts', `${step}.jsonl`), `${[...rows, ...others].join('\n')}\n`);
		}
		const content = await openRun(folder);
		const progress: [number, number][] = [];
		const { alerts } = await diagnoseRun(content, { onProgress: (done, total) => progress.push([done, total]) });
		assert.deepEqual(
			progress,
			Array.from({ length: 30 }, (_, i) => [i + 1, 30]),
		);
		assert.deepEqual(
			alerts.map(({ id }) => id),
			['dead-groups:parse-failed'],
		);
		assert.equal(alerts[0]?.evidence.length, 5);
		assert.equal(alerts[0]?.recipe, null);
		assert.doesNotMatch(await annotationFolder(content), new RegExp(folder));
	});

	it('reads steps again only if their files have changed, with a limit on memory', async () => {
		const folder = await temporary();
		await cp(join(root, 'test/fixtures/verl'), folder, { recursive: true });
		const run = await openRun(folder);
		const steps = await run.steps();
		assert.ok(steps.length > 1);
		const reads: number[] = [];
		const counted = Object.create(run) as RunContent;
		for (const name of ['steps', 'record', 'evaluations', 'metrics'] as const) {
			Object.assign(counted, { [name]: run[name].bind(run) });
		}
		for (const name of ['folder', 'format', 'hasSteps'] as const) {
			Object.defineProperty(counted, name, { value: run[name] });
		}
		counted.open = async (step) => {
			const opened = await run.open(step);
			const read = opened.rollouts.bind(opened);
			opened.rollouts = (signal) => {
				reads.push(step);
				return read(signal);
			};
			return opened;
		};
		const cache = new StepFactsCache(1 << 20);
		const all = async () => {
			const facts: unknown[] = [];
			for (const step of steps) facts.push(await cache.of(counted, step, null));
			return facts;
		};
		const plain = () => Promise.all(steps.map((step) => stepFactsOf(run, step, null)));
		assert.deepEqual(await all(), await plain());
		assert.deepEqual(await diagnoseRun(counted, { cache }), await diagnoseRun(run));
		assert.deepEqual(reads, steps);
		const [first = 0, second = 0] = steps;
		const file = join(folder, 'rollouts', `${first}.jsonl`);
		const [line = ''] = (await readFile(file, 'utf8')).split('\n');
		await appendFile(file, `${line}\n`);
		assert.deepEqual(await all(), await plain());
		assert.deepEqual(reads, [...steps, first]);
		// Answers are read with the run's tags.
		const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as never;
		assert.deepEqual(await cache.of(counted, first, tags), await stepFactsOf(run, first, tags));
		assert.equal(reads.length, steps.length + 2);
		await rm(file);
		assert.equal(await cache.of(counted, first, null), null);

		const size = Buffer.byteLength(JSON.stringify(await stepFactsOf(run, second, null)));
		const small = new StepFactsCache(size);
		await small.of(counted, second, null);
		assert.equal(small.bytes, size);
		for (const step of steps.slice(2)) await small.of(counted, step, null);
		assert.ok(small.bytes <= size);
		reads.length = 0;
		await small.of(counted, second, null);
		assert.deepEqual(reads, [second]);
	});

	it('stops when canceled', async () => {
		const content = await fixture('trl-run');
		await assert.rejects(diagnoseRun(content, { signal: AbortSignal.abort() }), { reason: 'cancelled' });
	});

	it('samples the steps of a long run, always including the end', () => {
		const steps = Array.from({ length: 10_000 }, (_, i) => i + 1);
		const picked = sampledSteps(steps, 200);
		assert.ok(picked.length <= 200 && picked.length > 190);
		assert.deepEqual(
			picked,
			picked.toSorted((a, b) => a - b),
		);
		assert.deepEqual(picked.slice(-50), steps.slice(-50));
		assert.equal(picked[0], 1);
		assert.deepEqual(sampledSteps([3, 5], 200), [3, 5]);
	});
});
