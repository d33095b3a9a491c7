import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareMath } from '../../../src/core/math/compareMath.ts';
import { parseTrace } from '../../../src/core/trace/parseTrace.ts';
import type { RewardContext } from '../../../src/protocol/rewardHost.ts';
import { createAccuracy } from '../../../src/rewards/builtIn/accuracy.ts';
import { createMathComparer, createMathVerifier } from '../../../src/rewards/mathVerifier.ts';
import { withTimeLimit } from '../../../src/rewards/withTimeLimit.ts';

describe('a time limit', () => {
	const tooLong = { tooLong: true };

	it('interrupts any code', () => {
		assert.deepEqual(
			withTimeLimit(20, () => {
				for (;;);
			}),
			tooLong,
		);
		assert.deepEqual(
			withTimeLimit(20, () => {
				try {
					for (;;);
				} catch {
					return 'caught';
				}
			}),
			tooLong,
		);
		assert.deepEqual(
			withTimeLimit(20, () => {
				let x = 3n;
				for (;;) x = (x * x) % (1n << 4000n);
			}),
			tooLong,
		);
		assert.deepEqual(
			withTimeLimit(20, () => /^(a+)+$/.test(`${'a'.repeat(60)}b`)),
			tooLong,
		);
	});

	it('passes values and errors through, even after an interruption', () => {
		assert.deepEqual(
			withTimeLimit(1000, () => 7),
			{ value: 7 },
		);
		assert.throws(
			() =>
				withTimeLimit(1000, () => {
					throw new RangeError('mine');
				}),
			RangeError,
		);
	});
});

describe('a pair of answers', () => {
	it('is incorrect on timeout, undecided if the gold answer uses up the time, and the next pair is unaffected', async () => {
		const strict = await createMathComparer(1);
		const heavy = Array.from({ length: 120 }, (_, i) => `\\sin^{${i + 2}}(x^{${i + 1}}+${i})`).join('+');
		// Independent of machine speed: one millisecond is too short for either answer anywhere.
		const { value, reason } = strict(heavy, `${heavy}+1`);
		assert.equal(value, null);
		assert.match(reason, /longer than 1 ms/);
		const compare = await createMathComparer();
		assert.equal(compare('\\frac{x}{2}', '0.5x').value, 1);
	});

	it('has bounded cost without relying on the clock', async () => {
		await createMathComparer();
		const heavy = Array.from({ length: 60 }, (_, i) => `\\sin^{${i + 2}}(x^{${i + 1}}+${i})`).join('+');
		const { value, reason } = compareMath(heavy, `1+${heavy}-1`, { limits: { steps: 500 } });
		assert.equal(value, 0);
		assert.match(reason, /exceeds the step budget/);
		assert.equal(compareMath(heavy, heavy).value, 1);
	});
});

describe('accuracy on a file dataset', () => {
	const tags = (think: boolean, answer: boolean): RewardContext['tags'] => ({
		think: think ? ['<think>', '</think>'] : null,
		answer: answer ? ['<answer>', '</answer>'] : null,
	});
	async function scoreWith(used: RewardContext['tags'], answer: unknown, completion: string): Promise<number | null> {
		const accuracy = await createAccuracy({ tags: used, task: null, folder: '.' });
		return accuracy({
			prompt: '',
			completion,
			answer,
			row: {},
			truncated: false,
			trace: parseTrace(completion, used),
		});
	}

	it('grades only the answer section', async () => {
		const score = (completion: string, gold: unknown = '\\frac12') => scoreWith(tags(true, true), gold, completion);
		assert.equal(await score('<think>x</think><answer>0.5</answer>'), 1);
		assert.equal(await score('<think>x</think><answer>$\\boxed{\\frac{1}{2}}$</answer>'), 1);
		assert.equal(await score('<think>x</think><answer>The answer is 1/2.</answer>'), 1);
		assert.equal(await score('<think>\\boxed{0.5}</think><answer>0.4</answer>'), 0);
		assert.equal(await score('<think>The answer is 0.5</think>'), 0);
		assert.equal(await score('<think></think><answer>0.5</answer><answer>0.4</answer>'), 0);
		assert.equal(await score('<think></think><answer>\\boxed{0.4} \\boxed{0.5}</answer>'), 0);
		assert.equal(await score('<think></think><answer>0.4, 0.5</answer>'), 0);
		assert.equal(await score('<think></think><answer>0.5'), 0);
		assert.equal(await score('0.5'), 0);
		assert.equal(await score('<think></think><answer>50</answer>', 50), 1);
		assert.equal(await score('<think></think><answer>0.5</answer>', '\\frac{1'), null);
		assert.equal(await score('<answer>0.5</answer>', null), null);
	});

	it('uses the last statement if the template has no answer tags', async () => {
		const score = (completion: string) => scoreWith(tags(true, false), '7', completion);
		assert.equal(await score('<think>8?</think>It is \\boxed{6}... no, \\boxed{7}.'), 1);
		assert.equal(await score('<think>8?</think>The answer is 7.'), 1);
		assert.equal(await score('<think>\\boxed{7}</think>The answer is 8.'), 0);
		assert.equal(await score('<think>\\boxed{7}</think>'), 0);
		assert.equal(await scoreWith(tags(false, false), '7', '3 + 4 = 7, so the answer is 7.'), 1);
	});

	it('has a verifier that returns null, true or false', async () => {
		const verify = await createMathVerifier();
		const question = (answer: string | null) => ({ answer, row: {} });
		assert.equal(verify(question('1/2'), '0.5'), true);
		assert.equal(verify(question('1/2'), '0.4'), false);
		assert.equal(verify(question(null), '0.4'), null);
		assert.equal(verify(question('\\frac{1'), '0.4'), null);
	});
});
