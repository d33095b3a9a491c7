import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import {
	type Candidate,
	pairGroup,
	preferencePair,
	ranked,
	whyUnpaired,
} from '../../../../src/core/export/preferencePairs.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';

const candidate = (index: number, reward: number, length = 10, text = `t${index}`): Candidate => ({
	index,
	reward,
	length,
	text,
});
const pairs = (list: Candidate[], options = {}) =>
	pairGroup(list, options).pairs.map(({ chosen, rejected }) => [chosen, rejected]);

describe('pairs from a group', () => {
	it('match the best with the worst, then the next best with the next worst', () => {
		const group = [candidate(0, 0.5), candidate(1, 1), candidate(2, 0), candidate(3, 0.7)];
		assert.deepEqual(pairs(group), [[1, 2]]);
		assert.deepEqual(pairs(group, { perGroup: 9 }), [
			[1, 2],
			[3, 0],
		]);
		assert.deepEqual(pairs(group, { perGroup: 9, margin: 0.3 }), [[1, 2]]);
		assert.deepEqual(pairs(group, { margin: 2 }), []);
	});

	it('are never ties or identical texts', () => {
		assert.deepEqual(pairs([candidate(0, 1), candidate(1, 1)], { perGroup: 9 }), []);
		assert.deepEqual(pairs([candidate(0, 1, 10, 'a'), candidate(1, 0, 10, 'a')]), []);
		assert.deepEqual(pairs([candidate(0, 1, 10, 'a'), candidate(1, 0, 10, 'a'), candidate(2, 0.5)]), [[0, 2]]);
		assert.deepEqual(pairs([candidate(0, 1)]), []);
		assert.deepEqual(pairs([candidate(0, Number.NaN), candidate(1, 0)]), []);
	});

	it('have similar lengths if requested', () => {
		const group = [candidate(0, 1, 100), candidate(1, 0, 500), candidate(2, 0.2, 120), candidate(3, 0.9, 450)];
		assert.deepEqual(pairs(group, { perGroup: 9, lengthRatio: 1.5 }), [
			[0, 2],
			[3, 1],
		]);
		assert.deepEqual(pairs(group, { lengthRatio: 1.1 }), []);
		assert.equal(whyUnpaired(group, { lengthRatio: 1.1 }), 'without two completions of similar length');
		assert.equal(whyUnpaired([candidate(0, 1), candidate(1, 1)], {}), 'with identical rewards');
		assert.equal(
			whyUnpaired([candidate(0, 1), candidate(1, 0)], { margin: 2 }),
			'whose rewards differ by less than the margin',
		);
		assert.equal(whyUnpaired([], {}), 'with fewer than two rewarded rollouts');
	});

	it('are ranked by recorded advantages, and omitted if rewards contradict them', () => {
		const credited = (index: number, reward: number, advantage: number | null) => ({
			...candidate(index, reward),
			advantage,
		});
		// The completion with the highest sum of components has the trainer's lowest weighted total.
		const inverted = [credited(0, 3, -1), credited(1, 1, 1)];
		assert.deepEqual(pairGroup(inverted), { pairs: [], contradicted: 1 });
		assert.equal(whyUnpaired(inverted, {}, 1), 'without a pair whose rewards and recorded advantages agree');
		assert.deepEqual(pairGroup([...inverted, credited(2, 0.5, 0.2)]), {
			pairs: [{ chosen: 1, rejected: 2 }],
			contradicted: 1,
		});
		// If all advantages are equal, no completion is better.
		assert.deepEqual(pairGroup([credited(0, 1, 0), credited(1, 0, 0)]), { pairs: [], contradicted: 1 });
		// Differences within rounding error do not contradict the order; rewards decide unless all advantages are recorded.
		assert.deepEqual(pairGroup([credited(0, 0.1 + 0.2, 0.5), credited(1, 0.3, 0.5)]).contradicted, 0);
		assert.deepEqual(pairs([credited(0, 1, -1), credited(1, 0, null)]), [[0, 1]]);
		assert.deepEqual(
			ranked(inverted).map(({ index }) => index),
			[1, 0],
		);
	});

	it('never contradict the advantages in any group', () => {
		const random = Random.of(9, 'credited');
		for (let i = 0; i < 1000; i++) {
			const group = Array.from({ length: random.int(9) }, (_, index) => ({
				...candidate(index, random.int(5) / 4),
				advantage: random.int(5) - 2,
			}));
			for (const { chosen, rejected } of pairGroup(group, { perGroup: 4 }).pairs) {
				const [a, b] = [group[chosen] as Candidate, group[rejected] as Candidate];
				assert.ok((a.advantage as number) > (b.advantage as number) && a.reward > b.reward);
			}
		}
	});

	it('satisfy every rule in any group', () => {
		const random = Random.of(8, 'pairs');
		for (let i = 0; i < 1000; i++) {
			const group = Array.from({ length: random.int(12) }, (_, index) =>
				candidate(index, random.int(5) / 4, 1 + random.int(40), `t${random.int(6)}`),
			);
			const options = {
				perGroup: 1 + random.int(4),
				margin: random.int(3) / 4,
				...(random.int(2) ? { lengthRatio: 1 + random.next() } : {}),
			};
			const found = pairGroup(group, options).pairs;
			assert.ok(found.length <= options.perGroup);
			const used = found.flatMap(({ chosen, rejected }) => [chosen, rejected]);
			assert.equal(new Set(used).size, used.length, 'no rollout is in two pairs');
			for (const pair of found) {
				const [a, b] = [group[pair.chosen] as Candidate, group[pair.rejected] as Candidate];
				assert.ok(a.reward > b.reward && a.reward - b.reward >= options.margin && a.text !== b.text);
				if (options.lengthRatio !== undefined)
					assert.ok(Math.max(a.length, b.length) <= options.lengthRatio * Math.min(a.length, b.length));
			}
			// If lengths need not match, no possible pair is omitted.
			if (options.lengthRatio === undefined && found.length === 0) {
				const could = group.some((a) =>
					group.some((b) => a.reward - b.reward >= options.margin && a.reward > b.reward && a.text !== b.text),
				);
				assert.ok(!could);
			}
		}
	});
});

describe('a pair written as a line', () => {
	const line = (completion: RolloutLine['completion'], prompt: RolloutLine['prompt'] = '1+2='): RolloutLine => ({
		step: 1,
		stage: 'grpo',
		group: 0,
		index: 0,
		prompt,
		completion,
		rewards: {},
		reward: 1,
		advantage: 0,
		truncated: false,
	});
	it('is text or messages', () => {
		assert.deepEqual(preferencePair(line('3'), line('4'), 'standard'), { prompt: '1+2=', chosen: '3', rejected: '4' });
		assert.deepEqual(preferencePair(line('3'), line('4'), 'conversational'), {
			prompt: [{ role: 'user', content: '1+2=' }],
			chosen: [{ role: 'assistant', content: '3' }],
			rejected: [{ role: 'assistant', content: '4' }],
		});
		const one = line(
			[{ role: 'assistant', content: '3', reasoning_content: 'easy', trainable: true }],
			[{ role: 'user', content: 'q' }],
		);
		assert.deepEqual(preferencePair(one, one, 'standard'), {
			prompt: 'q',
			chosen: '<think>\neasy\n</think>\n3',
			rejected: '<think>\neasy\n</think>\n3',
		});
		const kept = preferencePair(one, one, 'conversational');
		assert.deepEqual(typeof kept === 'object' && kept.chosen, [
			{ role: 'assistant', content: '3', reasoning_content: 'easy' },
		]);
	});

	it('cannot be text if it has several messages, and keeps only the branch that ends in the last one', () => {
		const several = line([
			{ role: 'assistant', content: 'a' },
			{ role: 'user', content: 'more' },
			{ role: 'assistant', content: 'b' },
		]);
		assert.match(String(preferencePair(several, several, 'standard')), /several messages/);
		const branching = {
			...several,
			completion: [
				{ role: 'assistant', content: 'a' },
				{ role: 'assistant', content: 'other' },
				{ role: 'assistant', content: 'b' },
			],
			parents: [null, null, 0],
		};
		const pair = preferencePair(branching, branching, 'conversational');
		assert.deepEqual(typeof pair === 'object' && pair.chosen, [
			{ role: 'assistant', content: 'a' },
			{ role: 'assistant', content: 'b' },
		]);
	});
});
