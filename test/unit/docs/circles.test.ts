import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/paths.ts';
import { circlesOf } from '../../support/circles.ts';

/** Returns files in a folder, recursively, with a given extension and forward slashes. */
function filesUnder(folder: string, ending: string): string[] {
	return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && entry.name.endsWith(ending))
		.map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Returns a TypeScript file's imports from the project: values, types and dynamic imports. */
function importsOf(path: string): string[] {
	return [...read(path).matchAll(/(?:from|import\(?) ?'(\.[^']+)'/g)].map(([, target = '']) =>
		posix.normalize(posix.join(posix.dirname(path), target)),
	);
}

/** Returns the imports of a Python trainer module from its own package, including those for type checking. */
function pythonImportsOf(path: string, known: ReadonlySet<string>): string[] {
	return [...read(path).matchAll(/^ *from (\.+)([\w.]*) import ([^\n(]+|\([^)]*\))/gm)].flatMap(
		([, dots = '', module = '', names = '']) => {
			const base = posix.join(posix.dirname(path), '../'.repeat(dots.length - 1), module.replaceAll('.', '/'));
			const file = `${posix.normalize(base)}.py`;
			if (known.has(file)) return [file];
			// For a package, each name may be one of its modules.
			return [...names.matchAll(/\w+/g)].map(([name]) => posix.join(base, `${name}.py`));
		},
	);
}

test('no file imports itself indirectly, except for the cycles listed in docs/architecture.md', () => {
	const files = [...filesUnder('src', '.ts'), ...filesUnder('webview', '.ts')];
	const circles = circlesOf(new Map(files.map((path) => [path, importsOf(path)])));
	assert.deepEqual(circles.toSorted(), [
		['src/core/math/listAnswer.ts', 'src/core/math/regionAnswer.ts'],
		['elementwise', 'layout', 'reduction'].map((name) => `src/engines/embedded/onnx/${name}.ts`),
	]);
	const documented = read('docs/architecture.md');
	for (const path of circles.flat()) assert.ok(documented.includes(`\`${path}\``), `${path} is not named`);
});

test('no trainer module imports itself indirectly', () => {
	const files = filesUnder('src/engines/trainer', '.py');
	const known = new Set(files);
	assert.deepEqual(circlesOf(new Map(files.map((path) => [path, pythonImportsOf(path, known)]))), []);
});

test('cycles of any length are found', () => {
	const edges = new Map([
		['a', ['b']],
		['b', ['c', 'd']],
		['c', ['a']],
		['d', []],
		['e', ['f', 'a']],
		['f', ['e']],
	]);
	assert.deepEqual(circlesOf(edges), [
		['a', 'b', 'c'],
		['e', 'f'],
	]);
});
