import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Random } from '../../../../src/base/random.ts';
import {
	implicitRewardMetrics,
	inEvaluation,
	pairLoss,
	scoreMetrics,
} from '../../../../src/core/preference/pairLoss.ts';
import { parsePairs } from '../../../../src/core/preference/pairRows.ts';

const columns = { prompt: 'prompt', chosen: 'chosen', rejected: 'rejected', heldOutShare: 0.2 };

test('the pair loss is minus the log-likelihood that the chosen completion wins', () => {
	assert.ok(Math.abs(pairLoss(0) - Math.LN2) < 1e-15);
	const random = Random.of('pairs', 1);
	for (let k = 0; k < 200; k++) {
		const margin = 8 * random.normal();
		assert.ok(Math.abs(pairLoss(margin) + Math.log(1 / (1 + Math.exp(-margin)))) < 1e-9);
		// The probabilities that each of the two wins sum to 1.
		assert.ok(Math.abs(Math.exp(-pairLoss(margin)) + Math.exp(-pairLoss(-margin)) - 1) < 1e-12);
	}
	assert.equal(pairLoss(800), 0);
	assert.equal(pairLoss(-800), 800);
});

test("metrics have TRL's names and definitions: a tie does not count as correct order", () => {
	const pairs = [
		{ chosen: 2, rejected: 1 },
		{ chosen: -1, rejected: 1 },
		{ chosen: 0.5, rejected: 0.5 },
		{ chosen: 0, rejected: -2 },
	];
	const loss = (pairLoss(1) + pairLoss(-2) + pairLoss(0) + pairLoss(2)) / 4;
	assert.deepEqual(implicitRewardMetrics(pairs), {
		loss,
		'rewards/chosen': 0.375,
		'rewards/rejected': 0.125,
		'rewards/accuracies': 0.5,
		'rewards/margins': 0.25,
	});
	assert.deepEqual(inEvaluation(scoreMetrics(pairs)), {
		'eval/loss': loss,
		'eval/accuracy': 0.5,
		'eval/margin': 0.25,
		'eval/mean_reward': 0.25,
		'eval/min_reward': -2,
		'eval/max_reward': 2,
	});
});

test('pairs are split by prompt hash regardless of order, and pairs of equal completions are omitted', () => {
	const lines = Array.from({ length: 200 }, (_, i) =>
		JSON.stringify({ prompt: `problem ${i % 100}`, chosen: `yes ${i}`, rejected: i === 7 ? 'yes 7' : 'no' }),
	);
	const { training, heldOut, same } = parsePairs(`${lines.join('\n')}\n`, 'pairs.jsonl', columns, true);
	assert.equal(same, 1);
	assert.equal(training.length + heldOut.length, 199);
	assert.ok(heldOut.length > 15 && heldOut.length < 70, `${heldOut.length}`);
	const prompts = new Set(heldOut.map(({ prompt }) => prompt));
	assert.ok(training.every(({ prompt }) => !prompts.has(prompt)));
	const turned = parsePairs(lines.toReversed().join('\n'), 'pairs.jsonl', columns, true);
	assert.deepEqual(new Set(turned.heldOut.map(({ prompt }) => prompt)), prompts);
});

test('columns have the names given in the recipe, and only a reward model accepts pairs without a prompt', () => {
	const text = '{"question": "q", "good": "a", "bad": "b"}';
	const named = { prompt: 'question', chosen: 'good', rejected: 'bad', heldOutShare: 0.001 };
	assert.deepEqual(parsePairs(text, 'p', named, true).training, [{ prompt: 'q', chosen: 'a', rejected: 'b' }]);
	assert.deepEqual(parsePairs(text, 'p', { ...named, prompt: 'none' }, false).training, [
		{ prompt: '', chosen: 'a', rejected: 'b' },
	]);
});

test('file errors are reported with their line', () => {
	const good = '{"prompt": "p", "chosen": "a", "rejected": "b"}';
	const cases: readonly [string, RegExp][] = [
		[`${good}\n\n[1]`, /pairs\.jsonl, line 3: is not a JSON object\..*Each line must contain .* with three strings/],
		[`${good}\n{"prompt": "p", "chosen": "a"}`, /line 2: has no column "rejected"/],
		[`{"prompt": "p", "chosen": [], "rejected": "b"}`, /line 1: "chosen" is not a string/],
		[`{"chosen": "a", "rejected": "b"}`, /line 1: has no column "prompt"/],
		['', /contains no pairs/],
		['{"prompt": "p", "chosen": "a", "rejected": "a"}', /no pairs whose completions differ/],
	];
	for (const [text, fault] of cases) {
		assert.throws(
			() => parsePairs(text, 'pairs.jsonl', columns, true),
			(error) => error instanceof Failure && fault.test(error.toString()),
			String(fault),
		);
	}
	assert.throws(() => parsePairs(good, 'p', { ...columns, heldOutShare: 1 }, true), /leaves no pairs to train on/);
});
