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
 * Runs the host side of a tree view in a separate process, like an extension host: treeHost.ts FOLDER NODES. Writes a
 * search log, prints the page's URL on one line, and exits with its parent.
 */

/**
 * Response to GET /stats: event loop delay since the tree was opened, in milliseconds, and the time `ready` arrived.
 */
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
				// The log is in our own format.
				reader: { request: () => Promise.reject(new Error('This bench reads no files from other programs.')) } as never,
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
