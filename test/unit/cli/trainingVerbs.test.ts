import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { listCheckpoints, readMetrics, readRecord } from '../../../src/runs/runReader.ts';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

/** A run that continues until it is stopped. */
const longRecipe = {
	...tinyRecipe,
	name: 'long',
	stages: [{ type: 'sft', steps: 1_000_000, learning_rate: 0.003, batch_size: 16 }],
	evaluate: { problems: 16, every: 1_000_000 },
	checkpoint: { every: 50 },
};

/** Generous timeout that only ends the test if something hangs. */
const limit = { timeout: 180_000 };

async function until(condition: () => Promise<boolean>): Promise<void> {
	while (!(await condition().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 50));
}

test('a run is trained, followed, summarized, listed and exported', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('tiny.recipe.json', tinyRecipe);
	const trained = await place.run(context, 'run', 'tiny.recipe.json', '--summary', '--seed', '5');
	assert.equal(trained.status, 0, trained.stderr);
	const summary = JSON.parse(trained.stdout.trimEnd().split('\n').at(-1) ?? '');
	assert.deepEqual(Object.keys(summary), [
		'before',
		'after',
		'trainingSeconds',
		'stepSeconds',
		'updatesPerStep',
		'run',
	]);
	assert.ok(summary.before.low <= summary.before.accuracy && summary.before.accuracy <= summary.before.high);
	assert.equal(summary.updatesPerStep, 2);
	assert.ok(summary.trainingSeconds >= 2 * summary.stepSeconds * 0.5);
	const record = await readRecord(summary.run);
	assert.equal(record.status, 'finished');
	assert.equal(record.seeds.recipe, 5);
	assert.equal(record.step, 7);

	const status = await place.call('status', '--json');
	const [{ runs }] = objects(status.stdout) as [{ runs: { folder: string; status: string }[] }];
	assert.deepEqual(
		runs.map((run) => [run.folder, run.status]),
		[[summary.run, 'finished']],
	);
	assert.match((await place.call('status')).stdout, /tiny +finished +grpo +7\/7/);
	const exported = await place.run(context, 'export-onnx', summary.run, '--json');
	assert.equal(exported.status, 0, exported.stderr);
	const [file] = objects(exported.stdout);
	assert.equal(file?.step, 7);
	assert.ok((await readFile(String(file?.onnx))).length > 1000);
	assert.ok(JSON.parse(await readFile(String(file?.tokenizer), 'utf8')));

	const again = await place.call('resume', summary.run);
	assert.equal(again.status, 2);
	assert.match(again.stderr, /has finished, so there is nothing to resume/);
	const branch = await place.call('resume', summary.run, '--checkpoint', '3', '--json', '--control', 'shuffle');
	assert.equal(branch.status, 0, branch.stderr);
	const lines = objects(branch.stdout);
	assert.equal(lines.at(-1)?.kind, 'ended');
	const child = String(lines.at(-1)?.folder);
	assert.notEqual(child, summary.run);
	assert.equal((await readRecord(child)).parent?.run, record.id);
	const steps = lines.flatMap((line) => (line.kind === 'metrics' ? (line.lines as { step: number }[]) : []));
	assert.deepEqual(
		steps.map(({ step }) => step),
		(await readMetrics(child)).map(({ step }) => step),
	);
	const other = await place.call('resume', summary.run, '--checkpoint', '3', '--set', 'model.layers=2');
	assert.equal(other.status, 2);
	assert.match(other.stderr, /does not match the recipe/);
	const cut = join(summary.run, 'checkpoints', 'step_000007', 'model.safetensors');
	await truncate(cut, 100);
	const damaged = await place.call('export-onnx', join(summary.run, 'checkpoints', 'step_000007'));
	assert.equal(damaged.status, 2);
	assert.match(damaged.stderr, /step_000007 is damaged/);
});

test('a detached run is stopped, resumed in place, and killed', limit, async (context) => {
	const place = await Workplace.make(context);
	await place.write('long.recipe.json', longRecipe);
	const started = await place.run(context, 'run', 'long.recipe.json', '--detach', '--json');
	assert.equal(started.status, 0, started.stderr);
	const run = String(objects(started.stdout)[0]?.folder);
	await until(async () => (await readMetrics(run)).length > 2);
	const busy = await place.call('resume', run);
	assert.equal(busy.status, 2);
	assert.match(busy.stderr, /is running \(process \d+\)/);
	const stopped = await place.call('stop', run, '--json');
	assert.deepEqual([stopped.status, objects(stopped.stdout)[0]?.status], [0, 'stopped']);
	const step = (await readRecord(run)).step;
	assert.equal((await listCheckpoints(run)).at(-1)?.step, step);
	const changed = await place.run(context, 'resume', run, '--seed', '3');
	assert.equal(changed.status, 2);

	const resumed = await place.call('resume', run, '--detach');
	assert.equal(resumed.status, 0, resumed.stderr);
	await until(async () => (await readMetrics(run)).length > step + 2);
	assert.equal((await readRecord(run)).attempt, 2);
	const ended = await place.call('stop', run, '--now', '--json');
	assert.deepEqual([ended.status, objects(ended.stdout)[0]?.status], [0, 'crashed']);
	const idle = await place.call('stop', run);
	assert.deepEqual([idle.status, /is not running \(status: crashed\)/.test(idle.stdout)], [0, true]);
});

test('Ctrl+C stops with a checkpoint; a second one stops immediately', {
	...limit,
	skip: process.platform === 'win32',
}, async (context) => {
	const place = await Workplace.make(context);
	await place.write('long.recipe.json', longRecipe);
	const runs = join(place.folder, 'runs');
	const start = async (...args: string[]) => {
		const before = new Set(await readdir(runs).catch(() => [] as string[]));
		const foreground = place.start(context, ...args);
		let run = args[0] === 'resume' ? (args[1] as string) : '';
		const attempt = run === '' ? 1 : (await readRecord(run)).attempt + 1;
		const step = run === '' ? 2 : (await readRecord(run)).step + 2;
		await until(async () => {
			if (run === '') {
				const fresh = (await readdir(runs)).find((name) => !before.has(name));
				if (fresh === undefined) return false;
				run = join(runs, fresh);
			}
			return (await readRecord(run)).attempt === attempt && (await readMetrics(run)).length > step;
		});
		return { foreground, run };
	};
	const { foreground, run } = await start('run', 'long.recipe.json');
	foreground.process.kill('SIGINT');
	const ended = await foreground.ended;
	assert.equal(ended.status, 0, ended.stderr);
	assert.match(ended.stdout, /Saving a checkpoint and stopping.*Stopped at step \d+\. To resume, run:/s);
	const record = await readRecord(run);
	assert.equal(record.status, 'stopped');
	assert.equal((await listCheckpoints(run)).at(-1)?.step, record.step);

	const second = await start('resume', run);
	// The engine is suspended, so only the second Ctrl+C can stop it.
	process.kill((await readRecord(run)).pid, 'SIGSTOP');
	second.foreground.process.kill('SIGINT');
	await new Promise((resolve) => setTimeout(resolve, 300));
	second.foreground.process.kill('SIGINT');
	const killed = await second.foreground.ended;
	assert.equal(killed.status, 0, killed.stdout + killed.stderr);
	assert.ok(['crashed', 'running'].includes((await readRecord(run)).status));
});

test('a full disk ends the run with one message, and the run resumes once there is space', limit, async (context) => {
	const disk = await mkdtemp(join(tmpdir(), 'rl-disk-'));
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'pipe' });
	} catch (error) {
		await rm(disk, { recursive: true });
		context.skip(`no small file system can be mounted here: ${String((error as Error).message).split('\n')[0]}`);
		return;
	}
	const place = await Workplace.make(context, disk);
	context.after(async () => {
		execFileSync('umount', ['-l', disk]);
		await rm(disk, { recursive: true });
	});
	await writeFile(join(disk, 'ballast'), Buffer.alloc(800_000));
	await place.write('long.recipe.json', { ...longRecipe, stages: [{ ...longRecipe.stages[0], steps: 3000 }] });
	const full = await place.call('run', 'long.recipe.json');
	assert.match(full.stderr, /no space left on device/);
	assert.match(full.stderr, /Free some disk space, then resume the run/);
	assert.equal(full.status, 2, full.stderr);
	assert.equal(full.stderr.trimEnd().split('\n').length, 1, full.stderr);
	const [name] = await readdir(join(disk, 'runs'));
	const run = join(disk, 'runs', String(name));
	const before = await readRecord(run);
	assert.equal(before.status, 'crashed');
	assert.equal(before.error?.reason, 'full');
	const checkpoints = await listCheckpoints(run);
	execFileSync('mount', ['-o', 'remount,size=64m', disk]);
	const resumed = place.start(context, 'resume', run);
	const start = checkpoints.at(-1)?.step ?? 0;
	await until(
		async () => ((await readMetrics(run)).at(-1)?.step ?? 0) > start + 5 && (await readRecord(run)).attempt === 2,
	);
	resumed.process.kill('SIGINT');
	assert.equal((await resumed.ended).status, 0);
	const steps = (await readMetrics(run)).map(({ step }) => step);
	assert.deepEqual(
		steps,
		steps.map((_, i) => i + 1),
	);
});
