import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { trainerFile, trainerTables } from '../../../scripts/trainerTables.ts';

it("the trainer's tables of TRL options set elsewhere and AsyncGRPOTrainer limits match the editor's", () => {
	for (const name of ['trl/elsewhere.json', 'trl/async_limits.json']) {
		assert.equal(
			readFileSync(trainerFile(name), 'utf8'),
			trainerTables[name],
			'node test/scripts/writeTrainerTables.ts',
		);
	}
});
