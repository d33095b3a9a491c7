import { basename } from 'node:path';
import { Sequencer } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { environmentLanguage } from '../core/episode/environmentLanguage.ts';
import type { Schema } from '../protocol/decode.ts';
import {
	type EnvironmentDescription,
	type EnvironmentLoadResult,
	type EnvironmentRows,
	environmentHostMethods,
	environmentLoadResultSchema,
	environmentRowsSchema,
} from '../protocol/environmentHost.ts';
import { HostEnd, type HostProcess } from '../rewards/hostProcess.ts';
import type { HostLanguage } from '../rewards/hostPrograms.ts';
import { LoadFailure } from '../rewards/loadFailure.ts';
import type { HostLease, RewardHosts } from '../rewards/rewardHosts.ts';
import type { EnvironmentSource } from './environmentSource.ts';
import { type EpisodeHost, EpisodeSession, type SessionOptions } from './episodeSession.ts';

export interface EnvironmentLimits {
	/** Timeout for each reset, turn and reward, in milliseconds. */
	readonly turnMs: number;
	/** Timeout for loading the file and its imports, in milliseconds. */
	readonly loadMs: number;
	/** Maximum resident memory of the host and its children, in MB. */
	readonly memoryMb: number;
	/** Maximum number of processes in the host's process tree. */
	readonly processes: number;
}

export const defaultEnvironmentLimits: EnvironmentLimits = {
	turnMs: 10_000,
	loadMs: 60_000,
	memoryMb: 2048,
	processes: 64,
};

export interface EnvironmentOptions {
	readonly limits?: Partial<EnvironmentLimits>;
	/** Seed for the global random number generator of each host process. Default 1. */
	readonly seed?: number;
	/** Kind of environment that `file` refers to. Default: an environment file. */
	readonly source?: Pick<EnvironmentSource, 'kind' | 'arguments'>;
}

/** An environment loaded in a host process. */
export interface LoadedEnvironment {
	readonly process: HostProcess;
	readonly result: EnvironmentLoadResult;
}

/**
 * Runs one file's environment in a separate, supervised process, replaces the process if it crashes or hangs, and
 * continues the other episodes in the new one. Every promise settles, no matter what user code does.
 */
export class EnvironmentRunner implements EpisodeHost {
	/** Absolute path of the environment file or folder, or a package name or server address. */
	readonly file: string;
	readonly #source: Pick<EnvironmentSource, 'kind' | 'arguments'>;
	readonly limits: EnvironmentLimits;
	#seed: number;
	readonly #lease: HostLease;
	/** Requests are sent one at a time, so that a failed request identifies the episode that caused it. */
	readonly #turns = new Sequencer();
	#current: Promise<LoadedEnvironment> | null = null;
	#files: readonly string[] = [];
	#logs: string[] = [];
	#instances = new Set<number>();
	#disposed = false;

	constructor(hosts: RewardHosts, file: string, options: EnvironmentOptions = {}) {
		this.file = file;
		this.limits = { ...defaultEnvironmentLimits, ...options.limits };
		this.#seed = options.seed ?? 1;
		this.#source = options.source ?? { kind: 'file' };
		this.#lease = hosts.lease(this.#source.kind === 'file' ? environmentHostLanguage(file) : 'python', 'environment');
	}

	/** Local files that the environment was loaded from. Empty before the first load. */
	get files(): readonly string[] {
		return this.#files;
	}

	/**
	 * Returns what the file declares. Fails with `invalid`, `missing`, `unavailable` or `timeout`; an error in the file
	 * itself is a LoadFailure with file and line.
	 */
	async describe(): Promise<EnvironmentDescription> {
		return (await this.#turns.queue(() => this.loaded())).result.environment;
	}

	/** Returns the first `count` rows that the environment provides. Only environments from other libraries have any. */
	async rows(count: number): Promise<EnvironmentRows['rows']> {
		if (this.#source.kind === 'file') return [];
		return await this.#turns.queue(async () => {
			const { process } = await this.loaded();
			const { file, limits } = this;
			const schema = environmentRowsSchema as unknown as Schema<EnvironmentRows>;
			const timing = { timeoutMs: limits.loadMs, file };
			try {
				return (await process.request(environmentHostMethods.rows, { count }, schema, timing)).rows;
			} catch (error) {
				throw error instanceof HostEnd ? new LoadFailure({ reason: 'invalid', message: error.message }, file) : error;
			}
		});
	}

	/** Prepares an episode for a dataset row. Nothing runs until its `reset`. */
	start(row: Readonly<Record<string, unknown>>, options: Partial<SessionOptions> = {}): EpisodeSession {
		let instance = options.instance;
		if (instance === undefined) for (instance = 0; this.#instances.has(instance); ) instance++;
		this.#instances.add(instance);
		return new EpisodeSession(this, row, { state: false, ...options, instance });
	}

	released(instance: number): void {
		this.#instances.delete(instance);
	}

	queue<T>(task: () => Promise<T>): Promise<T> {
		return this.#turns.queue(task);
	}

	/** Returns output printed while the file was being loaded, and clears it. */
	takeLogs(): string[] {
		const logs = this.#logs;
		this.#logs = [];
		return logs;
	}

	async loaded(): Promise<LoadedEnvironment> {
		if (this.#disposed) throw new Failure('cancelled', 'The environment has been closed.');
		const before = await this.#current?.catch(() => null);
		if (before?.process.alive) return before;
		this.#current = this.#load();
		return await this.#current;
	}

	/** Continues in a new process with another seed. Episodes in progress are repeated there. */
	async restart(seed: number): Promise<void> {
		await this.#turns.queue(async () => {
			this.#seed = seed;
			const current = await this.#current?.catch(() => null);
			await current?.process.kill(new HostEnd('exited', 'The environment was restarted'));
		});
	}

	dispose(): void {
		if (this.#disposed) return;
		this.#disposed = true;
		void this.#current?.then(
			({ process }) => process.kill(new HostEnd('exited', 'The environment was closed')),
			() => undefined,
		);
		this.#lease.dispose();
	}

	async #load(): Promise<LoadedEnvironment> {
		const { loadMs, memoryMb, processes } = this.limits;
		const process = await this.#lease.take(this.#lease.limits({ memoryMb, processes }));
		try {
			const result = await process.request(
				environmentHostMethods.load,
				{ file: this.file, ...this.#source, seed: this.#seed, memoryMb },
				environmentLoadResultSchema as unknown as Schema<EnvironmentLoadResult>,
				{ timeoutMs: loadMs, file: this.file },
			);
			if (this.#disposed) throw new Failure('cancelled', 'The environment has been closed.');
			this.#files = result.files;
			this.#logs = [...process.log.take(), ...result.logs];
			return { process, result };
		} catch (error) {
			const words = process.log.peek();
			void process.kill(new HostEnd('exited', 'The environment could not be loaded'));
			throw error instanceof HostEnd ? this.#loadFailureOf(error, words) : error;
		}
	}

	#loadFailureOf(end: HostEnd, words: string): Failure {
		const name = basename(this.file);
		if (end.kind === 'load') {
			const [needed, setting] = neededPrograms[this.#lease.language];
			return new Failure(
				'unavailable',
				`${name} needs ${needed}: ${end.message.replace(/[.]?$/, '.')}`,
				`Install it, or set ${setting} to its path.`,
			);
		}
		if (end.kind === 'timeout') {
			const line = end.place.line === undefined ? '' : ` (line ${end.place.line})`;
			return new Failure(
				'timeout',
				`Loading ${name} took longer than ${this.limits.loadMs / 1000} s${line}.`,
				'Do less work at load time, or increase the time limit.',
			);
		}
		const said = words.trim().split('\n').slice(-3).join(' ');
		const message = `${end.message}${said === '' ? '' : `: ${said}`}`;
		return new LoadFailure({ reason: 'invalid', message, ...end.place }, this.file);
	}
}

const neededPrograms = {
	python: ['Python 3.10 or newer', 'reasoningLab.rewards.python'],
	node: ['Node 22.18 or newer', 'reasoningLab.node.path'],
} as const satisfies Record<HostLanguage, readonly [string, string]>;

/** Returns the language of the host that runs an environment file. */
export function environmentHostLanguage(file: string): HostLanguage {
	return environmentLanguage(file) === 'python' ? 'python' : 'node';
}
