import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { objects, Workplace } from './cliFixtures.ts';

const trl = fileURLToPath(new URL('../../fixtures/trl-run', import.meta.url));
const prm = fileURLToPath(new URL('../../fixtures/prm', import.meta.url));

test('export writes the requested data and reports what was omitted', async (context) => {
	const place = await Workplace.make(context);
	const run = (...args: string[]) => place.call('export', ...args);
	const pairs = await run(trl, '--as', 'dpo', '--steps', '1-4', '--margin', '0.01', '--out', 'pairs.jsonl');
	assert.equal(pairs.status, 0, pairs.stderr);
	assert.match(
		pairs.stdout,
		/pairs\.jsonl: \d+ lines \(.*\) from \d+ rollouts\n {2}skipped: \d+ rollouts that are not in any pair/,
	);
	const [first] = (await readFile(join(place.folder, 'pairs.jsonl'), 'utf8')).split('\n');
	assert.deepEqual(Object.keys(JSON.parse(first as string)), ['prompt', 'chosen', 'rejected']);

	const again = await run(trl, '--as', 'dpo', '--out', 'pairs.jsonl');
	assert.equal(again.status, 2);
	assert.match(again.stderr, /pairs\.jsonl already exists\./);

	const sft = await run(trl, '--as', 'sft', '--best-per-group', '1', '--unique', '--json');
	assert.equal(sft.status, 0, sft.stderr);
	const [summary] = objects(sft.stdout) as { path: string; written: number; read: number; what: string }[];
	assert.match(summary?.path ?? '', /trl-run\.sft\.jsonl$/);
	assert.ok((summary?.written ?? 0) > 0 && (summary?.written ?? 0) <= (summary?.read ?? 0) / 8);

	const steps = await run(join(prm, 'math-shepherd.jsonl'), '--as', 'prm800k', '--out', 'steps.jsonl');
	assert.equal(steps.status, 0, steps.stderr);
	assert.match(steps.stdout, /: 4 lines \(.*\) from 4 lines/);
});

test('export rejects unusable input with one message', async (context) => {
	const place = await Workplace.make(context);
	for (const [args, reason] of [
		[[trl], /--as is required\. Choose one of sft, dpo,/],
		[[trl, '--as', 'csv'], /--as is "csv"\. Choose one of sft, dpo,/],
		[[trl, '--as', 'dpo', '--unique'], /--unique does not apply to --as dpo\. It only applies to sft\./],
		[[trl, '--as', 'prm800k', '--correct'], /--correct does not apply to --as prm800k/],
		[[trl, '--as', 'sft', '--correct', '--wrong'], /cannot be combined/],
		[[trl, '--as', 'sft', '--steps', '5-2'], /--steps value "5-2" is not a valid step range/],
		[[trl, '--as', 'sft', '--min-reward', 'high'], /--min-reward value "high" is not a number/],
		[[trl, '--as', 'sft', '--perturb', 'shuffle'], /Unknown perturbation "shuffle"\. Use one of wrong-answer/],
		[[trl, '--as', 'sft', '--group', '3'], /--group is "3", not STEP\/GROUP/],
		[[trl, '--as', 'dpo', '--pairs-per-group', '0'], /--pairs-per-group is 0/],
		[[trl, '--as', 'dpo', '--form', 'messages'], /--form messages does not apply/],
		[[trl, '--as', 'sft', '--min-reward', '99', '--out', 'x.jsonl'], /Nothing to write to/],
		[[trl, '--as', 'trl-stepwise'], /0 labeled rollouts checked\. Label steps/],
		[[join(prm, 'math-shepherd.jsonl'), '--as', 'sft'], /is a file, but --as sft requires a run/],
		[['nothing-here', '--as', 'sft'], /Run nothing-here not found/],
		[[place.folder, '--as', 'sft'], /does not contain a run\. Looked for/],
	] as const) {
		const { status, stderr, stdout } = await place.call('export', ...args);
		assert.equal(status, 2, `${args.join(' ')}: ${stdout}${stderr}`);
		assert.match(stderr, reason);
	}
});
