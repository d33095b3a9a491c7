import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { trainers } from '../../../src/core/metrics/canonicalName.ts';
import { builtInInfos } from '../../../src/core/reward/builtInInfos.ts';
import { root } from '../../scripts/paths.ts';

const documents = [
	'README.md',
	'CONTRIBUTING.md',
	'CHANGELOG.md',
	...readdirSync(join(root, 'docs'))
		.filter((name) => name.endsWith('.md'))
		.map((name) => `docs/${name}`),
];

/** Strips code blocks: the files they show are the reader's, not the project's. */
const read = (path: string) => readFileSync(join(root, path), 'utf8').replace(/^```[\s\S]*?^```/gm, '');

/** Metric names, which look like file paths. */
const metrics = new Set(trainers.flatMap(({ names }) => names.map(({ name }) => name)));

/** Heading anchors as GitHub generates them. */
function anchors(text: string): string[] {
	return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
		(heading as string)
			.toLowerCase()
			.replace(/[^\w\- ]/g, '')
			.replaceAll(' ', '-'),
	);
}

for (const path of documents) {
	test(`every link in ${path} resolves`, () => {
		for (const [, target] of read(path).matchAll(/\]\(([^)\s]+)\)/g)) {
			if (target === undefined || /^[a-z]+:/.test(target)) continue;
			const [file = '', anchor] = target.split('#');
			const full = file === '' ? path : join(dirname(path), file);
			assert.ok(existsSync(join(root, full)), `${target} does not exist`);
			if (anchor !== undefined) assert.ok(anchors(read(full)).includes(anchor), `${target} has no such heading`);
		}
	});

	test(`every file mentioned in ${path} exists`, () => {
		const named = [...read(path).matchAll(/`((?:src|webview|test|media|docs|syntaxes)\/[\w./-]*)`/g)];
		const missing = named
			.map(([, file]) => file as string)
			.filter((file) => !metrics.has(file) && !existsSync(join(root, file)));
		assert.deepEqual(missing, []);
	});
}

test('images are small and each is shown in the README', () => {
	const readme = readFileSync(join(root, 'README.md'), 'utf8');
	const names = readdirSync(join(root, 'media/pictures'));
	assert.ok(names.length > 0);
	for (const name of names) {
		const path = `media/pictures/${name}`;
		assert.ok(statSync(join(root, path)).size < 400_000, `${path} is too large`);
		assert.ok(readme.includes(path), `${path} is not shown`);
	}
});

test('every script mentioned in the README or CONTRIBUTING is defined in package.json', () => {
	const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		scripts: Record<string, string>;
	};
	for (const path of ['README.md', 'CONTRIBUTING.md']) {
		const text = readFileSync(join(root, path), 'utf8');
		for (const [, name] of text.matchAll(/npm run ([\w:]+)/g)) assert.ok(scripts[name as string], `${path}: ${name}`);
	}
});

test('the README is short', () => {
	assert.ok(statSync(join(root, 'README.md')).size <= 8192);
});

test('docs/README.md lists every page once', () => {
	const index = read('docs/README.md');
	const listed = [...index.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\) \| \S/gm)].map(([, page]) => `docs/${page}`);
	const pages = documents.filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
	assert.deepEqual(listed.toSorted(), pages.toSorted());
});

test('the glossary has at most 25 terms', () => {
	const [, glossary = ''] = /^## Glossary$([\s\S]*?)^## /m.exec(read('docs/architecture.md')) ?? [];
	const rows = glossary.split('\n').filter((line) => /^\| (?!term )\w/.test(line));
	assert.ok(rows.length > 15 && rows.length <= 25, `${rows.length} terms`);
});

test('the README states the number of built-in rewards', () => {
	const [, count] = /There are (\d+) built-in rewards/.exec(read('README.md')) ?? [];
	assert.equal(Number(count), builtInInfos.length);
});
