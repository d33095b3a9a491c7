import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../../scripts/paths.ts';

/** Folders with TypeScript and Python code and everything else that ships, except generated schemas and recipes. */
const folders = ['src', 'webview', 'media'];
const isCode = (path: string): boolean =>
	/\.(ts|py|json|mjs)$/.test(path) && !/media.schemas.recipe\.schema\.json$|\.recipe\.json$/.test(path);

/** A key in code: quoted by itself, after a dot, or before a colon. Mentions in sentences are allowed. */
const key = /(?<=['"`])epsilon_high(?=['"`])|\.epsilon_high\b|\bepsilon_high\b(?=\s*\??:)|_epsilon_high\b/g;

test('a recipe key is declared in one place and referred to in few others', () => {
	const places = folders.flatMap((folder) =>
		readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
			.map((name) => join(folder, name))
			.filter(isCode)
			.flatMap((path) =>
				[...readFileSync(join(root, path), 'utf8').matchAll(key)].map(() => path.replaceAll('\\', '/')),
			),
	);
	assert.ok(places.length <= 4, places.join(', '));
	assert.deepEqual(places.sort(), [
		'src/engines/driver/ray/verlJob/verlOverrides.ts',
		'src/engines/embedded/run/clipRange.ts',
		'src/engines/trainer/reasoning_lab_trainer/trl/dppo.py',
		'src/protocol/recipeKeys/groupStages.ts',
	]);
});
