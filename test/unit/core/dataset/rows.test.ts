import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { answersEqual, goldText, normalizeAnswer } from '../../../../src/core/dataset/answer.ts';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import { parseDatasetLine, parseDatasetRow } from '../../../../src/core/dataset/datasetRows.ts';
import { rowsSource, splitRows } from '../../../../src/core/dataset/rowsSource.ts';
import { taskSource } from '../../../../src/core/dataset/taskSource.ts';
import { parseDataset } from '../../../support/parseDataset.ts';

const row = (i: number) => JSON.stringify({ prompt: `Question ${i}?`, answer: i, solution: `think ${i}`, extra: [i] });

describe('dataset rows', () => {
	it('are read with their columns', () => {
		const [first, second] = parseDataset(`\uFEFF${row(1)}\r\n\n{"prompt":"x","answer":null}\n`, 'train.jsonl');
		assert.equal(first?.prompt, 'Question 1?');
		assert.equal(first?.answer, '1');
		assert.equal(first?.solution, 'think 1');
		assert.deepEqual(first?.row.extra, [1]);
		assert.deepEqual([second?.answer, second?.solution], [null, null]);
		const mapped = parseDataset('{"q":"x","a":"y","s":"z"}', 'f', { prompt: 'q', answer: 'a', solution: 's' });
		assert.deepEqual([mapped[0]?.prompt, mapped[0]?.answer, mapped[0]?.solution], ['x', 'y', 'z']);
	});

	it('support message prompts and nested columns, as in verl', () => {
		const columns = { prompt: 'prompt', answer: 'reward_model.ground_truth', solution: 'extra_info.notes.1' };
		const row = {
			prompt: [
				{ role: 'system', content: 'Be brief.' },
				{ role: 'user', content: '1+1=' },
			],
			reward_model: { ground_truth: '2', style: 'rule' },
			extra_info: { notes: ['no', 'one more'] },
			'a.b': 'its own name comes first',
			a: { b: 'inner' },
		};
		const [problem] = parseDataset(JSON.stringify(row), 'f', columns);
		assert.deepEqual([problem?.prompt, problem?.answer, problem?.solution], ['Be brief.\n\n1+1=', '2', 'one more']);
		assert.deepEqual(problem?.row, row);
		assert.equal(parseDataset(JSON.stringify(row), 'f', { ...columns, prompt: 'a.b' })[0]?.prompt, row['a.b']);
		for (const answer of [
			'reward_model.gold',
			'extra_info.notes.2',
			'extra_info.notes.length',
			'reward_model.ground_truth.x',
		]) {
			assert.throws(() => parseDataset(JSON.stringify(row), 'f', { ...columns, answer }), /has no column/);
		}
	});

	const faults: [string, RegExp][] = [
		['{"prompt": "x", "answer": "y"', /line 3, is not JSON\./],
		['[1]', /line 3, is not a JSON object\./],
		['null', /line 3, is not a JSON object\./],
		['{"question":"x","answer":"y"}', /line 3, has no column "prompt" \(it has question, answer\)\./],
		['{"prompt":"x"}', /line 3, has no column "answer"/],
		['{}', /line 3, has no column "prompt" \(it has no columns\)/],
		['{"prompt":3,"answer":"y"}', /"prompt" that is neither a string nor a list of system and user messages/],
		[
			'{"prompt":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}],"answer":"y"}',
			/neither a string nor/,
		],
		['{"prompt":" ","answer":"y"}', /an empty "prompt"/],
		['{"prompt":"x","answer":{}}', /"answer" that cannot be compared/],
		['{"prompt":"x","answer":" "}', /"answer" that cannot be compared/],
		['{"prompt":"x","answer":"y","solution":3}', /"solution" that is not a string/],
		['{"prompt":"x<eos>","answer":"y"}', /reserved symbol <eos>/],
		['{"__proto__":{"prompt":"x","answer":"y"}}', /has no column "prompt"/],
	];
	for (const [line, words] of faults) {
		it(`report the line with ${line}`, () => {
			assert.throws(
				() => parseDataset(`${row(1)}\n\n${line}\n${row(2)}`, 'data/train.jsonl'),
				(error) =>
					error instanceof Failure &&
					error.reason === 'invalid' &&
					words.test(error.message) &&
					error.message.startsWith('data/train.jsonl') &&
					error.action !== undefined,
			);
		});
	}

	it('must not be empty', () => {
		for (const text of ['', '\n\n', '\uFEFF'])
			assert.throws(() => parseDataset(text, 'empty.jsonl'), /empty\.jsonl has no rows/);
		assert.equal(parseDatasetLine('  ', 1).kind, 'blank');
	});
});

describe('row source', () => {
	const rows = parseDataset(Array.from({ length: 200 }, (_, i) => row(i)).join('\n'), 'f');

	it('yields each training row once per epoch, in a new order that depends only on the seed and the index', () => {
		const source = rowsSource('f', splitRows(rows, null, 0.1));
		const size = 200 - source.heldOut(1000).length;
		const epoch = (n: number) => Array.from({ length: size }, (_, i) => source.training(7, n * size + i).key);
		assert.equal(new Set(epoch(0)).size, size);
		assert.deepEqual(new Set(epoch(1)), new Set(epoch(0)));
		assert.notDeepEqual(epoch(1), epoch(0));
		assert.notDeepEqual(
			Array.from({ length: size }, (_, i) => source.training(8, i).key),
			epoch(0),
		);
		assert.deepEqual(epoch(0), epoch(0));
		for (const problem of source.heldOut(1000)) assert.ok(!epoch(0).includes(problem.key));
		assert.deepEqual(source.heldOut(5), source.heldOut(1000).slice(0, 5));
	});

	it('uses the held-out file and excludes its prompts from training', () => {
		const tests = parseDataset(`${row(3)}\n{"prompt":" Question  5? ","answer":5}\n${row(3)}`, 't');
		const split = splitRows(rows, tests, 0.1);
		assert.equal(split.training.length, 198);
		assert.equal(split.heldOut.length, 2);
	});

	it('keeps equal prompts in the same split', () => {
		const doubled = splitRows([...rows, ...rows], null, 0.5);
		assert.equal(doubled.training.length % 2, 0);
		const keys = new Set(doubled.training.map((one) => one.key));
		assert.ok(doubled.heldOut.every((one) => !keys.has(one.key)));
		assert.equal(new Set(doubled.heldOut.map((one) => one.key)).size, doubled.heldOut.length);
	});

	it('computes the required vocabulary and context', () => {
		const source = rowsSource(
			'f',
			splitRows(
				parseDataset('{"prompt":"a😀","answer":"bc"}\n{"prompt":"d","answer":null}', 'f'),
				parseDataset('{"prompt":"e","answer":"12345","solution":"xy"}', 'g'),
				0.1,
			),
		);
		assert.deepEqual([...source.symbols].sort(), [...'a😀bcde12345xy'].sort());
		assert.deepEqual([source.maxPromptLength, source.maxSolutionLength, source.maxAnswerLength], [2, 2, 5]);
		assert.equal(source.hasSolutions, false);
		assert.equal(source.verify({ answer: null, row: {} }, '1'), null);
		assert.equal(source.verify({ answer: '1,000', row: {} }, '1000'), true);
	});

	it('rejects an empty split', () => {
		assert.throws(() => rowsSource('f', { training: [], heldOut: rows }), /no rows to train on/);
		assert.throws(() => rowsSource('f', { training: rows, heldOut: [] }), /no rows to hold out/);
	});
});

describe('generated problem source', () => {
	it('returns the same problem for the same seed and index', () => {
		const source = taskSource(createTask({ task: 'addition' }));
		assert.deepEqual(source.training(1, 5), source.training(1, 5));
		assert.notDeepEqual(source.training(1, 5), source.training(2, 5));
		assert.notDeepEqual(source.training(1, 5), source.training(1, 6));
		const held = source.heldOut(256);
		assert.equal(held.length, 256);
		assert.deepEqual(source.heldOut(16), held.slice(0, 16));
		assert.deepEqual(taskSource(createTask({ task: 'addition' })).heldOut(16), held.slice(0, 16));
		assert.equal(source.heldOut(300).length, 300);
	});
});

describe('answers', () => {
	it('are equal only after normalization', () => {
		const equal: [string, string][] = [
			['42', ' 42\n'],
			['42', '042'],
			['42', '+42'],
			['42', '42.0'],
			['1000', '1,000'],
			['-0.50', '-.5'.replace('.', '0.')],
			['0', '-0'],
			['a  b', 'a b'],
			['é', 'e\u0301'],
		];
		for (const [a, b] of equal) assert.ok(answersEqual(a, b), `${a} = ${b}`);
		const different: [string, string][] = [
			['42', '43'],
			['42', '4 2'],
			['1000', '10,00'],
			['Paris', 'paris'],
			['1', '1.'],
			['1', '1e0'],
			['', '0'],
			['0.1', '0.10000000000000001'],
		];
		for (const [a, b] of different) assert.ok(!answersEqual(a, b), `${a} != ${b}`);
	});

	it('do not lose digits', () => {
		assert.equal(normalizeAnswer('00012345678901234567890.1230'), '12345678901234567890.123');
		assert.ok(!answersEqual('12345678901234567890', '12345678901234567891'));
	});

	it('are null for an empty gold answer', () => {
		for (const gold of [null, undefined, '', ' ', Number.NaN, Number.POSITIVE_INFINITY, {}, [], ['1'], 1e30, 1e-9])
			assert.equal(goldText(gold), null);
		assert.deepEqual(
			[goldText(42), goldText(-0.5), goldText(0), goldText(true), goldText('x')],
			['42', '-0.5', '0', 'true', 'x'],
		);
	});

	it('process hostile text in linear time', () => {
		for (const text of [
			'1'.repeat(1 << 20),
			'1,'.repeat(1 << 19),
			' '.repeat(1 << 20),
			`1${' '.repeat(1 << 20)}1`,
			'0'.repeat(400),
		])
			normalizeAnswer(text);
	});
});

it('rows with the same prompt and different images are different problems', () => {
	const columns = { prompt: 'prompt', answer: 'answer', solution: 'solution', image: 'picture' };
	const key = (row: object, more: object = columns) => {
		const parsed = parseDatasetRow({ prompt: ' Find  dogs.', answer: null, ...row }, 1, { ...columns, ...more });
		assert.equal(parsed.kind, 'row');
		return parsed.kind === 'row' ? parsed.problem.key : '';
	};
	assert.equal(key({ picture: 'a.png' }), 'Find dogs.\na.png');
	assert.equal(key({ picture: { path: 'a.png', bytes: null } }), 'Find dogs.\na.png');
	assert.equal(key({ picture: 'a.png' }, { image: undefined }), 'Find dogs.');
	for (const picture of [null, 7, {}, undefined]) assert.equal(key({ picture }), 'Find dogs.');
});
