import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CliOutput } from '../../../src/cli/cliOutput.ts';
import { WorkProgress } from '../../../src/cli/workProgress.ts';

test('progress is reported immediately, then five times a second, and at the end', (t) => {
	const clock = t.mock.method(performance, 'now', () => 0);
	const reported: unknown[] = [];
	const output = { isTerminal: false, object: (value: { done: number }) => reported.push(value.done) };
	const work = new WorkProgress<{ done: number; total: number; seconds: number }>(
		output as unknown as CliOutput,
		'question',
		(progress) => progress,
		() => '',
	);
	for (const [at, done] of [
		[40, 5],
		[60, 6],
		[239, 7],
		[240, 8],
		[300, 9],
		[310, 12],
	] as const) {
		clock.mock.mockImplementation(() => at);
		work.progress({ done, total: 12, seconds: 1 });
	}
	assert.deepEqual(reported, [5, 8, 12]);
});
