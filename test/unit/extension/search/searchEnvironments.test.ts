import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { offeredRowsSchema } from '../../../../src/protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../../../src/protocol/policySpec.ts';
import { markStarted } from '../../../../src/runs/foreignCode.ts';
import { prepareRun } from '../../../../src/runs/prepareRun.ts';
import { guessing } from '../../episodes/guessingEnvironment.ts';
import { folderFor } from '../../search/searchFixtures.ts';
import { shown, Uri, workspace } from '../vscodeStandIn.ts';

const { SearchEnvironments } = await import('../../../../src/extension/search/searchEnvironments.ts');

const rows = Array.from({ length: 40 }, (_, number) => ({ prompt: `Task ${number}. `, answer: null, number }));
const trained = { maxTurns: 3, turnSeconds: 2 };

/** An environment file, a verifiers package, and a run that trains on the file. */
async function place(context: TestContext) {
	const folder = await folderFor(context);
	process.env.REASONING_LAB_HOME = join(folder, 'home');
	const file = join(folder, 'made.env.py');
	await writeFile(file, `# @dataset rows.jsonl\n${guessing}`);
	await writeFile(join(folder, 'rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
	const manifest = join(folder, 'own/pyproject.toml');
	await mkdir(join(folder, 'own'));
	await writeFile(manifest, '[project]\ndependencies = ["verifiers>=0.4"]\n');
	const recipe = {
		...{ name: 'guess', dataset: { path: 'rows.jsonl', heldOutShare: 0.2 } },
		...{ environment: { file: 'made.env.py', ...trained }, rewards: [{ use: 'environment' }] },
		...{ model: { layers: 1, width: 16, heads: 2 }, stages: [{ type: 'grpo', steps: 1, learning_rate: 1e-3 }] },
	};
	await writeFile(join(folder, 'guess.recipe.json'), JSON.stringify(recipe));
	const { folder: run } = await prepareRun(join(folder, 'guess.recipe.json'));
	Object.assign(workspace, {
		findFiles: async (pattern: string) => (pattern.includes('.env.') ? [Uri.file(file)] : [Uri.file(manifest)]),
	});
	const policy: PolicySpec = { kind: 'checkpoint', folder: join(run, 'checkpoints/step_000001') };
	const environments = async () => assert.fail('an environment was started');
	return { folder, file, run, policy, episodes: new SearchEnvironments({ environments }) };
}

test('environments of the workspace and the run are offered, with the rows that the run holds out, or else the rows of the file', async (context) => {
	const { folder, file, run, policy, episodes } = await place(context);
	const offered = await episodes.offered();
	assert.deepEqual(
		offered.map(({ description, spec }) => [description, spec]),
		[
			['', { file, maxTurns: 20, turnSeconds: 5 }],
			['verifiers', { package: join(folder, 'own'), maxTurns: 20, turnSeconds: 5 }],
		],
	);
	const own = await episodes.trained(policy);
	assert.ok(own !== null);
	assert.deepEqual(own.spec, { file: join(run, 'rewards/made.env.py'), ...trained });
	assert.equal(await episodes.trained({ kind: 'scripted', file: '/w/pupil.json' }), null);
	assert.equal(await episodes.trained({ kind: 'engine', run: '/nowhere' }), null);

	const held = decodeOrThrow(offeredRowsSchema, await episodes.rows(own.spec, policy), 'The rows');
	assert.match(held.source, /^Held-out problems of guess-/);
	assert.ok(held.rows.length > 0 && held.rows.length < 20);
	for (const { problem } of held.rows) assert.deepEqual(problem.row, rows[problem.row.number as number]);
	assert.deepEqual([held.rows[0]?.problem.answer, held.rows[0]?.problem.prompt.slice(0, 5)], [null, 'Task ']);

	const whole = await episodes.rows({ file, ...trained }, policy);
	assert.deepEqual([whole.source, whole.rows.length], ['Rows of rows.jsonl', 40]);
	assert.equal(whole.rows[3]?.label, '{"prompt":"Task 3. ","answer":null,"number":3}');
	await writeFile(join(folder, 'rows.jsonl'), `${JSON.stringify({ prompt: 'x'.repeat(3_000_000) })}\n{"prompt":"y"}`);
	const cut = decodeOrThrow(offeredRowsSchema, await episodes.rows({ file, ...trained }, undefined), 'The rows');
	assert.deepEqual(
		cut.rows.map(({ problem }) => problem.prompt),
		['y'],
		'a prompt that is too long for a message is omitted',
	);
	await writeFile(file, guessing);
	const without = await episodes.rows({ file, ...trained }, undefined);
	assert.match(without.source, /^No dataset: reset is called without arguments/);
	assert.deepEqual(without.rows[0]?.problem.row, {});
});

test('a package that a run names is not started to read its rows', async (context) => {
	const { folder, episodes } = await place(context);
	await writeFile(join(folder, 'one.jsonl'), '{"prompt":"y","answer":null}');
	const recipe = {
		...{ name: 'package', engine: 'pytorch', dataset: { path: 'one.jsonl', heldOutShare: 0.001 } },
		...{ environment: { package: './own' }, rewards: [{ use: 'environment' }], model: { path: 'Qwen/Qwen3-0.6B' } },
		...{ template: { prompt: '{prompt}', think: null, answer: null, chat: true } },
		stages: [{ type: 'grpo', steps: 1, learning_rate: 1e-3 }],
	};
	await writeFile(join(folder, 'package.recipe.json'), JSON.stringify(recipe));
	const { folder: run } = await prepareRun(join(folder, 'package.recipe.json'));
	const policy: PolicySpec = { kind: 'checkpoint', folder: join(run, 'checkpoints/step_000001') };
	const own = await episodes.trained(policy);
	assert.equal(own?.spec.package, join(folder, 'own'));
	// The stand-in for its process fails the test if it is used.
	await assert.rejects(
		episodes.rows(own?.spec as NonNullable<typeof own>['spec'], policy),
		/leaves no rows to hold out/,
	);
});

test('the code of a run that the user did not start runs only with consent, and a changed copy never runs', async (context) => {
	const { file, run, policy, episodes } = await place(context);
	const spec = { file: join(run, 'rewards/made.env.py'), ...trained };
	await assert.rejects(episodes.require(spec, policy), { reason: 'cancelled' });
	assert.match(shown.at(-1)?.text ?? '', /^You did not start guess-/);
	await markStarted(run);
	const before = shown.length;
	await episodes.require(spec, policy);
	await episodes.require({ file, ...trained }, policy);
	assert.equal(shown.length, before);
	await assert.rejects(episodes.require({ server: 'http://far.example:8000', ...trained }, policy), {
		reason: 'cancelled',
	});
	await writeFile(spec.file, 'raise SystemExit');
	await assert.rejects(episodes.require(spec, policy), { reason: 'mismatch' });
});
