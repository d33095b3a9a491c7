import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connectRun } from '../../../../src/runs/runControl.ts';
import { runFiles } from '../../../../src/runs/runFiles.ts';
import { listCheckpoints, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { type EngineExit, eventually, shortRecipe, Workplace } from './engineProcess.ts';
import { uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';

const shared = await Workplace.make();
after(() => shared[Symbol.asyncDispose]());
/** Uninterrupted run of the recipe, to start from or compare with. */
const finished = await uninterrupted(shared, shortRecipe, true);

/** Asserts exit status 2 and one sentence with an action on stderr, without a stack trace or a second message. */
function assertRefused({ code, stderr }: EngineExit, pattern: RegExp): void {
	assert.equal(code, 2, stderr);
	assert.match(stderr, pattern);
	assert.doesNotMatch(stderr, /\n\s+at /);
}

async function withDataset(place: Workplace, text: string | null, more: object = {}): Promise<string> {
	const path = join(place.folder, 'train.jsonl');
	await writeFile(path, '');
	const run = await place.prepare({ ...shortRecipe, dataset: { path: 'train.jsonl' }, ...more });
	if (text === null) await rm(path);
	else await writeFile(path, text);
	return run;
}

const rows = Array.from({ length: 40 }, (_, i) => {
	return JSON.stringify({ prompt: `${i}+1=`, answer: String(i + 1), solution: `${i}+1` });
});

for (const [what, text, reason, pattern] of [
	['missing', null, 'missing', /train\.jsonl does not exist/],
	['empty', '', 'invalid', /train\.jsonl has no rows/],
	['damaged', `${rows[0]}\n${rows[1]}\n{"prompt": "x\n`, 'invalid', /train\.jsonl, line 3, is not JSON/],
	['not made of objects', `${rows[0]}\n[1]\n`, 'invalid', /line 2, is not a JSON object/],
	['missing a column', '{"question": "1+1", "answer": "2"}\n', 'invalid', /line 1, has no column "prompt"/],
] as const) {
	test(`a dataset that is ${what} is rejected before training starts`, async () => {
		await using place = await Workplace.make();
		const run = await withDataset(place, text);
		assertRefused(await runHere(place, run), pattern);
		const record = await readRecord(run);
		assert.equal(record.status, 'crashed');
		assert.equal(record.error?.reason, reason);
		assert.match(record.error?.message ?? '', pattern);
		assert.deepEqual(await readMetrics(run), []);
	});
}

test('a dataset trains, and rows that do not fit the context are skipped and counted', async () => {
	await using place = await Workplace.make();
	const long = JSON.stringify({ prompt: `${'9'.repeat(60)}=`, answer: '9', solution: '9' });
	const model = { ...shortRecipe.model, context: 40 };
	const stages = shortRecipe.stages.map((stage) => ({
		...stage,
		...(stage.type === 'grpo' ? { max_completion_length: 20 } : {}),
	}));
	const run = await withDataset(place, `${[...rows, long, long].join('\n')}\n`, { model, stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	assert.equal((await readMetrics(run)).length, 12);
	const events = await readFile(join(run, runFiles.events), 'utf8');
	assert.match(events, /skipped so far: longer than the context of 40 tokens/);
});

test('a recipe for another engine and a dataset without worked solutions are rejected', async () => {
	await using place = await Workplace.make();
	const other = await place.prepare(shortRecipe);
	const recipe = JSON.parse(await readFile(join(other, 'recipe.json'), 'utf8')) as object;
	await writeFile(join(other, 'recipe.json'), JSON.stringify({ ...recipe, engine: 'pytorch' }));
	assertRefused(await runHere(place, other), /cannot run recipes for the "pytorch" engine/);
	const bare = rows.map((row) => JSON.stringify({ ...(JSON.parse(row) as object), solution: null }));
	assertRefused(await runHere(place, await withDataset(place, `${bare.join('\n')}\n`)), /no worked solutions/);
});

test('a second engine for the same run and an existing run are rejected without disturbing the first engine', async () => {
	await using place = await Workplace.make();
	const long = { ...shortRecipe, stages: [{ ...shortRecipe.stages[0], steps: 100_000 }] };
	const run = await place.prepare({ ...long, evaluate: { every: 100_000 }, checkpoint: { every: 100_000 } });
	const engine = place.start('--run', run);
	await eventually(async () => (await readMetrics(run)).length > 2, 'the run progresses');
	const client = await connectRun(run, await readRecord(run), 'test');
	// A paused run keeps its folder locked and does not use the CPU.
	const { step } = await client.request('run/pause', {});
	assertRefused(await runHere(place, run, { resume: true }), /is in use by process \d+/);
	assertRefused(await runHere(place, run), /is in use by process \d+/);
	await client.request('run/continue', {});
	await eventually(async () => ((await readMetrics(run)).at(-1)?.step ?? 0) > step, 'the first engine continues');
	const stopped = await client.request('run/stop', { checkpoint: true });
	client.dispose();
	assert.equal((await engine.exit).code, 0);
	const record = await readRecord(run);
	assert.equal(record.status, 'stopped');
	assert.equal(record.step, stopped.step);
	const before = await readOutcome(run);
	assertRefused(await runHere(place, run), /already contains a run/);
	assert.deepEqual(await readOutcome(run), before);
	assert.equal((await readRecord(run)).status, 'stopped');
});

test('a truncated, modified or mismatched checkpoint is rejected, and nothing is lost', async () => {
	await using place = await Workplace.make();
	const parent = join(place.folder, 'parent');
	await cp(finished.run, parent, { recursive: true });
	const checkpoint = (await listCheckpoints(parent)).at(-1)?.path as string;
	const copy = async (name: string) => {
		const path = join(place.folder, name, 'step_000012');
		await cp(checkpoint, path, { recursive: true });
		return path;
	};
	const child = async (from: string, recipe: object = shortRecipe) =>
		runHere(place, await place.prepare(recipe), { parentCheckpoint: from });

	const cut = await copy('cut');
	await truncate(join(cut, 'model.safetensors'), 1000);
	assertRefused(await child(cut), /cut.step_000012 is damaged/);
	const flipped = await copy('flipped');
	const bytes = await readFile(join(flipped, 'optimizer.safetensors'));
	bytes[5000] = (bytes[5000] as number) ^ 1;
	await writeFile(join(flipped, 'optimizer.safetensors'), bytes);
	assertRefused(await child(flipped), /optimizer\.safetensors does not match its hash/);
	const headless = await copy('headless');
	await rm(join(headless, 'state.json'));
	assertRefused(await child(headless), /is not a checkpoint of the embedded engine/);
	assertRefused(await child(join(place.folder, 'nowhere')), /is not a checkpoint/);
	const wider = { ...shortRecipe, model: { layers: 1, width: 32, heads: 2 } };
	assertRefused(await child(checkpoint, wider), /does not match the recipe: its width is 16, but the recipe says 32/);
	const words = { ...shortRecipe, dataset: { task: 'string', length: 3 }, model: { path: checkpoint } };
	assertRefused(await runHere(place, await place.prepare(words)), /its vocabulary lacks ":"/);
	assertRefused(await place.run('--serve', cut), /is damaged/);

	// On resume, the newest intact checkpoint is used and the damaged one is set aside.
	await truncate(join(checkpoint, 'model.safetensors'), 1000);
	const { code, stderr } = await runHere(place, parent, { resume: true });
	assert.equal(code, 0, stderr);
	assert.deepEqual(await readOutcome(parent), finished.outcome);
	assert.deepEqual(await readdir(join(parent, 'superseded', '1', 'checkpoints')), ['step_000012']);
});

test('a run branched from a checkpoint continues it, records its parent and can be resumed on its own', async () => {
	await using place = await Workplace.make();
	const { outcome: expected } = finished;
	const parent = join(place.folder, 'parent');
	await cp(finished.run, parent, { recursive: true });
	const at6 = (await listCheckpoints(parent)).find(({ step }) => step === 6)?.path as string;
	const run = await place.prepare(shortRecipe);
	assert.equal((await runHere(place, run, { parentCheckpoint: at6 })).code, 0);
	const record = await readRecord(run);
	assert.deepEqual(record.parent, { run: (await readRecord(parent)).id, checkpoint: at6 });
	const outcome = await readOutcome(run);
	assert.equal(outcome.weights, expected.weights);
	// Step 6 is evaluated again before the first update of the grpo stage.
	assert.deepEqual(outcome.metrics.slice(1), expected.metrics.slice(6));
	assert.match(outcome.metrics[0] ?? '', /^\{"step":6,"stage":"grpo","eval\/heldout\/accuracy"/);
	await rm(parent, { recursive: true });
	await rm(join(run, 'checkpoints', 'step_000012'), { recursive: true });
	await rm(join(run, 'checkpoints', 'step_000009'), { recursive: true });
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	assert.deepEqual((await readOutcome(run)).metrics, outcome.metrics);
	assert.equal((await readOutcome(run)).weights, expected.weights);
});

test('a run takes its initial weights from a model folder, and a learning rate of 0 leaves them unchanged', async () => {
	await using place = await Workplace.make();
	const { run: parent, outcome } = finished;
	const path = (await listCheckpoints(parent)).at(-1)?.path as string;
	const stages = [{ ...shortRecipe.stages[1], steps: 3, learning_rate: 0 }];
	const run = await place.prepare({ ...shortRecipe, model: { path }, stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const child = await readOutcome(run);
	assert.equal(child.weights, outcome.weights);
	// Evaluated before the first update.
	assert.match(child.metrics[0] ?? '', /^\{"step":0,"stage":"grpo","eval/);
	assert.equal(child.metrics.length, 4);
});

test('a diverging run ends with a typed error and keeps its last intact checkpoint', async () => {
	await using place = await Workplace.make();
	const sft = { ...shortRecipe.stages[0], steps: 500, learning_rate: 10, max_grad_norm: 0, weight_decay: 10 };
	const run = await place.prepare({ ...shortRecipe, stages: [sft] });
	assertRefused(await runHere(place, run), /Training diverged: the gradient (at step \d+ )?is not finite/);
	assert.equal((await readRecord(run)).error?.reason, 'invalid');
	assert.ok((await readMetrics(run)).every(({ values }) => values.loss !== null));
});

test('a run with a changed recipe or dataset cannot be resumed', async () => {
	await using place = await Workplace.make();
	const run = await withDataset(place, `${rows.join('\n')}\n`);
	assert.equal((await runHere(place, run)).code, 0);
	await writeFile(join(place.folder, 'train.jsonl'), `${rows.slice(1).join('\n')}\n`);
	assertRefused(await runHere(place, run, { resume: true }), /The dataset for run .* has changed/);
	await writeFile(join(place.folder, 'train.jsonl'), `${rows.join('\n')}\n`);
	const path = join(run, 'recipe.json');
	const text = await readFile(path, 'utf8');
	await writeFile(path, text.replace('"batch_size": 16', '"batch_size": 8'));
	assertRefused(await runHere(place, run, { resume: true }), /The recipe\.json for run .* has changed/);
	await writeFile(path, text);
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
});

const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? { skip: 'root may write anywhere' } : {};

test('a read-only folder is rejected', asUser, async () => {
	await using place = await Workplace.make();
	const run = await place.prepare(shortRecipe);
	await chmod(run, 0o500);
	assertRefused(await runHere(place, run), /permission denied/);
	await chmod(run, 0o700);
	assert.deepEqual(await readdir(run), ['recipe.json']);
});

/** Mounts a file system for the test, or returns null if mounting is not allowed. */
function mount(path: string, options: string): (() => void) | null {
	if (!isRoot || process.platform !== 'linux') return null;
	try {
		execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
	} catch {
		return null;
	}
	return () => execFileSync('umount', ['-l', path]);
}

test('a read-only disk is rejected with one sentence', async (t) => {
	await using place = await Workplace.make();
	const run = await place.prepare(shortRecipe);
	const disk = join(place.folder, 'disk');
	await mkdir(disk);
	const unmount = mount(disk, 'size=1m');
	if (!unmount) return t.skip('needs root on Linux and mount');
	try {
		const moved = join(disk, 'run');
		await cp(run, moved, { recursive: true });
		execFileSync('mount', ['-o', 'remount,ro', disk]);
		assertRefused(await runHere(place, moved), /read-only file system/);
		assert.deepEqual(await readdir(moved), ['recipe.json']);
	} finally {
		unmount();
	}
});

test('a full disk ends the run with a typed error; once space is freed, the run resumes to the same end', async (t) => {
	await using place = await Workplace.make();
	const run = await place.prepare(shortRecipe);
	const disk = join(place.folder, 'disk');
	await mkdir(disk);
	const unmount = mount(disk, 'size=280k');
	if (!unmount) return t.skip('needs root on Linux and mount');
	try {
		const moved = join(disk, 'run');
		await cp(run, moved, { recursive: true });
		assertRefused(await runHere(place, moved), /no space left on device/i);
		const record = await readRecord(moved);
		assert.equal(record.status, 'crashed');
		assert.equal(record.error?.reason, 'full');
		const steps = (await readMetrics(moved)).map(({ step }) => step);
		assert.ok(steps.length > 4 && steps.length < 12);
		execFileSync('mount', ['-o', 'remount,size=50m', disk]);
		const { code, stderr } = await runHere(place, moved, { resume: true });
		assert.equal(code, 0, stderr);
		assert.deepEqual(await readOutcome(moved), finished.outcome);
		assert.equal((await readRecord(moved)).error, undefined);
	} finally {
		unmount();
	}
});
