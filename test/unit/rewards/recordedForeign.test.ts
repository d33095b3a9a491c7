import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRecordedRollouts, rolloutLimits } from '../../../src/rewards/recordedRollouts.ts';
import { root } from '../../scripts/paths.ts';
import { expected } from '../runs/importers/foreignFixtures.ts';

const numbers = () => ({ batch: 0, group: 0 });
const verl = join(root, 'test/fixtures/verl');

test('the last rollouts of an external run are used like those of our own runs', async () => {
	const { steps, rows, lines, recipe, remarks } = await readRecordedRollouts(verl, { rows: 50, numbers: numbers() });
	assert.deepEqual(steps, [3, 4]);
	const { per_step } = expected('verl');
	assert.equal(rows.length, (per_step?.['3']?.rollouts ?? 0) + (per_step?.['4']?.rollouts ?? 0));
	assert.deepEqual([recipe, remarks], [null, []]);
	for (const [i, row] of rows.entries()) {
		assert.equal(row.place, undefined);
		assert.equal(row.row.completion, lines[i]?.completion);
		assert.deepEqual(row.rollout, { step: lines[i]?.step, group: lines[i]?.group, index: lines[i]?.index });
	}
	assert.equal(new Set(rows.map(({ group }) => group)).size, 8);
});

test('an oversized batch is truncated to whole groups', async () => {
	const limits = { ...rolloutLimits, batchRows: 10 };
	const { rows, remarks } = await readRecordedRollouts(verl, { rows: 1, numbers: numbers(), limits });
	assert.ok(rows.length > 0 && rows.length <= 10);
	assert.match(remarks[0] ?? '', /Step 4 has more rollouts than the limit\. Only the first \d+ are used/);
});
