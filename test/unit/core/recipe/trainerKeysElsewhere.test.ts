import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { trainerFile, trainerTables } from '../../../scripts/trainerTables.ts';

it('the trainer refuses the options of TRL that the editor refuses, with the same words', () => {
	const name = 'trl/elsewhere.json';
	assert.equal(readFileSync(trainerFile(name), 'utf8'), trainerTables[name], 'node test/scripts/writeTrainerTables.ts');
});
