import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Random } from '../../../../src/base/random.ts';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import type { TaskProblem } from '../../../../src/core/dataset/problem.ts';
import { heldOutProblems, isHeldOut, sampleTraining } from '../../../../src/core/dataset/split.ts';
import { taskSource } from '../../../../src/core/dataset/taskSource.ts';
import type { TaskDataset } from '../../../../src/protocol/recipeKeys/recipe.ts';

const variants: TaskDataset[] = [
	{ task: 'addition' },
	{ task: 'addition', digits: 1 },
	{ task: 'addition', digits: 5, subtraction: true },
	{ task: 'addition', digits: 2, judged: 0.5 },
	{ task: 'addition', digits: 2, subtraction: true, proposed: 0.5 },
	{ task: 'arithmetic' },
	{ task: 'arithmetic', terms: 2, largest: 2 },
	{ task: 'arithmetic', terms: 4, largest: 12, proposed: 0.5 },
	{ task: 'arithmetic', terms: 6, largest: 30 },
	{ task: 'countdown' },
	{ task: 'countdown', terms: 2, largest: 20 },
	{ task: 'countdown', terms: 3, largest: 40, proposed: 0.5 },
	{ task: 'countdown', terms: 5, largest: 200 },
	{ task: 'base-conversion' },
	{ task: 'base-conversion', digits: 3, base: 16 },
	{ task: 'base-conversion', digits: 9, base: 3 },
	{ task: 'string' },
	{ task: 'string', length: 12, operation: 'sort' },
	{ task: 'string', length: 1, operation: 'both' },
	{ task: 'modular' },
	{ task: 'modular', terms: 6, modulus: 97 },
	{ task: 'modular', terms: 3, modulus: 2 },
	{ task: 'bilingual' },
	{ task: 'bilingual', digits: 1, language: 'ru' },
	{ task: 'bilingual', digits: 4, general: 0.5, style: 'full', language: 'en' },
	{ task: 'bilingual', general: 1 },
	{ task: 'signs' },
	{ task: 'signs', terms: 2, modulus: 12, style: 'full' },
	{ task: 'signs', terms: 8, modulus: 5 },
	{ task: 'graph-path' },
	{ task: 'graph-path', terms: 2, nodes: 26 },
	{ task: 'graph-path', terms: 8, nodes: 20 },
];

/** Checks each `left=right` in the worked thinking with a calculator that is independent of the generator. */
function calculates(step: string): boolean {
	const [left = '', right = ''] = step.split('=');
	if (!/^[-+*\d]+$/.test(left)) return false;
	return (
		Number(new Function(`return (${left.replace(/([-+*])-/g, '$1 -').replace(/\b0+(?=\d)/g, '')})`)()) === Number(right)
	);
}

function wrongAnswers({ answer, row }: TaskProblem): string[] {
	// Other digits pose other problems.
	if (row.proposes === true) return ['', '?', `${answer},`, `${answer}=1`, `${answer} ${answer}`];
	return [`${answer}1`, `${answer}${answer}9`, '', '?', `-1${answer}`, `${answer},`, `${answer} ${answer}`];
}

describe('sums that the policy judges', () => {
	it('are correct about half the time, and the answer states whether they are', () => {
		const task = createTask({ task: 'addition', digits: 2, judged: 1 });
		const problems = Array.from({ length: 1000 }, (_, i) => task.sample(Random.of('judged', i)));
		for (const { prompt, answer, row, key } of problems) {
			const [, a = '', b = '', shown] = /^(\d+)\+(\d+)=(\d+)\?$/.exec(prompt) ?? [];
			assert.equal(answer, Number(shown) === Number(a) + Number(b) ? '1' : '0', prompt);
			assert.equal(row.shown, shown);
			assert.match(key, /^\d+\+\d+$/);
		}
		const correct = problems.filter(({ answer }) => answer === '1').length;
		assert.ok(correct > 450 && correct < 550, `${correct} of 1000`);
	});
});

describe('problems that the policy poses', () => {
	const settings: TaskDataset = { task: 'addition', digits: 2, subtraction: true };
	const { proposals = assert.fail() } = taskSource(createTask(settings));
	const asked = (a: number, operation: string) => ({ answer: null, row: { a, operation, proposes: true } });

	it('show the first operand, and are worked out by the task', () => {
		const prompts = Array.from({ length: 200 }, (_, i) => proposals.ask(1, i).prompt);
		assert.ok(prompts.every((prompt) => /^\d\d[-+]\?$/.test(prompt)));
		assert.ok(new Set(prompts).size > 100);
		for (const [question, answer, prompt, result] of [
			[asked(34, '+'), '87', '34+87=', '121'],
			[asked(34, '+'), ' 0 ', '34+0=', '34'],
			[asked(87, '-'), '34', '87-34=', '53'],
		] as const) {
			const problem = proposals.read(question, answer);
			assert.ok(problem !== null && problem !== 'held-out', prompt);
			assert.deepEqual([problem.prompt, problem.answer], [prompt, result]);
		}
	});

	it('are rejected if the operand is malformed or out of range, or the result is negative', () => {
		for (const text of ['', '034', '100', '-3', '+3', '3.0', '1e1', '34=68', '12+3', '３', 'x']) {
			assert.equal(proposals.read(asked(34, '+'), text), null, text);
		}
		assert.equal(proposals.read(asked(34, '-'), '35'), null, 'a negative result');
	});

	it('are recognized when they are held out, in either order', () => {
		const held = taskSource(createTask(settings)).heldOut(200);
		for (const { row } of held) {
			const { a, b, operation } = row as { a: number; b: number; operation: string };
			assert.equal(proposals.read(asked(a, operation), String(b)), 'held-out');
			if (operation === '+') assert.equal(proposals.read(asked(b, '+'), String(a)), 'held-out');
		}
	});

	it('accept any second operand as an answer', () => {
		const task = createTask({ ...settings, proposed: 1 });
		const problem = task.sample(Random.of('proposed'));
		assert.match(problem.prompt, /^\d\d[-+]\?$/);
		assert.ok(task.verify(problem, problem.answer) && task.verify(problem, '7'));
		assert.ok(!task.verify(problem, '123'));
	});
});

describe('expressions that the policy poses', () => {
	const source = (settings: TaskDataset) => taskSource(createTask(settings));
	const read = ({ proposals = assert.fail() }: ReturnType<typeof source>, row: object, text: string) =>
		proposals.read({ answer: null, row: { ...row, proposes: true } }, text);
	const arithmetic = source({ task: 'arithmetic', terms: 3, largest: 12 });
	const countdown = source({ task: 'countdown', terms: 3, largest: 60 });

	it('begin with the first operand, and are worked out by the task', () => {
		const prompts = Array.from({ length: 100 }, (_, i) => arithmetic.proposals?.ask(1, i).prompt ?? '');
		assert.ok(prompts.every((prompt) => /^([1-9]|1[0-2])\?$/.test(prompt)) && new Set(prompts).size === 12);
		for (const [rest, prompt, result] of [
			['+3*4', '7+3*4=', '19'],
			[' -12 ', '7-12=', '-5'],
		] as const) {
			const problem = read(arithmetic, { first: 7 }, rest);
			assert.ok(problem !== null && problem !== 'held-out', prompt);
			assert.deepEqual([problem.prompt, problem.answer], [prompt, result]);
		}
		for (const text of ['', '3', '+', '+13', '+0', '+03', '+1+1+1', '*-2', '+3=10', '+3 *4', '/2', '+３', '+1e1']) {
			assert.equal(read(arithmetic, { first: 7 }, text), null, text);
		}
	});

	it('for countdown use the numbers shown, and their value becomes the target', () => {
		const prompts = Array.from({ length: 100 }, (_, i) => countdown.proposals?.ask(1, i).prompt ?? '');
		assert.ok(prompts.every((prompt) => /^\d+,\d+,\d+:\?$/.test(prompt)) && new Set(prompts).size > 80);
		const problem = read(countdown, { numbers: [3, 5, 4] }, ' (3+5)*4 ');
		assert.ok(problem !== null && problem !== 'held-out');
		assert.deepEqual([problem.prompt, problem.answer], ['3,5,4:32=', '(3+5)*4']);
		assert.ok(countdown.verify(problem, '4*(5+3)') && !countdown.verify(problem, '32'));
		for (const text of [
			'',
			'16',
			'3+5',
			'3+5+2+2',
			'3*5*5',
			'3-5-2',
			'3/5/2',
			'(3+5)*2=16',
			'12*5',
			'3+5+2)',
			'2/5*3',
		]) {
			assert.equal(read(countdown, { numbers: [3, 5, 2] }, text), null, text);
		}
		assert.equal(read(countdown, { numbers: [12, 12, 12] }, '12*12*12'), null, 'above the largest target');
	});

	it('are recognized when they are held out', () => {
		for (const { row } of arithmetic.heldOut(100)) {
			const [first = '', rest = ''] = /^(\d+)(.*)/.exec(String(row.expression))?.slice(1) ?? [];
			assert.equal(read(arithmetic, { first: Number(first) }, rest), 'held-out');
		}
		for (const { row, answer } of countdown.heldOut(100)) {
			assert.equal(read(countdown, { numbers: row.numbers }, answer ?? ''), 'held-out');
		}
	});
});

for (const dataset of variants) {
	describe(`task ${JSON.stringify(dataset)}`, () => {
		const task = createTask(dataset);
		const problems = Array.from({ length: 1500 }, (_, i) => task.sample(Random.of('tasks', i)));

		it('accepts its own answers and rejects close ones', () => {
			for (const problem of problems) {
				assert.ok(task.verify(problem, problem.answer), problem.prompt);
				assert.ok(task.verify(problem, ` ${problem.answer}\n`), problem.prompt);
				for (const wrong of wrongAnswers(problem))
					assert.ok(!task.verify(problem, wrong), `${problem.prompt} ${wrong}`);
			}
		});

		it('stays within its bounds and its alphabet, and gets close to the bounds', () => {
			const known = new Set(task.symbols);
			assert.equal(known.size, task.symbols.length, 'a symbol twice');
			const longest = { prompt: 0, solution: 0, answer: 0 };
			for (const problem of problems) {
				for (const field of ['prompt', 'solution', 'answer'] as const) {
					longest[field] = Math.max(longest[field], problem[field].length);
					for (const symbol of problem[field]) assert.ok(known.has(symbol), `${symbol} in ${problem[field]}`);
				}
			}
			assert.ok(longest.prompt <= task.maxPromptLength);
			assert.ok(longest.solution <= task.maxSolutionLength);
			assert.ok(longest.answer <= task.maxAnswerLength);
			assert.ok(longest.prompt >= task.maxPromptLength * 0.7, `${longest.prompt} of ${task.maxPromptLength}`);
			assert.ok(longest.solution >= task.maxSolutionLength * 0.45, `${longest.solution} of ${task.maxSolutionLength}`);
		});

		it('depends only on its random source', () => {
			assert.deepEqual(task.sample(Random.of(3)), task.sample(Random.of(3)));
			assert.deepEqual(createTask(dataset).sample(Random.of(3)), task.sample(Random.of(3)));
		});

		it('has one answer per prompt', () => {
			const answers = new Map<string, string>();
			for (const { prompt, answer, key, row } of problems) {
				if (row.proposes === true) continue;
				const known = answers.get(prompt);
				// Other expressions can reach the same target.
				if (known !== undefined && dataset.task !== 'countdown' && dataset.task !== 'signs')
					assert.equal(known, answer);
				answers.set(prompt, answer);
				assert.ok(key.length > 0);
			}
		});

		it('never trains on held-out problems, and holds out distinct ones', () => {
			let held: TaskProblem[];
			try {
				held = heldOutProblems(task, 64);
			} catch (error) {
				assert.ok(error instanceof Failure && error.reason === 'invalid');
				return;
			}
			const keys = new Set(held.map((problem) => problem.key));
			assert.equal(keys.size, held.length);
			for (const key of keys) assert.ok(isHeldOut(key, 0.1));
			for (let i = 0; i < 300; i++) assert.ok(!keys.has(sampleTraining(task, Random.of('train', i)).key));
			assert.deepEqual(heldOutProblems(task, 16), held.slice(0, 16), 'a shorter list is the start of a longer one');
		});
	});
}

describe('worked thinking', () => {
	for (const dataset of variants.filter((one) => ['addition', 'arithmetic', 'countdown'].includes(one.task))) {
		it(`is correct in every step for ${JSON.stringify(dataset)}`, () => {
			const task = createTask(dataset);
			for (let i = 0; i < 300; i++) {
				const problem = task.sample(Random.of('steps', i));
				// A problem that asks for an operand has nothing to work out.
				if (problem.row.proposes === true) continue;
				const steps = problem.solution.split(';');
				// Before a verdict, the solution states the sum.
				if (dataset.judged !== undefined && problem.prompt.endsWith('?')) {
					steps.push(`${problem.prompt.replace(/=.*/, '')}=${steps.pop()}`);
				}
				for (const step of steps) assert.ok(calculates(step), `${problem.prompt} ${step}`);
			}
		});
	}

	it('adds and subtracts by column with carry and borrow', () => {
		const find = (dataset: TaskDataset, prompt: string) => {
			const task = createTask(dataset);
			for (let i = 0; ; i++) {
				const problem = task.sample(Random.of('find', i));
				if (problem.prompt === prompt) return problem;
				assert.ok(i < 200_000, `${prompt} was not drawn`);
			}
		};
		const two: TaskDataset = { task: 'addition', digits: 2, subtraction: true };
		assert.equal(find(two, '85+49=').solution, '5+9=14;1+8+4=13');
		assert.equal(find(two, '42-17=').solution, '12-7=5;4-1-1=2');
		assert.equal(
			find({ task: 'base-conversion', digits: 2, base: 2 }, '13>2=').solution,
			'13/2=6r1;6/2=3r0;3/2=1r1;1/2=0r1',
		);
		assert.equal(find({ task: 'modular', terms: 1, modulus: 7 }, '5;+3%7=').solution, '5+3=8>1');
		assert.equal(find({ task: 'string', length: 2 }, 'r:ab=').solution, 'a1b2;b2a1');
	});

	it('in two languages is correct in every step except for a mistake that the next step corrects', () => {
		const task = createTask({ task: 'bilingual', digits: 3 });
		const seen = { brief: 0, full: 0, slip: 0 };
		for (let i = 0; i < 600; i++) {
			const { prompt, solution, answer } = task.sample(Random.of('bilingual', i));
			const brief = /^\p{L}+ (\d+)$/u.exec(solution);
			if (brief !== null) {
				assert.equal(brief[1], answer);
				seen.brief++;
				continue;
			}
			const steps = solution.split(';');
			const sums = steps.map((step) => step.replace(/^(wait |стоп )?\p{L}+ /u, ''));
			const wrong = sums.findIndex((sum) => !calculates(sum));
			assert.equal(wrong >= 0, /wait|стоп/.test(solution), prompt);
			if (wrong >= 0) {
				assert.match(steps[wrong + 1] as string, /^(wait|стоп) /);
				assert.equal(sums[wrong + 1]?.split('=')[0], sums[wrong]?.split('=')[0]);
				sums.splice(wrong, 1);
			}
			seen[wrong < 0 ? 'full' : 'slip']++;
			assert.ok(sums.every(calculates), solution);
			assert.equal(sums.length, 3);
			const last = sums.map((sum) => sum.split('=')[1] as string);
			assert.equal(`${last[2]}${last[1]?.at(-1)}${last[0]?.at(-1)}`, answer);
		}
		assert.ok(seen.brief > 180 && seen.full > 180 && seen.slip > 40, JSON.stringify(seen));
	});

	it('in two languages keeps to the requested language and type', () => {
		const samples = (dataset: Omit<TaskDataset, 'task'>) => {
			const task = createTask({ task: 'bilingual', ...dataset });
			return Array.from({ length: 200 }, (_, i) => task.sample(Random.of('languages', i)));
		};
		const cyrillic = /\p{Script=Cyrillic}/u;
		for (const { solution } of samples({ language: 'en', general: 0.5 })) assert.doesNotMatch(solution, cyrillic);
		for (const { solution } of samples({ language: 'ru', style: 'full' })) assert.doesNotMatch(solution, /[a-z]/);
		const mixed = samples({ style: 'full' }).filter(
			({ solution }) => cyrillic.test(solution) && /[a-z]/.test(solution),
		);
		assert.ok(mixed.length > 100, 'most three-column solutions mix languages');
		for (const { prompt, row } of samples({ general: 1 })) {
			assert.match(prompt, /^reverse [a-z]{4}:$/);
			assert.equal(row.category, 'general');
		}
		const turned = samples({ general: 1, language: 'en' })[0] as TaskProblem;
		assert.equal(turned.answer, [...(turned.row.word as string)].reverse().join(''));
		assert.ok(turned.solution.endsWith(`back ${[...turned.answer].join()}`));
		assert.throws(() => createTask({ task: 'bilingual', digits: 5 }), {
			reason: 'invalid',
			message: /5-digit numbers/,
		});
	});

	it('includes plain text without questions in both alphabets', () => {
		const source = taskSource(createTask({ task: 'bilingual' }));
		const known = new Set(source.symbols);
		const texts = Array.from({ length: 300 }, (_, i) => source.text?.(7, i) as string);
		assert.equal(source.text?.(7, 3), texts[3]);
		assert.notDeepEqual(texts[3], source.text?.(8, 3));
		for (const text of texts) for (const symbol of text) assert.ok(known.has(symbol), text);
		for (const text of texts) assert.doesNotMatch(text, /add|reverse|:/);
		assert.ok(texts.filter((text) => /\p{Script=Cyrillic}/u.test(text)).length > 90);
		assert.ok(texts.filter((text) => /[a-z]/.test(text)).length > 90);
		for (const text of texts.filter((one) => one.includes('='))) {
			assert.ok(calculates(text.replace(/^\p{L}+ /u, '').replace('.', '')), text);
		}
	});

	it('agrees with the columns of the answer: the last digits of the additions, read backward, are the sum', () => {
		const task = createTask({ task: 'addition', digits: 4, subtraction: true });
		for (let i = 0; i < 500; i++) {
			const { prompt, solution, answer } = task.sample(Random.of('columns', i));
			const columns = solution.split(';').map((step) => step.split('=')[1] as string);
			const last = columns.length - 1;
			const digits = columns.map((value, at) => (at === last ? value : (value.at(-1) as string))).toReversed();
			assert.equal(Number(digits.join('')), Number(answer), prompt);
		}
	});
});

describe('split', () => {
	it('puts a+b and b+a in the same split', () => {
		const task = createTask({ task: 'addition', digits: 2 });
		const keys = new Map<string, string>();
		for (let i = 0; i < 20_000; i++) {
			const { row, key } = task.sample(Random.of('pairs', i));
			keys.set(`${row.a}+${row.b}`, key);
		}
		let pairs = 0;
		for (const [sum, key] of keys) {
			const [a, b] = sum.split('+');
			const mirrored = keys.get(`${b}+${a}`);
			if (mirrored === undefined || a === b) continue;
			assert.equal(mirrored, key);
			pairs++;
		}
		assert.ok(pairs > 1000);
	});

	it('accounts for commutativity in expressions, chains and countdown', () => {
		const keysOf = (dataset: TaskDataset, n: number) => {
			const task = createTask(dataset);
			return new Map(
				Array.from({ length: n }, (_, i) => task.sample(Random.of('keys', i))).map((p) => [p.prompt, p.key]),
			);
		};
		const sums = keysOf({ task: 'arithmetic', terms: 3, largest: 3 }, 5000);
		assert.equal(sums.get('1+2*3='), sums.get('3*2+1='));
		assert.notEqual(sums.get('1-2+3='), sums.get('2-1+3='));
		const chains = keysOf({ task: 'modular', terms: 2, modulus: 4 }, 5000);
		assert.equal(chains.get('1;+2;-3%4='), chains.get('2;-3;+1%4='));
		assert.notEqual(chains.get('1;+2;*3%4='), chains.get('1;*3;+2%4='));
		const targets = keysOf({ task: 'countdown', terms: 2, largest: 10 }, 2000);
		assert.equal(targets.get('1,2:3='), targets.get('2,1:3='));
		assert.ok(sums.has('1+2*3=') && chains.has('1;+2;-3%4=') && targets.has('1,2:3='));
	});

	it('holds out about the requested fraction, and always the same problems', () => {
		const task = createTask({ task: 'addition' });
		let held = 0;
		for (let i = 0; i < 20_000; i++) if (isHeldOut(task.sample(Random.of('share', i)).key, 0.1)) held++;
		assert.ok(Math.abs(held / 20_000 - 0.1) < 0.01, `${held}`);
		// Must never change: a change would leak older checkpoints' held-out problems into training.
		const sides = ['123+456', '100+100', '999+999', '250+750', '111+222'].map((key) => isHeldOut(key, 0.5));
		assert.deepEqual(sides, [false, false, true, false, true]);
	});

	it('held-out problems have the same distribution', () => {
		const task = createTask({ task: 'addition' });
		const mean = (list: TaskProblem[]) => list.reduce((sum, p) => sum + Number(p.answer), 0) / list.length;
		const held = mean(heldOutProblems(task, 2000));
		const trained = mean(Array.from({ length: 2000 }, (_, i) => sampleTraining(task, Random.of('mean', i))));
		// The sum of two operands in 100..999 has standard deviation 367, and the mean of 2000 sums has 8.
		assert.ok(Math.abs(held - 1099) < 40 && Math.abs(trained - 1099) < 40, `${held} ${trained}`);
	});
});

describe('countdown', () => {
	const task = createTask({ task: 'countdown' });
	const question = { answer: '(3+5)*2', row: { numbers: [3, 5, 2], target: 16 } };

	it('accepts any correct expression', () => {
		for (const right of ['(3+5)*2', '2*(5+3)', '2 * ( 3 + 5 )', '((3)+5)*2'])
			assert.ok(task.verify(question, right), right);
		assert.ok(task.verify({ answer: null, row: { numbers: [1, 3, 4, 6], target: 24 } }, '6/(1-3/4)'));
	});

	it('rejects everything else', () => {
		const wrong = [
			'16',
			'3+5*2',
			'(3+5)*2*1',
			'(3+5)+5+3',
			'2*8',
			'(3+5)*2=16',
			'(3+5)*2)',
			'(3+5*2',
			'3++5',
			'',
			'-3',
			'3 5 2',
			'2**3',
			'(3+5)*2;',
			'1e1',
			'0x10',
			'3/0',
			`${'('.repeat(50_000)}3`,
			'2*(5+3)'.repeat(100),
			'constructor',
		];
		for (const text of wrong) assert.ok(!task.verify(question, text), text.slice(0, 40));
	});

	it('rejects a row that is not a question', () => {
		for (const row of [
			{},
			{ numbers: 'x', target: 1 },
			{ numbers: [1, '2'], target: 3 },
			{ numbers: [1], target: '1' },
		]) {
			assert.ok(!task.verify({ answer: '1', row }, '1'));
		}
	});
});

describe('task settings', () => {
	const invalid = (dataset: TaskDataset, words: RegExp) =>
		assert.throws(
			() => createTask(dataset),
			(error) => error instanceof Failure && error.reason === 'invalid' && words.test(error.toString()),
		);

	it('reject values that have no effect or do not define a task', () => {
		invalid({ task: 'addition', modulus: 3 }, /"addition" has no setting "modulus".*digits, subtraction/);
		invalid(
			{ task: 'countdown', terms: 8, largest: 20 },
			/almost no problems with 8 terms and targets up to 20\. Set "largest" to at least 40/,
		);
		invalid({ task: 'base-conversion', base: 10 }, /base 10/);
		invalid({ task: 'arithmetic', terms: 8, largest: 1_000_000 }, /exact/);
	});
});
