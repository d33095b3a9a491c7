import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../../../src/core/search/policy.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';
import { budgetForcing } from '../../../../src/core/search/strategies/budgetForcing.ts';
import { graphOfThoughts } from '../../../../src/core/search/strategies/graphOfThoughts.ts';
import { leastToMost } from '../../../../src/core/search/strategies/leastToMost.ts';
import { selfRefine } from '../../../../src/core/search/strategies/selfRefine.ts';
import { sequentialRevision } from '../../../../src/core/search/strategies/sequentialRevision.ts';
import { tokenForking } from '../../../../src/core/search/strategies/tokenForking.ts';
import { treeOfThoughts } from '../../../../src/core/search/strategies/treeOfThoughts.ts';
import { strategyOf } from '../../../../src/core/search/strategies.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { asked, base, detailOf, problem, type Reply, thoughtPolicy, words } from './thoughtPolicy.ts';

const answered = (answer: string | number, thinking = 'hm') => `<think>${thinking}</think><answer>${answer}</answer>`;

async function run(options: Omit<SearchOptions, 'now'>) {
	const events: TreeEvent[] = [];
	const result = await runSearch({ ...base, ...options, onEvent: (event) => events.push(event) });
	return { events, ...result, faults: events.filter(({ t }) => t === 'fault').length };
}

describe('self-refine', () => {
	const strategy = selfRefine;
	/** Returns a policy that answers 1, 2, 3, ... and accepts the third answer. */
	const counting = () =>
		thoughtPolicy(({ messages }) => {
			const last = messages.at(-1)?.content ?? '';
			if (last.includes('Check the answer')) {
				const answer = Number(/<answer>(\d+)/.exec(last)?.[1]);
				return answer < 3 ? `${answer} is too little.` : '**Nothing to improve.** Well done.';
			}
			return answered((messages.length + 1) / 2);
		});

	it('criticizes and improves until the critique finds nothing more', async () => {
		const policy = counting();
		const { outcome, tree } = await run({ strategy, problem: problem('p'), policy });
		assert.equal(outcome.stop, 'no-improvement');
		assert.equal(outcome.answer, '3');
		assert.deepEqual(
			tree.nodes.map(({ role }) => role),
			['problem', 'draft', 'critique', 'revision', 'critique', 'revision', 'critique'],
		);
		assert.equal(tree.textOf(5), answered(3));
		// y_2 is generated from x, y_0, fb_0, y_1, fb_1.
		const refining = policy.requests.findLast(({ messages }) => messages.length > 1);
		assert.deepEqual(
			refining?.messages.map(({ role }) => role),
			['user', 'assistant', 'user', 'assistant', 'user'],
		);
		assert.match(refining?.messages[4]?.content ?? '', /2 is too little/);
	});

	it('ends after its rounds, or when the answer or score does not change', async () => {
		const one = await run({ strategy, params: { rounds: 1 }, problem: problem('p'), policy: counting() });
		assert.deepEqual([one.outcome.stop, one.outcome.answer], ['complete', '2']);
		const same = thoughtPolicy((request) => (asked(request).includes('Check') ? 'Bad.' : answered('1/2')));
		const stopped = await run({ strategy, params: { stop: 'same-answer' }, problem: problem('p'), policy: same });
		assert.deepEqual([stopped.outcome.stop, stopped.tree.nodes.length], ['no-improvement', 4]);
		const judge = {
			name: 'near 2',
			scope: 'final' as const,
			oracle: false,
			score: async (items: readonly { readonly answer: string | null }[]) =>
				items.map(({ answer }) => 1 - Math.abs(2 - Number(answer))),
		};
		const params = { stop: 'score', result: 'best', stopPhrase: 'x' };
		const scored = await run({ strategy, params, problem: problem('p'), policy: counting(), judge });
		assert.deepEqual([scored.outcome.stop, scored.outcome.answer, scored.outcome.value], ['no-improvement', '2', 1]);
		await assert.rejects(run({ strategy, params, problem: problem('p'), policy: counting() }), /no scorer/);
	});

	it('keeps its answer if there is no critique', async () => {
		const policy = thoughtPolicy((request) => (asked(request).includes('Check') ? '<think>hm' : answered(5)));
		const { outcome, faults } = await run({ strategy, problem: problem('p'), policy });
		assert.deepEqual([outcome.stop, outcome.answer, faults], ['exhausted', '5', 1]);
	});
});

describe('sequential revision', () => {
	const strategy = sequentialRevision;
	const attempts = ['1', '2', '2.0', '3', '2'];
	const policy = () =>
		thoughtPolicy((request) => answered(attempts[(asked(request).match(/Attempt \d+:/g) ?? []).length] ?? '?'));

	it('retries with its latest attempts as context, and picks the most frequent answer', async () => {
		const scripted = policy();
		const params = { revisions: 4, context: 4 };
		const { outcome, tree } = await run({ strategy, params, problem: problem('p'), policy: scripted });
		assert.deepEqual(
			tree.nodes.slice(1).map(({ answer }) => answer),
			attempts,
		);
		assert.equal(outcome.answer, '2');
		assert.equal(outcome.value, 3 / 5);
		const last = scripted.requests.at(-1);
		assert.match(asked(last as never), /Attempt 1: <think>hm<\/think><answer>1.*\n.*Attempt 4: .*3</s);
	});

	it('shows only the latest attempts, and selects by total score or the last attempt', async () => {
		const scripted = policy();
		const params = { revisions: 6, context: 2, result: 'last' };
		const { outcome, tree } = await run({ strategy, params, problem: problem('p'), policy: scripted });
		assert.equal(outcome.answer, '2.0');
		assert.ok(scripted.requests.every((request) => !asked(request).includes('Attempt 3:')));
		assert.equal(tree.nodes.length, 8);
		const judge = {
			name: 'likes 3',
			scope: 'final' as const,
			oracle: false,
			score: async (items: readonly { readonly answer: string | null }[]) =>
				items.map(({ answer }) => (answer === '3' ? 1 : 0.3)),
		};
		const options = { strategy, problem: problem('p'), policy: policy(), judge };
		// 2: 3 * 0.3 = 0.9; 3: 1.
		assert.equal((await run({ ...options, params: { result: 'scorer' } })).outcome.answer, '3');
	});

	it('keeps chains separate, and ends one that repeats its answer', async () => {
		const repeating = thoughtPolicy((_, i) => answered(i));
		const params = { chains: 3, stop: 'same-answer' };
		const { tree, outcome } = await run({ strategy, params, problem: problem('p'), policy: repeating });
		// All revisions answer 0: the first chain ends with its first revision, the others with their second.
		assert.deepEqual(
			tree.node(0)?.children.map((id) => tree.nodes.filter((node) => tree.pathTo(node.id)[1] === id).length),
			[2, 3, 3],
		);
		assert.equal(outcome.answer, '0');
	});
});

describe('least-to-most', () => {
	const strategy = leastToMost;
	it('answers simpler questions in order, each with the previous answers', async () => {
		const policy = thoughtPolicy((request) => {
			const prompt = asked(request);
			if (prompt.includes('simpler questions')) return 'We need:\n1. How many?\n2. How much each?';
			if (prompt.includes('How many?') && prompt.includes('Answer only this question')) {
				return prompt.endsWith('How many?') ? '3' : prompt.includes('Answer: 3') ? '4' : 'lost';
			}
			return prompt.includes('Answer: 3') && prompt.includes('Answer: 4') ? answered(12) : answered('lost');
		});
		const { outcome, tree } = await run({ strategy, problem: problem('Total?'), policy });
		assert.equal(outcome.answer, '12');
		assert.deepEqual(
			tree.nodes.map(({ role }) => role),
			['problem', 'subproblem', 'subproblem', 'thought', 'subproblem', 'thought', 'answer'],
		);
		assert.equal(tree.textOf(5), '4');
		// Answers to simpler questions do not answer the problem.
		const cut = await run({ strategy, problem: problem('Total?'), policy, budget: { nodes: 5 } });
		assert.deepEqual([cut.outcome.stop, cut.outcome.answer], ['nodes', null]);
	});

	it('solves the problem directly if it is not decomposed', async () => {
		const policy = thoughtPolicy((request) => (asked(request).includes('simpler') ? 'No idea.' : answered(7)));
		const { outcome, faults } = await run({ strategy, problem: problem('p'), policy });
		assert.deepEqual([outcome.stop, outcome.answer, faults], ['complete', '7', 1]);
	});
});

describe('budget forcing', () => {
	const strategy = budgetForcing;
	/**
	 * Returns a policy that thinks for 5 words and ends, with 4 more after each Wait. Its answer is the number of waits.
	 */
	const thinker = () =>
		thoughtPolicy(({ prefix }) => {
			const waits = (prefix.match(/Wait/g) ?? []).length;
			if (prefix.includes('</think>')) return `<answer>${waits}</answer>`;
			return `${waits === 0 ? '<think>a b c d e' : ' f g h i'}</think><answer>early</answer>`;
		});

	it('replaces an end of thinking before the minimum budget with "Wait"', async () => {
		const params = { minTokens: 12, maxTokens: 100, waits: 9 };
		const { outcome, tree } = await run({ strategy, params, problem: problem('p'), policy: thinker() });
		// 6 tokens including the end, then 5 more twice.
		assert.equal(
			tree.textOf(outcome.best?.at(-1) ?? 0),
			'<think>a b c d e\nWait f g h i\nWait f g h i</think><answer>2</answer>',
		);
		assert.deepEqual([outcome.stop, outcome.answer], ['complete', '2']);
		assert.deepEqual(
			tree.nodes.map(({ label }) => label),
			[null, null, 'Wait', null, 'Wait', null, 'End of thinking', null],
		);
		const none = await run({ strategy, params: { ...params, waits: 0 }, problem: problem('p'), policy: thinker() });
		assert.equal(none.outcome.answer, '0');
	});

	it('forces the end of thinking at the limit', async () => {
		const endless = thoughtPolicy(({ prefix }) =>
			prefix.includes('Final answer: ') ? '42</answer>' : `${prefix === '' ? '<think>' : ''}${' on'.repeat(1000)}`,
		);
		const params = { minTokens: 4, maxTokens: 20, answer: '<answer>Final answer: ' };
		const { outcome, tree } = await run({ strategy, params, problem: problem('p'), policy: endless });
		const text = tree.textOf(outcome.best?.at(-1) ?? 0);
		assert.equal(text, `<think>${' on'.repeat(19)}</think><answer>Final answer: 42</answer>`);
		assert.equal(outcome.answer, '42');
		assert.ok(tree.nodes.slice(0, -1).every(({ final }) => !final));
	});

	it('does not intervene if a policy never ends its thinking or generates nothing', async () => {
		const plain = await run({ strategy, problem: problem('p'), policy: thoughtPolicy(() => '<answer>6</answer>') });
		assert.deepEqual([plain.outcome.answer, plain.tree.nodes.length], ['6', 2]);
		const silent = thoughtPolicy(({ stop }) => (stop.length > 0 ? '</think>' : ''));
		const nothing = await run({ strategy, params: { waits: 2 }, problem: problem('p'), policy: silent });
		assert.deepEqual([nothing.outcome.stop, nothing.outcome.answer], ['complete', null]);
		await assert.rejects(
			run({ strategy, problem: problem('p'), policy: thoughtPolicy(() => '', { prefix: false }) }),
			/given prefix/,
		);
	});
});

describe('graph of thoughts', () => {
	const strategy = graphOfThoughts;
	/**
	 * Returns a policy whose thoughts are lists of letters: an aggregate combines all letters, an improvement adds one.
	 */
	const merging = () =>
		thoughtPolicy((request, i) => {
			const prompt = asked(request);
			const letters = [
				...new Set([...prompt.matchAll(/<answer>([a-z]*)/g)].flatMap(([, all]) => [...(all ?? '')])),
			].sort();
			if (prompt.includes('Score: ')) return `It has ${letters.length}.\nScore: ${letters.length}/10`;
			if (prompt.includes('Combine')) return answered(letters.join(''));
			if (prompt.includes('correct them')) return answered(`${letters.join('')}z`);
			return answered(['ab', 'c', 'bd', 'e'][i] ?? '');
		});

	it('keeps the best, combines them, improves the result, and picks the best overall', async () => {
		const params = { thoughts: 4, keep: 2, attempts: 1, refine: 1 };
		const { outcome, tree, events } = await run({ strategy, params, problem: problem('p'), policy: merging() });
		assert.equal(outcome.answer, 'abdz');
		assert.equal(outcome.value, 0.4);
		const aggregate = tree.nodes.find(({ role }) => role === 'aggregate');
		assert.deepEqual(aggregate?.parents, [1, 3]);
		assert.equal(aggregate?.answer, 'abd');
		assert.deepEqual(
			tree.nodes.filter(({ pruned }) => pruned !== null).map(({ id }) => id),
			[2, 4],
		);
		assert.equal(events[0]?.t === 'start' && events[0].structure, 'graph');
	});

	it('runs several layers, and keeps the first thoughts if they have no values', async () => {
		const params = { thoughts: 4, keep: 2, attempts: 2, refine: 0, layers: 3 };
		const deep = await run({ strategy, params, problem: problem('p'), policy: merging() });
		// Two aggregates (abd) come from ab and bd, then two more from those. After that, the best stay the same.
		assert.equal(deep.tree.nodes.filter(({ role }) => role === 'aggregate').length, 4);
		const dumb = thoughtPolicy((request) => (asked(request).includes('Score:') ? 'no' : answered(1)));
		const { outcome, faults } = await run({ strategy, params: { layers: 1 }, problem: problem('p'), policy: dumb });
		assert.deepEqual([outcome.stop, outcome.answer], ['complete', '1']);
		assert.ok(faults > 0);
	});
});

describe('token forking', () => {
	const strategy = tokenForking;
	/** A tree of words: continuations of a prefix, with the probabilities of their first words. */
	const branching: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
		'I say': [
			[' yes', 0.5],
			[' no', 0.4],
			[' oh', 0.1],
		],
		'I say no': [
			[' never', 0.55],
			[' maybe', 0.45],
		],
	};
	const policy = (): Policy =>
		thoughtPolicy(({ prefix, tokens }): Reply => {
			const said: string[] = [];
			const top: Record<number, readonly (readonly [string, number])[]> = {};
			let text = prefix;
			while (words(text).length < 4) {
				const choices = branching[text];
				if (choices !== undefined) top[said.length] = choices;
				const next = choices?.[0]?.[0] ?? (text === '' ? 'I' : text === 'I' ? ' say' : ' x');
				said.push(next);
				text += next;
			}
			const end = `<answer>${text.includes('never') ? 1 : 2}</answer>`;
			const detail = tokens > 0 ? detailOf([...said, end], top) : null;
			return { text: said.join('') + end, detail, tokens: said.length + 1, logprob: -1 };
		});

	it('tries the other token where the top two are close, and shares the prefix', async () => {
		const params = { depth: 2, leaves: 16, minProbability: 0.2 };
		const { outcome, tree } = await run({ strategy, params, problem: problem('p'), policy: policy() });
		const ends = tree.nodes.filter(({ final }) => final).map(({ id }) => tree.textOf(id).replace(/<.*/, ''));
		assert.deepEqual(ends, ['I say yes x', 'I say no never', 'I say no maybe']);
		assert.equal(tree.textOf(1), 'I say');
		assert.deepEqual(
			tree.nodes.map(({ label }) => label).filter((label) => label !== null),
			['Fork: " no" instead of " yes"', 'Fork: " maybe" instead of " never"'],
		);
		assert.equal(tree.nodes.find(({ text }) => text === ' no')?.prior?.toFixed(3), '0.400');
		assert.equal(outcome.answer, '2');
	});

	it('respects its maximum depth, its number of leaves and its minimum probability', async () => {
		const endsWith = async (params: Record<string, unknown>) => {
			const { tree } = await run({ strategy, params, problem: problem('p'), policy: policy() });
			return tree.nodes.filter(({ final }) => final).length;
		};
		assert.equal(await endsWith({ depth: 1 }), 2);
		assert.equal(await endsWith({ leaves: 1 }), 1);
		assert.equal(await endsWith({ branches: 3, minProbability: 0.05, depth: 1 }), 3);
		assert.equal(await endsWith({ minProbability: 0.41 }), 1);
		// Entropy is 0.94 nats at "I say" and 0.69 at "I say no".
		assert.equal(await endsWith({ statistic: 'entropy', threshold: 0.9 }), 2);
		assert.equal(await endsWith({ statistic: 'entropy', threshold: 0.6 }), 3);
		assert.equal(await endsWith({ statistic: 'gap', threshold: 0.05 }), 1);
	});

	it('generates one completion if no alternatives are reported, and rejects policies that never report any', async () => {
		const mute = thoughtPolicy(() => answered(1));
		assert.equal((await run({ strategy, problem: problem('p'), policy: mute })).outcome.answer, '1');
		const none = thoughtPolicy(() => '', { alternatives: 0 });
		await assert.rejects(run({ strategy, problem: problem('p'), policy: none }), /alternatives/);
	});
});

describe('thought strategies', () => {
	const all = [
		treeOfThoughts,
		selfRefine,
		sequentialRevision,
		leastToMost,
		budgetForcing,
		graphOfThoughts,
		tokenForking,
	];
	/** Returns a policy with good and bad texts that depend only on the request. */
	const talkative = () =>
		thoughtPolicy((request) => {
			const { seed } = request;
			const texts = [
				answered(seed % 3),
				'1. a\n2. b',
				'Value: sure',
				'Score: 7',
				'',
				'best choice is 1',
				'<think>on and on',
				'Sorry.',
			];
			const text = texts[seed % texts.length] as string;
			const tokens = words(text);
			return {
				text,
				detail: detailOf(tokens, {
					0: [
						[tokens[0] ?? '', 0.5],
						[` ${seed % 5}`, 0.4],
					],
				}),
				tokens: tokens.length,
			};
		});

	it('are listed', () => {
		for (const strategy of all) assert.equal(strategyOf(strategy.name), strategy);
	});

	for (const strategy of all) {
		it(`${strategy.name} adds something new when a user branches`, async () => {
			const policy = () =>
				thoughtPolicy((request) => {
					const prompt = asked(request);
					if (prompt.includes('Judge whether')) return 'Value: likely';
					return prompt.includes('list') ? '1. first\n2. second' : answered(request.seed % 7);
				});
			const options = { strategy, problem: problem('p') };
			const first = await run({ ...options, policy: policy() });
			const node = first.tree.nodes.findLast(({ final, children }) => !final && children.length > 0)?.id ?? 0;
			const resume = { events: first.events, action: 'branch' as const, node };
			const { tree } = await run({ ...options, policy: policy(), resume });
			if (node !== 0)
				assert.ok((tree.node(node)?.children.length ?? 0) > (first.tree.node(node)?.children.length ?? 0));
			assert.equal(tree.skipped, 0);
		});

		it(`${strategy.name} is deterministic for a seed, respects its budget with 16 concurrent requests, and continues from anywhere`, async () => {
			for (let seed = 0; seed < 6; seed++) {
				const options = { strategy, problem: problem('p'), seed };
				const first = await run({ ...options, policy: talkative() });
				assert.deepEqual((await run({ ...options, policy: talkative() })).events, first.events);
				for (const nodes of [0, 1, 3]) {
					const { totals, outcome } = await run({
						...options,
						policy: talkative(),
						concurrency: 16,
						budget: { nodes },
					});
					assert.ok(totals.nodes <= nodes && (outcome.stop !== 'nodes' || totals.nodes === nodes));
				}
				const { totals } = await run({ ...options, policy: talkative(), concurrency: 16, budget: { tokens: 9 } });
				assert.ok(totals.tokens <= 9);
				for (let cut = 2; cut < first.events.length; cut += 5) {
					const resume = { events: first.events.slice(0, cut), action: 'more' as const };
					const { outcome, tree } = await run({ ...options, policy: talkative(), resume });
					assert.ok(outcome.stop !== 'policy' && tree.skipped === 0);
				}
			}
		});
	}
});
