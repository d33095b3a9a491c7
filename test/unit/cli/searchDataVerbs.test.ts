import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { comparedStrategyOf } from '../../../src/cli/comparedStrategies.ts';
import { comparisonLines } from '../../../src/cli/comparisonText.ts';
import type { ComparisonSummary } from '../../../src/protocol/strategyComparison.ts';
import { objects, Workplace } from './cliFixtures.ts';

const rule = {
	prompt: 'sum *',
	say: [
		{ text: '<think>so\n</think><answer>$1</answer>', weight: 3 },
		{ text: '<think>or\n</think><answer>100</answer>', weight: 2 },
	],
};

async function place(context: TestContext): Promise<Workplace> {
	const made = await Workplace.make(context);
	await made.write('adder.jsonl', JSON.stringify(rule));
	const rows = Array.from({ length: 20 }, (_, i) => `${JSON.stringify({ prompt: `sum ${i}`, answer: i })}\n`);
	await made.write('sums.jsonl', rows.join(''));
	return made;
}

describe('strategy verbs', () => {
	test('a list yields a point for each value, and several lists yield every combination', async () => {
		const { strategy, guide, points } = await comparedStrategyOf('beam width=2,4 tokens<=100,200 guide=value');
		assert.deepEqual([strategy, guide?.use], ['beam', 'value']);
		assert.deepEqual(points, [
			{ params: { width: 2 }, budget: { tokens: 100 } },
			{ params: { width: 2 }, budget: { tokens: 200 } },
			{ params: { width: 4 }, budget: { tokens: 100 } },
			{ params: { width: 4 }, budget: { tokens: 200 } },
		]);
		for (const [written, message] of [
			['beam width', /contains "width", which is not valid/],
			['beam bytes<=3', /contains "bytes<=3", which is not valid/],
			['beam guide=nobody', /guide of --strategy value "nobody" is not a valid scorer/],
			['beam tokens<=x', /not valid/],
			[`beam a=${'1,'.repeat(70)}2`, /\(max 64\)/],
		] as const) {
			await assert.rejects(comparedStrategyOf(written), message, written);
		}
	});
});

test('compare-strategies prints a table with supported conclusions and continues existing results', async (context) => {
	const work = await place(context);
	const args = ['compare-strategies', '--policy', 'adder.jsonl', '--dataset', 'sums.jsonl', '--out', 'sums'];
	const strategies = ['--strategy', 'self-consistency n=1,16', '--strategy', 'best-of-n n=4 judge=gold:accuracy'];
	const { status, stdout, stderr } = await work.run(context, ...args, ...strategies);
	assert.equal(status, 0, stdout + stderr);
	assert.match(stdout, /^sums: 20 problems, policy adder; gains are relative to the mean of 16 independent samples$/m);
	assert.match(stdout, /^self-consistency +n=16 +0\.\d{3} +\[0\.\d{3}, [01]\.\d{3}\] +\+0\.\d{3}/m);
	assert.match(stdout, /^best-of-n by accuracy \(gold\) \(oracle upper bound\)/m);
	assert.match(stdout, /^better than a single sample: self-consistency n=16$/m);
	const again = await work.call('compare-strategies', '--spec', 'sums/comparison.json', '--out', 'sums', '--json');
	assert.equal(again.status, 0, again.stderr);
	const [comparison] = objects(again.stdout);
	assert.equal(comparison?.kind, 'comparison');
	const table = comparisonLines(comparison as unknown as ComparisonSummary);
	for (const line of table) assert.ok(stdout.includes(line), line);
});

test('generate-data writes the requested files and reports errors before it starts', async (context) => {
	const work = await place(context);
	const args = [
		'generate-data',
		'--policy',
		'adder.jsonl',
		'--strategy',
		'self-consistency',
		'--dataset',
		'sums.jsonl',
	];
	const made = await work.call(...args, '--export', 'solutions,sft', '--out', 'd', '--json');
	const wrong = await work.call(...args, '--export', 'poems', '--out', 'w');
	assert.equal(made.status, 0, made.stderr);
	const data = objects(made.stdout).at(-1) as { kind: string; problems: number; lines: Record<string, number> };
	assert.deepEqual([data.kind, data.problems], ['data', 20]);
	for (const kind of ['solutions', 'sft']) {
		const lines = (await readFile(join(work.folder, 'd', `${kind}.jsonl`), 'utf8')).split('\n').slice(0, -1);
		assert.equal(lines.length, data.lines[kind]);
		assert.ok(lines.length > 0);
	}
	assert.equal(wrong.status, 2, wrong.stdout);
	assert.match(wrong.stderr, /exports\[0\]/);
	await assert.rejects(access(join(work.folder, 'w')));
});
