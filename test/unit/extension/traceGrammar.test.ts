import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import oniguruma from 'vscode-oniguruma';
import textmate from 'vscode-textmate';
import { findBehaviors } from '../../../src/core/trace/behaviors.ts';
import { traceLanguage } from '../../../src/extension/ids.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'));
const grammarPath = 'syntaxes/reasoningTrace.tmLanguage.json';

test('the grammar highlights only words that the extension counts as that behavior', () => {
	const { repository } = read(grammarPath);
	const rules: { name: string; match: string }[] = repository.behaviors.patterns;
	assert.equal(rules.length, 3);
	for (const { name, match } of rules) {
		const behavior = name.split('.')[2];
		const phrases = /\(\?:(.*)\)/.exec(match)?.[1]?.split('|') ?? [];
		assert.ok(phrases.length >= 8, match);
		for (const phrase of phrases) assert.equal(findBehaviors(phrase)[0]?.behavior, behavior, phrase);
	}
});

test('package.json contributes the trace language with its grammar and brackets', () => {
	const { contributes } = read('package.json');
	const language = contributes.languages.find(({ id }: { id: string }) => id === traceLanguage);
	assert.ok(language.extensions.includes('.trace'));
	assert.ok(read(language.configuration).brackets.length > 0);
	const [grammar] = contributes.grammars;
	assert.equal(grammar.language, traceLanguage);
	assert.equal(read(grammar.path).scopeName, grammar.scopeName);
});

/** Tokenizes with the editor's tokenizer and returns `text scope` per token, without plain text. */
async function tokens(text: string): Promise<string[]> {
	const wasm = readFileSync(createRequire(import.meta.url).resolve('vscode-oniguruma/release/onig.wasm'));
	await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
	const registry = new textmate.Registry({
		onigLib: Promise.resolve({
			createOnigScanner: (sources: string[]) => new oniguruma.OnigScanner(sources),
			createOnigString: (line: string) => new oniguruma.OnigString(line),
		}),
		loadGrammar: async () => read(grammarPath),
	});
	const grammar = await registry.loadGrammar('text.reasoning-trace');
	assert.ok(grammar);
	let state = textmate.INITIAL;
	const found: { text: string; scope: string }[] = [];
	for (const line of text.split('\n')) {
		const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
		state = ruleStack;
		for (const { startIndex, endIndex, scopes } of tokens) {
			const inner = (scopes.at(-1) as string).replace(/\.reasoning-trace$/, '');
			if (scopes.length < 2) continue;
			const text = line.slice(startIndex, endIndex);
			const last = found.at(-1);
			if (startIndex > 0 && last?.scope === inner) last.text += text;
			else found.push({ text, scope: inner });
		}
	}
	return found.map(({ text, scope }) => `${text} ${scope}`);
}

test('tags, steps, reflection, numbers and nested boxes get different scopes', async () => {
	const found = await tokens(
		'<think>Wait, 12.5\nStep 2: go\n## Plan\n</think><answer>\\boxed{\\frac{1}{2}} 7</answer> 3',
	);
	assert.deepEqual(found, [
		'<think> entity.name.tag.think',
		'Wait keyword.control.reflection',
		',  meta.think',
		'12.5 constant.numeric',
		'Step 2: markup.heading.step',
		' go meta.think',
		'## Plan markup.heading.step',
		'</think> entity.name.tag.think',
		'<answer> entity.name.tag.answer',
		'\\boxed support.function.boxed',
		'{ punctuation.definition.boxed.begin',
		'\\frac{1}{2} string.other.boxed',
		'} punctuation.definition.boxed.end',
		' 7 string.unquoted.answer',
		'</answer> entity.name.tag.answer',
		'3 constant.numeric',
	]);
});
