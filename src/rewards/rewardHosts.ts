import process from 'node:process';
import { Disposable, toDisposable } from '../base/disposable.ts';
import { Failure } from '../base/failure.ts';
import { runtimeFolder } from '../runs/runtimeFolder.ts';
import { HostEnd, HostProcess } from './hostProcess.ts';
import { type HostLanguage, HostPrograms } from './hostPrograms.ts';
import { HostRunner, type HostSupply } from './hostRunner.ts';
import { rewardFileEnvironment } from './rewardFileEnvironment.ts';
import type { RewardLimits, RewardPrograms, RewardRunner, RewardSource } from './rewardRunner.ts';

export const defaultLimits: RewardLimits = {
	rowMs: 5000,
	batchMs: 60_000,
	loadMs: 60_000,
	memoryMb: 2048,
	processes: 64,
};

export interface RewardHostsOptions {
	/** Host program folder: `rewardHostFolder()`, or the extension's dist folder. */
	readonly folder: string;
	/** Default limits for every runner. */
	readonly limits?: Partial<RewardLimits>;
	/**
	 * Whether to keep a running spare host for each language in use, so a reload does not wait for a cold start. Used by
	 * editors.
	 */
	readonly spares?: boolean;
	/** Whether to reload a file when it or a local import has changed. Used by editors. Default: never. */
	readonly reloadOnChange?: boolean;
	/** Whether to load files so that line coverage is available at any time without reloading. Used by editors. */
	readonly coverage?: boolean;
	/** Environment variables for the hosts. Default: this process's own. Only built-in rewards receive its API keys. */
	readonly environment?: NodeJS.ProcessEnv;
}

/** Access to host processes for user code other than rewards. */
export interface HostLease {
	readonly language: HostLanguage;
	/** Fills in default limits. */
	limits(limits: Partial<RewardLimits>): RewardLimits;
	/** Returns an empty host. Fails with `missing` if the program does not exist. */
	take(limits: RewardLimits): Promise<HostProcess>;
	dispose(): void;
}

/** Delay before starting a replacement for a spare host, in milliseconds, so that the current load takes priority. */
const spareDelayMs = 250;

/** All reward hosts started by this process. Opens runners, and stops everything when disposed. */
export class RewardHosts extends Disposable {
	readonly #programs: RewardPrograms;
	readonly #options: RewardHostsOptions;
	readonly #files: HostPrograms;
	readonly #runners = new Set<HostRunner>();
	readonly #leases = new Set<HostLease>();
	readonly #processes = new Set<HostProcess>();
	readonly #spares = new Map<HostLanguage, Promise<HostProcess>>();
	readonly #supply: HostSupply;

	constructor(programs: RewardPrograms, options: RewardHostsOptions) {
		super();
		this.#programs = programs;
		this.#options = options;
		this.#files = new HostPrograms(options.folder);
		const keys = this.#environment.REASONING_LAB_API_KEYS;
		this.#supply = {
			take: (language, limits) => this.#take(language, limits),
			secrets: {
				...(keys === undefined ? {} : { REASONING_LAB_API_KEYS: keys }),
				// Native packages are next to the original programs, not next to their copies.
				REASONING_LAB_PROGRAMS: options.folder,
			},
			reloadOnChange: options.reloadOnChange ?? false,
			coverage: options.coverage ?? false,
			released: (runner) => this.#released(runner),
		};
		this.register(
			toDisposable(() => {
				for (const runner of [...this.#runners]) runner.dispose();
				const closed = new HostEnd('exited', 'The reward hosts were closed');
				for (const host of this.#processes) void host.kill(closed);
				this.#spares.clear();
			}),
		);
	}

	/** Opens a runner for a source. Apart from a spare host, nothing is started until the runner is used. */
	open(source: RewardSource, limits: Partial<RewardLimits> = {}): RewardRunner {
		if (this.disposed) throw new Failure('cancelled', 'The reward hosts are closed.');
		const all = this.#limits(limits);
		// The sandbox limits each program that a built-in reward runs.
		const own = 'file' in source ? all : { ...all, processes: Number.POSITIVE_INFINITY };
		const runner = new HostRunner(source, own, this.#supply);
		this.#runners.add(runner);
		this.#keepSpare(runner.language);
		return runner;
	}

	/**
	 * Reserves host processes for user code other than rewards. While the lease is open, a spare host for the language is kept
	 * ready, as for a runner.
	 */
	lease(language: HostLanguage, subject: HostProcess['subject']): HostLease {
		if (this.disposed) throw new Failure('cancelled', 'The reward hosts are closed.');
		const lease: HostLease = {
			language,
			limits: (limits) => this.#limits(limits),
			take: async (limits) => {
				const host = await this.#take(language, limits);
				host.subject = subject;
				return host;
			},
			dispose: () => {
				if (this.#leases.delete(lease)) this.#unused(language);
			},
		};
		this.#leases.add(lease);
		this.#keepSpare(language);
		return lease;
	}

	/** Process IDs of the running hosts, including spares. */
	get processes(): number[] {
		return [...this.#processes].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
	}

	/** Resolves when all host processes have ended after `dispose`. */
	async closed(): Promise<void> {
		await Promise.all([...this.#processes].map(({ ended }) => ended));
	}

	get #environment(): NodeJS.ProcessEnv {
		return this.#options.environment ?? process.env;
	}

	#limits(limits: Partial<RewardLimits>): RewardLimits {
		return { ...defaultLimits, ...this.#options.limits, ...limits };
	}

	async #take(language: HostLanguage, limits: RewardLimits): Promise<HostProcess> {
		// A Node process's heap limit is set on its command line. Everything else can be limited at any time.
		const fits = language === 'python' || limits.memoryMb === this.#limits({}).memoryMb;
		const spare = fits ? this.#spares.get(language) : undefined;
		if (spare !== undefined) {
			this.#spares.delete(language);
			setTimeout(() => this.#keepSpare(language), spareDelayMs).unref();
			const host = await spare.catch(() => null);
			if (host?.alive) {
				host.limits = limits;
				return host;
			}
		}
		return await this.#start(language, limits);
	}

	#keepSpare(language: HostLanguage): void {
		if (!this.#options.spares || this.disposed || this.#spares.has(language)) return;
		if (!this.#used(language)) return;
		const spare = this.#start(language, this.#limits({}));
		this.#spares.set(language, spare);
		spare.catch(() => this.#spares.delete(language));
	}

	#released(runner: HostRunner): void {
		this.#runners.delete(runner);
		this.#unused(runner.language);
	}

	#used(language: HostLanguage): boolean {
		return [...this.#runners, ...this.#leases].some((one) => one.language === language);
	}

	/** Ends the spare host for a language that is no longer in use. */
	#unused(language: HostLanguage): void {
		if (this.#used(language)) return;
		const spare = this.#spares.get(language);
		this.#spares.delete(language);
		void spare?.then(
			(host) => host.kill(new HostEnd('exited', 'The process is no longer needed')),
			() => undefined,
		);
	}

	async #start(language: HostLanguage, limits: RewardLimits): Promise<HostProcess> {
		const path = await this.#files.path(language);
		const folder = await runtimeFolder();
		if (this.disposed) throw new Failure('cancelled', 'The reward hosts are closed.');
		const environment = rewardFileEnvironment(this.#environment);
		// The programs run from copies. Whatever cannot be copied, such as native libraries, is loaded from this folder.
		environment.REASONING_LAB_DIST = this.#options.folder;
		// With both, a Python file can start the sandbox (media/templates/environment/reasoning_lab_sandbox.py).
		environment.REASONING_LAB_NODE = this.#programs.node;
		const host = new HostProcess(
			language === 'node'
				? {
						program: this.#programs.node,
						arguments: [
							`--max-old-space-size=${limits.memoryMb}`,
							'--disable-warning=ExperimentalWarning',
							'--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
							path,
						],
						environment: { ...environment, ...this.#programs.nodeEnvironment },
						folder,
						limits,
					}
				: {
						program: this.#programs.python,
						arguments: ['-X', 'faulthandler', path],
						// Makes the iteration order of string sets deterministic, so a reward always returns the same value for a
						// completion.
						environment: { PYTHONHASHSEED: '0', ...environment },
						folder,
						limits,
					},
		);
		this.#processes.add(host);
		void host.ended.then(() => this.#processes.delete(host));
		return host;
	}
}
