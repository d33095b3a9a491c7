import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createTask } from '../../../../src/core/dataset/createTask.ts';
import { parseDatasetLine } from '../../../../src/core/dataset/datasetRows.ts';
import { datasetPresets } from '../../../../src/core/dataset/presets.ts';
import { verifiedTask } from '../../../../src/core/dataset/readableHere.ts';
import { keyContext } from '../../../../src/core/recipe/keyContext.ts';
import { resolveDataset } from '../../../../src/core/recipe/resolveDataset.ts';
import { type PresetName, presetNames } from '../../../../src/protocol/recipeKeys/recipe.ts';
import { trainerFile, trainerTables } from '../../../scripts/trainerTables.ts';

const columnsOf = (preset: PresetName) => ({ ...datasetPresets[preset], preset });
const parse = (preset: PresetName, row: object) => parseDatasetLine(JSON.stringify(row), 3, columnsOf(preset));

describe('known datasets', () => {
	it('match the table in the trainer (written by node test/scripts/writeTrainerTables.ts)', () => {
		const name = 'data/presets.json';
		assert.equal(readFileSync(trainerFile(name), 'utf8'), trainerTables[name]);
	});

	for (const name of presetNames) {
		it(`${name} can be read`, () => {
			const { row, problem } = datasetPresets[name].example;
			const parsed = parse(name, row);
			assert.ok(parsed.kind === 'row', JSON.stringify(parsed));
			const { prompt, answer, solution } = parsed.problem;
			assert.deepEqual({ prompt, answer, solution }, problem);
			// Rewards have access to every column in the row.
			for (const key of Object.keys(row)) assert.ok(key in parsed.problem.row, key);
		});
	}

	it('report errors with the line and a fix', () => {
		const message = (preset: PresetName, row: object) => {
			const parsed = parse(preset, row);
			assert.ok(parsed.kind === 'fault', JSON.stringify(parsed));
			return `${parsed.fault.line} ${parsed.fault.message}`;
		};
		assert.match(message('gsm8k', { question: 'How many?', answer: 'Six.' }), /3 has an "answer" without "####"/);
		assert.match(message('gsm8k', { question: 'How many?' }), /has no column "answer" \(it has question\)/);
		assert.match(message('math', { problem: 'Half?', solution: 'It is 3.' }), /without \\boxed\{\} around the answer/);
		assert.match(message('countdown', { nums: '1,2', target: 3 }), /not a list of integers/);
		assert.match(message('humaneval', { task_id: 1 }), /has no column "prompt"/);
		assert.match(message('aime', { problem: 'Find 1.', answer: {} }), /cannot be compared/);
	});

	it('Countdown accepts any expression that reaches the target, but not the target itself', () => {
		const parsed = parse('countdown', { target: 98, nums: [44, 19, 35] });
		assert.ok(parsed.kind === 'row');
		const task = verifiedTask({
			...columnsOf('countdown'),
			path: 'x',
			heldOut: null,
			heldOutShare: 0.1,
			split: 'train',
			config: '',
		});
		assert.ok(task);
		const right = (answer: string) => createTask(task).verify(parsed.problem, answer);
		assert.deepEqual(['35+44+19', '44 + (19 + 35)', '98', '44+19', '49*2'].map(right), [
			true,
			true,
			false,
			false,
			false,
		]);
	});

	it('resolve to their hub location, another hub location or a file', () => {
		const machine = {
			cores: 1,
			resolvePath: (path: string) => `/p/${path}`,
			exists: (path: string) => path === '/p/mine/gsm',
		};
		const of = (dataset: object, embedded = false) => resolveDataset(dataset, keyContext(machine, embedded, null));
		const columns = { prompt: 'question', answer: 'answer', solution: 'answer', heldOutShare: 0.1, preset: 'gsm8k' };
		assert.deepEqual(of({ preset: 'gsm8k' }), {
			...columns,
			path: 'openai/gsm8k',
			config: 'main',
			split: 'train',
			heldOut: 'test',
		});
		assert.deepEqual(of({ preset: 'gsm8k', path: 'me/gsm', prompt: 'q' }), {
			...columns,
			prompt: 'q',
			path: 'me/gsm',
			split: 'train',
			heldOut: null,
		});
		assert.deepEqual(of({ preset: 'gsm8k', path: 'gsm.parquet' }), {
			...columns,
			path: '/p/gsm.parquet',
			heldOut: null,
		});
		// A local folder with that name takes precedence.
		assert.deepEqual(of({ preset: 'gsm8k', path: 'mine/gsm', heldOut: 'test.jsonl' }), {
			...columns,
			path: '/p/mine/gsm',
			heldOut: '/p/test.jsonl',
		});
		assert.deepEqual(of({ preset: 'gsm8k', path: 'rows', heldOut: 'other' }, true), {
			...columns,
			path: '/p/rows',
			heldOut: '/p/other',
		});
	});
});
