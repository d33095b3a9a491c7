import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { findBehaviours } from '../../../src/core/trace/behaviours.ts';
import { traceLanguage } from '../../../src/host/ids.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'));

test('the grammar colours only words that the lab counts as that behaviour', () => {
	const { repository } = read('syntaxes/reasoningTrace.tmLanguage.json');
	const rules: { name: string; match: string }[] = repository.behaviours.patterns;
	assert.equal(rules.length, 3);
	for (const { name, match } of rules) {
		const behaviour = name.split('.')[2];
		const phrases = /\(\?:(.*)\)/.exec(match)?.[1]?.split('|') ?? [];
		assert.ok(phrases.length >= 8, match);
		for (const phrase of phrases) assert.equal(findBehaviours(phrase)[0]?.behaviour, behaviour, phrase);
	}
});

test('package.json contributes the language of traces with its grammar', () => {
	const { contributes } = read('package.json');
	assert.ok(contributes.languages.some((language: { id: string }) => language.id === traceLanguage));
	const [grammar] = contributes.grammars;
	assert.equal(grammar.language, traceLanguage);
	assert.equal(read(grammar.path).scopeName, grammar.scopeName);
});
