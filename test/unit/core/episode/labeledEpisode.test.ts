import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { labelDifference, parseEpisodes } from '../../../../src/core/episode/labeledEpisode.ts';
import type { Episode } from '../../../../src/protocol/episode.ts';

const line = (value: object) => JSON.stringify(value);
const call = (number: unknown) => ({ name: 'guess', arguments: { number } });

describe('labeled episodes', () => {
	it('are parsed with their lines; invalid lines are reported and the others kept', () => {
		const text = [
			'\uFEFF# Comments and blank lines are skipped.',
			'',
			line({ name: 'found', row: { number: 3 }, calls: [call(1), [call(2), call(3)]], expect: { reward: 1 } }),
			line({ expect: { observation: null, done: false } }),
			'{"calls": ',
			line({ calls: [{ name: 5 }], expect: { reward: 1 } }),
			line({ calls: [], expect: {} }),
			line({ calls: [call(1)], expect: { results: ['a', 'b'] } }),
			line({ calls: [{ name: 'guess', arguments: '{"broken' }], expect: { reward: { min: 0.5 } } }),
			line({ expects: { reward: 1 } }),
			'[1]',
		].join('\n');
		const { episodes, faults } = parseEpisodes(text);
		assert.deepEqual(
			episodes.map((one) => [one.line, one.label, one.turns.map((turn) => turn.length)]),
			[
				[3, 'found', [1, 2]],
				[4, 'episode 2', []],
				[9, 'episode 7', [1]],
			],
		);
		assert.deepEqual(
			faults.map((fault) => [fault.line, fault.message]),
			[
				[5, 'is not valid JSON'],
				[6, 'has an unknown or invalid "calls[0]"'],
				[7, 'expects nothing'],
				[8, 'expects 2 results for 1 calls'],
				[10, 'has an unknown or invalid "expect"'],
				[11, 'is not a labeled episode'],
			],
		);
	});

	const episode: Episode = {
		...{ row: 0, policy: 'labeled', observation: 'Guess.', reward: 0.5, stop: 'policy', durationMs: 1, logs: [] },
		turns: [
			{
				...{ calls: [call(1)], done: false, durationMs: 1, reward: 0.25 },
				results: [{ name: 'guess', content: 'higher', failed: false }],
			},
		],
	};
	const cases: readonly [object, RegExp | null][] = [
		[{ observation: 'Guess.', results: ['higher'], done: false, reward: { min: 0.5, max: 1 } }, null],
		[{ results: [null], reward: 0.5 }, null],
		[{ observation: null }, /^reset gives "Guess\.", but nothing is expected$/],
		[{ results: ['lower'] }, /^call 1 \(guess\) gives "higher", but "lower" is expected$/],
		[{ done: true }, /^done is false, but true is expected$/],
		[{ reward: { min: 0.6 } }, /^the reward is 0\.5, but at least 0\.6 is expected$/],
		[{ turnRewards: [0.25] }, null],
		[{ turnRewards: [null] }, null],
		[{ turnRewards: [{ min: 0.5 }] }, /^the reward of turn 1 is 0\.25, but at least 0\.5 is expected$/],
		[{ reward: null }, /^the reward is 0\.5, but null is expected$/],
	];
	for (const [expect, message] of cases) {
		it(`expects ${JSON.stringify(expect)}`, () => {
			const [labeled] = parseEpisodes(line({ calls: [call(1)], expect })).episodes;
			assert.ok(labeled);
			const difference = labelDifference(labeled, episode);
			if (message === null) assert.equal(difference, null);
			else assert.match(difference?.message ?? '', message);
		});
	}

	it('do not match an episode that failed', () => {
		const [labeled] = parseEpisodes(line({ expect: { reward: 0.5 } })).episodes;
		const error = { during: 'reset' as const, kind: 'threw' as const, message: "KeyError: 'x'.", line: 7 };
		assert.ok(labeled);
		assert.deepEqual(labelDifference(labeled, { ...episode, error }), {
			...{ message: "reset failed: KeyError: 'x'", line: 7 },
		});
	});
});
