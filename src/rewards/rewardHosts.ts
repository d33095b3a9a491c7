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
	/** Where the host programs lie: `rewardHostFolder()`, or the extension's dist folder. */
	readonly folder: string;
	/** Defaults of every runner. */
	readonly limits?: Partial<RewardLimits>;
	/** Keep a started host ready per language that is open, so that a reload does not wait for a cold start (editors). */
	readonly spares?: boolean;
	/** Reload a file when it, or a local file that it imports, has changed (editors). Default: never. */
	readonly reloadOnChange?: boolean;
	/** Load so that line coverage can be asked for at any time without another load (editors). */
	readonly coverage?: boolean;
	/** Environment of the hosts; default: this process's. API keys in it go to built-in rewards only. */
	readonly environment?: NodeJS.ProcessEnv;
}

/** After a spare is taken, its successor waits for so long: the load that took it comes first. */
const spareDelayMs = 250;

/** The reward host processes of this process: opens runners, and ends everything when it is disposed. */
export class RewardHosts extends Disposable {
	readonly #programs: RewardPrograms;
	readonly #options: RewardHostsOptions;
	readonly #files: HostPrograms;
	readonly #runners = new Set<HostRunner>();
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
				// Native packages are next to the programs, not beside their copies.
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

	/** A runner of one source. Nothing is started before it is asked for something, but for a spare. */
	open(source: RewardSource, limits: Partial<RewardLimits> = {}): RewardRunner {
		if (this.disposed) throw new Failure('cancelled', 'The reward hosts are closed.');
		const all = this.#limits(limits);
		// Programs that built-in rewards run are held within bounds by the sandbox, each for itself.
		const own = 'file' in source ? all : { ...all, processes: Number.POSITIVE_INFINITY };
		const runner = new HostRunner(source, own, this.#supply);
		this.#runners.add(runner);
		this.#keepSpare(runner.language);
		return runner;
	}

	/** Process ids of the hosts that live, spares included. */
	get processes(): number[] {
		return [...this.#processes].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
	}

	/** Resolves when every host process has ended after `dispose`. */
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
		// The heap of a Node process is limited by its command line, all else at any time.
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
		if (![...this.#runners].some((runner) => runner.language === language)) return;
		const spare = this.#start(language, this.#limits({}));
		this.#spares.set(language, spare);
		spare.catch(() => this.#spares.delete(language));
	}

	#released(runner: HostRunner): void {
		this.#runners.delete(runner);
		const { language } = runner;
		if ([...this.#runners].some((other) => other.language === language)) return;
		const spare = this.#spares.get(language);
		this.#spares.delete(language);
		void spare?.then(
			(host) => host.kill(new HostEnd('exited', 'It is no longer needed')),
			() => undefined,
		);
	}

	async #start(language: HostLanguage, limits: RewardLimits): Promise<HostProcess> {
		const path = await this.#files.path(language);
		const folder = await runtimeFolder();
		if (this.disposed) throw new Failure('cancelled', 'The reward hosts are closed.');
		const environment = rewardFileEnvironment(this.#environment);
		// The programs run from copies: what cannot be copied (native libraries) is found from here.
		environment.REASONING_LAB_DIST = this.#options.folder;
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
						// Sets of texts in the same order every time: a reward gives one value for one completion.
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
