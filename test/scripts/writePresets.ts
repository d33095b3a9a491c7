/** Writes the trainer's table of known datasets. A unit test fails if it is out of date. */
import { writeFileSync } from 'node:fs';
import { presetsText } from './presetsFile.ts';

writeFileSync(
	new URL('../../src/engines/trainer/reasoning_lab_trainer/data/presets.json', import.meta.url),
	presetsText(),
);
