import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { type LabLosses, labLossCases, labLosses } from '../../../support/labLosses.ts';

it("the stored losses that the trainer's tests compare with TRL match this engine (node test/scripts/writeLabLosses.ts)", async () => {
	const written = JSON.parse(readFileSync(labLosses, 'utf8')) as LabLosses;
	const now = await labLossCases(written.rows);
	assert.equal(now.length, written.cases.length);
	for (const [i, { stage, turns, loss }] of written.cases.entries()) {
		assert.deepEqual(JSON.parse(JSON.stringify(now[i]?.stage)), stage);
		assert.deepEqual(now[i]?.turns, turns);
		assert.ok(Math.abs((now[i]?.loss as number) - loss) < 1e-6, `${stage.loss_type}: ${now[i]?.loss} ${loss}`);
	}
});
