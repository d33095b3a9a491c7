import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endText } from '../../../src/extension/endPresentation.ts';
import type { RunView } from '../../../src/extension/runView.ts';
import type { RunRecord } from '../../../src/protocol/runRecord.ts';

const record = { name: 'addition', step: 98, created: 1000, updated: 1200, heartbeat: 1190 } as RunRecord;
const view: RunView = {
	folder: '/w/runs/a',
	record,
	status: 'finished',
	queued: false,
	fault: null,
	annotation: null,
	reward: 0.9,
	accuracy: 0.845,
	tokensPerSecond: null,
};

test('the end of a run is described in one sentence', () => {
	assert.equal(endText(view, null), 'addition finished after 3 min 20 s: held-out accuracy 84.5%, reward 0.90.');
	assert.equal(
		endText({ ...view, status: 'stopped', accuracy: null, reward: null }, null),
		'addition stopped at step 98 after 3 min 20 s.',
	);
});

test('a crash includes the reason', () => {
	const error = {
		reason: 'full' as const,
		message: 'No space left on the disk.',
		action: 'Free up disk space, then resume the run.',
	};
	assert.equal(
		endText({ ...view, status: 'crashed', record: { ...record, error } }, null),
		'addition crashed at step 98: No space left on the disk. Free up disk space, then resume the run.',
	);
	assert.equal(
		endText({ ...view, status: 'crashed' }, 'Killed'),
		'addition crashed at step 98: the engine exited without an error message, possibly because it was killed or ran out of memory. Last log line: Killed',
	);
});
