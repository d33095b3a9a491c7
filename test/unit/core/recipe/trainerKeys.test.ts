import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { trainerKeysElsewhere } from '../../../../src/core/recipe/checkTrainerBlock.ts';

it('the trainer rejects the same TRL options as the editor, with the same messages', () => {
	const file = new URL('../../../../src/engines/trainer/reasoning_lab_trainer/trl/options.py', import.meta.url);
	const python = readFileSync(file, 'utf8');
	const runFolder = /^RUN_FOLDER = "(.*)"$/m.exec(python)?.[1];
	for (const [key, place] of Object.entries(trainerKeysElsewhere)) {
		const said = new RegExp(`^ {4}"${key}": (?:'(.*)'|"(.*)"|(RUN_FOLDER)),$`, 'm').exec(python);
		assert.ok(said !== null, key);
		assert.equal(said[1] ?? said[2] ?? runFolder, place, key);
	}
});
