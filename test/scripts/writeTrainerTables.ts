/** Writes the trainer's generated tables; unit tests fail if they are out of date. */
import { writeFileSync } from 'node:fs';
import { trainerFile, trainerTables } from './trainerTables.ts';

for (const [path, text] of Object.entries(trainerTables)) writeFileSync(trainerFile(path), text);
