import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { projectTemplates } from '../../../src/runs/projectTemplates.ts';
import { objects, Workplace } from './cliFixtures.ts';

test('new creates a project with a valid recipe from each template', async (context) => {
	const place = await Workplace.make(context);
	for (const { id, recipe } of projectTemplates) {
		const made = await place.run(context, 'new', join('made', id), '--template', id, '--json');
		assert.equal(made.status, 0, made.stderr);
		const [result] = objects(made.stdout) as { recipe: string; files: string[] }[];
		assert.equal(result?.recipe, join(place.folder, 'made', id, recipe));
		const parsed = parseRecipe(await readFile(result?.recipe ?? '', 'utf8'));
		assert.ok(parsed.ok, JSON.stringify(parsed));
		assert.ok(result?.files.includes('.gitignore'));
	}
});

test('new keeps existing files unless told otherwise', async (context) => {
	const place = await Workplace.make(context);
	const make = (...more: string[]) => place.run(context, 'new', 'mine', ...more);
	assert.equal((await make()).status, 0);
	const readme = join(place.folder, 'mine', 'README.md');
	await writeFile(readme, 'my own');
	const refused = await make();
	assert.equal(refused.status, 2);
	assert.match(refused.stderr, /already contains .*README\.md/);
	assert.equal((await make('--keep')).status, 0);
	assert.equal(await readFile(readme, 'utf8'), 'my own');
	assert.equal((await make('--replace')).status, 0);
	assert.notEqual(await readFile(readme, 'utf8'), 'my own');
	const unknown = await make('--template', 'castle');
	assert.equal(unknown.status, 2);
	assert.match(
		unknown.stderr,
		/Choose one of starter, demo, pytorch, r1, think, expert-iteration, algorithms, curriculum, no-labels, environments/,
	);
});
