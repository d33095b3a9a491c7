import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adaptiveDefaults, afterUpdate, bonusWeight } from '../../../../src/core/grpo/entropyBonus.ts';

test('a fixed coefficient applies at any entropy', () => {
	assert.equal(bonusWeight({ coefficient: 0.01, entropy: null }, null), 0.01);
	assert.equal(bonusWeight({ coefficient: 0.01, entropy: 3 }, null), 0.01);
});

test('an adaptive coefficient applies and rises at or below the target entropy, and falls above it, within its bounds', () => {
	const adaptive = { ...adaptiveDefaults, target: 0.5, delta: 0.25, highest: 0.6 };
	let bonus = { coefficient: 0.1, entropy: null as number | null };
	const weights = [0.9, 0.5, 0.4, 0.4, 0.6, 0.6, 0.6, 0.6].map((entropy) => {
		const weight = bonusWeight(bonus, adaptive);
		bonus = afterUpdate(bonus, entropy, adaptive);
		return [weight, bonus.coefficient];
	});
	assert.deepEqual(
		weights.map(([weight]) => weight),
		// 0 until the first entropy is known, and after an entropy above the target.
		[0, 0, 0.25, 0.5, 0.6, 0, 0, 0],
	);
	assert.deepEqual(
		weights.map(([, coefficient]) => Number((coefficient as number).toFixed(9))),
		[0, 0.25, 0.5, 0.6, 0.35, 0.1, 0, 0],
	);
});
