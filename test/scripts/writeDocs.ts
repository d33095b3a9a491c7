/**
 * `npm run docs`: regenerates the recipe schema, the tables in docs/ and the language model tools in package.json. Unit
 * tests fail if they are out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tabled, withTables } from './docTables.ts';
import { languageModelTools } from './languageModelTools.ts';
import { root } from './paths.ts';
import './writeSchema.ts';
import './writeTrainerTables.ts';

for (const [path, tables] of tabled) {
	const file = join(root, path);
	writeFileSync(file, withTables(readFileSync(file, 'utf8'), tables()));
}

const manifestFile = join(root, 'package.json');
const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
manifest.contributes.languageModelTools = languageModelTools();
writeFileSync(manifestFile, `${JSON.stringify(manifest, null, '\t')}\n`);
