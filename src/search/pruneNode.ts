import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { FileLock } from '../files/fileLock.ts';
import { searchLockFolder } from '../runs/searchLog.ts';
import { readTreeLog, setTornAside } from './treeLogFile.ts';
import { TreeLogWriter } from './treeLogWriter.ts';

/**
 * Records in a log that the user has pruned or restored a node. Continuing the search takes this into account. Fails
 * with `busy` while a search is writing to the log, and with `invalid` if there is no such node.
 */
export async function pruneNode(log: string, node: number, restore: boolean): Promise<void> {
	const lock = await FileLock.acquire(searchLockFolder(log), `The search ${basename(log)}`);
	try {
		const read = await readTreeLog(log);
		await setTornAside(log, read);
		const found = read.tree.node(node);
		if (found === undefined) throw new Failure('invalid', `The search has no node ${node}.`);
		if (found.parents.length === 0) throw new Failure('invalid', 'The problem itself cannot be pruned.');
		if ((found.pruned !== null) === !restore) return;
		const at = read.events.reduce((latest, event) => Math.max(latest, event.at), 0);
		const writer = new TreeLogWriter(log);
		writer.write(restore ? { t: 'restore', at, id: node } : { t: 'prune', at, id: node, reason: 'a person' });
		await writer.close();
		if (writer.failure !== null) throw writer.failure;
	} finally {
		await lock.release();
	}
}
