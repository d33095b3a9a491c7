/** `node test/scripts/start.mjs test/scripts/writeEnvironmentRows.ts`: writes the rows of the environments template. */
import { writeFileSync } from 'node:fs';
import { calculatorRows, guessRows } from './environmentRows.ts';

const folder = new URL('../../media/templates/environments/', import.meta.url);
writeFileSync(new URL('guess.rows.jsonl', folder), guessRows());
writeFileSync(new URL('calculator.rows.jsonl', folder), calculatorRows());
