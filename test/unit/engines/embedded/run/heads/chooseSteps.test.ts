import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseSteps, type StepCandidate } from '../../../../../../src/engines/embedded/run/heads/chooseSteps.ts';

/** An uncertain step in a surprising solution, one in an expected solution, and a certain one in a surprising one. */
const candidates: readonly StepCandidate[] = [
	{ value: 0.5, wholeValue: 0.9, outcome: 0 },
	{ value: 0.5, wholeValue: 0.9, outcome: 1 },
	{ value: 0.98, wholeValue: 0.1, outcome: 1 },
];

/** Returns how often each candidate is chosen if one step is labeled. */
function shares(by: 'uncertainty' | 'surprise' | 'random'): number[] {
	const counts = [0, 0, 0];
	const draws = 4000;
	for (let draw = 0; draw < draws; draw++) {
		const [place] = chooseSteps({ steps: 1, by }, candidates, 'test', draw);
		counts[place as number] = (counts[place as number] as number) + 1;
	}
	return counts.map((count) => count / draws);
}

function near(actual: readonly number[], weights: readonly number[]): void {
	const sum = weights.reduce((all, weight) => all + weight, 0);
	for (const [i, weight] of weights.entries()) {
		assert.ok(Math.abs((actual[i] as number) - weight / sum) < 0.025, `${actual} for ${weights}`);
	}
}

describe('choosing steps to label', () => {
	it('draws steps in proportion to the expected change of the head', () => {
		near(shares('uncertainty'), [0.25, 0.25, 0.0196]);
		near(shares('surprise'), [0.9, 0.1, 0.9]);
		near(shares('random'), [1, 1, 1]);
	});

	it('chooses each step at most once, in order, deterministically for a seed, and all if there are too few', () => {
		const many = Array.from({ length: 50 }, (_, i) => ({ value: i / 50, wholeValue: 0.5, outcome: i % 2 }));
		const chosen = chooseSteps({ steps: 20, by: 'uncertainty' }, many, 7);
		assert.equal(new Set(chosen).size, 20);
		assert.deepEqual(
			chosen,
			[...chosen].sort((a, b) => a - b),
		);
		assert.deepEqual(chooseSteps({ steps: 20, by: 'uncertainty' }, many, 7), chosen);
		assert.notDeepEqual(chooseSteps({ steps: 20, by: 'uncertainty' }, many, 8), chosen);
		assert.deepEqual(chooseSteps({ steps: 9, by: 'surprise' }, candidates, 1), [0, 1, 2]);
		assert.deepEqual(chooseSteps({ steps: 9, by: 'surprise' }, [], 1), []);
	});
});
