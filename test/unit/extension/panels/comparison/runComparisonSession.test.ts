import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { comparePaired } from '../../../../../src/core/evaluation/pairProblems.ts';
import { problemKey } from '../../../../../src/core/evaluation/problemKey.ts';
import { RunComparisonSession } from '../../../../../src/extension/panels/comparison/runComparisonSession.ts';
import { SharedPrompts } from '../../../../../src/extension/panels/comparison/sharedPrompts.ts';
import type { ComparisonEvent } from '../../../../../src/protocol/runComparisonMessages.ts';
import { heldOutOf, samplesOf } from '../../../../../src/runs/heldOutSource.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { root } from '../../../../scripts/paths.ts';
import { grpoRecipe, writeComparedRun } from '../../../webview/comparison/comparisonFixture.ts';

let folder = '';
let runs: string[] = [];
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'comparison-session-'));
	runs = [
		await writeComparedRun(folder, { name: 'one', level: 0.4, recipe: grpoRecipe() }),
		await writeComparedRun(folder, { name: 'two', level: 0.9 }),
	];
	for (const name of ['trl-run', 'verl'])
		await cp(join(root, 'test/fixtures', name), join(folder, name), { recursive: true });
});
after(() => rm(folder, { recursive: true, force: true }));

function sessionOf(folders: readonly string[]) {
	const events: ComparisonEvent[] = [];
	const session = new RunComparisonSession({
		folders,
		newsMs: 10,
		pollMs: 10_000,
		post: (event) => Promise.resolve(events.push(event)),
	});
	return { events, session };
}

test('all runs are sent first, then their common curves under canonical names', async (t) => {
	const { events, session } = sessionOf([...runs, join(folder, 'trl-run')]);
	t.after(() => session.dispose());
	session.begin();
	await session.refresh();
	await new Promise((resolve) => setTimeout(resolve, 50));
	const last = events.findLast((event) => event.type === 'runs');
	assert.deepEqual(
		last?.runs.map(({ name, format, step, loaded, fault }) => [name, format, step, loaded, fault]),
		[
			['one', 'reasoning-lab', 120, true, null],
			['two', 'reasoning-lab', 120, true, null],
			['trl-run', 'trl', 30, true, null],
		],
	);
	const curves = [0, 1, 2].map((run) => events.findLast((event) => event.type === 'curves' && event.run === run));
	for (const event of curves) {
		assert.ok(event?.type === 'curves');
		for (const name of ['reward', 'loss', 'entropy', 'completions/mean_length', 'num_tokens']) {
			assert.ok(event.names.includes(name), `${event.run} has no ${name}`);
		}
		assert.ok(event.values.every((column) => column.length === event.step.length));
	}
	assert.equal(curves[2]?.type === 'curves' && curves[2].alone > 0, true, 'TRL has its own metrics');
	assert.equal(curves[0]?.type === 'curves' && curves[0].step.length, 120);
});

test('recipes are compared, and runs without a recipe are listed', async (t) => {
	const { session } = sessionOf(runs);
	t.after(() => session.dispose());
	assert.deepEqual((await session.recipes()).without, [1]);
	assert.match(await session.recipeText(0), /"learning_rate": 0.0001/);
	await assert.rejects(session.recipeText(1), /has no readable recipe/);
});

test('held-out accuracy comes from evaluations, or else from evaluation rollouts', async () => {
	const own = await heldOutOf(await openRun(runs[0] as string));
	assert.deepEqual(
		own.map(({ name, step, problems, source }) => [name, step, problems, source]),
		[
			['held_out', 60, 60, 'evaluation'],
			['held_out', 120, 60, 'evaluation'],
		],
	);
	const verl = await openRun(join(folder, 'verl'));
	const steps = await verl.steps('validation');
	const counted = await heldOutOf(verl);
	if (steps.length > 0) {
		assert.ok(counted.every(({ source, accuracy }) => source === 'rollouts' && accuracy >= 0 && accuracy <= 1));
	}
	assert.deepEqual(await heldOutOf(await openRun(join(folder, 'trl-run'))), []);
});

test('evaluations are paired by problem, and missing samples are explained', async (t) => {
	const { session } = sessionOf([...runs, join(folder, 'trl-run')]);
	t.after(() => session.dispose());
	const place = (run: number) => ({ run, name: 'held_out', step: 120, source: 'evaluation' as const });
	const { counts, reason } = await session.pair(place(0), place(1));
	assert.equal(reason, null);
	assert.equal(counts?.firstRight.length, 60);
	const none = await session.pair(place(0), place(2));
	assert.equal(none.counts, null);
	assert.match(none.reason ?? '', /samples of held_out at step 120 were not kept/);
	// The panel's counts must match the files.
	const samples = await samplesOf(await openRun(runs[1] as string), place(1));
	assert.equal(
		counts?.secondRight.reduce((a, b) => a + b, 0),
		samples.filter(({ correct }) => correct).length,
	);
	const pairs = (counts?.firstRight ?? []).map((right, i) => ({
		first: { right, samples: 1 },
		second: { right: counts?.secondRight[i] ?? 0, samples: 1 },
	}));
	const compared = comparePaired({ pairs, onlyFirst: 0, onlySecond: 0 });
	assert.ok(compared.test === 'mcnemar' && compared.p < 0.01 && compared.difference.mean > 0.2);
});

test('shared prompts are found and shown at a step, and the search can be canceled', async () => {
	const prompts = new SharedPrompts(2, (run) => openRun(runs[run] as string));
	const progress: number[] = [];
	const found = await prompts.search(false, ({ rollouts }) => progress.push(rollouts), new AbortController().signal);
	assert.deepEqual([found.canceled, found.bounded, found.skipped], [false, false, 0]);
	assert.ok(progress.length >= 4 && progress.at(-1) === 96, `${progress}`);
	assert.equal(found.prompts.length, found.seen[0]);
	const [first] = found.prompts;
	const { prompt, sides } = await prompts.show(first?.hash ?? '', [null, null]);
	assert.equal(prompt, first?.prompt);
	assert.deepEqual(
		sides.map(({ shown }) => shown?.completions.length),
		[4, 4],
	);
	const both = found.prompts.find(({ groups }) => (groups[0] ?? 0) > 1);
	if (both) {
		const early = await prompts.show(both.hash, [1, 1]);
		assert.deepEqual(
			early.sides.map(({ shown }) => shown?.step),
			[1, 1],
		);
	}
	const controller = new AbortController();
	controller.abort();
	const ended = await prompts.search(true, () => {}, controller.signal);
	assert.equal(ended.canceled, true);
	await assert.rejects(prompts.show('0', [null, null]), /Search for shared prompts again/);
});

test('a search that replaces another one finds the same prompts as on its own', async (t) => {
	const { session } = sessionOf(runs);
	t.after(() => session.dispose());
	const alone = await session.searchPrompts(true);
	for (let turns = 0; turns < 40; turns++) {
		const first = session.searchPrompts(true);
		for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
		const second = await session.searchPrompts(true);
		await first;
		assert.deepEqual(second, alone, `after ${turns} turns`);
		const [known] = second.prompts;
		assert.equal((await session.showPrompt(known?.hash ?? '', [null, null])).prompt, known?.prompt);
	}
});

test('problems are identified by their question, not by the prompt template of the trainer', () => {
	const asked = 'What  is\n2 + 2?';
	assert.equal(problemKey(asked), 'What is 2 + 2?');
	assert.equal(
		problemKey([
			{ role: 'system', content: 'Think.' },
			{ role: 'user', content: asked },
		]),
		'What is 2 + 2?',
	);
	assert.equal(problemKey([{ role: 'system', content: 'Alone' }]), 'Alone');
	assert.equal(problemKey([]), '');
});
