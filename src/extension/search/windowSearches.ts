import { lstat, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { SearchMethod, SearchNews, SearchParams, SearchResult } from '../../protocol/searchWorker.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { isBeingSearched, searchLogName } from '../../runs/searchLog.ts';
import { settings } from '../settings.ts';
import { SearchClient } from './searchClient.ts';
import { searchSettings } from './searchSettings.ts';

/** Read-only methods, which do not require workspace trust. */
const reading: readonly SearchMethod[] = [
	'trees',
	'treeEvents',
	'treeText',
	'report',
	'running',
	'stop',
	'stopComparing',
];

export interface WindowSearchesOptions {
	/** Extension folder. */
	readonly extension: vscode.Uri;
	/** Log folder when no workspace folder is open. */
	readonly storage: vscode.Uri;
	/** Client name recorded in engine logs. */
	readonly client: string;
	readonly log: (message: string) => void;
	/** Returns API keys by policy name. */
	readonly keys: () => Promise<Readonly<Record<string, string>>>;
	/** Returns environment variables for scorer processes, using the settings for a file. */
	readonly environment: (file: vscode.Uri) => Promise<Readonly<Record<string, string>>>;
	/** Returns the memory limit of environments in MB, using the settings for a file. */
	readonly memoryMb: (file: vscode.Uri) => number | undefined;
}

type Start = Pick<SearchParams<'start'>, 'spec' | 'problem'> & { readonly log?: string | undefined };
type GoOn = Omit<SearchParams<'continue'>, 'keys' | 'environment' | 'memoryMb'>;

/**
 * The window's search worker. Refuses to start searches in untrusted workspaces, passes API keys along with each
 * request, and tracks running searches.
 */
export class WindowSearches extends Disposable {
	readonly #options: WindowSearchesOptions;
	readonly #client: SearchClient;
	readonly #running = new Set<string>();
	readonly #comparing = new Set<string>();
	#jobs = 0;
	readonly #compared = this.register(new Emitter<SearchNews<'compared'>>());
	/** Fires when a strategy comparison in this window starts, continues or ends. */
	readonly onCompared = this.#compared.event;
	readonly #changed = this.register(new Emitter<SearchNews<'changed'>>());
	/** Fires when a search in this window starts, continues or ends. */
	readonly onChanged = this.#changed.event;

	constructor(options: WindowSearchesOptions) {
		super();
		this.#options = options;
		const dist = join(options.extension.fsPath, 'dist');
		this.#client = this.register(
			new SearchClient({
				program: join(dist, 'search.js'),
				args: ['--engine', join(dist, 'engine.js'), '--client', options.client],
				node: () => settings.nodePath(),
				log: options.log,
			}),
		);
		this.#client.onChanged((news) => {
			if (news.state === 'running') this.#running.add(news.log);
			else this.#running.delete(news.log);
			this.#changed.fire(news);
		});
		this.#client.onCompared((news) => {
			if (news.state === 'running') this.#comparing.add(news.folder);
			else this.#comparing.delete(news.folder);
			this.#compared.fire(news);
		});
		this.#client.onEnded(() => {
			const left = [...this.#comparing];
			this.#comparing.clear();
			const words = 'The search worker exited. You can continue the comparison.';
			for (const folder of left) this.#compared.fire({ folder, state: 'ended', failure: words });
			const gone = [...this.#running];
			this.#running.clear();
			const failure = 'The search worker exited. Use Run More to continue the search.';
			for (const log of gone) this.#changed.fire({ log, state: 'ended', failure });
		});
	}

	/** Worker process ID, or null if the worker is not running. */
	get pid(): number | null {
		return this.#client.pid;
	}

	/** Logs of the searches running in this window. */
	get running(): ReadonlySet<string> {
		return this.#running;
	}

	/** Returns why searches are not allowed in this workspace, or null if they are. */
	forbidden(): string | null {
		return vscode.workspace.isTrusted ? null : 'Searches are disabled because this workspace is not trusted.';
	}

	/** Returns whether a search in this window or another program is writing to the log. */
	async isRunning(log: string): Promise<boolean> {
		return this.#running.has(log) || (await isBeingSearched(log));
	}

	request<M extends SearchMethod>(method: M, params: SearchParams<M>, signal?: AbortSignal): Promise<SearchResult<M>> {
		const reason = reading.includes(method) ? null : this.forbidden();
		if (reason !== null) return Promise.reject(new Failure('denied', reason, 'Trust the workspace, then try again.'));
		return this.#client.request(method, params, signal);
	}

	/** Starts a search. @returns its log path */
	async start({ spec, problem, log }: Start, signal?: AbortSignal): Promise<string> {
		this.#requireTrust();
		const path = log ?? join(await this.folderFor(spec.policy as PolicySpec), searchLogName(spec.strategy, new Date()));
		await mkdir(dirname(path), { recursive: true });
		await this.request('start', { spec, problem, log: path, ...(await this.#own(codeOf(spec) ?? path)) }, signal);
		return path;
	}

	async goOn(params: GoOn, signal?: AbortSignal): Promise<void> {
		this.#requireTrust();
		const file = (params.spec === undefined ? null : codeOf(params.spec)) ?? params.log;
		await this.request('continue', { ...params, ...(await this.#own(file)) }, signal);
	}

	/** Folders of the strategy comparisons running in this window. */
	get comparing(): ReadonlySet<string> {
		return this.#comparing;
	}

	/** Starts a strategy comparison in a folder, or continues the existing one. Resolves once it has started. */
	async compare(spec: SearchParams<'compare'>['spec'], folder: string, signal?: AbortSignal): Promise<void> {
		this.#requireTrust();
		await this.request('compare', { spec, folder, ...(await this.#own(spec.environment?.file ?? folder)) }, signal);
	}

	/**
	 * Lets a policy play one episode per row of an environment, in the search worker.
	 * @param variables environment variables of the environment's process, in addition to those of searches
	 * @param onPlayed called with the number of episodes that have ended
	 */
	async playEpisodes(
		{
			policy,
			episodes,
			variables,
			onPlayed,
		}: Pick<SearchParams<'playEpisodes'>, 'policy' | 'episodes'> & {
			readonly variables: Readonly<Record<string, string>>;
			readonly onPlayed: (done: number) => void;
		},
		signal: AbortSignal,
	): Promise<SearchResult<'playEpisodes'>> {
		this.#requireTrust();
		const { keys, environment } = await this.#own(episodes.environment.file ?? this.#options.storage.fsPath);
		const job = `episodes-${++this.#jobs}`;
		const listener = this.#client.onPlayed((news) => {
			if (news.job === job) onPlayed(news.done);
		});
		const params = { job, policy, episodes, keys, environment: { ...environment, ...variables } };
		try {
			return await this.request('playEpisodes', params, signal);
		} finally {
			listener.dispose();
		}
	}

	/** Tests a policy. */
	async probe(policy: PolicySpec, signal?: AbortSignal): Promise<SearchResult<'probe'>> {
		this.#requireTrust();
		return this.request('probe', { policy, keys: { ...(await this.#options.keys()) } }, signal);
	}

	/**
	 * Returns the log folder for searches with a policy: inside the policy's run if there is one, otherwise in the
	 * workspace's search folder.
	 */
	async folderFor(policy: PolicySpec): Promise<string> {
		const { requireInside } = await import('../../files/ownFolder.ts');
		const run =
			policy.kind === 'engine' ? policy.run : policy.kind === 'checkpoint' ? dirname(dirname(policy.folder)) : null;
		if (run !== null && (await lstat(join(run, runFiles.record)).catch(() => null))?.isFile()) {
			return requireInside(run, runFiles.searches);
		}
		const folder = this.searchFolders()[0] as string;
		return requireInside(dirname(folder), basename(folder));
	}

	/** Search folders that do not belong to a run. New searches go in the first one. */
	searchFolders(): string[] {
		const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file');
		if (folders.length === 0) return [join(this.#options.storage.fsPath, 'searches')];
		return folders.map(({ uri }) => join(uri.fsPath, searchSettings.folder(uri)));
	}

	#requireTrust(): void {
		const reason = this.forbidden();
		if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
	}

	/**
	 * Returns the keys and settings for a search that runs code from a file, as configured for the file's workspace
	 * folder.
	 */
	async #own(file: string): Promise<Pick<SearchParams<'start'>, 'keys' | 'environment' | 'memoryMb'>> {
		const uri = vscode.Uri.file(file);
		const [keys, environment] = await Promise.all([this.#options.keys(), this.#options.environment(uri)]);
		const memoryMb = this.#options.memoryMb(uri);
		return { keys: { ...keys }, environment: { ...environment }, ...(memoryMb === undefined ? {} : { memoryMb }) };
	}
}

/** Returns the file with the code that a search runs: its environment, otherwise a reward; null if there is none. */
function codeOf({ environment, guide, judge }: Start['spec']): string | null {
	if (environment?.file !== undefined) return environment.file;
	for (const scorer of [guide, judge]) {
		if (scorer?.use === 'reward' && typeof scorer.reward === 'object' && typeof scorer.reward.file === 'string')
			return scorer.reward.file;
	}
	return null;
}
