import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { printable } from '../../../src/cli/cliOutput.ts';
import { colored, displayLines, eventText, plain, plainLine } from '../../../src/cli/progressText.ts';
import { RunProgress } from '../../../src/cli/runProgress.ts';
import { formatNumber, progressBar, sparkline } from '../../../src/cli/textForms.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';
import { initialRecord } from '../runs/runFixtures.ts';

const record: RunRecord = {
	format: 1,
	...initialRecord,
	status: 'running',
	attempt: 1,
	step: 0,
	created: 1000,
	updated: 1000,
	heartbeat: 1000,
	host: 'h',
	boot: 'b',
	pid: 1,
	processStart: '1',
};

function progressOf(name = 'addition', steps = 30): RunProgress {
	const progress = new RunProgress();
	progress.apply({ kind: 'record', record: { ...record, name }, status: 'running' });
	for (let step = 1; step <= steps; step++) {
		const values = { reward: step / 100, kl: 0.001 * step, 'completions/mean_length': 12.345 };
		progress.apply({ kind: 'metrics', lines: [{ step, time: 1000 + step * 2, stage: 'grpo', values }] });
	}
	return progress;
}

test('the display shows name, stage, step, time left, reward and accuracy', () => {
	const progress = progressOf();
	const summary = {
		name: 'heldout',
		step: 20,
		problems: 1,
		samples: 1,
		temperature: 1,
		accuracy: 0.5,
		low: 0.4,
		high: 0.6,
	};
	progress.apply({ kind: 'evaluations', summaries: [{ ...summary, name: 'until', accuracy: 0.9 }, summary] });
	assert.deepEqual(displayLines(progress, 100, plain), [
		'addition  grpo  step 30/100  1:00  at most 2:20 left',
		`${'█'.repeat(15)}${'░'.repeat(35)}  30%`,
		`reward 0.300  held-out 0.50 [0.40, 0.60]  kl 0.0300  length 12.3  2.000 s/step ▁▁▁▂▂▃▃▄▄▅▅▅▆▆▇▇███`,
	]);
	assert.equal(plainLine(progress), 'grpo step 30/100  reward 0.300  held-out 0.50 [0.40, 0.60]  at most 2:20 left');
});

test('no line is wider than the terminal', () => {
	for (const steps of [0, 1, 2, 30, 500]) {
		for (let columns = 9; columns < 140; columns += 7) {
			for (const line of displayLines(
				progressOf('a name that is rather long, as names are', steps),
				columns,
				colored,
			)) {
				const text = stripVTControlCharacters(line);
				assert.ok([...text].length < columns, `${columns}: ${text}`);
			}
		}
	}
});

test('text from a run cannot control the terminal', () => {
	const hostile = '\u001b[2J\u001b]0;owned\u0007\r\n\u009b31m';
	const lines = displayLines(progressOf(hostile), 120, plain);
	const event = eventText({ time: 1, step: 1, type: 'alert', level: 'info', message: hostile }) ?? '';
	for (const text of [...lines, event, printable(hostile)]) {
		// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the control characters that must be absent
		assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f]/);
	}
	assert.ok((eventText({ time: 1, step: 1, type: 'alert', message: 'x'.repeat(1e6) }) ?? '').length < 1000);
	assert.equal(eventText({ time: 1, step: 1, type: 'unheard-of' }), null);
});

test('pauses and other stages do not affect the remaining time', () => {
	const progress = progressOf();
	progress.apply({ kind: 'events', lines: [{ time: 1, step: 30, type: 'paused' }] });
	assert.equal(progress.eta, null);
	const values = { loss: 1 };
	progress.apply({ kind: 'metrics', lines: [{ step: 31, time: 5000, stage: 'sft', values }] });
	assert.equal(progress.shown, 'loss');
	assert.deepEqual(progress.history, [1]);
	progress.apply({ kind: 'metrics', lines: [{ step: 32, time: 5001, stage: 'sft', values }] });
	assert.equal(progress.eta, 68);
	progress.apply({ kind: 'reset' });
	assert.equal(progress.last, null);
});

test('updates without a reward leave no gap in the sparkline, but unknown rewards do', () => {
	const progress = new RunProgress();
	const line = (step: number, values: Record<string, number | null>) => ({ step, time: step, stage: 'grpo', values });
	progress.apply({ kind: 'metrics', lines: [line(1, { reward: 1 }), line(2, { loss: 1 }), line(3, { reward: null })] });
	assert.deepEqual(progress.history, [1, null]);
});

test('numbers and sparklines are compact', () => {
	assert.deepEqual([0, 0.5, -12.34, 123.4, 0.01234, 1e-5, 2.5e7, null].map(formatNumber), [
		'0',
		'0.500',
		'-12.3',
		'123',
		'0.0123',
		'1.0e-5',
		'2.5e+7',
		'–',
	]);
	assert.equal(sparkline([0, 0.5, null, 1], 10), '▁▅ █');
	assert.equal(sparkline([3, 3], 10), '▄▄');
	assert.equal(sparkline([], 10), '');
	assert.equal(sparkline([0, 1, 2], 2), '▁█');
	assert.deepEqual(
		[0, 1, 0.5, 0.05].map((share) => progressBar(share, 4)),
		['░░░░', '████', '██░░', '▎░░░'],
	);
	for (let i = 0; i <= 100; i++) assert.equal([...progressBar(i / 100, 7)].length, 7);
});
