import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { answersEqual } from '../../../../../src/core/dataset/answer.ts';
import { createTask } from '../../../../../src/core/dataset/createTask.ts';
import { compareMath } from '../../../../../src/core/math/compareMath.ts';
import { loadLatexParser } from '../../../../../src/core/math/latexParser.ts';
import { exactVerifier, type Verifier } from '../../../../../src/core/reward/accuracyReward.ts';
import { optionLetters, wrongAnswers } from '../../../../../src/core/reward/verification/wrongAnswers.ts';
import type { TaskDataset } from '../../../../../src/protocol/recipeKeys/recipe.ts';

const mathGolds =
	String.raw`42|-7|0|3.14|1,234.50|$5|5 cm|50%|50\%|12 \text{ apples}|\$1,000|1/2|-\frac{3}{4}|\frac{0}{5}|\frac12|3 \frac{1}{2}|\sqrt{2}|2\sqrt{3}|\pi|\frac{\pi}{2}|x^2+1|x+y|\sin^2 x|e^{2}|(1, 2)|[0, 1)|(-\infty, 3]|\{1,2,3\}|\{1, 2, 1\}|\{-1, 1\}|x=5|x = \frac{1}{2}|y = 2x+3|x > 5|1 < x < 5|x \le -2|(1,2),(3,4)|1, 2, 3|\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}|(0,1)\cup(2,3)|90^\circ|A|(B)|Yes|true|Paris|Monday|12:30|2:3|5x|2i|3+4i|10^{10}|1.5 \times 10^3|n!|0.333|100|1e5|AB|\pm 3|x=\pm 3|3 or 5|x = 1 or x = 2|\log 2|7\frac{1}{3}|25 \text{ km/h}|-5|+5|.5|\boxed{7}|\boxed{\frac{1}{2}}|Let us see. #### 18|x\neq 2|f(x)=x^2|k\pi|2^{10}|\frac{x}{2}|x^{-1}|a+b=c|2x-1=0|$\frac{2}{3}$`.split(
		'|',
	);

function wrongFor(gold: string | null, changes: Partial<Parameters<typeof wrongAnswers>[1]> = {}) {
	return wrongAnswers(
		{ answer: gold, row: {} },
		{ verify: exactVerifier, prompt: '', others: [], random: Random.of(1), count: 20, ...changes },
	);
}
const answers = (gold: string, changes = {}) =>
	wrongFor(gold, changes)
		.map(({ answer }) => answer)
		.filter((answer) => answer !== 'unknown')
		.sort();

describe('incorrect answers', () => {
	it('are derived from a number in its own notation', () => {
		assert.deepEqual(answers('42'), ['', '-42', '24', '41', '420', '43'].sort());
		assert.deepEqual(
			answers('$1,234.50'),
			['', '$-1,234.50', '$1,233.50', '$1,235.50', '$12,345.00', '$1,234.05'].sort(),
		);
		assert.ok(answers('5 cm').includes('6 cm'));
		assert.ok(answers('50\\%').includes('500\\%'));
		assert.ok(answers('x = -3').includes('x = 3'));
		assert.deepEqual(answers('0'), ['', '-1', '1']);
	});

	it('are derived from fractions, options, words, structures and expressions', () => {
		assert.deepEqual(answers('3/4'), ['', '-3/4', '3/5', '30/4', '4/3', '4/4'].sort());
		assert.ok(answers('-\\frac{1}{2}').includes('\\frac{1}{2}'));
		assert.ok(answers('-\\frac{1}{2}').includes('-\\frac{2}{1}'));
		assert.deepEqual(answers('(B)', { prompt: 'Choose.\nA) one\nB) two\nC) three' }), ['', '(A)', '(C)']);
		assert.deepEqual(answers('Yes'), ['', 'No']);
		assert.deepEqual(answers('FALSE'), ['', 'TRUE']);
		assert.deepEqual(answers('olleh'), ['', 'ollei']);
		assert.deepEqual(answers('(1, 2]'), ['', '(1, 3]']);
		assert.deepEqual(answers('\\{1, 2, 1\\}'), ['', '\\{1, 2, 3\\}']);
		assert.deepEqual(answers('2\\sqrt{3}'), ['', '2\\sqrt{3}+1']);
		assert.deepEqual(answers('x^2 - 1'), ['', 'x^2 - 1+1']);
	});

	it('state how they were derived', () => {
		const hows = Object.fromEntries(wrongFor('42').map(({ answer, how }) => [answer, how]));
		assert.deepEqual(hows, {
			'43': 'off by one',
			'41': 'off by one',
			'-42': 'sign',
			'420': 'off by a factor of 10',
			'24': 'digits swapped',
			'': 'empty',
			unknown: 'no answer',
		});
		assert.deepEqual(
			wrongFor('42', { others: ['7'] }).filter(({ answer }) => answer === '7'),
			[{ answer: '7', how: "another problem's answer" }],
		);
	});

	it('never include anything that could be correct under mathematical equivalence', () => {
		// Each gold answer comes with equivalent answers, offered as answers to other problems.
		const pairs: [string, string[]][] = [
			['1/2', ['0.5', '2/4', '50%', '\\frac{1}{2}']],
			['0.5', ['1/2', '.5', '50\\%']],
			['5 cm', ['50 mm', '0.05 m']],
			['50%', ['0.5', '1/2']],
			['2', ['\\sqrt{4}', '2.0', '1+1', '4/2']],
			['x+1', ['1+x']],
			['\\{1,2\\}', ['\\{2,1\\}']],
			['Paris', ['paris', ' Paris. ']],
			['7', ['x = 7', '7.0', '+7', '007']],
		];
		for (const [gold, same] of pairs) {
			for (let seed = 0; seed < 20; seed++) {
				const made = wrongFor(gold, { others: same, random: Random.of(seed) }).map(({ answer }) => answer);
				for (const answer of made) assert.ok(!same.includes(answer), `${answer} for ${gold}`);
			}
		}
	});

	it('are incorrect under mathematical equivalence, for gold answers of every form', async () => {
		await loadLatexParser();
		const random = Random.of(5);
		const integer = () => random.between(-9, 9);
		const list = () => Array.from({ length: random.between(1, 4) }, integer).join(', ');
		const made = [
			() => `\\{${list()}\\}`,
			() => `(${list()})`,
			() => `[${integer()}, ${integer()})`,
			() => `x ${random.pick(['=', '<', '>', '\\leq', '\\geq'])} ${integer()}`,
			() => `${integer()}x^${random.between(2, 4)} + ${integer()}`,
			() => `x = ${integer()}, y = ${integer()}`,
			() => `\\frac{${integer()}}{${random.between(1, 9)}}`,
			() => `${integer()}\\sqrt{${random.between(1, 9)}}`,
			() => `${integer()}.${random.between(0, 99)}`,
		];
		const golds = [...mathGolds, ...Array.from({ length: 300 }, () => random.pick(made)())];
		let judged = 0;
		for (const [i, gold] of golds.entries()) {
			for (const { answer, how } of wrongFor(gold, { others: golds, random: Random.of(i) })) {
				const { value, reason } = compareMath(gold, answer);
				assert.notEqual(value, 1, `${JSON.stringify(answer)} (${how}) for ${JSON.stringify(gold)}: ${reason}`);
				if (value === 0) judged++;
			}
		}
		assert.ok(judged > 1000, `${judged} were judged`);
		// A recognized form has incorrect answers other than an empty one.
		for (const gold of mathGolds)
			assert.ok(
				answers(gold).some((answer) => answer !== ''),
				gold,
			);
	});

	it('do not split products, exponents, functions or infinity', () => {
		const golds = [
			'1^{5}',
			'max(1, 5)',
			'\\infty',
			'x>5, x>3',
			'\\max(1,5)',
			'(-\\infty,3) \\cup (2,5)',
			'2x > 4 \\text{ and } x > 1',
		];
		for (const gold of golds) {
			for (const answer of answers(gold)) assert.ok(['', `${gold}+1`].includes(answer), `${answer} for ${gold}`);
		}
		assert.deepEqual(answers('\\infty'), ['']);
		assert.deepEqual(answers('0 \\cdot 5'), ['', '0 \\cdot 5+1']);
	});

	it('are omitted without a gold answer, and if the verifier has no result', () => {
		assert.deepEqual(wrongFor(null), []);
		assert.deepEqual(wrongFor('42', { verify: () => null }), []);
		assert.deepEqual(wrongFor('42', { verify: () => true }), []);
	});

	it('depend only on the seed, respect the count and are distinct', () => {
		for (let seed = 0; seed < 50; seed++) {
			const options = { others: ['1', '2', '42'], count: 4, random: Random.of(seed) };
			const made = wrongFor('42', options);
			assert.deepEqual(wrongFor('42', { ...options, random: Random.of(seed) }), made);
			assert.equal(made.length, 4);
			assert.equal(new Set(made.map(({ answer }) => answer)).size, 4);
		}
		const sets = new Set(
			Array.from({ length: 50 }, (_, seed) => JSON.stringify(wrongFor('42', { count: 2, random: Random.of(seed) }))),
		);
		assert.ok(sets.size > 5, 'different seeds give different choices');
	});

	it('are incorrect for every problem in every task', () => {
		const tasks: TaskDataset[] = [
			{ task: 'addition', digits: 3, subtraction: true },
			{ task: 'addition', digits: 1, subtraction: true },
			{ task: 'arithmetic' },
			{ task: 'countdown' },
			{ task: 'base-conversion', base: 16 },
			{ task: 'base-conversion', base: 2 },
			{ task: 'string', operation: 'both', length: 1 },
			{ task: 'string', operation: 'both' },
			{ task: 'modular' },
		];
		for (const dataset of tasks) {
			const task = createTask(dataset);
			const random = Random.of(7, dataset.task);
			const problems = Array.from({ length: 150 }, () => task.sample(random));
			const others = problems.map(({ answer }) => answer);
			for (const problem of problems) {
				const made = wrongAnswers(problem, {
					verify: task.verify,
					prompt: problem.prompt,
					others,
					random: Random.of(3, problem.key),
					count: 4,
				});
				assert.ok(made.length >= 2, `${dataset.task}: ${problem.answer} has ${made.length}`);
				for (const { answer, how } of made) {
					assert.equal(
						task.verify(problem, answer),
						false,
						`${dataset.task}: ${answer} (${how}) for ${problem.prompt}`,
					);
				}
			}
		}
	});

	it('differ from any unusual gold answer', () => {
		const random = Random.of(11);
		const alphabet = [...'0123456789.,/%$(){}[]=<>+-*^\\xyzABCe "\'\n\té∞½'];
		const odd = [
			'-0',
			'0.000',
			'+5',
			'007',
			'1e999',
			'NaN',
			'Infinity',
			'1,234',
			'12,34',
			'1 234',
			'²',
			'½',
			'−3',
			'12:30',
			'unknown',
			'Unknown',
			'A',
			'j',
			'x',
			'{}',
			'[]',
			'()',
			'\\boxed{\\boxed{5}}',
			'\\frac{0}{5}',
			'0/5',
			'5/0',
			'9'.repeat(59),
			'9'.repeat(61),
			'1'.repeat(5000),
			'a'.repeat(5000),
			'\u200b',
			'٣',
			'１２',
			'no',
			'TRUE',
			'{"a": 1}',
			'-5 %',
			'5.',
			'.5',
			'1.0',
			'1.10',
			'3 \\frac{1}{2}',
			'\\text{cat}',
			'<b>',
			'$$',
			'5\\pi',
			'0x1f',
			'10^{10}',
		];
		for (let i = 0; i < 3000; i++) {
			odd.push(Array.from({ length: random.between(1, 12) }, () => random.pick(alphabet)).join(''));
		}
		let made = 0;
		for (const [i, gold] of odd.entries()) {
			const lenient: Verifier = (question, answer) =>
				question.answer === null
					? null
					: answersEqual(question.answer, answer) || Number(question.answer) === Number(answer || 'x');
			const wrong = wrongFor(gold, { verify: lenient, others: odd.slice(i, i + 5), random: Random.of(i) });
			made += wrong.length;
			for (const { answer } of wrong) {
				assert.equal(lenient({ answer: gold, row: {} }, answer), false);
				assert.notEqual(answer, gold);
				assert.ok(!answersEqual(gold, answer), `${answer} for ${gold}`);
			}
		}
		assert.ok(made > 2 * odd.length, `${made} for ${odd.length}`);
	});

	it('take time proportional to the length of a hostile gold answer', () => {
		for (const gold of [
			'('.repeat(100_000),
			'1 '.repeat(50_000),
			`${'a'.repeat(100_000)}!`,
			'=1'.repeat(50_000),
			' '.repeat(100_000),
		]) {
			const before = process.cpuUsage();
			wrongFor(gold, { others: [gold, 'a'] });
			const { user } = process.cpuUsage(before);
			assert.ok(user < 2_000_000, `${user} µs for ${gold.slice(0, 5)}...`);
		}
	});
});

describe('multiple-choice letters', () => {
	it('come from the prompt, or default to A to D', () => {
		assert.deepEqual(optionLetters('Which?\nA) x\nB) y\nE) z'), ['A', 'B', 'E']);
		assert.deepEqual(optionLetters('(A) x (B) y'), ['A', 'B']);
		assert.deepEqual(optionLetters('A. x\nB. y\nC. z'), ['A', 'B', 'C']);
		assert.deepEqual(optionLetters('Is it?'), ['A', 'B', 'C', 'D']);
	});
});
