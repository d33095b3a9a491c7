import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { repetitionReward } from '../../../../src/core/reward/repetitionReward.ts';
import { parseTrace } from '../../../../src/core/trace/parseTrace.ts';
import { findRepetition } from '../../../../src/core/trace/repetition.ts';

describe('repeated n-grams', () => {
	it('are marked where text repeats earlier text', () => {
		const text = 'I try two and three. So no. I try two and three. Yes.';
		const { places, repeated, ngrams } = findRepetition(text);
		assert.deepEqual(
			places.map(({ start, end }) => text.slice(start, end)),
			['I try two and three.'],
		);
		assert.deepEqual([repeated, ngrams], [2, 10]);
		assert.deepEqual(findRepetition('a b c d'), { share: 0, ngrams: 1, repeated: 0, places: [] });
		assert.deepEqual(findRepetition('a b c'), { share: 0, ngrams: 0, repeated: 0, places: [] });
	});

	it('are searched for in a section, with offsets into the whole text', () => {
		const text = '<think>x y x y x y</think>x y x y';
		const { places } = findRepetition(text, { ngram: 2, span: { start: 7, end: 18 } });
		assert.deepEqual(
			places.map(({ start, end }) => text.slice(start, end)),
			['x y x y'],
		);
	});

	it('match the fraction that the repetition reward penalizes', () => {
		const random = Random.of(3, 'repetition');
		for (let i = 0; i < 300; i++) {
			const completion = Array.from({ length: random.int(40) }, () =>
				random.pick(['a', 'B', 'b', '数', 'x.', '12']),
			).join(' ');
			for (const unit of ['words', 'characters'] as const) {
				const { share, places } = findRepetition(completion, { ngram: 3, unit });
				const sample = { completion, trace: parseTrace(completion) } as unknown as Parameters<
					typeof repetitionReward
				>[0];
				const reward = repetitionReward(
					sample,
					{ ngram: 3, maxPenalty: -1, unit, of: 'completion' },
					{ think: null, answer: null },
				);
				assert.ok(Math.abs(share + reward) < 1e-12, `${share} ${reward} ${JSON.stringify(completion)}`);
				let last = -1;
				for (const { start, end } of places) {
					assert.ok(start > last && end <= completion.length);
					last = end;
				}
			}
		}
	});
});
