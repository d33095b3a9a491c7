import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { metricNames } from '../../../src/core/metrics/catalog.ts';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { tabled, withTables } from '../../scripts/docTables.ts';
import { root } from '../../scripts/paths.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

for (const [path, tables] of tabled) {
	test(`the tables in ${path} are up to date (run npm run docs to regenerate them)`, () => {
		const text = read(path);
		assert.equal(text, withTables(text, tables()));
	});
}

interface Schema {
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly anyOf?: readonly Schema[];
	readonly oneOf?: readonly Schema[];
	readonly items?: Schema | readonly Schema[];
	readonly definitions?: Readonly<Record<string, Schema>>;
}

function* keysOf(schema: Schema): Generator<string> {
	for (const [key, child] of Object.entries(schema.properties ?? {})) {
		yield key;
		yield* keysOf(child);
	}
	const inner = [schema.anyOf ?? [], schema.oneOf ?? [], schema.items ?? [], Object.values(schema.definitions ?? {})];
	for (const child of inner.flat()) yield* keysOf(child as Schema);
}

test('docs/recipe.md and docs/pipelines.md have a row for every recipe key and no others', () => {
	const keys = new Set(keysOf(JSON.parse(read('media/schemas/recipe.schema.json'))));
	assert.ok(keys.size > 50, `${keys.size}`);
	const text = read('docs/recipe.md') + read('docs/pipelines.md');
	const rows = [...text.matchAll(/^\| `([$\w]+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$/gm)].map(([, key]) => key as string);
	assert.deepEqual(
		[...keys].filter((key) => !rows.includes(key)),
		[],
	);
	assert.deepEqual(
		rows.filter((key) => !keys.has(key)),
		[],
	);
});

test('every metric has a row in docs/metrics.md', () => {
	const text = read('docs/metrics.md');
	assert.deepEqual(
		metricNames.filter((name) => !text.includes(`| \`${name}\` |`)),
		[],
	);
});

test('a table without a placeholder and a placeholder without a table are rejected', () => {
	assert.throws(() => withTables('', { a: '' }), /no placeholder for the tables a/);
	assert.throws(() => withTables('<!-- table: b -->\n<!-- end -->', {}), /no table "b"/);
});

test('the recipes in the docs are valid', () => {
	for (const path of ['README.md', 'docs/recipe.md', 'docs/pipelines.md']) {
		const blocks = [...read(path).matchAll(/^```jsonc\n([\s\S]*?)^```/gm)];
		assert.ok(blocks.length > 0, path);
		for (const [, text] of blocks) {
			const parsed = parseRecipe(text as string);
			assert.deepEqual(parsed.ok ? [] : parsed.faults, [], path);
		}
	}
});

test('docs/dependencies.md explains every package in use and no others', () => {
	const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
	const used = [...Object.keys(dependencies ?? {}), ...Object.keys(devDependencies ?? {})].map((name) =>
		name.startsWith('@types/') ? '@types/*' : name,
	);
	const [before = '', python = '', after = ''] = read('docs/dependencies.md').split(
		/^## (?:In the trainer|For development).*$/m,
	);
	const listed = (text: string) =>
		[...text.matchAll(/^\| ([@\w][^|]*?) \| [A-Z]/gm)].flatMap(([, names]) => (names as string).split(', '));
	// The Python linter and test runner are not npm packages.
	const others = ['pytest', 'ruff'];
	const npm = listed(before + after).filter((name) => !others.includes(name));
	assert.deepEqual(npm.toSorted(), [...new Set(used)].toSorted());

	const needed = read('src/engines/trainer/requirements/ranges.txt')
		.split('\n')
		.filter((line) => /^\w/.test(line))
		.map((line) => line.replace(/[<>=].*/, ''));
	// transformers depends on these for tokenization and the weight format.
	const brought = ['tokenizers', 'safetensors'];
	const stated = listed(python)
		.map((name) => name.replace(/\[.*/, ''))
		.filter((name) => !brought.includes(name));
	assert.deepEqual(stated.toSorted(), needed.toSorted());
});
