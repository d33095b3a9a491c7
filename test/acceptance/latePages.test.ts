/**
 * Runs the tests of all pages with late frames and messages, as on a busy machine, which finds tests that look at a page
 * without waiting until it is redrawn, and pages that lose what is typed or clicked in the meantime.
 */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

process.env.TEST_LATE ??= '150';

const webview = join(import.meta.dirname, '../unit/webview');
const files = readdirSync(webview, { recursive: true, encoding: 'utf8' }).filter((name) =>
	/(Page|Views|Behavior|alertOrder)\.test\.ts$/.test(name),
);
for (const file of files.sort()) await import(`./${relative(import.meta.dirname, join(webview, file))}`);
