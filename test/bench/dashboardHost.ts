import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { DashboardSession } from '../../src/extension/panels/dashboard/dashboardSession.ts';
import { type HostPage, serveHostPage } from './hostPage.ts';

/*
 * Runs the host side of a dashboard in a separate process, like an extension host: dashboardHost.ts RUN. Prints the
 * page's URL on one line and exits with its parent.
 */

/** Response to GET /stats. */
export interface HostStats {
	/** Peak memory of the process in MB, and its memory before the run was opened. */
	readonly max: number;
	readonly before: number;
	/** Event loop delay since the run was opened, in milliseconds. */
	readonly late95: number;
	readonly latest: number;
}

const resolution = 2;

async function main(run: string): Promise<void> {
	const root = fileURLToPath(new URL('../../', import.meta.url));
	const app = { ...bundles({ production: true }).dashboard, absWorkingDir: root, write: false };
	const { outputFiles } = await build(app);
	const file = (end: string) => outputFiles?.find(({ path }) => path.endsWith(end))?.text ?? '';
	let page: HostPage | null = null;
	let session: DashboardSession | null = null;
	const histogram = monitorEventLoopDelay({ resolution });
	const before = process.memoryUsage.rss() / 1e6;
	let max = 0;
	page = await serveHostPage({
		script: file('.js'),
		style: file('.css'),
		onOpen: () => {
			histogram.enable();
			setInterval(() => {
				max = Math.max(max, process.memoryUsage.rss() / 1e6);
			}, 10);
			session = new DashboardSession(run, {
				post: (event) => page?.post({ kind: 'event', event }) ?? Promise.resolve(),
				onName: () => undefined,
			});
		},
		onMessage: (message) => {
			const { kind, event } = message as { kind: string; event?: { type: string } };
			if (kind === 'event' && (event?.type === 'ready' || event?.type === 'resync')) session?.begin();
			else console.error(JSON.stringify(message));
		},
		stats: (): HostStats => {
			const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution);
			return { max, before, late95: late(histogram.percentile(95)), latest: late(histogram.max) };
		},
	});
	process.stdin.on('end', () => process.exit(0)).resume();
	console.log(page.url);
}

await main(process.argv[2] as string);
