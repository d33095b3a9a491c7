import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTask } from '../../../../../src/core/dataset/createTask.ts';
import { taskSource } from '../../../../../src/core/dataset/taskSource.ts';
import { accuracyOf, exactVerifier } from '../../../../../src/core/reward/accuracyReward.ts';
import { formatOf } from '../../../../../src/core/reward/formatReward.ts';
import { datasetComment } from '../../../../../src/core/reward/verification/datasetComment.ts';
import { neutralThought } from '../../../../../src/core/reward/verification/honestCompletion.ts';
import {
	caseRows,
	problemRows,
	rolloutRows,
	type SampledProblem,
	selectionRow,
} from '../../../../../src/core/reward/verification/rowsToVerify.ts';
import { resolveTemplate } from '../../../../../src/core/text/template.ts';
import { parseTrace } from '../../../../../src/core/trace/parseTrace.ts';
import type { RolloutLine } from '../../../../../src/protocol/rolloutLine.ts';

const r1 = resolveTemplate('r1');
const problem = (prompt: string, answer: string | null, solution: string | null = null): SampledProblem => ({
	problem: { prompt, answer, solution, key: prompt, row: { prompt, answer } },
	name: `row ${prompt}`,
	place: { file: '/d.jsonl', line: 1 },
});

describe('problem rows', () => {
	it('contain the correct answer and incorrect ones in the template: one group per problem, one batch in total', () => {
		const numbers = { batch: 3, group: 5 };
		const rows = problemRows([problem('a', '1', 'so 1'), problem('none', null), problem('b', '2')], {
			template: resolveTemplate('r1-conversation'),
			verify: exactVerifier,
			wrong: 2,
			seed: 1,
			numbers,
		});
		assert.deepEqual(numbers, { batch: 4, group: 7 });
		assert.deepEqual(
			rows.map(({ source, group, batch }) => [source, group, batch]),
			[
				['gold', 5, 3],
				['wrong', 5, 3],
				['wrong', 5, 3],
				['gold', 6, 3],
				['wrong', 6, 3],
				['wrong', 6, 3],
			],
		);
		const [first, , , second] = rows;
		assert.equal(first?.row.completion, '<think>so 1</think><answer>1</answer>');
		assert.equal(second?.row.completion, `<think>${neutralThought}</think><answer>2</answer>`);
		assert.match(first?.row.prompt ?? '', /^A conversation .* User: a\. Assistant: $/s);
		assert.equal(first?.row.answer, '1');
		assert.equal(first?.label, 'row a, correct answer');
		assert.match(rows[1]?.label ?? '', /^row a, wrong answer \(.+\)$/);
		assert.deepEqual(first?.place, { file: '/d.jsonl', line: 1 });
	});

	it('are distinguished as correct or incorrect by accuracy, and all have the correct format in every template', () => {
		const task = createTask({ task: 'arithmetic' });
		const source = taskSource(task);
		const problems = Array.from(
			{ length: 50 },
			(_, i): SampledProblem => ({ problem: source.training(1, i), name: String(i) }),
		);
		for (const name of ['r1', 'plain', 'r1-conversation'] as const) {
			const template = resolveTemplate(name);
			const rows = problemRows(problems, {
				template,
				verify: task.verify,
				wrong: 4,
				seed: 1,
				numbers: { batch: 0, group: 0 },
			});
			for (const { source, row } of rows) {
				const trace = parseTrace(row.completion, template);
				assert.equal(accuracyOf(row, trace, template, task.verify), source === 'gold' ? 1 : 0, row.completion);
				// A template without tags has no format to check.
				const form = template.think === null && template.answer === null ? null : 1;
				if (source === 'gold') assert.equal(formatOf(row, trace, template), form);
			}
		}
	});

	it('use the final answer of a worked solution in the gold column', () => {
		const rows = problemRows([problem('a', 'Two and two make four.\n#### 4')], {
			template: r1,
			verify: exactVerifier,
			wrong: 9,
			seed: 1,
			numbers: { batch: 0, group: 0 },
		});
		const completions = rows.map(({ row }) => row.completion);
		assert.equal(completions[0], '<think>Two and two make four.</think><answer>4</answer>');
		assert.ok(completions.includes('<think>Two and two make four.</think><answer>5</answer>'));
		assert.equal(rows[0]?.row.answer, 'Two and two make four.\n#### 4', 'the gold column is passed unchanged');
	});

	it('contain the messages of a conversational dataset', () => {
		const messages = [
			{ role: 'system', content: 'Be brief.' },
			{ role: 'user', content: 'a' },
		];
		const [gold] = problemRows([{ ...problem('Be brief.\n\na', '1'), messages }], {
			template: r1,
			verify: exactVerifier,
			wrong: 0,
			seed: 1,
			numbers: { batch: 0, group: 0 },
		});
		assert.deepEqual(gold?.row.messages?.prompt, messages);
		assert.deepEqual(gold?.row.messages?.completion, [{ role: 'assistant', content: gold?.row.completion }]);
	});
});

describe('rows from cases, rollouts and a selection', () => {
	it("put each case in a separate batch and use its row's answer", () => {
		const base = { prompt: 'p', completion: 'c', truncated: false, expect: 1, label: 'case 1', line: 4 };
		const numbers = { batch: 0, group: 0 };
		const rows = caseRows(
			[
				{ ...base, row: { answer: 7 } },
				{ ...base, row: { answer: 7 }, answer: null },
				{ ...base, row: {} },
			],
			'/c.jsonl',
			numbers,
		);
		assert.deepEqual(
			rows.map(({ batch, row, expect, place }) => [batch, row.answer, expect, place]),
			[
				[0, 7, 1, { file: '/c.jsonl', line: 4 }],
				[1, null, 1, { file: '/c.jsonl', line: 4 }],
				[2, null, 1, { file: '/c.jsonl', line: 4 }],
			],
		);
	});

	it('keep the groups in a batch and the recorded values', () => {
		const line = (group: number, index: number, changes: Partial<RolloutLine> = {}): RolloutLine => ({
			step: 4,
			stage: 'grpo',
			group,
			index,
			prompt: 'p',
			completion: 'c',
			answer: '1',
			row: { a: 1 },
			rewards: { accuracy: 1 },
			reward: 1,
			advantage: 0,
			truncated: true,
			...changes,
		});
		const numbers = { batch: 2, group: 10 };
		const rows = rolloutRows(
			[
				{ line: line(3, 0) },
				{ line: line(1, 0, { row: 17 }) },
				{
					line: line(3, 1, {
						prompt: [
							{ role: 'user', content: 'a' },
							{ role: 'user', content: null },
						],
					}),
				},
			],
			numbers,
		);
		assert.deepEqual(
			rows.map(({ group, batch }) => [group, batch]),
			[
				[10, 2],
				[11, 2],
				[10, 2],
			],
		);
		assert.deepEqual(numbers, { batch: 3, group: 12 });
		assert.equal(rows[0]?.label, 'step 4, group 3, completion 0');
		assert.deepEqual(rows[0]?.row, { prompt: 'p', completion: 'c', answer: '1', row: { a: 1 }, truncated: true });
		assert.deepEqual(rows[0]?.recorded, { accuracy: 1 });
		assert.deepEqual(rows[1]?.row.row, {}, 'a row that is not an object has no columns');
		assert.equal(rows[2]?.row.prompt, 'a\n\n');
		assert.deepEqual(rows[2]?.row.messages?.completion, [{ role: 'assistant', content: 'c' }]);
	});

	it('use a selection unchanged', () => {
		const numbers = { batch: 0, group: 0 };
		const row = selectionRow('<answer>1', problem('a', '1'), r1, numbers);
		assert.equal(row.row.completion, '<answer>1');
		assert.equal(row.row.prompt, 'a');
		assert.equal(row.label, 'selection, for row a');
		assert.deepEqual(selectionRow('x', null, r1, numbers).row, {
			prompt: '',
			completion: 'x',
			answer: null,
			row: {},
			truncated: false,
		});
	});
});

describe('dataset comment', () => {
	it('names a file and its columns, or a task', () => {
		const cases: [string, unknown][] = [
			['// @dataset ../data/train.jsonl\n', { path: '../data/train.jsonl' }],
			['# @dataset data/train set.jsonl', { path: 'data/train set.jsonl' }],
			['/** @dataset "a b.jsonl" */', { path: 'a b.jsonl' }],
			[
				'import x\r\n\t# @dataset q.jsonl prompt=question answer=gold\r\n',
				{ path: 'q.jsonl', prompt: 'question', answer: 'gold' },
			],
			['// @dataset {"task": "addition", "digits": 2}', { task: 'addition', digits: 2 }],
			['// @dataset {"path": "a.jsonl", "answer": "gold"}', { path: 'a.jsonl', answer: 'gold' }],
		];
		for (const [text, dataset] of cases) assert.deepEqual(datasetComment(text)?.dataset, dataset, text);
		assert.equal(datasetComment('x\n\n// @dataset a.jsonl')?.line, 3);
	});

	it('reports its errors', () => {
		for (const text of ['// @dataset', '# @dataset   \nx', '// @dataset {"task": "nothing"}', '// @dataset {']) {
			const found = datasetComment(text);
			assert.equal(found?.dataset, null, text);
			assert.match(found?.fault ?? '', /@dataset/);
		}
		for (const text of ['', 'const at = "@dataset x"', '// @datasets x', '// see @dataset x']) {
			assert.equal(datasetComment(text), null, text);
		}
	});
});
