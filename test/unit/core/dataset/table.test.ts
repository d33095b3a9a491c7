import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { datasetPresets } from '../../../../src/core/dataset/presets.ts';
import { guessMapping } from '../../../../src/core/dataset/table/columnMapping.ts';
import { columnOrder } from '../../../../src/core/dataset/table/columnOrder.ts';
import { fileBlock, setDataset } from '../../../../src/core/dataset/table/recipeBlock.ts';
import {
	JsonSplits,
	LineSplits,
	type RecordSplitter,
	SeparatedSplits,
} from '../../../../src/core/dataset/table/recordSplitter.ts';
import { rowDetail } from '../../../../src/core/dataset/table/rowDetail.ts';
import { rowTest, sortedRows } from '../../../../src/core/dataset/table/rowFilter.ts';
import {
	columnNames,
	guessDelimiter,
	parseSeparated,
	rowOfFields,
} from '../../../../src/core/dataset/table/separatedValues.ts';
import { ColumnFinder } from '../../../../src/core/dataset/table/tableColumns.ts';
import type { RowValue } from '../../../../src/core/dataset/table/tableRow.ts';
import { type Condition, noFilter } from '../../../../src/protocol/datasetMessages.ts';

/** Splits a text that arrives in chunks of the given size into records. */
function records(text: string, splitter: RecordSplitter, piece: number): string[] {
	const bytes = new TextEncoder().encode(text);
	const found: string[] = [];
	const take = (start: number, end: number) => found.push(new TextDecoder().decode(bytes.subarray(start, end)));
	for (let at = 0; at < bytes.length; at += piece) splitter.push(bytes.subarray(at, at + piece), at, take);
	splitter.end(bytes.length, take);
	return found;
}

test('records do not depend on how the file is split into chunks', () => {
	const lines = 'a\n\n{"b":"\u2028é"}\r\n\r\nlast';
	const csv = 'x,"a ""quoted""\nline, and",1\n\n5" pipe,b\r\n"open';
	const list = ' [ {"a":[1,"]"]} , [2,[3]],"x,\\"]", 4\n] {"after": 1}';
	const object = '{"v":[1,2],"data":[{"a":1},{"b":{"c":[2]}}],"more":[{"z":1}]}';
	for (const piece of [1, 2, 3, 7, 1000]) {
		assert.deepEqual(records(lines, new LineSplits(), piece), ['a', '{"b":"\u2028é"}\r', 'last']);
		assert.deepEqual(records(csv, new SeparatedSplits(','), piece), [
			'x,"a ""quoted""\nline, and",1',
			'5" pipe,b\r',
			'"open',
		]);
		assert.deepEqual(records(list, new JsonSplits(), piece), ['{"a":[1,"]"]}', '[2,[3]]', '"x,\\"]"', '4']);
		assert.deepEqual(records(object, new JsonSplits(), piece), ['{"a":1}', '{"b":{"c":[2]}}']);
		assert.deepEqual(records(' {"a": [1]} ', new JsonSplits(), piece), ['{"a": [1]}']);
		assert.deepEqual(records('[{"a":1},{"b"', new JsonSplits(), piece), ['{"a":1}', '{"b"']);
		assert.deepEqual(records('{"b":2},{"c":3}]', new JsonSplits(true), piece), ['{"b":2}', '{"c":3}']);
		for (const splitter of [new LineSplits(), new SeparatedSplits(','), new JsonSplits()]) {
			assert.deepEqual(records('', splitter, piece), []);
		}
	}
});

test('arrays of random rows are split the way JSON parses them', () => {
	const random = Random.of('json-splits');
	const text = () => Array.from({ length: random.int(6) }, () => '"\\,]}[{:x \n'[random.int(12)]).join('');
	const value = (depth: number): unknown => {
		const kind = random.int(depth > 2 ? 3 : 5);
		if (kind === 0) return random.int(100);
		if (kind === 1) return null;
		if (kind === 2) return text();
		if (kind === 3) return Array.from({ length: random.int(4) }, () => value(depth + 1));
		return Object.fromEntries(Array.from({ length: random.int(4) }, () => [text(), value(depth + 1)]));
	};
	for (let i = 0; i < 200; i++) {
		const rows = Array.from({ length: random.int(5) }, () => value(0));
		const written = JSON.stringify(rows, null, random.int(3));
		const found = records(written, new JsonSplits(), 1 + random.int(9));
		assert.deepEqual(
			found.map((record) => JSON.parse(record)),
			rows,
		);
	}
});

test('delimited values follow RFC 4180', () => {
	assert.deepEqual(parseSeparated('a,"b ""c"", d\ne",,"f"g\r', ','), ['a', 'b "c", d\ne', '', 'fg']);
	assert.deepEqual(parseSeparated('', ','), ['']);
	assert.deepEqual(parseSeparated('"never closed, b', ','), ['never closed, b']);
	assert.equal(guessDelimiter('a;b;"c,d,e,f"'), ';');
	assert.equal(guessDelimiter('question'), ',');
	assert.equal(guessDelimiter('question\tanswer, or not'), '\t');
	assert.deepEqual(columnNames(['a', '', 'a', ' b ']), ['a', 'column 2', 'a 2', 'b']);
	assert.deepEqual(rowOfFields(['a', 'b'], ['1', '2', '3']), { a: '1', b: '2', 'column 3': '3' });
	assert.deepEqual(Object.keys(rowOfFields(['__proto__', 'b'], ['x'])), ['__proto__', 'b']);
});

const columnsOf = (rows: readonly RowValue[], textNumbers = false) => {
	const finder = new ColumnFinder({ textNumbers });
	for (const row of rows) finder.add(row);
	return finder.columns;
};

test('column types are inferred from their values', () => {
	const rows = [
		{ a: 'x', b: 1, c: [1], d: null, e: true, f: 'x' },
		{ a: 'y', b: 2.5, c: [], d: null, e: false, f: 1, g: { h: 1 } },
	];
	assert.deepEqual(
		columnsOf(rows).map(({ name, type }) => `${name} ${type}`),
		['a text', 'b number', 'c list', 'd empty', 'e boolean', 'f mixed', 'g object'],
	);
	assert.deepEqual(
		columnsOf(
			[
				{ a: '1.5', b: 'x' },
				{ a: '', b: '2' },
			],
			true,
		).map(({ type }) => type),
		['number', 'mixed'],
	);
});

test('published datasets are recognized by their columns', () => {
	for (const [name, { example, prompt, answer }] of Object.entries(datasetPresets)) {
		const guessed = guessMapping(columnsOf([example.row]), [example.row]);
		assert.equal(guessed.prompt, prompt, name);
		if (['gsm8k', 'math', 'aime', 'countdown'].includes(name)) assert.equal(guessed.answer, answer, name);
		const preset = { gsm8k: 'gsm8k', math: 'math', countdown: 'countdown' }[name] ?? null;
		assert.equal(guessed.preset, preset, name);
	}
	const rollout = { step: 1, prompt: 'a', completion: 'b', reward: 1, tokens: {}, advantage: 0.5 };
	const guessed = guessMapping(columnsOf([rollout]), [rollout]);
	assert.deepEqual([guessed.prompt, guessed.answer, guessed.solution], ['prompt', null, null]);
	assert.deepEqual(
		columnOrder(columnsOf([rollout]), guessed).map(({ name }) => name),
		['prompt', 'completion', 'reward', 'advantage', 'step', 'tokens'],
	);
	const own = { Frage: 'a long text of a question', n: 1 };
	assert.equal(guessMapping(columnsOf([own]), [own]).prompt, 'Frage');
});

test('conditions compare numbers numerically and strings as strings', () => {
	const rows: RowValue[] = [{ n: 9, t: 'Pear' }, { n: '10', t: 'apple' }, { n: null, t: '' }, { t: 'fig' }];
	const passing = (...conditions: Condition[]) =>
		rows.flatMap((row, i) =>
			rowTest({ ...noFilter, conditions })(row, { repeats: false, overlaps: false, heldOut: () => false }) ? [i] : [],
		);
	const on = (column: string, operator: Condition['operator'], value = '') => ({ column, operator, value });
	assert.deepEqual(passing(on('n', '>', '9.5')), [1]);
	assert.deepEqual(passing(on('n', '<=', '9')), [0]);
	assert.deepEqual(passing(on('n', '=', '10.0')), [1]);
	assert.deepEqual(passing(on('n', '!=', '9')), [1, 2, 3]);
	assert.deepEqual(passing(on('n', 'is empty')), [2, 3]);
	assert.deepEqual(passing(on('t', 'contains', 'P')), [0, 1]);
	assert.deepEqual(passing(on('t', 'lacks', 'p')), [2, 3]);
	assert.deepEqual(passing(on('t', '<', 'fig')), [1]);
	assert.deepEqual(passing(on('t', '=', 'PEAR'), on('n', 'is not empty')), [0]);
	const marks = { repeats: true, overlaps: false, heldOut: () => true };
	const lets = (filter: object) => rowTest({ ...noFilter, ...filter })(rows[0] as RowValue, marks);
	assert.deepEqual(
		[
			lets({ text: 'EAR' }),
			lets({ text: 'plum' }),
			lets({ duplicates: 'only' }),
			lets({ duplicates: 'without' }),
			lets({ overlaps: 'only' }),
			lets({ side: 'held out' }),
			lets({ side: 'training' }),
		],
		[true, false, true, false, false, true, false],
	);
});

test('rows sort by numbers, then strings, with empty values last', () => {
	const keys = [3, null, 'b', 1, 'a', 3];
	const rows = keys.map((_, i) => i + 10);
	assert.deepEqual(sortedRows(rows, keys, false), [13, 10, 15, 14, 12, 11]);
	assert.deepEqual(sortedRows(rows, keys, true), [10, 15, 13, 12, 14, 11]);
});

test("setting a recipe's dataset keeps its comments", () => {
	const mapping = { prompt: 'question', answer: 'answer', solution: null, preset: null };
	assert.deepEqual(fileBlock('data/a.jsonl', mapping, 0.1), { path: 'data/a.jsonl', prompt: 'question' });
	assert.deepEqual(fileBlock('a.jsonl', { ...mapping, solution: 'answer', preset: 'gsm8k' }, 0.2), {
		path: 'a.jsonl',
		preset: 'gsm8k',
		heldOutShare: 0.2,
	});
	const changed = (text: string) => {
		const [{ offset, length, text: put } = { offset: 0, length: 0, text: '' }, ...others] = setDataset(text, {
			path: 'a',
		});
		assert.equal(others.length, 0);
		return text.slice(0, offset) + put + text.slice(offset + length);
	};
	assert.equal(
		changed('{\n\t// what\n\t"name": "x", // why\n\t"dataset": { "task": "addition" }, // data\n}'),
		'{\n\t// what\n\t"name": "x", // why\n\t"dataset": { "path": "a" }, // data\n}',
	);
	assert.match(
		changed('{\n  // only\n  "name": "x"\n}'),
		/\/\/ only[\s\S]*"name": "x",\n {2}"dataset": \{\n {4}"path": "a"\n {2}\}/,
	);
	assert.throws(() => setDataset('[1]', { path: 'a' }), /not a JSON object/);
});

test('a row is split into prompt, solution, answer, and policy output', () => {
	const mapping = { prompt: 'question', answer: 'answer', solution: 'answer', preset: 'gsm8k' } as const;
	const parts = rowDetail({ question: 'q', answer: '1+1 = 2\n#### 2', id: 3 }, mapping);
	assert.deepEqual(
		parts.map(({ kind, title, text }) => [kind, title, text]),
		[
			['prompt', 'Prompt (question)', 'q'],
			['solution', 'Solution (answer)', '1+1 = 2'],
			['answer', 'Answer', '2'],
			['field', 'id', '3'],
		],
	);
	const chat = [
		{ role: 'system', content: 'Be brief.' },
		{ role: 'user', content: 'Hi?' },
	];
	const rollout = rowDetail(
		{ prompt: chat, completion: [{ role: 'assistant', content: 'Hi.' }] },
		{ prompt: 'prompt', answer: null, solution: null, preset: null },
	);
	assert.deepEqual(
		rollout.map(({ kind, text }) => [kind, text]),
		[
			['prompt', 'system: Be brief.\n\nuser: Hi?'],
			['completion', 'assistant: Hi.'],
		],
	);
});

test('finds an answer inside an object, as in verl', () => {
	const row = {
		data_source: 'x',
		prompt: [{ role: 'user', content: '1+1' }],
		reward_model: { style: 'rule', ground_truth: '2' },
	};
	const guessed = guessMapping(columnsOf([row]), [row]);
	assert.deepEqual([guessed.prompt, guessed.answer, guessed.solution], ['prompt', 'reward_model.ground_truth', null]);
	assert.ok(guessed.because.includes('answer: "reward_model" contains a "ground_truth"'));
});
