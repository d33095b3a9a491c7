import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createMessageConnection, IPCMessageReader, IPCMessageWriter } from 'vscode-jsonrpc/node';
import { Failure } from '../base/failure.ts';
import { IndexServer } from './indexServer.ts';
import { RolloutIndex } from './rolloutIndex.ts';

/*
 * The index worker: a process that holds the index of a window's runs and answers over the channel to its parent. It ends with
 * its parent, and when a statement does not stop or has left more memory behind than it should.
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

const processMb = 1200;
// Should the system run out of memory: this process can be started again, and loses nothing.
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
	// What is under way is stopped; nobody waits for what does not hear it.
	await Promise.race([
		rolloutIndex?.close().catch(() => undefined),
		new Promise((resolve) => setTimeout(resolve, 2000)),
	]);
	// Whatever still computes is not waited for.
	process.kill(process.pid, 'SIGKILL');
}

process.on('disconnect', () => void end());
process.on('SIGTERM', () => void end());
// Ctrl+C of a terminal goes to the whole group; the parent decides.
process.on('SIGINT', () => undefined);

opening.then(
	(rolloutIndex) => {
		rolloutIndex.onStuck(() => {
			server.notify('log', { message: 'A statement did not stop; the index worker starts again.' });
			server.notify('startAgain', {});
			// An orderly exit would wait for the statement.
			setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100);
		});
		void rolloutIndex.status().then(({ message }) => {
			if (message !== null) server.notify('log', { message });
		});
		const timer = setInterval(() => {
			// Memory that DuckDB's allocator keeps comes back with a new process alone.
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
