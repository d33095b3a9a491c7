import { basename, dirname, isAbsolute } from 'node:path';
import * as vscode from 'vscode';
import type { LocalCluster } from '../../environment/localCluster.ts';
import type { TorchPython } from '../../environment/torchPython.ts';
import { requireTrust } from '../launchSettings.ts';
import type { Notices } from '../notices.ts';
import { displayText } from '../runView.ts';
import { settings } from '../settings.ts';

interface Needs {
	readonly notices: Pick<Notices, 'information' | 'warning' | 'failure'>;
	readonly python: () => Promise<TorchPython>;
	readonly openLog: (path: string) => unknown;
}

/** Loaded when a Ray recipe is started or a command needs it. */
const load = () => import('../../environment/localCluster.ts');

/**
 * Implements *Start Local Ray Cluster* and *Stop Local Ray Cluster*, and offers to start a cluster if a recipe's
 * cluster is not running.
 */
export class LocalRayCluster {
	readonly #needs: Needs;
	#cluster: Promise<LocalCluster> | null = null;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/**
	 * Returns false only if a run's cluster address is on this machine and nothing is listening there. In that case,
	 * offers to start a cluster, without waiting for the answer.
	 * @param from recipe or run folder; undefined if unknown
	 * @param retry starts the run once a cluster is available
	 */
	async isThere(from: string | undefined, retry: () => unknown): Promise<boolean> {
		const named = from === undefined ? '' : await addressOf(from);
		const { clusterCommand, listensAt, localPort } = await load();
		const port = localPort(named);
		if (port === null || (await listensAt(named))) return true;
		const start = { title: 'Start Local Cluster', run: async () => (await this.start(named)) !== undefined && retry() };
		void this.#needs.notices.warning(
			`No Ray cluster is running at ${displayText(named)}. Start Local Cluster runs "${clusterCommand(port)}" with the PyTorch engine's Python and then starts the run.`,
			[start],
		);
		return false;
	}

	/** @returns the cluster's address, or undefined if the user canceled */
	async start(address?: unknown): Promise<string | undefined> {
		requireTrust();
		const { clusterCommand, defaultClusterAddress, localPort } = await load();
		const at = typeof address === 'string' ? address : defaultClusterAddress;
		const cluster = await this.#get();
		const { python } = await this.#needs.python();
		const abort = new AbortController();
		const started = vscode.window.withProgress(
			{
				location: vscode.ProgressLocation.Notification,
				title: `Starting a Ray cluster at ${displayText(at)}`,
				cancellable: true,
			},
			(progress, token) => {
				token.onCancellationRequested(() => abort.abort());
				progress.report({ message: `${clusterCommand(localPort(at) ?? 0)} (${displayText(python)})` });
				return cluster.start({ python, address: at, nodeFolder: nodeFolder(), signal: abort.signal });
			},
		);
		try {
			await started;
		} catch (error) {
			if (abort.signal.aborted) return undefined;
			const openLog = { title: 'Open Log', run: () => this.#needs.openLog(cluster.log) };
			this.#needs.notices.failure(error, [openLog]);
			return undefined;
		}
		void this.#needs.notices.information(
			`A Ray cluster is running at ${displayText(at)}. It will keep running after this window closes.`,
			[{ title: 'Stop Cluster', run: () => this.stop() }],
		);
		return at;
	}

	/** Stops the cluster started here; other clusters are not affected. */
	async stop(): Promise<void> {
		const cluster = await this.#get();
		if ((await cluster.running()) === null) {
			void this.#needs.notices.information('No Ray cluster started by Reasoning Lab is running.');
			return;
		}
		const title = 'Stopping the Ray cluster';
		const stopped = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () =>
			cluster.stop(),
		);
		if (stopped !== null)
			void this.#needs.notices.information(`The Ray cluster at ${displayText(stopped)} has stopped.`);
	}

	#get(): Promise<LocalCluster> {
		this.#cluster ??= load().then(({ LocalCluster }) => new LocalCluster());
		return this.#cluster;
	}
}

/** Returns the cluster address from a recipe, a run, or RAY_ADDRESS; empty if there is none or it cannot be read. */
async function addressOf(from: string): Promise<string> {
	const read = async (): Promise<unknown> =>
		/\.json$/i.test(from)
			? (await import('../../runs/recipeFile.ts')).readRunRecipe(from)
			: (await import('../../runs/runReader.ts')).readResolvedRecipe(from);
	const value = await read().catch(() => null);
	const { ray } = (value ?? { ray: { address: '' } }) as { readonly ray?: { readonly address?: unknown } };
	const address = ray?.address ?? process.env.RAY_ADDRESS?.trim() ?? '';
	return typeof address === 'string' ? address : '';
}

/** Returns the folder of the Node executable used for engines and job drivers, or null to use the one on PATH. */
function nodeFolder(): string | null {
	const named = settings.nodePath();
	if (named !== null && isAbsolute(named)) return dirname(named);
	return /^node(\.exe)?$/i.test(basename(process.execPath)) ? dirname(process.execPath) : null;
}
