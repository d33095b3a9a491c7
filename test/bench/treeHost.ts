import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { TreeSession } from '../../src/extension/panels/tree/treeSession.ts';
import { treeEventLines } from '../../src/protocol/treeEventReader.ts';
import { mctsEvents } from '../support/treeEvents.ts';
import { type HostPage, serveHostPage } from './hostPage.ts';

/*
 * The host's side of a tree view in a process of its own, as an extension host has it: treeHost.ts FOLDER NODES. It writes the
 * log of a search, says where its page is in one line, and ends with its parent.
 */

/** What GET /stats answers: how late the event loop was since the tree was opened, in milliseconds; when `ready` came. */
export interface TreeHostStats {
	readonly late95: number;
	readonly latest: number;
	readonly events: number;
}

const resolution = 2;

async function main(folder: string, nodes: number): Promise<void> {
	const root = fileURLToPath(new URL('../../', import.meta.url));
	const { outputFiles } = await build({ ...bundles({ production: true }).tree, absWorkingDir: root, write: false });
	const file = (end: string) => outputFiles?.find(({ path }) => path.endsWith(end))?.text ?? '';
	const log = join(folder, 'search.jsonl');
	const events = mctsEvents({ nodes });
	await writeFile(log, `${treeEventLines(events)}\n`);
	let page: HostPage | null = null;
	let session: TreeSession | null = null;
	const histogram = monitorEventLoopDelay({ resolution });
	page = await serveHostPage({
		script: file('.js'),
		style: file('.css'),
		onOpen: () => {
			histogram.enable();
			session = new TreeSession({
				path: log,
				tree: 0,
				other: null,
				post: (event) => page?.post({ kind: 'event', event }) ?? Promise.resolve(),
				// The log is our own.
				reader: { request: () => Promise.reject(new Error('Nobody reads other programs’ files here.')) } as never,
				running: () => false,
				forbidden: () => null,
			});
		},
		onMessage: (message) => {
			const { kind, event } = message as { kind: string; event?: { type: string } };
			if (kind === 'event' && event?.type === 'ready') void session?.begin();
			else console.error(JSON.stringify(message));
		},
		stats: (): TreeHostStats => {
			const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution);
			return { late95: late(histogram.percentile(95)), latest: late(histogram.max), events: events.length };
		},
	});
	process.stdin.on('end', () => process.exit(0)).resume();
	console.log(page.url);
}

await main(process.argv[2] as string, Number(process.argv[3]));
