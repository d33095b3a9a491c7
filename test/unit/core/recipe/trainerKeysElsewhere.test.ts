import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { trainerFile, trainerTables } from '../../../scripts/trainerTables.ts';

it('the trainer rejects the TRL options that the editor rejects, with the same messages', () => {
	const name = 'trl/elsewhere.json';
	assert.equal(readFileSync(trainerFile(name), 'utf8'), trainerTables[name], 'node test/scripts/writeTrainerTables.ts');
});
