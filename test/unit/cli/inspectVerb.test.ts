import assert from 'node:assert/strict';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspectRun } from '../../../src/runs/inspectRun.ts';
import { openRun } from '../../../src/runs/openRun.ts';
import { root } from '../../scripts/paths.ts';
import { expected, fixtureFolder, fixtures } from '../runs/importers/foreignFixtures.ts';
import { writeFiles } from '../runs/importers/madeRun.ts';
import { objects, Workplace } from './cliFixtures.ts';

interface Summary {
	readonly format: string;
	readonly trainer: string;
	readonly steps: readonly number[] | null;
	readonly groups: number;
	readonly rollouts: number;
	readonly nulls: number;
	readonly meanReward: number | null;
	readonly validation: { readonly rollouts: number } | null;
	readonly skipped: readonly { readonly file: string; readonly line: number | null; readonly records: number }[];
	readonly alerts: readonly { readonly rule: string }[];
}

const summaryOf = (stdout: string) => objects(stdout)[0] as unknown as Summary;

test('inspect identifies every format correctly', async () => {
	for (const { name, format } of fixtures.filter(
		(fixture) => !['openrlhf', 'art legacy'].includes(fixture.name) && !fixture.name.startsWith('mlflow'),
	)) {
		const inspection = await inspectRun(await openRun(fixtureFolder(name)));
		const known = expected(name);
		assert.equal(inspection.format, format);
		assert.deepEqual(
			[inspection.rollouts, inspection.groups, inspection.nulls, inspection.skipped],
			[known.rollouts, known.groups, known.null_rewards, []],
			name,
		);
		assert.ok(Math.abs((inspection.meanReward ?? 0) - known.mean_reward) < 2e-6, name);
		assert.deepEqual(inspection.steps, known.steps ?? null, name);
	}
});

test('inspect writes the metrics, the trainer and the alerts as one object', async (context) => {
	const place = await Workplace.make(context);
	const { status, stdout, stderr } = await place.run(context, 'inspect', fixtureFolder('trl-run'), '--json');
	assert.equal(status, 0, stderr);
	const { format, trainer, rollouts, groups, steps, validation, alerts } = summaryOf(stdout);
	assert.deepEqual([format, trainer, rollouts, groups, steps?.length, validation], ['trl', 'TRL', 960, 120, 30, null]);
	for (const { rule } of alerts) assert.equal(typeof rule, 'string');
});

test('inspect finds the only run in a folder, lists several, and explains what it looked for', async (context) => {
	const place = await Workplace.make(context);
	const run = (...args: string[]) => place.call('inspect', ...args);
	await cp(join(root, 'test/fixtures/verl'), join(place.folder, 'out/a/verl'), { recursive: true });
	const one = await run('out');
	assert.equal(one.status, 0, one.stderr);
	assert.match(
		one.stdout,
		/verl: verl \(verl\)\ntraining: 4 steps \(1 to 4\), 16 groups, 96 rollouts, mean reward 0\.463\n/,
	);
	assert.match(one.stdout, /evaluation: 2 steps/);
	await cp(join(root, 'test/fixtures/trl-quirks'), join(place.folder, 'out/b'), { recursive: true });
	const several = await run('out');
	assert.equal(several.status, 2);
	assert.match(several.stderr, /contains several runs: b \(TRL\), a\/verl \(verl\)\. Specify one of them/);
	const chosen = await run('out', '--format', 'trl', '--json');
	assert.equal(summaryOf(chosen.stdout).format, 'trl');
	await rm(join(place.folder, 'out'), { recursive: true });
	await writeFiles(place.folder, { 'out/readme.txt': '' });
	const none = await run('out');
	assert.equal(none.status, 2);
	assert.match(none.stderr, /out does not contain a run\. Looked for: run\.json \(Reasoning Lab\); .*TRL.*TensorBoard/);
});

test('inspect counts and lists what it could not read', async (context) => {
	const place = await Workplace.make(context);
	const row = (score: unknown) => JSON.stringify({ input: 'q', output: 'a\u001b[31m', gts: null, score, step: 1 });
	await writeFiles(place.folder, { 'broken/1.jsonl': `${row(1)}\nnot JSON\n${row(null)}\n{"input": "to` });
	const { stdout } = await place.call('inspect', 'broken', '--json');
	const { rollouts, nulls, meanReward, skipped } = summaryOf(stdout);
	assert.deepEqual([rollouts, nulls, meanReward], [2, 1, 1]);
	assert.deepEqual(
		skipped.map(({ file, line, records }) => [file, line, records]),
		[
			['1.jsonl', 2, 1],
			['1.jsonl', 4, 1],
		],
	);
	const text = await place.call('inspect', 'broken');
	assert.match(text.stdout, /skipped: 2 records\n {2}1\.jsonl, line 2: invalid JSON\n {2}1\.jsonl, line 4: truncated/);
});

test('inspect shows how many rollouts had errors, which ones, and how far a run got', async (context) => {
	const place = await Workplace.make(context);
	const row = (example_id: number, error: unknown) => ({
		example_id,
		reward: 0,
		prompt: 'q',
		completion: null,
		metrics: {},
		error,
	});
	await writeFiles(place.folder, {
		'errored/results.jsonl': [
			row(0, { error: 'ModelError', error_chain_repr: 'Connection refused' }),
			row(1, { error: 'ModelError', error_chain_repr: 'Connection refused' }),
			row(2, null),
		],
		'errored/metadata.json': {},
		'short/trainer_state.json': { global_step: 1, max_steps: 9, log_history: [{ step: 1, loss: 1 }] },
	});
	const errored = await place.call('inspect', 'errored');
	assert.match(errored.stdout, /3 rollouts, mean reward 0, 2 with errors\n/);
	assert.match(errored.stdout, /error in 2 rollouts: ModelError: Connection refused\n/);
	const short = await place.call('inspect', 'short');
	assert.match(short.stdout, /last step: 1 of 9 \(some steps are missing\)\n/);
	const run = join(place.folder, 'crashed');
	const record = JSON.parse(await readFile(join(root, 'test/fixtures/torch-run/run.json'), 'utf8'));
	await writeFiles(run, {
		'run.json': {
			...record,
			status: 'running',
			step: 3,
			totalSteps: 8,
			pid: 999_999_999,
			heartbeat: 1,
			host: 'elsewhere',
			boot: 'x',
		},
		'metrics.jsonl': '',
	});
	const crashed = await place.call('inspect', 'crashed');
	assert.match(crashed.stdout, /status: crashed at step 3 of 8: /);
	assert.equal(crashed.status, 0, crashed.stderr);
});
