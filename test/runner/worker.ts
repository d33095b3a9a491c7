/**
 * A process that runs test files one after the other, each in a suite of its own: hooks stay with their file, and starting
 * Node and loading the sources is paid once. The runner sends the path of a file and reads the outcomes.
 */
import { registerHooks } from 'node:module';
import { join, sep } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { startFile } from './fileRun.ts';
import type { FileRequest, WorkerMessage } from './outcome.ts';

// Processes that tests start must not inherit the options of this one.
process.execArgv.length = 0;

/**
 * Modules of test/ are evaluated anew for each test file: helpers register hooks and set variables for the file that
 * imports them. So are those of src/extension, which find a stand-in of the editor that belongs to the file. The rest of the
 * product is shared, as it is in its own processes.
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
	startFile(`${process.pid}-${++fileNumber}`, closingMs);
	const url = `${pathToFileURL(file).href}?file=${fileNumber}`;
	void describe(file, { timeout: timeoutMs }, async () => {
		await import(url);
	});
});
process.send?.({ type: 'ready' } satisfies WorkerMessage);
