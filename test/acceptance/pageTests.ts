import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const webview = join(import.meta.dirname, '../unit/webview');

/** Defines the tests of all pages, with the environment variables set by the caller. */
export async function definePageTests(): Promise<void> {
	const files = readdirSync(webview, { recursive: true, encoding: 'utf8' }).filter((name) =>
		/(Page|Views|Behavior|alertOrder)\.test\.ts$/.test(name),
	);
	for (const file of files.sort()) await import(pathToFileURL(join(webview, file)).href);
}
