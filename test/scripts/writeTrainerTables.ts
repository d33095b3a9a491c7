/** Writes the trainer's generated tables; unit tests fail while they are not current. */
import { writeFileSync } from 'node:fs';
import { trainerFile, trainerTables } from './trainerTables.ts';

for (const [path, text] of Object.entries(trainerTables)) writeFileSync(trainerFile(path), text);
