import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultObjective } from '../../../../../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../../../../../src/core/grpo/objective/rowLoss.ts';
import { Conversation } from '../../../../../../src/engines/embedded/run/episodes/conversation.ts';
import {
	creditedTurns,
	tokensOfTurns,
	turnLengths,
} from '../../../../../../src/engines/embedded/run/episodes/turnCredit.ts';
import type { Rollout } from '../../../../../../src/engines/embedded/run/rollout.ts';
import { samplerInputs } from '../../../../../../src/engines/embedded/run/samplerTerms.ts';
import { overAll } from '../../../../../../src/engines/embedded/run/trainedTokens.ts';
import {
	shuffled,
	type TrainingRow,
	trainingRows,
	weigh,
} from '../../../../../../src/engines/embedded/run/trainingRow.ts';

/** Returns a rollout whose turns have the given lengths, with two environment tokens between them. */
function rollout(lengths: readonly number[], reward: number | null, rewards: readonly (number | null)[] = []): Rollout {
	const conversation = new Conversation([1, 2, 3]);
	for (const [k, length] of lengths.entries()) {
		if (k > 0) conversation.addAnswer([8, 9]);
		conversation.addTurn(new Array(length).fill(5));
	}
	const turns = rewards.map((one) => ({ calls: [], results: [], ...(one === null ? {} : { reward: one }) }));
	return { sample: conversation.sample(false), reward, episode: { turns } } as unknown as Rollout;
}

test('tokens get the advantage of their turn, and environment tokens get none', () => {
	const { sample } = rollout([2, 1, 3], 1);
	assert.deepEqual(turnLengths(sample), [2, 1, 3]);
	const own = tokensOfTurns(sample, Float64Array.of(0.5, -1, 2));
	assert.deepEqual([...own], [0.5, 0.5, -1, 2, 2, 2]);
	assert.deepEqual([...overAll(own, sample.trained)], [0.5, 0.5, 0, 0, -1, 0, 0, 2, 2, 2]);
	// A completion without an environment is one turn; if the policy wrote nothing, there are no turns.
	const { trained: _, ...plain } = sample;
	assert.deepEqual(turnLengths(plain), [10]);
	assert.deepEqual(turnLengths(rollout([], null).sample), []);
});

test('turn rewards are scaled by the weight of the environment, and a last message without calls has none', () => {
	const rows = [rollout([1, 1, 1], 2, [1, null]), rollout([1, 1], 0, [null])];
	const values = creditedTurns(rows, 2, 2, 'none').map((one) => [...one]);
	// The returns are 2, 0, 0 and 0, 0. Only one rollout has a third turn.
	assert.deepEqual(values, [
		[1, 0, 0],
		[-1, 0],
	]);
});

test('a row with per-turn advantages has the losses and gradients of its individual turns', () => {
	const one = rollout([2, 1, 3], 1);
	const turns = Float64Array.of(0.5, -1, 2);
	const [row] = trainingRows({ mask_truncated_completions: false }, { rollouts: [one] } as never, [turns]);
	const { trained } = one.sample;
	assert.ok(row);
	assert.equal(row.advantage, (2 * 0.5 - 1 + 3 * 2) / 6);
	const length = trained?.length as number;
	const selected = Float32Array.from({ length }, (_, t) => (t === 1 ? 0 : 1));
	const inputs = samplerInputs(row, { loss_type: 'dapo' } as never, selected);
	const at = (t: number) => Math.sin(t + 1);
	const logprobs = Float32Array.from({ length }, (_, t) => -1 + 0.4 * at(t));
	const oldLogprobs = new Float32Array(length).fill(-1);
	const values = { logprobs, oldLogprobs, refLogprobs: null };
	const whole = rowLoss({ ...values, advantage: inputs.advantage, factors: inputs.factors ?? null }, defaultObjective);
	const advantages = overAll(row.tokenAdvantages as Float32Array, trained);
	for (let t = 0; t < length; t++) {
		const alone = rowLoss({ ...values, advantage: advantages[t] as number, factors: selected }, defaultObjective);
		assert.equal(whole.losses[t], alone.losses[t]);
		assert.equal(whole.gradients[t], alone.gradients[t]);
		// Finite differences of the sum: nothing flows through tokens that are masked or not selected.
		const moved = (by: number) => {
			const other = { ...values, logprobs: Float64Array.from(logprobs, (value, i) => (i === t ? value + by : value)) };
			const { losses } = rowLoss(
				{ ...other, advantage: inputs.advantage, factors: inputs.factors ?? null },
				defaultObjective,
			);
			return losses.reduce((a, b) => a + b, 0);
		};
		const slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
		assert.ok(Math.abs(slope - (whole.gradients[t] as number)) < 1e-6, `${t}: ${slope} ${whole.gradients[t]}`);
		if (trained?.[t] === 0 || t === 1) assert.equal(Math.abs(slope), 0);
	}
});

test('the "shuffle" control permutes the advantages of all turns in the batch', () => {
	const turns = [Float64Array.of(1, 2, 3), Float64Array.of(4), Float64Array.of(5, 6)];
	const mixed = shuffled(turns, 1, 1) as Float64Array[];
	assert.deepEqual(
		mixed.map((one) => one.length),
		[3, 1, 2],
	);
	assert.deepEqual(
		mixed.flatMap((one) => [...one]).sort(),
		turns.flatMap((one) => [...one]),
	);
	assert.notDeepEqual(mixed, turns);
	assert.deepEqual(
		shuffled([1, 2, 3, 4, 5, 6], 1, 1),
		mixed.flatMap((one) => [...one]),
	);
});

test('a row is not skipped because the advantages of its turns cancel out', () => {
	const stage = { loss_type: 'dapo', beta: 0, skip_dead_groups: true, steps_per_generation: 1 };
	const row = (values: Float64Array): TrainingRow =>
		trainingRows({ mask_truncated_completions: false }, { rollouts: [rollout([1, 1], 1)] } as never, [
			values,
		])[0] as TrainingRow;
	const rows = [row(Float64Array.of(1, -1)), row(Float64Array.of(0, 0))];
	assert.equal(rows[0]?.advantage, 0);
	assert.deepEqual(
		weigh(stage as never, [rows])[0]?.kept.map(({ row: kept }) => kept),
		[rows[0]],
	);
});
