/**
 * Checks the appearance of every page in every state with axe, in all themes and at the smallest width, and with hostile
 * texts; `npm test` uses axe once for each view.
 */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

process.env.TEST_LOOKS = 'all';

const webview = join(import.meta.dirname, '../unit/webview');
const files = readdirSync(webview, { recursive: true, encoding: 'utf8' }).filter((name) =>
	/(Page|Views|Behavior|alertOrder)\.test\.ts$/.test(name),
);
for (const file of files.sort()) await import(`./${relative(import.meta.dirname, join(webview, file))}`);
