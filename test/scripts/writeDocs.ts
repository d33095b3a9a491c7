/** `npm run docs`: regenerates the recipe schema and the tables in docs/. Unit tests fail if they are out of date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tabled, withTables } from './docTables.ts';
import { root } from './paths.ts';
import './writeSchema.ts';
import './writeTrainerTables.ts';

for (const [path, tables] of tabled) {
	const file = join(root, path);
	writeFileSync(file, withTables(readFileSync(file, 'utf8'), tables()));
}
