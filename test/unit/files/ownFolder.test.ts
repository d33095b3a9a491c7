import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { linkMarker, requireInside } from '../../../src/files/ownFolder.ts';
import { prepareRun } from '../../../src/runs/prepareRun.ts';
import { moveToTrash } from '../../../src/runs/runActions.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, temporaryFolder } from '../runs/runFixtures.ts';

const windows = { skip: process.platform === 'win32' };

/** Creates a folder next to another folder with someone else's files. */
async function places(context: TestContext): Promise<{ base: string; secret: string; empty: string }> {
	const place = await temporaryFolder(context);
	const [base, secret, empty] = ['base', 'secret', 'empty'].map((name) => join(place, name)) as [
		string,
		string,
		string,
	];
	for (const folder of [base, secret, empty]) await mkdir(folder);
	await writeFile(join(secret, 'key'), 'k');
	return { base, secret, empty };
}

test(
	'writing below a folder does not follow links out of it, except to folders that belong to us',
	windows,
	async (context) => {
		const { base, secret, empty } = await places(context);
		assert.equal(await requireInside(base, 'runs', 'a'), join(base, 'runs', 'a'));
		await mkdir(join(base, 'runs'));
		assert.equal(await requireInside(base, 'runs/a'), join(base, 'runs', 'a'));
		await symlink(secret, join(base, 'searches'));
		await symlink(join(base, 'nowhere'), join(base, 'data'));
		await writeFile(join(base, 'comparisons'), '');
		await symlink(secret, join(base, 'runs', 'a'));
		for (const [parts, message] of [
			[['searches'], /links to .*secret, which contains other files.*/],
			[['searches', 'deeper'], /which contains other files/],
			[['runs', 'a'], /which contains other files/],
			[['data'], /is a link, but not to a folder/],
			[['comparisons'], /is not a folder/],
		] as const) {
			await assert.rejects(requireInside(base, ...parts), { reason: 'invalid', message });
		}
		assert.deepEqual(await readdir(secret), ['key']);
		// Scratch disk: the target was empty when linked, and it remains trusted when filled.
		await symlink(empty, join(base, 'evaluations'));
		await requireInside(base, 'evaluations');
		await writeFile(join(empty, 'more'), '');
		await requireInside(base, 'evaluations', 'x');
		// The owner can mark a folder with other files as trusted.
		await writeFile(join(secret, linkMarker), '');
		await requireInside(base, 'searches');
		await assert.rejects(requireInside(base, '..', 'x'), { reason: 'internal' });
	},
);

test('runs, evaluations, data and the trash are not written through a planted link', windows, async (context) => {
	const { base, secret } = await places(context);
	const untouched = async (work: Promise<unknown>) => {
		await assert.rejects(work, {
			reason: 'invalid',
			message: /which contains other files|neither a file nor a folder/,
		});
		assert.deepEqual(await readdir(secret), ['key']);
	};
	await symlink(secret, join(base, 'runs'));
	const recipe = {
		name: 'small',
		dataset: { task: 'addition', digits: 1 },
		model: { layers: 1, width: 16, heads: 2 },
		rewards: [{ use: 'accuracy' }],
		stages: [{ type: 'grpo', steps: 4, learning_rate: 0.001, prompts_per_step: 4, num_generations: 4 }],
	};
	await writeFile(join(base, 'small.recipe.json'), JSON.stringify(recipe));
	await untouched(prepareRun(join(base, 'small.recipe.json')));

	const run = join(base, 'run');
	await mkdir(run);
	const writer = await RunWriter.create(run, initialRecord);
	await mkdir(join(run, 'evaluations'));
	await symlink(secret, join(run, 'evaluations', 'step_000001'));
	const summary = { name: 'heldout', step: 1, problems: 1, samples: 1, temperature: 1, accuracy: 1, low: 0, high: 1 };
	await untouched(writer.writeEvaluation(1, 'heldout', [], summary));
	await symlink(secret, join(run, 'data'));
	await untouched(writer.data.write('completions.jsonl', 'x'));
	await writer.close();

	await mkdir(join(base, 'old'));
	await symlink(secret, join(base, '.trash'));
	await untouched(moveToTrash(join(base, 'old')));
});
