import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { type LabScores, labLogprobs, labScores } from '../../../support/labCheckpoint.ts';

it("the trainer's reference log-probabilities match this engine (node test/scripts/writeLabCheckpoint.ts)", async () => {
	const written = JSON.parse(readFileSync(labLogprobs, 'utf8')) as LabScores[];
	const now = await labScores();
	for (const [i, { temperature, rows }] of written.entries()) {
		assert.equal(now[i]?.temperature, temperature);
		for (const [j, { logprobs }] of rows.entries()) {
			const computed: readonly number[] = now[i]?.rows[j]?.logprobs ?? [];
			assert.equal(computed.length, logprobs.length);
			for (const [k, value] of logprobs.entries()) assert.ok(Math.abs((computed[k] as number) - value) < 1e-5);
		}
	}
});
