import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import { taskSource } from '../../../../src/core/dataset/taskSource.ts';
import { findBehaviors } from '../../../../src/core/trace/behaviors.ts';
import type { TaskDataset } from '../../../../src/protocol/recipeKeys/recipe.ts';

/** Checks a try step by step and returns its expression and value. */
function checkTry(text: string, numbers: readonly number[], modulus: number): { expression: string; value: number } {
	const steps = text.split(',');
	assert.equal(steps.length, numbers.length - 1, text);
	let value = numbers[0] as number;
	let expression = String(value);
	for (const [i, step] of steps.entries()) {
		const number = numbers[i + 1] as number;
		const [, first, sign, shown, result] = /^(\d*)([+-])(\d+)=(\d+)$/.exec(step) ?? assert.fail(step);
		assert.equal(first, i === 0 ? String(numbers[0]) : '', text);
		assert.equal(Number(shown), number, text);
		value = (((sign === '+' ? value + number : value - number) % modulus) + modulus) % modulus;
		assert.equal(Number(result), value, text);
		expression += `${sign}${number}`;
	}
	return { expression, value };
}

function problemsOf(settings: Omit<TaskDataset, 'task'>, count: number) {
	const task = createTask({ task: 'signs', ...settings });
	return Array.from({ length: count }, (_, i) => task.sample(Random.of('signs', i)));
}

describe('worked solutions of the signs task', () => {
	it('never make a mistake or repeat a try, and end with the answer from the last try', () => {
		const seen = { first: 0, later: 0, missed: 0, right: 0 };
		for (const { solution, stated, answer, row, prompt } of problemsOf({ modulus: 7 }, 3000)) {
			const { numbers, target } = row as { numbers: number[]; target: number };
			assert.equal(prompt, `${numbers.join(' ')}:${target}`);
			const tries = solution.split(';try again;').map((one) => checkTry(one, numbers, 7));
			assert.equal(new Set(tries.map(({ expression }) => expression)).size, tries.length);
			assert.ok(
				tries.slice(0, -1).every(({ value }) => value !== target),
				solution,
			);
			assert.equal(stated, tries.at(-1)?.expression);
			assert.equal(findBehaviors(solution).length, tries.length - 1);
			assert.ok(findBehaviors(solution).every(({ behavior }) => behavior === 'backtracking'));
			seen[tries.length === 1 ? 'first' : 'later']++;
			seen[tries.at(-1)?.value === target ? 'right' : 'missed']++;
			assert.equal(answer.replace(/[+-]/g, ' '), numbers.join(' '));
		}
		// Few solutions continue after a miss, so most answers are incorrect.
		assert.ok(seen.later > 200 && seen.later < 420 && seen.right < 1150 && seen.missed > 1850, JSON.stringify(seen));
	});

	it('in full style, continue until the result is the target', () => {
		const task = createTask({ task: 'signs', style: 'full' });
		const problems = problemsOf({ style: 'full' }, 300);
		for (const problem of problems) assert.ok(task.verify(problem, problem.stated ?? assert.fail()), problem.prompt);
		assert.ok(problems.filter(({ solution }) => solution.includes('try again')).length > 200);
	});

	it('differ in wording from plain text, which lists tries until one reaches the target', () => {
		const { text = assert.fail() } = taskSource(createTask({ task: 'signs' }));
		for (let i = 0; i < 100; i++) {
			const [, numbers = '', target, tries = ''] = /^([\d ]+)=(\d) (.*)$/.exec(text(1, i)) ?? assert.fail(text(1, i));
			const parsed = tries.split(';and again;').map((one) => checkTry(one, numbers.split(' ').map(Number), 5));
			assert.equal(new Set(parsed.map(({ expression }) => expression)).size, parsed.length);
			assert.deepEqual(
				parsed.map(({ value }) => value === Number(target)),
				parsed.map((_, at) => at === parsed.length - 1),
			);
			assert.deepEqual(findBehaviors(tries), []);
		}
	});
});

describe('answers to the signs task', () => {
	const { verify } = createTask({ task: 'signs', modulus: 9 });
	const row = { numbers: [3, 5, 8, 2], target: 4 };
	const isCorrect = (answer: string, more: object = {}) => verify({ answer: null, row: { ...row, ...more } }, answer);

	it('use each number once, in order, with a sign before each but the first', () => {
		for (const answer of ['3-5+8-2', ' 3-5+8-2\n', '3 - 5 + 8 - 2', '3+5-8+2'.replace('+2', '-5')]) {
			assert.equal(isCorrect(answer), answer.includes('2'), answer);
		}
		for (const answer of [
			...['', '4', '13', '3+5+8-2', '-3-5+8-2', '+3-5+8-2', '3-5+8', '3-5+8-2+0', '8+3-5-2', '3-5+8-2=4', '3--5+8-2'],
			...['(3-5)+8-2', '3-(5-8)-2', '3*5-8-2', '35-8-23', '3-5+8-2;3', '3 -5 +8 -2 -9 +9', '３-5+8-2', '3-5+8-2.0'],
			...['03-05+08-02x', '3-5+8-2e0', '0x3-5+8-2', '3-5+8−2', `3${'-5+5'.repeat(200)}`, `${' '.repeat(1000)}4`],
		]) {
			assert.equal(isCorrect(answer), false, answer);
		}
	});

	it('can reach the target with any signs, modulo 9', () => {
		assert.ok(isCorrect('3+5+8+2', { target: 0 }) && isCorrect('3-5-8-2', { target: 6 }));
		assert.ok(!isCorrect('3+5+8+2', { target: 1 }));
	});

	it('are incorrect for a malformed row', () => {
		for (const bad of [
			...[{ numbers: null }, { numbers: '3582' }, { numbers: [] }, { numbers: [3, 5, 8, '2'] }, { numbers: [3, 5, 8] }],
			...[
				{ target: '4' },
				{ target: null },
				{ target: Number.NaN },
				{ target: 4.5 },
				{ numbers: [3, 5, 8, Number.NaN] },
			],
			...[
				{ numbers: Array.from({ length: 17 }, () => 1) },
				{ numbers: { length: 4 } },
				{ target: Number.POSITIVE_INFINITY },
			],
		]) {
			assert.equal(isCorrect('3-5+8-2', bad), false, JSON.stringify(bad));
		}
		assert.equal(verify({ answer: '3-5+8-2', row: {} }, '3-5+8-2'), false, 'the gold answer alone does not count');
	});
});
