import assert from 'node:assert/strict';
import { appendFile, mkdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { formatLine } from '../../../src/files/jsonLines.ts';
import { RunTail, type RunTailEvent, type RunTailOptions } from '../../../src/runs/runTail.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, metricsLine, rollout, startHelper, temporaryFolder } from './runFixtures.ts';

/** Applies tail events like a view does, and records anything sent twice. */
class View {
	readonly kinds: string[] = [];
	steps: number[] = [];
	events: string[] = [];
	rollouts: number[] = [];
	evaluations: string[] = [];
	checkpoints: number[] = [];
	status = '';
	attempt = 0;
	resets = 0;
	failures: string[] = [];

	apply(event: RunTailEvent): void {
		this.kinds.push(event.kind);
		switch (event.kind) {
			case 'reset':
				this.resets++;
				this.steps = [];
				this.events = [];
				this.rollouts = [];
				this.evaluations = [];
				this.checkpoints = [];
				break;
			case 'record':
				this.status = event.status;
				this.attempt = event.record.attempt;
				break;
			case 'metrics':
				this.steps.push(...event.lines.map(({ step }) => step));
				break;
			case 'events':
				this.events.push(...event.lines.map(({ type }) => type));
				break;
			case 'rollouts':
				this.rollouts.push(...event.steps);
				break;
			case 'evaluations':
				this.evaluations.push(...event.summaries.map(({ step, name }) => `${step} ${name}`));
				break;
			case 'checkpoints':
				this.checkpoints = event.checkpoints.map(({ step }) => step);
				break;
			case 'error':
				this.failures.push(event.failure.reason);
				break;
		}
	}
}

function follow(context: TestContext, folder: string, options?: RunTailOptions): { tail: RunTail; view: View } {
	const view = new View();
	const tail = new RunTail(folder, options);
	context.after(() => tail.dispose());
	tail.onEvent((event) => view.apply(event));
	return { tail, view };
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

async function writeRun(folder: string, change: object = {}): Promise<void> {
	const record = { format: 1, ...initialRecord, status: 'finished', attempt: 1, step: 0, created: 1, updated: 1 };
	const machine = { heartbeat: 1, host: 'h', boot: 'b', pid: 1, processStart: '1' };
	await writeFile(join(folder, 'run.json.tmp'), JSON.stringify({ ...record, ...machine, ...change }));
	await rename(join(folder, 'run.json.tmp'), join(folder, 'run.json'));
}

test('an ended run is sent completely and in order, then synced', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	for (let step = 1; step <= 3; step++) {
		await writer.writeRollouts(step, [rollout(step, 0)]);
		await writer.appendMetrics(metricsLine(step));
	}
	await writer.appendEvent({ type: 'started' });
	const summary = { name: 'heldout', step: 3, problems: 1, samples: 1, temperature: 1, accuracy: 1, low: 1, high: 1 };
	await writer.writeEvaluation(3, 'heldout', [], summary);
	await writeFile(join(await writer.beginCheckpoint(3), 'model.safetensors'), 'w');
	await writer.commitCheckpoint(3);
	await writer.updateRecord({ status: 'finished', step: 3 });
	await writer.close();
	const { tail, view } = follow(context, folder);
	await tail.refresh();
	assert.deepEqual(view.kinds, ['record', 'events', 'metrics', 'evaluations', 'rollouts', 'checkpoints', 'synced']);
	assert.deepEqual(view.steps, [1, 2, 3]);
	assert.deepEqual(view.rollouts, [1, 2, 3]);
	assert.deepEqual(view.evaluations, ['3 heldout']);
	assert.deepEqual(view.checkpoints, [3]);
	assert.equal(view.status, 'finished');
	view.kinds.length = 0;
	await tail.refresh();
	assert.deepEqual(view.kinds, ['synced']);
});

test('each line is sent once and in order, however writes are split and timed', async (context) => {
	for (let seed = 1; seed <= 12; seed++) {
		const random = Random.of('tail', seed);
		const folder = join(await temporaryFolder(context), 'run');
		await mkdir(folder);
		await writeRun(folder, { status: 'running' });
		const count = 60;
		const text = Buffer.from(
			upTo(count)
				// Multi-byte characters and Unicode line separators are split, too.
				.map((step) => formatLine({ step, time: step, stage: random.int(2) ? 'grpo' : 'é\u2028\r', reward: step / 7 }))
				.join(''),
		);
		const { tail, view } = follow(context, folder, { pollMs: 1 + random.int(20), watch: seed % 2 === 0 });
		tail.start();
		for (let at = 0; at < text.length; ) {
			const end = Math.min(text.length, at + 1 + random.int(400));
			await appendFile(join(folder, 'metrics.jsonl'), text.subarray(at, end));
			at = end;
			if (random.int(3) === 0) void tail.refresh();
			if (random.int(4) === 0) await new Promise((resolve) => setTimeout(resolve, random.int(8)));
		}
		await tail.refresh();
		assert.deepEqual(view.steps, upTo(count), `seed ${seed}`);
		assert.equal(view.resets, 0, `seed ${seed}`);
		tail.dispose();
	}
});

test('an overview of a long file is sent before its lines and again after a reset, and each line is still sent only once', async (context) => {
	const folder = await temporaryFolder(context);
	await writeRun(folder);
	const write = (count: number) =>
		writeFile(
			join(folder, 'metrics.jsonl'),
			upTo(count)
				.map((step) => formatLine({ step, time: step, stage: 'grpo', reward: step, padding: 'x'.repeat(300) }))
				.join(''),
		);
	await write(4000);
	const { tail, view } = follow(context, folder, { overview: { lines: 50, atLeast: 10_000 } });
	const overviews: number[][] = [];
	tail.onEvent((event) => {
		if (event.kind === 'overview') overviews.push(event.lines.map(({ step }) => step));
	});
	await tail.refresh();
	assert.deepEqual(view.kinds.slice(0, 3), ['record', 'overview', 'metrics']);
	assert.deepEqual(view.steps, upTo(4000));
	assert.deepEqual([overviews[0]?.[0], overviews[0]?.at(-1)], [1, 4000]);
	await appendFile(join(folder, 'metrics.jsonl'), formatLine({ step: 4001, time: 1, stage: 'grpo' }));
	await tail.refresh();
	assert.equal(overviews.length, 1, 'appended lines are sent without an overview');
	await write(3000);
	await tail.refresh();
	assert.equal(view.resets, 1);
	assert.deepEqual(view.steps, upTo(3000));
	assert.deepEqual(
		overviews.map((steps) => steps.at(-1)),
		[4000, 3000],
	);
});

test('a line spanning several reads is sent once, and an oversized line is skipped', async (context) => {
	const folder = await temporaryFolder(context);
	await writeRun(folder);
	const { tail, view } = follow(context, folder);
	const path = join(folder, 'events.jsonl');
	const long = 'x'.repeat(900_000);
	await writeFile(
		path,
		formatLine({ time: 1, step: 1, type: 'a' }) + formatLine({ time: 1, step: 1, type: 'b', long }),
	);
	await appendFile(path, `${formatLine({ time: 1, step: 1, type: 'c' })}{"time":2,"step":2,"type":"d","long":"${long}`);
	await tail.refresh();
	assert.deepEqual(view.events, ['a', 'b', 'c']);
	await appendFile(path, '"}\nnot json\n5\n{"type":"e"}\n{"time":3,"step":3,"type":"f"}\n');
	await tail.refresh();
	assert.deepEqual(view.events, ['a', 'b', 'c', 'd', 'f']);
	await appendFile(path, `{"time":4,"step":4,"type":"${'y'.repeat(66 << 20)}`);
	await tail.refresh();
	await appendFile(path, `"}\n${formatLine({ time: 5, step: 5, type: 'g' })}`);
	await tail.refresh();
	assert.deepEqual(view.events, ['a', 'b', 'c', 'd', 'f', 'g']);
});

test('a truncated, replaced or deleted file is sent again from the start', async (context) => {
	const folder = await temporaryFolder(context);
	await writeRun(folder);
	const path = join(folder, 'metrics.jsonl');
	const lines = (from: number, to: number) =>
		upTo(to)
			.slice(from - 1)
			.map((step) => formatLine({ step, time: 1, stage: 's' }))
			.join('');
	await writeFile(path, lines(1, 5));
	const { tail, view } = follow(context, folder);
	await tail.refresh();
	await truncate(path, lines(1, 2).length);
	await tail.refresh();
	assert.deepEqual([view.resets, view.steps], [1, [1, 2]]);
	await writeFile(`${path}.new`, lines(1, 7));
	await rename(`${path}.new`, path);
	await tail.refresh();
	assert.deepEqual([view.resets, view.steps], [2, upTo(7)]);
	// Same inode, longer than before, different content.
	await writeFile(path, lines(11, 30));
	await tail.refresh();
	assert.equal(view.resets, 3);
	assert.equal(view.steps[0], 11);
	await rm(path);
	await tail.refresh();
	assert.deepEqual([view.resets, view.steps], [4, []]);
});

test('an in-place resume is sent from the start, with the new attempt', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	const { tail, view } = follow(context, folder);
	for (const step of upTo(4)) {
		await writer.writeRollouts(step, [rollout(step, 0)]);
		await writer.appendMetrics(metricsLine(step));
	}
	await tail.refresh();
	assert.deepEqual(view.steps, upTo(4));
	await writer.close();
	const again = await RunWriter.reopen(folder);
	await again.setAside(2);
	await again.appendMetrics(metricsLine(3));
	await again.writeRollouts(3, [rollout(3, 0)]);
	await tail.refresh();
	assert.ok(view.resets >= 1);
	assert.deepEqual(view.steps, upTo(3));
	assert.deepEqual(view.rollouts, upTo(3));
	assert.equal(view.attempt, 2);
	// Nothing followed the checkpoint, so only the attempt changes, not the files.
	const resets = view.resets;
	await again.close();
	const third = await RunWriter.reopen(folder);
	await third.setAside(3);
	await tail.refresh();
	assert.equal(view.resets, resets + 1);
	assert.deepEqual(view.steps, upTo(3));
	await third.close();
});

test('a tail running alongside a resuming writer ends up with the content on disk', async (context) => {
	for (let seed = 1; seed <= 4; seed++) {
		const random = Random.of('resume', seed);
		const folder = join(await temporaryFolder(context), 'run');
		await mkdir(folder);
		let writer = await RunWriter.create(folder, initialRecord);
		const { tail, view } = follow(context, folder, { pollMs: 3 });
		tail.start();
		let step = 0;
		for (let attempt = 0; attempt < 5; attempt++) {
			for (let i = random.int(12); i >= 0; i--) await writer.appendMetrics(metricsLine(++step));
			await writer.close();
			step = random.int(step + 1);
			writer = await RunWriter.reopen(folder);
			await writer.setAside(step);
		}
		await tail.refresh();
		assert.deepEqual(view.steps, upTo(step), `seed ${seed}`);
		assert.equal(view.attempt, 6);
		await writer.close();
		tail.dispose();
	}
});

test('the tail waits for a run that has not started, and reports a dead one as crashed', async (context) => {
	const folder = join(await temporaryFolder(context), 'run');
	const { tail, view } = follow(context, folder, { pollMs: 10 });
	const crashed = new Promise<void>((resolve) => {
		tail.onEvent((event) => {
			if (event.kind === 'record' && event.status === 'crashed') resolve();
		});
	});
	tail.start();
	await tail.refresh();
	assert.deepEqual(view.failures, ['missing']);
	await mkdir(folder);
	const writer = startHelper(context, 'steadyWriter.ts', folder);
	assert.equal(await writer.line(), 'writing');
	await tail.refresh();
	assert.equal(view.status, 'running');
	writer.process.kill('SIGKILL');
	await writer.ended;
	await crashed;
	await tail.refresh();
	assert.deepEqual(view.steps, upTo(view.steps.length));
	assert.deepEqual(view.failures, ['missing']);
});

test('a newer format is reported once, and nothing else is sent', async (context) => {
	const folder = await temporaryFolder(context);
	await writeRun(folder, { format: 2 });
	const { tail, view } = follow(context, folder);
	await tail.refresh();
	await tail.refresh();
	assert.deepEqual(view.failures, ['version']);
	assert.deepEqual(view.kinds, ['error']);
});

test('nothing is sent after disposal', async (context) => {
	const folder = await temporaryFolder(context);
	await writeRun(folder);
	const { tail, view } = follow(context, folder, { pollMs: 1 });
	tail.start();
	tail.dispose();
	await new Promise((resolve) => setTimeout(resolve, 30));
	assert.deepEqual(view.kinds, []);
});

test('a file that is constantly written to is still read in between', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	context.after(() => writer.close());
	const { tail, view } = follow(context, folder, { pollMs: 600_000 });
	tail.start();
	await tail.refresh();
	const end = performance.now() + 20_000;
	let step = 0;
	for (; view.steps.length === 0 && performance.now() < end; ) {
		await writer.appendMetrics(metricsLine(++step));
		await new Promise((resolve) => setTimeout(resolve, 4));
	}
	assert.ok(view.steps.length > 0, `none of ${step} steps was sent`);
});
