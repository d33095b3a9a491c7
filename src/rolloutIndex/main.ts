import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createMessageConnection, IPCMessageReader, IPCMessageWriter } from 'vscode-jsonrpc/node';
import { Failure } from '../base/failure.ts';
import { keepYoungGenerationSmall } from '../processes/heapGrowth.ts';
import { IndexServer } from './indexServer.ts';
import { RolloutIndex } from './rolloutIndex.ts';

/*
 * The index worker: a process that maintains the index of a window's runs and answers requests from its parent over the
 * channel. It exits with its parent, and also if a statement does not stop or leaves too much memory allocated.
 *
 * rolloutIndex.js --storage FOLDER [--look-every MS]
 */

const { values } = parseArgs({
	options: { storage: { type: 'string' }, 'look-every': { type: 'string', default: '5000' } },
});

if (process.send === undefined) {
	console.error('The index worker is started by the editor.');
	process.exit(2);
}

keepYoungGenerationSmall();
const processMb = 1200;
// If the system runs out of memory, prefer to kill this process: it can be restarted without losing anything.
void writeFile('/proc/self/oom_score_adj', '800').catch(() => undefined);

const connection = createMessageConnection(new IPCMessageReader(process), new IPCMessageWriter(process), {
	error: () => undefined,
	warn: () => undefined,
	info: () => undefined,
	log: () => undefined,
});
const opening = RolloutIndex.open({
	storage: values.storage ?? null,
	processMb,
	lookEveryMs: Math.max(0, Number(values['look-every']) || 0),
});
const server = new IndexServer(connection, opening);

async function end(): Promise<void> {
	server.dispose();
	const rolloutIndex = await opening.catch(() => null);
	// Stop running work, but do not wait for work that ignores the signal.
	await Promise.race([
		rolloutIndex?.close().catch(() => undefined),
		new Promise((resolve) => setTimeout(resolve, 2000)),
	]);
	// Do not wait for computations that are still running.
	process.kill(process.pid, 'SIGKILL');
}

process.on('disconnect', () => void end());
process.on('SIGTERM', () => void end());
// Ctrl+C in a terminal goes to the whole process group; the parent decides what to do.
process.on('SIGINT', () => undefined);

opening.then(
	(rolloutIndex) => {
		rolloutIndex.onStuck(() => {
			server.notify('log', { message: 'A statement did not stop; restarting the index worker.' });
			server.notify('startAgain', {});
			// A normal exit would wait for the statement.
			setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100);
		});
		void rolloutIndex.status().then(({ message }) => {
			if (message !== null) server.notify('log', { message });
		});
		const timer = setInterval(() => {
			// DuckDB's allocator does not return memory to the system, so only a new process frees it.
			if (server.underWay > 0 || process.memoryUsage.rss() < processMb * 2 ** 20) return;
			clearInterval(timer);
			server.notify('startAgain', {});
			setTimeout(() => void end(), 100);
		}, 2000);
		timer.unref();
	},
	(error: unknown) => {
		server.notify('log', { message: Failure.from(error).toString() });
	},
);

connection.listen();
