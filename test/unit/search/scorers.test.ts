import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as v from 'valibot';
import { Failure } from '../../../src/base/failure.ts';
import type { Generation, PolicyCapabilities, TokenDetail } from '../../../src/core/search/policy.ts';
import type { ScoreItem } from '../../../src/core/search/scorer.ts';
import type { OpenPolicy } from '../../../src/policies/openedPolicy.ts';
import { ScriptedPolicy } from '../../../src/policies/scripted/scriptedPolicy.ts';
import { type ScorerSpec, scorerSpecSchema, searchSpecSchema } from '../../../src/protocol/searchSpec.ts';
import { PolicyPool } from '../../../src/search/policyPool.ts';
import { aggregateValues } from '../../../src/search/scorers/aggregateValues.ts';
import { openScorer } from '../../../src/search/scorers/openScorer.ts';
import { withoutGold } from '../../../src/search/scorers/rewardScorer.ts';
import type { OpenScorer } from '../../../src/search/scorers/scorerContext.ts';
import { certaintyOf } from '../../../src/search/scorers/selfCertainty.ts';

const never = new AbortController().signal;
let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'scorers-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const plain = new ScriptedPolicy({ rules: [{ say: 'x' }] });

async function open(spec: v.InferInput<typeof scorerSpecSchema>, policy: OpenPolicy = plain): Promise<OpenScorer> {
	const pool = new PolicyPool(0);
	return openScorer(v.parse(scorerSpecSchema, spec) as ScorerSpec, {
		policy,
		search: { pool, policies: { engine: '', client: 'test', folder } },
		spec: v.parse(searchSpecSchema, { policy: { kind: 'scripted', file: 'x' }, strategy: 'mcts' }),
	});
}

function item(completion: string, more: Partial<ScoreItem> = {}): ScoreItem {
	const answer = /<answer>(.*)<\/answer>/.exec(completion)?.[1] ?? null;
	return {
		problem: { prompt: 'What is 1 + 1?', answer: '2', row: { level: 3, answer: '2', shown: ' 2 ', hint: 'add' } },
		completion,
		steps: [completion],
		final: answer !== null,
		answer,
		generation: null,
		logprob: null,
		tokens: null,
		...more,
	};
}

async function score(scorer: OpenScorer, ...items: ScoreItem[]) {
	return scorer.bind({ signal: never }).score(items);
}

const right = item('<think>1 and 1</think><answer>2</answer>');
const wrong = item('<think>1 and 1</think><answer>3</answer>');
const started = item('<think>1 and');

test('built-in rewards score completions, with the gold answer only on request', async () => {
	const accuracy = await open({ use: 'reward', reward: 'accuracy', gold: true });
	const blind = await open({ use: 'reward', reward: 'accuracy' });
	const format = await open({ use: 'reward', reward: { use: 'format', weight: 0.5 } });
	try {
		const bound = accuracy.bind({ signal: never });
		assert.deepEqual([bound.name, bound.scope, bound.oracle], ['accuracy (gold)', 'final', true]);
		assert.deepEqual(await bound.score([right, wrong, started]), [1, 0, null]);
		assert.equal(blind.bind({ signal: never }).oracle, false);
		assert.deepEqual(await score(blind, right, wrong), [null, null]);
		assert.deepEqual(await score(format, right, item('no tags', { final: true })), [1, 0]);
	} finally {
		for (const one of [accuracy, blind, format]) one.dispose();
	}
	await assert.rejects(open({ use: 'reward', reward: 'acuracy' }), /Unknown built-in reward "acuracy"/);
});

test('file rewards score in a separate process without access to the gold answer, and their errors are reported', async () => {
	const file = join(folder, 'own.reward.ts');
	await writeFile(
		file,
		[
			'export const keys = ({ row, answer }: { row: object; answer: unknown }) =>',
			'	Object.keys(row).length + (answer === null ? 0 : 100);',
			"export const throws = () => { throw new Error('not today'); };",
			'export const some = ({ completion }: { completion: string }) => {',
			"	if (completion.includes('3')) throw new Error('three');",
			'	return 1;',
			'};',
		].join('\n'),
	);
	const use = 'reward' as const;
	const [keys, gold, throws, some] = await Promise.all([
		open({ use, reward: { file, name: 'keys' } }),
		open({ use, reward: { file, name: 'keys' }, gold: true }),
		open({ use, reward: { file, name: 'throws' } }),
		open({ use, reward: { file, name: 'some' } }),
	]);
	try {
		// level and hint; neither the answer nor anything that contains it.
		assert.deepEqual(await score(keys, right), [2]);
		assert.deepEqual(await score(gold, right), [104]);
		await assert.rejects(score(throws, right), (error: Failure) => {
			assert.ok(error instanceof Failure && error.action !== undefined);
			return /The reward throws failed: .*not today/.test(error.message);
		});
		// An error affects only its own row.
		assert.deepEqual(await score(some, right, wrong, right), [1, null, 1]);
		await assert.rejects(open({ use, reward: { file } }), /contains several rewards: keys, throws, some/);
		await assert.rejects(open({ use, reward: { file, name: 'none' } }), /has no reward "none"/);
		await assert.rejects(open({ use, reward: { file: join(folder, 'gone.reward.ts') } }), Failure);
	} finally {
		for (const one of [keys, gold, throws, some]) one.dispose();
	}
});

test('the gold answer is removed from a row at any depth and under any name', () => {
	const row = {
		level: 3,
		answer_type: 'integer',
		reward_model: { style: 'rule', ground_truth: '2' },
		groundTruth: 'two',
		'Correct Answer': 'B',
		solution: 'One and one are 2.',
		extra: { hints: ['add', '2'], deep: [{ target: 'two', topic: 'sums' }] },
		shown: 2,
	};
	assert.deepEqual(withoutGold(row, '2'), {
		level: 3,
		answer_type: 'integer',
		reward_model: { style: 'rule' },
		extra: { hints: ['add', null], deep: [{ topic: 'sums' }] },
	});
	assert.deepEqual(withoutGold({ level: 3 }, null), { level: 3 });
});

test('majority is the fraction of completions with the same answer in any notation', async () => {
	const scorer = (await open({ use: 'majority' })).bind({ signal: never });
	const half = item('<answer>1/2</answer>');
	const alike = item('<answer>0.5</answer>');
	assert.deepEqual(await scorer.score([half, wrong, started, item('none', { final: true })]), [
		1 / 3,
		1 / 3,
		null,
		null,
	]);
	assert.deepEqual(await scorer.score([alike]), [2 / 4]);
	const other = { ...half, problem: { ...half.problem, prompt: 'another' } };
	assert.deepEqual(await scorer.score([other]), [1]);
});

test('mean log-probability is a geometric mean, requested from the policy if not recorded', async () => {
	const policy = new ScriptedPolicy({ rules: [{ say: [{ text: 'a b', weight: 3 }, { text: 'a c' }] }] });
	const scorer = await open({ use: 'mean-logprob' }, policy);
	const values = await score(scorer, item('x', { logprob: -2, tokens: 4 }), item('a b'), item(''));
	assert.ok(Math.abs((values[0] ?? 0) - Math.exp(-0.5)) < 1e-12);
	assert.ok(Math.abs((values[1] ?? 0) - Math.sqrt(0.75)) < 1e-12);
	// Policies that cannot score texts afterwards report every token, so text truncated at a step boundary still has its
	// log-probability.
	const result = new ScriptedPolicy({ without: ['score'], rules: [{ say: 'a' }] });
	assert.deepEqual([scorer.tokens, (await open({ use: 'mean-logprob' }, result)).tokens], [0, 1]);
	assert.equal(values[2], null);
	const mute = new ScriptedPolicy({ without: ['logprobs', 'score'], rules: [] });
	await assert.rejects(open({ use: 'mean-logprob' }, mute), (error: Failure) => error.reason === 'unsupported');
});

test('self-certainty is the divergence from the uniform distribution over all generated tokens', async () => {
	const detail = (...tops: [string, number][][]): TokenDetail => ({
		text: tops.map(() => 't'),
		logprob: tops.map(() => -1),
		top: tops.map((top) => top.map(([text, p]) => [text, Math.log(p)] as const)),
	});
	const uniform = detail([
		['a', 0.25],
		['b', 0.25],
		['c', 0.25],
		['d', 0.25],
	]);
	assert.ok(Math.abs(certaintyOf(uniform)?.sum ?? 1) < 1e-12);
	// -1/2 (log(2 * 0.9) + log(2 * 0.1))
	const sure = detail([
		['a', 0.9],
		['b', 0.1],
	]);
	const expected = -(Math.log(1.8) + Math.log(0.2)) / 2;
	assert.ok(Math.abs((certaintyOf(sure)?.sum ?? 0) - expected) < 1e-12);
	assert.equal(certaintyOf(null), null);

	const opened = await open({ use: 'self-certainty' });
	assert.equal(opened.tokens, 20);
	assert.match(opened.notes?.join() ?? '', /approximated/);
	const scorer = opened.bind({ signal: never });
	const generation = (own: TokenDetail) => ({ detail: own }) as Generation;
	const first = item('one', { generation: generation(sure), steps: ['one'] });
	const second = item('one two', { generation: generation(uniform), steps: ['one', ' two'] });
	const values = await scorer.score([first, second]);
	assert.ok(Math.abs((values[0] ?? 0) - expected) < 1e-12);
	assert.ok(Math.abs((values[1] ?? 0) - expected / 2) < 1e-12);
	assert.deepEqual(await scorer.score([item('by hand')]), [null]);
	const mute = new ScriptedPolicy({ without: ['alternatives'], rules: [] });
	await assert.rejects(open({ use: 'self-certainty' }, mute), (error: Failure) => error.reason === 'unsupported');
});

/** Creates a judge policy that extracts the verdict code from its prompt. */
function judging(reply: (message: string, code: string) => string | Failure): OpenPolicy & { asked: string[] } {
	const base = new ScriptedPolicy({ rules: [{ say: '' }] });
	const asked: string[] = [];
	return Object.assign(Object.create(base), {
		asked,
		name: 'judge',
		capabilities: base.capabilities,
		bind: () => ({
			name: 'judge',
			capabilities: base.capabilities,
			generate: async (requests: { messages: { content: string }[] }[]) =>
				requests.map(({ messages }) => {
					const message = messages[0]?.content ?? '';
					asked.push(message);
					const code = /VERDICT ([0-9a-f]+):/.exec(message)?.[1] ?? '';
					const text = reply(message, code);
					return text instanceof Failure ? text : [{ text }];
				}),
		}),
	});
}

test('a judge grades partial and complete texts, once each, and cannot be fed a verdict', async () => {
	const policy = judging((message, code) =>
		message.includes('has not finished')
			? `Hm.\nVERDICT ${code}: 5`
			: `VERDICT ${code}: ${message.includes('>3<') ? 0 : 10}`,
	);
	const scorer = (await open({ use: 'self-evaluation' }, policy)).bind({ signal: never });
	assert.deepEqual([scorer.scope, scorer.oracle, scorer.name], ['step', false, 'self-evaluation']);
	assert.deepEqual(await scorer.score([right, wrong, started, right]), [1, 0, 0.5, 1]);
	assert.deepEqual(await scorer.score([wrong]), [0]);
	assert.equal(policy.asked.length, 3);
	assert.ok(policy.asked.every((message) => !message.includes('Reference answer')));

	const talked = judging(() => 'VERDICT abc: 10\nVERDICT: 10\nTEN!');
	assert.deepEqual(await (await open({ use: 'self-evaluation' }, talked)).bind({ signal: never }).score([right]), [
		null,
	]);

	let count = 0;
	const failing = judging((_, code) => (++count === 2 ? new Failure('unavailable', 'busy') : `VERDICT ${code}: 10`));
	const second = (await open({ use: 'self-evaluation' }, failing)).bind({ signal: never });
	assert.deepEqual(await second.score([right, wrong]), [1, null]);
	const never1 = judging(() => new Failure('unavailable', 'busy'));
	await assert.rejects((await open({ use: 'self-evaluation' }, never1)).bind({ signal: never }).score([right]), /busy/);

	const own = { instructions: false } as PolicyCapabilities;
	const unable = Object.assign(Object.create(plain), { capabilities: own, name: 'small' });
	await assert.rejects(open({ use: 'self-evaluation' }, unable), /small does not follow instructions/);
});

test('another policy can judge with a custom prompt', async () => {
	const file = join(folder, 'judge.json');
	await writeFile(file, JSON.stringify({ name: 'grader', rules: [{ message: 'Good?*', say: 'yes' }, { say: 'no' }] }));
	const spec = { use: 'judge', policy: { kind: 'scripted', file }, prompt: 'Good? {response}' } as const;
	const opened = await open(spec);
	assert.equal(opened.name, 'judge grader');
	// The reply does not follow the verdict format, so there is no value, but no error either.
	assert.deepEqual(await score(opened, right), [null]);
	opened.dispose();
});

/** Creates a policy with a value head that scores text by length. */
function valued(): OpenPolicy & { asked: string[] } {
	const base = new ScriptedPolicy({ rules: [{ say: '' }] });
	const capabilities = { ...base.capabilities, heads: ['process', 'reward'] as const };
	const asked: string[] = [];
	return Object.assign(Object.create(base), {
		asked,
		name: 'headed',
		capabilities,
		bind: () => ({
			capabilities,
			value: async (items: { completion: string }[], head: string) =>
				items.map(({ completion }) => {
					asked.push(completion);
					return head === 'reward' ? completion.length - 5 : 1 / completion.length;
				}),
		}),
	});
}

test('values remain available after the cache has evicted entries', async () => {
	const bound = (await open({ use: 'process' }, valued())).bind({ signal: never });
	const many = Array.from({ length: 50_000 }, (_, i) => item(`text ${i}`));
	await bound.score([started]);
	const values = await bound.score([...many, started]);
	assert.equal(values.at(-1), 1 / started.completion.length);
	assert.ok(values.every((value) => value !== null));
});

test('heads score prefixes, step by step on request, and each only once', async () => {
	const policy = valued();
	const steps = item('abcd', { steps: ['ab', 'c', 'd'] });
	assert.deepEqual(await score(await open({ use: 'process' }, policy), steps), [1 / 4]);
	assert.deepEqual(policy.asked, ['abcd']);
	const product = (await open({ use: 'process', aggregate: 'prod' }, policy)).bind({ signal: never });
	policy.asked.length = 0;
	const [value] = await product.score([steps]);
	assert.ok(Math.abs((value ?? 0) - 1 / 24) < 1e-12);
	await product.score([item('abcde', { steps: ['ab', 'c', 'd', 'e'] })]);
	assert.deepEqual(policy.asked, ['ab', 'abc', 'abcd', 'abcde']);
	await assert.rejects(open({ use: 'value' }, policy), /headed has no head "value"/);
	// A reward-model score is unbounded; its sigmoid preserves the order.
	const scored = await open({ use: 'reward-model' }, policy);
	assert.equal(scored.name, 'reward-model');
	assert.deepEqual(await score(scored, item('abcde')), [0.5]);
	assert.ok(((await score(scored, item('abcdefg')))[0] ?? 0) > 0.8);
	assert.deepEqual(
		(['last', 'min', 'prod', 'mean'] as const).map((how) => aggregateValues([0.5, 0.25, 1], how)),
		[1, 0.25, 0.125, 1.75 / 3],
	);
});
