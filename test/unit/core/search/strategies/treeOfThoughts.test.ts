import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SearchTree } from '../../../../../src/core/search/searchTree.ts';
import { treeOfThoughts } from '../../../../../src/core/search/strategies/treeOfThoughts.ts';
import type { TreeEvent } from '../../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../../support/runSearch.ts';
import { gamePolicy, gamePrompt, makes24 } from '../gameOf24.ts';
import { asked, base, problem, thoughtPolicy } from '../thoughtPolicy.ts';

// The first is figure 2 in Yao et al. 2023; the last needs fractions: 8 / (3 - 8 / 3).
const solvable = [
	[4, 9, 10, 13],
	[1, 2, 4, 7],
	[4, 5, 6, 10],
	[3, 3, 8, 8],
];

describe('tree of thoughts', () => {
	for (const numbers of solvable) {
		it(`solves ${numbers.join(' ')} breadth-first`, async () => {
			const params = { search: 'bfs', thoughts: 64, breadth: 2 };
			const options = { strategy: treeOfThoughts, params, problem: problem(gamePrompt(numbers)), policy: gamePolicy() };
			const { outcome, tree } = await runSearch({ ...base, ...options });
			assert.equal(outcome.stop, 'complete');
			assert.ok(makes24(numbers, outcome.answer), `${outcome.answer}`);
			assert.equal(outcome.best?.length, 4);
			// Two states remain after each step.
			for (const depth of [1, 2, 3]) {
				const open = tree.nodes.filter(
					(node) => node.depth === depth && node.pruned === null && node.mergedInto === null,
				);
				assert.equal(open.length, 2);
			}
		});

		it(`solves ${numbers.join(' ')} depth-first, backtracking from dead ends`, async () => {
			const params = { search: 'dfs', thoughts: 64, samples: 1 };
			// The policy can evaluate only states with two numbers, so the search has to backtrack.
			const options = {
				strategy: treeOfThoughts,
				params,
				problem: problem(gamePrompt(numbers)),
				policy: gamePolicy(2),
			};
			const { outcome, tree } = await runSearch({ ...base, ...options });
			assert.equal(outcome.stop, 'solved');
			assert.ok(makes24(numbers, outcome.answer), `${outcome.answer}`);
			assert.ok(tree.nodes.some(({ pruned }) => pruned?.includes('does not exceed')));
		});
	}

	it('exhausts all states and reports that there is no solution', async () => {
		const options = { strategy: treeOfThoughts, problem: problem(gamePrompt([1, 1, 1, 1])), policy: gamePolicy(2) };
		const { outcome } = await runSearch({ ...base, ...options, params: { search: 'dfs', thoughts: 64, samples: 1 } });
		assert.equal(outcome.stop, 'exhausted');
		assert.equal(outcome.best, null);
	});

	it('misses the solution with a beam that is too narrow and a judge that cannot evaluate states', async () => {
		const numbers = [3, 3, 8, 8];
		const options = { strategy: treeOfThoughts, problem: problem(gamePrompt(numbers)), policy: gamePolicy(0) };
		const { outcome } = await runSearch({ ...base, ...options, params: { thoughts: 4, breadth: 1 } });
		assert.ok(!makes24(numbers, outcome.answer));
	});

	it('keeps the states with the most votes', async () => {
		const policy = thoughtPolicy((request, i) => {
			const prompt = asked(request);
			if (prompt.includes('Several people'))
				return ['The best choice is 2', 'best choice: 2', 'I like 1.\nChoice 3'][i] ?? '?';
			return prompt.includes('Propose') ? '1. a\n2. b\n3. c <answer>9</answer>' : '<answer>7</answer>';
		});
		const params = { evaluate: 'vote', depth: 1, breadth: 1, thoughts: 3 };
		const { outcome, tree } = await runSearch({
			...base,
			strategy: treeOfThoughts,
			params,
			problem: problem('p'),
			policy,
		});
		assert.deepEqual(
			[1, 2, 3].map((id) => tree.node(id)?.scores.get('vote')),
			[0, 2 / 3, 1 / 3],
		);
		// No thought completed the solution, so the best one is completed.
		assert.equal(outcome.answer, '7');
		assert.deepEqual(outcome.best, [0, 2, 4]);
		assert.equal(tree.textOf(4), 'b\n<answer>7</answer>');
	});

	it('samples steps and follows a scorer if the policy does not follow instructions', async () => {
		const policy = thoughtPolicy(({ prefix }, i) => `${prefix.length}${'ab'[i]}\nmore`, { instructions: false });
		const guide = {
			name: 'letters',
			scope: 'step' as const,
			oracle: false,
			score: async (items: readonly { readonly completion: string }[]) =>
				items.map(({ completion }) => (completion.match(/b/g) ?? []).length / 10),
		};
		const params = { generate: 'sample', evaluate: 'scorer', thoughts: 2, breadth: 1, depth: 2 };
		const options = { strategy: treeOfThoughts, params, problem: problem('p'), policy, guide };
		const { tree, outcome } = await runSearch({ ...base, ...options });
		assert.equal(tree.textOf(outcome.best?.at(-2) ?? 0), '0b\n3b\n');
		const without = runSearch({ ...base, ...options, params: {} });
		await assert.rejects(without, /follows instructions/);
	});

	it('merges identical thoughts', async () => {
		const policy = thoughtPolicy((request) =>
			asked(request).includes('Propose') ? '1. a  b\n2. c' : asked(request).includes('Judge') ? 'Value: likely' : 'x',
		);
		const params = { generate: 'sample', evaluate: 'value', thoughts: 3, depth: 1 };
		const { tree } = await runSearch({ ...base, strategy: treeOfThoughts, params, problem: problem('p'), policy });
		assert.deepEqual(
			tree.nodes.slice(1).map(({ mergedInto }) => mergedInto),
			[null, 1, 1],
		);
	});

	const rubbish: Readonly<Record<string, string>> = {
		nothing: '',
		whitespace: ' \n\t ',
		'a refusal': "I'm sorry, I can't help with that.",
		'unfinished thinking': '<think>1. a\n2. b\n',
		'random characters': '\u0000\ufffd}{[[[1.1.1',
		'a list without texts': '1.\n2.\n3.\n',
		'an empty JSON list': '[]',
	};
	for (const [name, text] of Object.entries(rubbish)) {
		it(`ends when the policy responds with ${name}`, async () => {
			for (const search of ['bfs', 'dfs']) {
				const events: TreeEvent[] = [];
				const options = {
					strategy: treeOfThoughts,
					params: { search },
					problem: problem('p'),
					policy: thoughtPolicy(() => text),
				};
				const { outcome } = await runSearch({ ...base, ...options, onEvent: (event) => events.push(event) });
				assert.equal(outcome.stop, 'exhausted');
				assert.ok(events.some(({ t }) => t === 'fault'));
				assert.equal(events.at(-1)?.t, 'end');
			}
		});
	}

	it('continues without values if the judge returns nonsense', async () => {
		const events: TreeEvent[] = [];
		const policy = thoughtPolicy((request) =>
			asked(request).includes('Propose')
				? '- one <answer>1</answer>\n- two <answer>2</answer>'
				: 'Value: banana\n11/10',
		);
		const options = { strategy: treeOfThoughts, params: { search: 'dfs' }, problem: problem('p'), policy };
		const { outcome, tree } = await runSearch({ ...base, ...options, onEvent: (event) => events.push(event) });
		assert.equal(outcome.answer, '1');
		assert.equal(tree.node(1)?.scores.get('value prompt'), null);
		assert.equal(events.filter(({ t }) => t === 'fault').length, 2);
	});

	it('is deterministic for a seed, and respects budgets exactly with 16 concurrent requests', async () => {
		const problemOf24 = problem(gamePrompt([4, 9, 10, 13]));
		const params = { thoughts: 64, breadth: 4, samples: 2 };
		const logOf = async (concurrency: number, budget = {}) => {
			const events: TreeEvent[] = [];
			const options = { strategy: treeOfThoughts, params, problem: problemOf24, policy: gamePolicy(), budget };
			const result = await runSearch({ ...base, ...options, concurrency, onEvent: (event) => events.push(event) });
			return { events, ...result };
		};
		const first = await logOf(1);
		assert.deepEqual((await logOf(1)).events, first.events);
		assert.equal((await logOf(16)).outcome.answer, first.outcome.answer);
		for (const nodes of [0, 1, 17, 100]) {
			const { totals, outcome } = await logOf(16, { nodes });
			assert.equal(totals.nodes, nodes);
			assert.equal(outcome.stop, 'nodes');
		}
		for (const tokens of [0, 500, 3000]) {
			const { totals, outcome } = await logOf(16, { tokens });
			assert.equal(outcome.stop, 'tokens');
			assert.ok(totals.tokens <= tokens);
		}
	});

	it('continues from a log truncated anywhere with the same result', async () => {
		const options = {
			...base,
			strategy: treeOfThoughts,
			params: { thoughts: 64, breadth: 2, samples: 1 },
			problem: problem(gamePrompt([4, 9, 10, 13])),
		};
		const events: TreeEvent[] = [];
		const whole = await runSearch({ ...options, policy: gamePolicy(), onEvent: (event) => events.push(event) });
		for (let cut = 2; cut < events.length; cut += 41) {
			const policy = gamePolicy();
			const resume = { events: events.slice(0, cut), action: 'more' as const };
			const { outcome } = await runSearch({ ...options, policy, resume });
			assert.equal(outcome.answer, whole.outcome.answer, `cut at ${cut}`);
		}
		const tree = new SearchTree();
		for (const event of events) tree.apply(event);
		assert.equal(tree.skipped, 0);
		assert.deepEqual(tree.outcome, whole.outcome);
	});
});
