import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openRewardHosts } from '../../../../src/rewards/openRewardHosts.ts';
import { rescoreRun } from '../../../../src/rewards/rescoreRun.ts';
import type { RewardLimits, RewardSource } from '../../../../src/rewards/rewardRunner.ts';
import { prepareChild } from '../../../../src/runs/prepareRun.ts';
import { listRolloutSteps, readMetrics, readRecord, readRollouts } from '../../../../src/runs/runReader.ts';
import { type EngineExit, eventually, Workplace } from './engineProcess.ts';
import { uninterrupted } from './killResume.ts';
import { alertsOf, rewardRecipe, writeFiles } from './rewardRuns.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';

const files = {
	'rewards/brevity.reward.ts': `import type { Reward } from 'reasoning-lab';
import { scale } from './scale.ts';
export const brevity: Reward = ({ completion, trace }) => (trace.answer === null ? null : scale / (3 + completion.length));
brevity.weight = 0.3;
const share = (rows: { completion: string }[]) => rows.map(({ completion }, i) => completion.length / (i + 1) / 7);
export const position = Object.assign(share, { batch: true, batchOnly: true });
`,
	'rewards/scale.ts': 'export const scale: number = 1.7;\n',
	'rewards/digits.reward.py': `import helpers
def brevity(prompts, completions, answer=None, a=0, b=0, **kwargs):
    return [None if len(c) % 7 == 0 else helpers.score(c, g, x, y) for c, g, x, y in zip(completions, answer, a, b)]
brevity.weight = 0.05
async def later(completions, trainer_state=None, log_metric=None, **kwargs):
    print("looks at", len(completions))
    log_metric("distinct", sum(len(set(c)) for c in completions) / len(completions))
    log_metric("loss", 99)
    log_metric("step", 99)
    return [trainer_state.global_step / 3.0 + len(set(c)) for c in completions]
`,
	'rewards/helpers.py': 'def score(c, g, a, b): return (a + b) / (3.0 + len(c) + len(str(g)))\n',
};

const recipe = rewardRecipe([
	{ use: 'format', weight: 0.2 },
	{ file: 'rewards/brevity.reward.ts' },
	{ file: 'rewards/digits.reward.py', name: 'brevity' },
	{ file: 'rewards/digits.reward.py', name: 'later', weight: 0.01 },
]);

async function rescored(run: string) {
	const hosts = await openRewardHosts();
	try {
		return await rescoreRun(run, { hosts });
	} finally {
		hosts.dispose();
	}
}

const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());
await writeFiles(place, files);
const { run, outcome: expected } = await uninterrupted(place, recipe, true);

test('file and built-in rewards train, and rescoring reproduces every recorded value', async () => {
	// Training uses only the copies.
	await rm(join(place.folder, 'rewards'), { recursive: true });
	const record = await readRecord(run);
	assert.deepEqual(record.rewards, [
		{ name: 'accuracy', weight: 1 },
		{ name: 'format', weight: 0.2 },
		{ name: 'brevity', weight: 0.3 },
		{ name: 'position', weight: 1 },
		{ name: 'digits.brevity', weight: 0.05 },
		{ name: 'later', weight: 0.01 },
	]);
	const lines = (await Promise.all((await listRolloutSteps(run)).map((step) => readRollouts(run, step)))).flat();
	assert.equal(lines.length, 128);
	for (const name of ['brevity', 'position', 'digits.brevity', 'later']) {
		const values = new Set(lines.map(({ rewards }) => rewards[name]));
		assert.ok(values.size > 5, `${name} has ${values.size} values`);
	}
	assert.ok(lines.some(({ rewards }) => rewards.brevity === null) && lines.every(({ extra }) => !extra?.errors));
	const grpo = (await readMetrics(run)).filter(({ stage }) => stage === 'grpo');
	assert.ok(grpo.every(({ values }) => 'rewards/digits.brevity/mean' in values && !('rewards/later/errors' in values)));

	for (const { values, step } of grpo) {
		assert.ok((values.distinct ?? 0) > 1, `step ${step}`);
		assert.notEqual(values.loss, 99);
	}
	assert.deepEqual(
		grpo.map(({ step }) => step),
		Array.from({ length: 8 }, (_, i) => 5 + i),
	);
	assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /output from reward "later":\nlooks at 16\n/);

	const { rows, equal, columns, differences } = await rescored(run);
	assert.deepEqual(differences, []);
	assert.ok(equal);
	assert.equal(rows, 128);
	assert.deepEqual(
		columns.map(({ name, rows, equal, failedNow }) => [name, rows, equal, failedNow]),
		['accuracy', 'format', 'brevity', 'position', 'digits.brevity', 'later', 'reward'].map((name) => [
			name,
			128,
			128,
			0,
		]),
	);
});

test('the editor scores with the same runner and gets the same values from the original files', async () => {
	await writeFiles(place, files);
	const hosts = await openRewardHosts();
	try {
		// Load the file directly, as the editor does, with other limits and coverage enabled.
		const original = {
			open: (source: RewardSource, limits?: Partial<RewardLimits>) =>
				hosts.open('file' in source ? { ...source, file: source.file.replace(run, place.folder) } : source, {
					...limits,
					batchMs: 9000,
				}),
		};
		const { equal, differences } = await rescoreRun(run, { hosts: original });
		assert.deepEqual(differences, []);
		assert.ok(equal);
		// Check that the comparison can fail: a different rule gives different values.
		await writeFile(join(place.folder, 'rewards/scale.ts'), 'export const scale: number = 1.8;\n');
		const other = await rescoreRun(run, { hosts: original, steps: { first: 5, last: 6 }, differences: 3 });
		assert.equal(other.equal, false);
		assert.equal(other.differences.length, 3);
		const changed = other.columns.filter(({ different }) => different > 0).map(({ name }) => name);
		assert.deepEqual(changed, ['brevity', 'reward']);
	} finally {
		hosts.dispose();
	}
});

test('an edit during a run has no effect, and a killed run resumes with its copies to the same end', async () => {
	await writeFiles(place, files);
	const edited = await place.prepare(recipe);
	const engine = place.start('--run', edited);
	await eventually(async () => (await listRolloutSteps(edited)).length > 1, 'batches are scored');
	await writeFile(join(place.folder, 'rewards/scale.ts'), 'export const scale: number = 99;\n');
	await rm(join(place.folder, 'rewards/digits.reward.py'));
	engine.kill('SIGKILL');
	await engine.exit;
	const { code, stderr } = await runHere(place, edited, { resume: true });
	assert.equal(code, 0, stderr);
	assert.deepEqual(await readOutcome(edited), expected);
});

test('the worker count does not change any value', async () => {
	await writeFiles(place, files);
	const resolved = async (folder: string) =>
		JSON.parse(await readFile(join(folder, 'recipe.json'), 'utf8')) as Record<string, unknown>;
	const { sampleRows, trainRows, workers } = await resolved(run);
	assert.equal(workers, 1);
	// Each batch has 16 rows, which both workers share.
	assert.ok(Number(sampleRows) <= 8 && Number(trainRows) <= 8);
	const other = await place.prepare({ ...recipe, workers: 2 });
	// Micro-batch sizes depend on the recipe's workers, so take those of the first run.
	await writeFile(join(other, 'recipe.json'), JSON.stringify({ ...(await resolved(other)), sampleRows, trainRows }));
	assert.equal((await runHere(place, other)).code, 0);
	assert.deepEqual(await readOutcome(other), expected);
});

/** Asserts exit status 2 and one sentence on stderr that says what to do, without a stack trace. */
function assertRefused({ code, stderr }: EngineExit, pattern: RegExp): void {
	assert.equal(code, 2, stderr);
	assert.match(stderr, pattern);
	assert.doesNotMatch(stderr, /\n\s+at /);
}

test('a run with modified copies cannot be resumed', async () => {
	const helpers = join(run, 'rewards/helpers.py');
	const text = await readFile(helpers, 'utf8');
	await writeFile(helpers, text.replace('3.0', '4.0'));
	assertRefused(
		await place.run('--run', run, '--resume'),
		/helpers\.py has changed since the run started\. Restore it/,
	);
	// Editing the recorded list to match is rejected too.
	const path = join(run, 'recipe.json');
	const recipeText = await readFile(path, 'utf8');
	await writeFile(path, recipeText.replace('"weight": 0.2', '"weight": 0.3'));
	assertRefused(await runHere(place, run, { resume: true }), /recipe\.json for run .* has changed/);
	await writeFile(path, recipeText);
	await writeFile(helpers, text);
	await writeFile(join(run, 'rewards/json.py'), '');
	assertRefused(await runHere(place, run, { resume: true }), /json\.py was added since/);
	await rm(join(run, 'rewards/json.py'));
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	assert.deepEqual(await readOutcome(run), expected);
});

test('a run branched from a checkpoint continues with the copies of its parent or with a corrected file', async () => {
	const corrected = join(place.folder, 'corrected/brevity.reward.ts');
	await writeFiles(place, { 'corrected/brevity.reward.ts': 'export const brevity = () => 0.25;\n' });
	await rm(join(place.folder, 'rewards'), { recursive: true, force: true });
	const same = await prepareChild(run, 4);
	assert.equal((await runHere(place, same.folder, same)).code, 0);
	assert.equal((await readOutcome(same.folder)).weights, expected.weights);
	const other = await prepareChild(run, 4, { set: [{ path: ['rewards', '2', 'file'], value: corrected }] });
	const { code, stderr } = await runHere(place, other.folder, other);
	assert.equal(code, 0, stderr);
	const lines = await readRollouts(other.folder, 8);
	assert.ok(lines.length > 0 && lines.every(({ rewards }) => rewards.brevity === 0.25 && !('position' in rewards)));
	assert.ok((await rescored(other.folder)).equal);
});

for (const [what, name, text, reason, pattern] of [
	['a syntax error', 'x.reward.ts', 'export const a = 1;\nexport const b = () => {;\n', 'invalid', /x\.reward\.ts:2: /],
	[
		'a missing import',
		'x.reward.py',
		'import math\nimport surely_not_there\ndef f(completions, **kwargs): return []',
		'invalid',
		/x\.reward\.py:2: .*surely_not_there/,
	],
	['a call that ends the process', 'x.reward.py', 'import os\nos._exit(3)', 'invalid', /x\.reward\.py/],
] as const) {
	test(`${what} in ${name} is rejected with its line before training starts`, async () => {
		await using place = await Workplace.make();
		await writeFiles(place, { [name]: text });
		const run = await place.prepare(rewardRecipe([{ file: name }]));
		assertRefused(await runHere(place, run), pattern);
		const record = await readRecord(run);
		assert.equal(record.status, 'crashed');
		assert.equal(record.error?.reason, reason);
		assert.deepEqual(await readMetrics(run), []);
	});
}

test('an unknown reward name, a duplicate reward and a missing column are rejected', async () => {
	await using place = await Workplace.make();
	await writeFiles(place, {
		'x.reward.ts': 'export const one = () => 1;\nexport const two = () => 2;',
		'y.reward.py': 'def f(completions, solution, **kwargs):\n    return [0.0] * len(completions)',
	});
	const attempt = async (...rewards: object[]) => runHere(place, await place.prepare(rewardRecipe(rewards)));
	const unknown = await attempt({ file: 'x.reward.ts', name: 'three' });
	assertRefused(unknown, /x\.reward\.ts has no reward "three"\. Available: one, two\. Fix "name"/);
	const twice = await attempt({ file: 'x.reward.ts' }, { file: 'x.reward.ts', name: 'two' });
	assertRefused(twice, /Reward "two" from .* is listed twice/);
	assertRefused(await attempt({ file: 'y.reward.py' }), /no column 'solution'/);
	await assert.rejects(place.prepare(rewardRecipe([{ file: 'z.reward.py' }])), { reason: 'missing' });
});

test('a missing interpreter is rejected with a suggested action', async () => {
	await using place = await Workplace.make();
	await writeFiles(place, { 'y.reward.py': 'def f(completions, **kwargs):\n    return [0.0] * len(completions)' });
	const run = await place.prepare(rewardRecipe([{ file: 'y.reward.py' }]));
	place.environment.REASONING_LAB_PYTHON = join(place.folder, 'no-python');
	assertRefused(await runHere(place, run), /no-python.*Install it, or set/s);
	assert.equal((await readRecord(run)).error?.reason, 'unavailable');
});

test('a recipe without an accuracy reward is still evaluated by accuracy', async () => {
	await using place = await Workplace.make();
	await writeFiles(place, { 'x.reward.ts': 'export const accuracy = () => 0;' });
	const rewards = [{ use: 'format', name: 'accuracy' }, { file: 'x.reward.ts' }];
	// All problems have the same answer, so a few steps of imitation are enough to learn it.
	const zeros = (numbers: readonly number[]) =>
		numbers.map((n) => `${JSON.stringify({ prompt: `${n}-${n}=`, answer: '0', solution: '0' })}\n`).join('');
	await writeFiles(place, { 'train.jsonl': zeros([1, 2, 3, 4, 5, 6]), 'test.jsonl': zeros([7, 8]) });
	const [sft, grpo] = rewardRecipe([]).stages;
	const stages = [
		{ ...sft, steps: 40 },
		{ ...grpo, steps: 2 },
	];
	const dataset = { path: 'train.jsonl', heldOut: 'test.jsonl' };
	const more = { dataset, evaluate: { every: 20, problems: 4 }, checkpoint: { every: 1000 }, stages };
	const run = await place.prepare({ ...rewardRecipe([]), rewards, ...more });
	const own = await place.prepare({
		...{ ...rewardRecipe([]), rewards: [{ use: 'accuracy' }], ...more },
		stages: stages.slice(0, 1),
	});
	for (const one of [run, own]) {
		const { code, stderr } = await runHere(place, one);
		assert.equal(code, 0, stderr);
	}
	const evaluations = async (one: string) =>
		(await readMetrics(one))
			.filter(({ step }) => step <= 40)
			.flatMap(({ values }) => ('eval/heldout/accuracy' in values ? [values['eval/heldout/accuracy']] : []));
	const measured = await evaluations(run);
	assert.deepEqual(measured, await evaluations(own));
	assert.ok(
		measured.some((value) => (value ?? 0) > 0),
		`${measured}`,
	);
	const columns = (await readRecord(run)).rewards?.map(({ name }) => name);
	assert.deepEqual(columns, ['accuracy', 'x.accuracy']);
	assert.deepEqual(await alertsOf(run), []);
});
