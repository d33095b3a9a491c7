import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import type { GenerateRequest, Generation } from '../../../../src/core/search/policy.ts';
import { ContextOverflow } from '../../../../src/policies/contextOverflow.ts';
import { openPolicy } from '../../../../src/policies/openPolicy.ts';
import { CompletionTree } from '../../../../src/policies/scripted/completionTree.ts';
import { parseScript } from '../../../../src/policies/scripted/script.ts';
import { ScriptedPolicy } from '../../../../src/policies/scripted/scriptedPolicy.ts';
import { scriptedTokens } from '../../../../src/policies/scripted/scriptedTokens.ts';
import { matchWildcard } from '../../../../src/policies/scripted/wildcard.ts';
import { runSearch } from '../../../support/runSearch.ts';

const never = new AbortController().signal;

function ask(prompt: string, more: Partial<GenerateRequest> = {}): GenerateRequest {
	return {
		messages: [{ role: 'user', content: prompt }],
		prefix: '',
		n: 1,
		temperature: 1,
		topP: 1,
		maxTokens: 100,
		stop: [],
		seed: 1,
		tokens: 0,
		...more,
	};
}

async function one(policy: ScriptedPolicy, request: GenerateRequest): Promise<Generation> {
	const [generated] = await policy.bind({ signal: never }).generate([request]);
	assert.ok(generated !== undefined && !(generated instanceof Failure), String(generated));
	return generated[0] as Generation;
}

test('patterns match whole texts, and stars are non-greedy', () => {
	assert.deepEqual(matchWildcard('*+*=', '12+34='), ['12', '34']);
	assert.deepEqual(matchWildcard('*', 'any\ntext'), ['any\ntext']);
	assert.deepEqual(matchWildcard('a*a', 'aa'), ['']);
	assert.equal(matchWildcard('a*a', 'a'), null);
	assert.equal(matchWildcard('ab', 'abc'), null);
	assert.deepEqual(matchWildcard('*b*b*', 'abcbd'), ['a', 'c', 'd']);
	assert.equal(matchWildcard('a*bc*c', 'abc'), null);
});

test('the tokens of a script concatenate to its text', () => {
	for (const text of ['', 'a b  c', '<think>3 + 4\n= 7</think>', '𝒳y\ud800', 'naïve café _x1 ,.']) {
		assert.equal(scriptedTokens(text).join(''), text);
	}
});

test('a script is a distribution: probabilities, samples and scores agree, and any prefix can be continued', async () => {
	const policy = new ScriptedPolicy({
		rules: [{ prompt: 'p', say: [{ text: 'a b', weight: 3 }, { text: 'a c' }, { text: 'd', weight: 4 }] }],
	});
	const samples = await policy.bind({ signal: never }).generate([ask('p', { n: 4000, tokens: 5 })]);
	const made = samples[0];
	assert.ok(Array.isArray(made));
	const shares = new Map<string, number>();
	for (const { text } of made) shares.set(text, (shares.get(text) ?? 0) + 1 / made.length);
	for (const [text, p] of [
		['a b', 3 / 8],
		['a c', 1 / 8],
		['d', 4 / 8],
	] as const) {
		assert.ok(Math.abs((shares.get(text) ?? 0) - p) < 0.03, `${text}: ${shares.get(text)}`);
		const some = made.find((other) => other.text === text);
		assert.ok(Math.abs((some?.logprob ?? 0) - Math.log(p)) < 1e-9);
	}
	const scored = await policy.bind({ signal: never }).score?.([{ messages: ask('p').messages, completion: 'a b' }]);
	assert.ok(Math.abs((scored?.[0] ?? []).reduce((sum, x) => sum + x, 0) - Math.log(3 / 8)) < 1e-9);
	const detail = made.find(({ text }) => text === 'a c')?.detail;
	assert.deepEqual(detail?.text, ['a', ' c', '']);
	assert.deepEqual(detail?.top?.[1], [
		[' b', Math.log(3 / 4)],
		[' c', Math.log(1 / 4)],
	]);
	assert.equal((await one(policy, ask('p', { prefix: 'a', temperature: 0 }))).text, ' b');
	assert.equal((await one(policy, ask('p', { prefix: 'd', temperature: 0 }))).text, '');
	assert.equal((await one(policy, ask('p', { prefix: 'x' }))).text, '');
	assert.equal((await one(policy, ask('other'))).text, '');
});

test('greedy, top-p and temperature sampling work as for any distribution', () => {
	const tree = new CompletionTree([
		{ text: 'a', weight: 5 },
		{ text: 'b', weight: 4 },
		{ text: 'c', weight: 1 },
	]);
	const random = { next: () => 0.999 } as never;
	const first = (temperature: number, topP: number) => [...tree.draw(temperature, topP, random)][0]?.text;
	assert.equal(first(0, 1), 'a');
	assert.equal(first(1, 1), 'c');
	assert.equal(first(1, 0.9), 'b');
	assert.equal(first(1, 0.4), 'a');
	assert.equal(first(1, 0), 'a');
});

test('stop texts, the length limit and the context end a generation with different finish reasons', async () => {
	const policy = new ScriptedPolicy({ context: 8, rules: [{ say: 'one two\nthree four' }] });
	const stopped = await one(policy, ask('p', { stop: ['\n'], tokens: 1 }));
	assert.deepEqual([stopped.text, stopped.finish, stopped.stopText, stopped.tokens], ['one two', 'stop', '\n', 3]);
	assert.deepEqual(stopped.detail?.text, ['one', ' two']);
	const cut = await one(policy, ask('p', { maxTokens: 2 }));
	assert.deepEqual([cut.text, cut.finish], ['one two', 'length']);
	const full = await one(policy, ask('a b c d e f'));
	assert.deepEqual([full.text, full.finish], ['one two', 'length']);
	const [over] = await policy.bind({ signal: never }).generate([ask('a b c d e f g h')]);
	assert.ok(over instanceof ContextOverflow && over.context === 8, String(over));
	// A prefix counts toward the context limit.
	const first = await one(policy, ask('a b c d e f', { prefix: 'one two' }));
	assert.deepEqual([first.text, first.finish, first.tokens], ['', 'length', 0]);
});

test('a search that fills the context returns results that end there', async () => {
	const lines = Array.from({ length: 60 }, (_, i) => `Line ${i} goes on and on`).join('\n');
	const policy = new ScriptedPolicy({ context: 60, rules: [{ say: lines }] });
	const { outcome, tree } = await runSearch({
		strategy: 'beam',
		problem: { prompt: 'Go on?', answer: null, row: {} },
		policy: policy.bind({ signal: never }),
		guide: { name: 'length', scope: 'step', oracle: false, score: async (items) => items.map(() => 0.5) },
		now: () => 0,
	});
	const last = tree.node(outcome.best?.at(-1) ?? -1);
	assert.deepEqual([outcome.stop, last?.final, last?.finish], ['complete', true, 'length']);
});

test('the same seed gives the same text regardless of other requests, and rules can fail a limited number of times', async () => {
	const script = { rules: [{ prompt: 'q*', say: Array.from({ length: 20 }, (_, i) => `w${i} of $1`) }] };
	const first = new ScriptedPolicy(script);
	const second = new ScriptedPolicy(script);
	const alone = await one(first, ask('q7', { seed: 5 }));
	const among = await second.bind({ signal: never }).generate([ask('q7'), ask('q7', { seed: 5 })]);
	assert.deepEqual(among[1], [alone]);
	assert.match(alone.text, /^w\d+ of 7$/);
	const failing = new ScriptedPolicy({
		rules: [{ fail: { message: 'busy' }, times: 1 }, { say: 'fine' }],
	});
	const [one1, one2] = await failing.bind({ signal: never }).generate([ask('p'), ask('p')]);
	assert.ok(one1 instanceof Failure && one1.reason === 'unavailable');
	assert.ok(Array.isArray(one2) && one2[0]?.text === 'fine');
	assert.equal(failing.totals.requests, 1);
});

test('capabilities that a script omits are unsupported, and a canceled call rejects', async () => {
	const policy = new ScriptedPolicy({
		without: ['logprobs', 'prefix', 'score'],
		rules: [{ say: 'ab', delayMs: 60_000 }],
	});
	assert.deepEqual(
		[policy.capabilities.logprobs, policy.capabilities.prefix, policy.bind({ signal: never }).score],
		[false, false, undefined],
	);
	const cancel = new AbortController();
	const asked = policy.bind({ signal: cancel.signal }).generate([ask('p')]);
	cancel.abort();
	await assert.rejects(asked, (error) => error instanceof Failure && error.reason === 'cancelled');
	const open = policy.bind({ signal: never }).generate([ask('p')]);
	policy.dispose();
	await assert.rejects(open, (error) => error instanceof Failure && error.reason === 'cancelled');
});

test('a file is one object or JSON Lines, and errors have a location', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'script-'));
	try {
		await writeFile(
			join(folder, 'adder.jsonl'),
			'{"name":"Adder","tags":{"think":null,"answer":["<a>","</a>"]}}\n{"prompt":"1+1","say":"<a>2</a>"}\n',
		);
		const context = { engine: '', client: 'test', folder };
		const policy = await openPolicy({ kind: 'scripted', file: 'adder.jsonl' }, context);
		assert.deepEqual([policy.name, policy.tags?.answer], ['Adder', ['<a>', '</a>']]);
		assert.throws(() => parseScript('{"say":"a"}\n{"say":', 'x'), /Line 2 of x is not a JSON object/);
		assert.throws(() => parseScript('{"say":"a","times":0}', 'x'), /x, line 1 is not valid at times/);
		assert.throws(() => parseScript('{"rules":[{"delayMs":-1}]}', 'x'), /x is not valid at rules\[0\].delayMs/);
		await assert.rejects(openPolicy({ kind: 'scripted', file: 'none.json' }, context), /none\.json/);
	} finally {
		await rm(folder, { recursive: true });
	}
});
