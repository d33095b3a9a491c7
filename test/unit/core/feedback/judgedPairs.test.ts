import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { feedbackAgreement } from '../../../../src/core/feedback/agreement.ts';
import { judgedPairs } from '../../../../src/core/feedback/judgedPairs.ts';
import { ordinalAlpha } from '../../../../src/core/feedback/krippendorff.ts';
import type {
	CompletionRating,
	Feedback,
	PreferenceChoice,
	RatedCompletion,
} from '../../../../src/protocol/feedback.ts';

const completion = (index: number, reward: number | null = null): RatedCompletion => ({
	...{ split: 'train', step: 3, group: 1, index, completion: `text ${index}`, reward },
});
const common = { format: 1, time: 5, prompt: '1+1=' } as const;
const rating = (rater: string, of: RatedCompletion, value: CompletionRating | null): Feedback => ({
	...{ kind: 'rating', ...common, rater, ...of, rating: value },
});
const preference = (rater: string, a: RatedCompletion, b: RatedCompletion, choice: PreferenceChoice): Feedback => ({
	...{ kind: 'preference', ...common, rater, a, b, choice },
});

describe('rater agreement', () => {
	it('matches alpha in the published example', () => {
		// Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units.
		const observers = [
			[1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
			[1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
			[0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
			[1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
		];
		const units = Array.from({ length: 12 }, (_, u) => observers.map((one) => one[u] as number).filter((x) => x > 0));
		assert.ok(Math.abs((ordinalAlpha(units) as number) - 0.815) < 5e-4, String(ordinalAlpha(units)));
	});

	it('is 1 if all raters agree, about 0 for random ratings, lower if they contradict each other, and null without information', () => {
		assert.equal(
			ordinalAlpha([
				[1, 1],
				[5, 5],
				[3, 3, 3],
			]),
			1,
		);
		const random = Random.of('alpha');
		const chance = Array.from({ length: 4000 }, () => [1 + random.int(5), 1 + random.int(5)]);
		assert.ok(Math.abs(ordinalAlpha(chance) as number) < 0.05);
		assert.ok(
			(ordinalAlpha([
				[1, 5],
				[5, 1],
				[1, 5],
			]) as number) < -0.3,
		);
		assert.equal(ordinalAlpha([[4], [2]]), null);
		assert.equal(
			ordinalAlpha([
				[3, 3],
				[3, 3],
			]),
			null,
		);
	});

	it('is reported for rewards: how often raters agree with a rule, and where the rule cannot tell completions apart', () => {
		const [a, b, c, d] = [completion(0, 1), completion(1, 0), completion(2, 0), completion(3, null)];
		const agreement = feedbackAgreement([
			...[rating('ada', a, 5), rating('ada', b, 2), rating('ada', c, 1), rating('ada', d, 4)],
			...[rating('bob', a, 4), rating('bob', b, 2), preference('bob', c, a, 'a')],
		]);
		assert.deepEqual(agreement.raters, [
			{ name: 'ada', ratings: 4, preferences: 0 },
			{ name: 'bob', ratings: 2, preferences: 1 },
		]);
		assert.deepEqual([agreement.rated, agreement.shared], [4, 2]);
		// a over b by both raters; a and c are tied one to one; b over c by ada (equal rewards); d has no reward.
		assert.equal(agreement.undecided, 1);
		assert.equal(agreement.blind, 1);
		assert.equal(agreement.reward?.pairs, 1);
		assert.equal(agreement.reward?.share.accuracy, 1);
		assert.ok((agreement.reward?.share.low ?? 1) < 0.3, 'one pair is weak evidence');
		assert.equal(feedbackAgreement([]).reward, null);
	});
});

describe('human preference pairs', () => {
	const [a, b, c] = [completion(0), completion(1), completion(2)];

	it('come from different ratings for the same prompt, with the better completion first', () => {
		const { pairs, undecided } = judgedPairs([rating('ada', a, 2), rating('ada', b, 5), rating('ada', c, 2)]);
		assert.deepEqual(
			pairs.map(({ chosen, rejected, margin, votes }) => [chosen.index, rejected.index, margin, votes]),
			[
				[1, 0, 3, [1, 0]],
				[1, 2, 3, [1, 0]],
			],
		);
		assert.equal(undecided, 1);
		const other = { ...rating('ada', b, 5), prompt: '2+2=' };
		assert.deepEqual(judgedPairs([rating('ada', a, 2), other]).pairs, []);
	});

	it('prefer direct comparisons to ratings, and follow the majority', () => {
		const rated = [rating('ada', a, 5), rating('ada', b, 1)];
		assert.equal(judgedPairs([...rated, preference('ada', a, b, 'b')]).pairs[0]?.chosen.index, 1);
		assert.equal(judgedPairs([...rated, preference('ada', b, a, 'equal')]).undecided, 1);
		assert.equal(judgedPairs([...rated, preference('bob', a, b, 'b')]).undecided, 1);
		const majority = judgedPairs([...rated, preference('bob', a, b, 'b'), preference('eve', b, a, 'a')]);
		assert.deepEqual([majority.pairs[0]?.chosen.index, majority.pairs[0]?.votes], [1, [2, 1]]);
	});

	it('omit cleared ratings and identical texts', () => {
		assert.deepEqual(judgedPairs([rating('ada', a, 5), rating('ada', b, null)]).pairs, []);
		const twin = { ...b, completion: a.completion };
		assert.deepEqual(judgedPairs([rating('ada', a, 5), rating('ada', twin, 1)]), { pairs: [], undecided: 0 });
	});
});
