import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createMessageConnection, IPCMessageReader, IPCMessageWriter } from 'vscode-jsonrpc/node';
import { SearchServer } from './searchServer.ts';

/*
 * The search worker: a process that runs the searches for one window and answers requests from its parent over the
 * channel. It exits with its parent; searches that were running can be continued from their logs.
 *
 * search.js [--engine PROGRAM] [--client NAME]
 */

const { values } = parseArgs({
	options: { engine: { type: 'string' }, client: { type: 'string', default: 'Reasoning Lab' } },
});

if (process.send === undefined) {
	console.error('The search worker is started by the editor.');
	process.exit(2);
}

/** Returns dist/engine.js next to dist/search.js, or the source file if the worker itself runs from source. */
function enginePath(): string {
	const built = fileURLToPath(new URL('./engine.js', import.meta.url));
	return existsSync(built) ? built : fileURLToPath(new URL('../engines/embedded/main.ts', import.meta.url));
}

const connection = createMessageConnection(new IPCMessageReader(process), new IPCMessageWriter(process), {
	error: () => undefined,
	warn: () => undefined,
	info: () => undefined,
	log: () => undefined,
});
const server = new SearchServer(connection, { engine: values.engine ?? enginePath(), client: values.client });

/** How long stopped searches can take to write their last line, in milliseconds. */
const graceMs = 1500;

let ending = false;
async function end(): Promise<void> {
	if (ending) return;
	ending = true;
	await Promise.race([server.close().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, graceMs))]);
	process.exit(0);
}

process.on('disconnect', () => void end());
process.on('SIGTERM', () => void end());
// Ctrl+C in a terminal goes to the whole process group; the parent decides what to do.
process.on('SIGINT', () => undefined);

connection.listen();
