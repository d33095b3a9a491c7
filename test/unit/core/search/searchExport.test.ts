import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writeMathShepherd } from '../../../../src/core/export/prm/mathShepherd.ts';
import { writeTrlStepwise } from '../../../../src/core/export/prm/trlStepwise.ts';
import { bestSolutions, solutionExample } from '../../../../src/core/search/export/bestSolutions.ts';
import { datasetLine } from '../../../../src/core/search/export/datasetLine.ts';
import { journey, journeyText } from '../../../../src/core/search/export/journey.ts';
import { siblingPairs } from '../../../../src/core/search/export/siblingPairs.ts';
import {
	completionsOf,
	labeledSolutions,
	softLabel,
	softStepLine,
} from '../../../../src/core/search/export/stepLabels.ts';
import type { Right } from '../../../../src/core/search/export/treeFacts.ts';
import { SearchTree } from '../../../../src/core/search/searchTree.ts';
import { selfRefine } from '../../../../src/core/search/strategies/selfRefine.ts';
import { stepCompletion } from '../../../../src/core/search/strategies/stepCompletion.ts';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { type TreeEventInput, treeEventSchema } from '../../../../src/protocol/treeLog.ts';
import { runSearch } from '../../../support/runSearch.ts';
import { asked, base, problem, thoughtPolicy } from './thoughtPolicy.ts';

const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;
const right: Right = ({ answer }) => answer === '5';
/** Checks completions by a scorer's value: above 0.5 is correct, as for 0/1 rewards. */
const rightByScore =
	(scorer: string): Right =>
	({ scores }) => {
		const value = scores.get(scorer) ?? null;
		return value === null ? null : value > 0.5;
	};

type Node = [parent: number, text: string, more?: { answer?: string; score?: number; final?: boolean; role?: string }];

function treeOf(...nodes: Node[]): SearchTree {
	const start: TreeEventInput = {
		t: 'start',
		at: 0,
		format: 1,
		id: 's',
		strategy: 'x',
		params: {},
		seed: 0,
		problem: { prompt: '2+3=', answer: '5' },
		policy: { name: 'p' },
	};
	const events: unknown[] = [start, { t: 'node', at: 0, id: 0, parents: [], text: '2+3=', role: 'problem' }];
	for (const [
		i,
		[parent, text, { answer, score, final = answer !== undefined, role = 'thought' } = {}],
	] of nodes.entries()) {
		events.push({ t: 'node', at: 1, id: i + 1, parents: [parent], text, role, final, answer: answer ?? null });
		if (score !== undefined) events.push({ t: 'score', at: 1, id: i + 1, scorer: 'v', value: score });
	}
	const tree = new SearchTree();
	for (const event of events) tree.apply(decodeOrThrow(treeEventSchema, event, 'An event'));
	assert.equal(tree.skipped, 0);
	return tree;
}

/** Returns a tree with two first steps: one leads to 5 and 7, the other to 6 twice. */
const addition = () =>
	treeOf(
		[0, '<think>Count.\n', { score: 0.8 }], // 1
		[0, '<think>Guess.\n', { score: 0.3 }], // 2
		[1, 'Two, three, four, five.\n', { score: 0.9 }], // 3
		[1, 'Two, then seven.\n', { score: 0.1 }], // 4
		[3, '</think><answer>5</answer>', { answer: '5', score: 1 }], // 5
		[4, '</think><answer>7</answer>', { answer: '7', score: 0 }], // 6
		[2, 'Six.</think><answer>6</answer>', { answer: '6', score: 0.2 }], // 7
		[2, 'Six!</think><answer>6</answer>', { answer: '6', score: 0 }], // 8
	);

describe('datasets from searches', () => {
	it('contain the steps, the solution and its reward', () => {
		assert.deepEqual(datasetLine(addition(), 5), {
			prompt: '2+3=',
			steps: ['<think>Count.\n', 'Two, three, four, five.\n', '</think><answer>5</answer>'],
			solution: '<think>Count.\nTwo, three, four, five.\n</think><answer>5</answer>',
			reward: 1,
		});
		assert.equal(datasetLine(addition(), 5, { scorer: 'none' }).reward, null);
	});

	it('contain the best solutions, each text once', () => {
		const tree = treeOf(
			[0, 'a', { answer: '1', score: 0.5 }],
			[0, 'b', { answer: '2', score: 0.9 }],
			[0, 'b ', { answer: '2', score: 0.9 }],
			[0, 'c', { answer: '3' }],
			[0, 'unfinished', { score: 1 }],
		);
		assert.deepEqual(bestSolutions(tree), [2]);
		assert.deepEqual(bestSolutions(tree, { most: 9 }), [2, 1, 4]);
		assert.deepEqual(bestSolutions(tree, { most: 9, least: 0.6 }), [2]);
		assert.deepEqual(bestSolutions(new SearchTree()), []);
		assert.deepEqual(solutionExample(tree, 'b', 'standard'), { prompt: '2+3=', completion: 'b' });
		assert.deepEqual(solutionExample(tree, 'b', 'conversational'), {
			prompt: [{ role: 'user', content: '2+3=' }],
			completion: [{ role: 'assistant', content: 'b' }],
		});
	});
});

describe('journeys', () => {
	it('include abandoned branches before the path, within one pair of tags', () => {
		const segments = journey(addition(), 5, { tags });
		assert.equal(
			journeyText(segments),
			'<think>Guess.\nSix.\n' +
				'Wait, that would give 6, which cannot be right. Let me go back and try another way.\n' +
				'Count.\nTwo, then seven.\n' +
				'Wait, that would give 7, which cannot be right. Let me go back and try another way.\n' +
				'Two, three, four, five.\n</think><answer>5</answer>',
		);
		assert.deepEqual(
			segments.map(({ kind, node }) => `${kind} ${node}`),
			['path 1', 'abandoned 7', 'transition 7', 'path 1', 'abandoned 6', 'transition 6', 'path 3', 'path 5'],
		);
	});

	it('omit branches with the same answer, and respect limits', () => {
		const tree = treeOf(
			[0, 'one\n', {}],
			[0, 'other\n', { answer: '5' }],
			[1, 'two', { answer: '5' }],
			[1, 'bad\n', {}],
			[4, 'worse and worse\n', {}],
			[1, 'ugly\n', {}],
		);
		const plain = { tags: { think: null, answer: null } };
		const dead = 'Hmm, this leads nowhere. Let me go back and try another way.\n';
		assert.equal(journeyText(journey(tree, 3, plain)), `one\nbad\nworse and worse\n${dead}two`);
		assert.equal(
			journeyText(journey(tree, 3, { ...plain, trials: 2 })),
			`one\nbad\nworse and worse\n${dead}ugly\n${dead}two`,
		);
		assert.equal(journeyText(journey(tree, 3, { ...plain, trials: 2, most: 1, longest: 5 })), `one\nbad\n${dead}two`);
		assert.equal(journeyText(journey(tree, 3, { ...plain, trials: 0 })), 'one\ntwo');
		assert.deepEqual(journey(tree, 99, plain), []);
	});

	it('include earlier attempts and their critique before a revision', async () => {
		const policy = thoughtPolicy((request) =>
			asked(request).includes('Check the answer')
				? asked(request).includes('>5<')
					? 'Nothing to improve.'
					: 'It is too much.'
				: request.messages.length > 1
					? '<think>less</think><answer>5</answer>'
					: '<think>much</think><answer>6</answer>',
		);
		const { tree, outcome } = await runSearch({ ...base, strategy: selfRefine, problem: problem('2+3='), policy });
		assert.equal(
			journeyText(journey(tree, outcome.best?.at(-1) ?? 0, { tags })),
			'<think>much\nLet me go over this again.\nIt is too much.\nLet me go over this again.\nless</think><answer>5</answer>',
		);
	});
});

describe('sibling pairs', () => {
	it('contain the best and the worst next step after a shared prefix', () => {
		const pairs = siblingPairs(addition());
		assert.deepEqual(
			pairs.map(({ parent, chosen, rejected }) => [parent, chosen, rejected]),
			[
				[0, 1, 2],
				[1, 3, 4],
				[2, 7, 8],
			],
		);
		assert.deepEqual(pairs[1]?.pair, {
			prompt: '2+3=<think>Count.\n',
			chosen: 'Two, three, four, five.\n',
			rejected: 'Two, then seven.\n',
		});
	});

	it('contain full completions, both as text and as messages', () => {
		const [first, ...rest] = siblingPairs(addition(), { span: 'completion' });
		assert.deepEqual(first?.pair, {
			prompt: '2+3=',
			chosen: '<think>Count.\nTwo, three, four, five.\n</think><answer>5</answer>',
			rejected: '<think>Guess.\nSix!</think><answer>6</answer>',
		});
		assert.equal(rest.length, 2);
		assert.deepEqual(siblingPairs(addition(), { conversational: true })[0]?.pair, {
			prompt: [{ role: 'user', content: '2+3=' }],
			chosen: [{ role: 'assistant', content: '<think>Count.\nTwo, three, four, five.\n</think><answer>5</answer>' }],
			rejected: [{ role: 'assistant', content: '<think>Guess.\nSix!</think><answer>6</answer>' }],
		});
	});

	it('exclude ties, small differences and steps without a value', () => {
		assert.deepEqual(siblingPairs(treeOf([0, 'a', { score: 1 }], [0, 'b', { score: 1 }], [0, 'c'])), []);
		assert.deepEqual(siblingPairs(addition(), { margin: 0.85 }), []);
		assert.deepEqual(siblingPairs(addition(), { scorer: 'other' }), []);
	});
});

describe('Monte Carlo step labels', () => {
	it('count the completions through each step, and how many of them are correct', () => {
		const counts = completionsOf(addition(), right);
		assert.deepEqual(
			counts.map(({ right: r, total }) => `${r}/${total}`),
			['0/0', '1/2', '0/2', '1/1', '0/1', '1/1', '0/1', '0/1', '0/1'],
		);
		assert.equal(softLabel({ right: 1, total: 4 }), 0.25);
		assert.equal(softLabel({ right: 0, total: 4 }), 0);
		assert.equal(softLabel({ right: 0, total: 0 }), null);
	});

	it('are written in the TRL and Math-Shepherd formats', () => {
		const labeled = labeledSolutions(addition(), right);
		const seven = labeled.find(({ end }) => end === 6);
		assert.deepEqual(seven?.soft, [0.5, 0, 0]);
		assert.deepEqual(writeTrlStepwise(seven?.sample as never), {
			prompt: '2+3=',
			completions: ['<think>Count.', 'Two, then seven.', '</think><answer>7</answer>'],
			labels: [true, false, false],
		});
		assert.match((writeMathShepherd(seven?.sample as never) as { label: string }).label, /Count\. \+\n.*seven\. -\n/s);
		assert.deepEqual(softStepLine(seven as never)?.labels, [0.5, 0, 0]);
		const strict = labeledSolutions(addition(), right, { threshold: 0.6 }).find(({ end }) => end === 6);
		assert.deepEqual(writeTrlStepwise(strict?.sample as never)?.labels, [false, false, false]);
		// Steps with a single completion carry little information, so a solution without a label is not written.
		const few = labeledSolutions(addition(), right, { min: 3 }).find(({ end }) => end === 6);
		assert.deepEqual(few?.soft, [null, null, 0]);
		assert.equal(writeTrlStepwise(few?.sample as never), null);
		assert.equal(softStepLine(few as never), null);
	});

	it('can use a scorer, and omit steps that cannot be scored', () => {
		const counts = completionsOf(addition(), rightByScore('v'));
		assert.deepEqual(counts[1], { right: 1, total: 2 });
		assert.deepEqual(completionsOf(addition(), rightByScore('none'))[1], { right: 0, total: 0 });
	});

	it("estimate the policy's success rates from a given number of completions after every step of a solution", async () => {
		// From the first step, every other completion is correct; from the incorrect second step, none is.
		const policy = thoughtPolicy(({ prefix, stop }, i) => {
			if (stop.includes('\n'))
				return prefix === '' ? 'first\n' : prefix === 'first\n' ? 'wrong\n' : '<answer>4</answer>';
			return prefix.includes('wrong') ? '<answer>4</answer>' : `<answer>${i % 2 === 0 ? 5 : 6}</answer>`;
		});
		const options = {
			...base,
			strategy: stepCompletion,
			params: { completions: 8 },
			problem: problem('2+3=', '5'),
			policy,
		};
		const { tree, outcome } = await runSearch(options);
		assert.equal(outcome.stop, 'complete');
		const [solution] = labeledSolutions(tree, right);
		// The first step counts only its own completions, not those of the incorrect step after it.
		assert.deepEqual(solution?.soft, [0.5, 0, 0]);
		assert.equal(labeledSolutions(tree, right).length, 1);
		assert.equal(tree.nodes.length, 1 + 3 + 2 * 8);
		assert.deepEqual(
			solution?.sample.steps.map(({ text, rating }) => [text, rating]),
			[
				['first', 1],
				['wrong', -1],
				['<answer>4</answer>', -1],
			],
		);
	});
});
