/**
 * Checks the appearance of every view of every page in all themes and at the smallest width; `npm test` does so for the
 * first view of each.
 */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

process.env.TEST_LOOKS = 'all';

const webview = join(import.meta.dirname, '../unit/webview');
const files = readdirSync(webview, { recursive: true, encoding: 'utf8' }).filter((name) =>
	/(Page|Views|alertOrder)\.test\.ts$/.test(name),
);
for (const file of files.sort()) await import(`./${relative(import.meta.dirname, join(webview, file))}`);
