/**
 * Worker process that runs test files one after another. Each file gets its own suite, so hooks stay with their file,
 * but Node starts and the sources load only once. The runner sends file paths and reads the outcomes.
 */
import { registerHooks } from 'node:module';
import { join, sep } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isFinished, startFile } from './fileRun.ts';
import type { FileRequest, WorkerMessage } from './outcome.ts';
import { reportEnd } from './workerReporter.ts';

/** Time for events to arrive, in milliseconds. */
const eventsMs = 1000;

// Processes started by tests must not inherit this process's options.
process.execArgv.length = 0;

/**
 * Folders whose modules are reloaded for each test file: helpers in test/ register hooks and set variables for the file
 * that imports them, and modules in src/extension see an editor stub that belongs to the file. The rest of the product
 * is shared, as it is in its own processes.
 */
const folders = ['test', 'src/extension'].map(
	(path) => pathToFileURL(join(import.meta.dirname, '../..', path) + sep).href,
);
let fileNumber = 0;
registerHooks({
	resolve(specifier, context, nextResolve) {
		const resolved = nextResolve(specifier, context);
		const query = /\?file=\d+$/.exec(context.parentURL ?? '')?.[0];
		if (query === undefined || resolved.url.includes('?')) return resolved;
		if (!folders.some((folder) => resolved.url.startsWith(folder))) return resolved;
		return { ...resolved, url: `${resolved.url}${query}` };
	},
});

process.on('message', ({ file, timeoutMs, closingMs }: FileRequest) => {
	startFile(closingMs);
	const url = `${pathToFileURL(file).href}?file=${++fileNumber}`;
	void describe(file, { timeout: timeoutMs }, async () => {
		await import(url);
	}).then(reportUnmatched);
});

/**
 * A file's events reach the reporter soon after its suite ends. A file with no test that matches the name pattern has
 * none.
 */
async function reportUnmatched(): Promise<void> {
	if (process.env.TEST_NAME_PATTERN === undefined) return;
	for (let waited = 0; waited < eventsMs && !isFinished(); waited += 50) {
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	if (!isFinished()) await reportEnd();
}

process.send?.({ type: 'ready' } satisfies WorkerMessage);
