import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import { trainedPolicy } from '../../core/episode/episodePolicies.ts';
import { type EnvironmentData, environmentData } from '../../episodes/environmentData.ts';
import {
	type EnvironmentLimits,
	EnvironmentRunner,
	environmentHostLanguage,
} from '../../episodes/environmentRunner.ts';
import { sentSource, sourcePlace } from '../../episodes/environmentSource.ts';
import { verifyEnvironment } from '../../episodes/verifyEnvironment.ts';
import type { EnvironmentVerification, PolicyStatistics } from '../../protocol/environmentVerification.ts';
import type { Episode } from '../../protocol/episode.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import type { HostLease, RewardHosts } from '../../rewards/rewardHosts.ts';
import { type EnvironmentState, unverifiedEnvironment } from './environmentState.ts';
import { sessionSource } from './manifestFiles.ts';

/** Dependencies of a session, queried on each use because settings can change. */
export interface EnvironmentNeeds {
	/** Fails in an untrusted workspace. */
	hosts(file: string, python?: string): Promise<RewardHosts>;
	limits(file: string): Partial<EnvironmentLimits>;
	/** Text of the file if it is open without unsaved changes. */
	text(file: string): string | undefined;
	/** Logs output from the environment. */
	log(file: string, lines: readonly string[]): void;
}

/** Rows that are verified in the editor: about 50 episodes, which take less than half a second. */
export const verifiedRows = { rows: 12, seed: 1 } as const;
/** Maximum turns of the random policy. */
const maxTurns = 20;

/** Lets a policy play one episode per row of an environment. */
export type PlayPolicy = (
	asked: {
		readonly environment: Pick<SearchEnvironment, 'file' | 'package' | 'server' | 'maxTurns'>;
		readonly rows: EnvironmentData['rows'];
		readonly seed: number;
	},
	signal: AbortSignal,
) => Promise<{
	/** Name of the policy. */
	readonly name: string;
	readonly episodes: readonly Episode[];
}>;

/** Verifies one environment file. Only one verification runs at a time; a new one cancels the current one. */
export class EnvironmentSession extends Disposable {
	readonly #needs: EnvironmentNeeds;
	readonly #changed = this.register(new Emitter<void>());
	readonly onDidChange = this.#changed.event;
	#state: EnvironmentState;
	#abort: AbortController | null = null;
	/** Keeps a spare process ready between verifications. */
	#lease: { readonly hosts: RewardHosts; readonly lease: HostLease } | null = null;
	#settled: Promise<void> = Promise.resolve();

	constructor(file: string, needs: EnvironmentNeeds) {
		super();
		this.#needs = needs;
		this.#state = unverifiedEnvironment(file);
		this.register(
			toDisposable(() => {
				this.#abort?.abort();
				this.forgetProcess();
			}),
		);
	}

	get state(): EnvironmentState {
		return this.#state;
	}

	setStale(stale: boolean): void {
		if (this.#state.stale !== stale) this.#set({ stale });
	}

	/** Stops the spare process; the next verification starts a new one. */
	forgetProcess(): void {
		this.#lease?.lease.dispose();
		this.#lease = null;
	}

	/**
	 * Resolves when the verification has finished, failed, or been canceled or superseded.
	 * @param play lets a policy play as well
	 */
	verify(play: PlayPolicy | null = null, canceled?: AbortSignal): Promise<void> {
		if (this.disposed) return Promise.resolve();
		this.#abort?.abort();
		const abort = new AbortController();
		this.#abort = abort;
		const cancel = () => abort.abort();
		canceled?.addEventListener('abort', cancel, { once: true });
		if (canceled?.aborted) cancel();
		this.#set({ phase: 'running' });
		this.#settled = this.#verify(play, abort.signal)
			.catch((error: unknown) => {
				if (!abort.signal.aborted) this.#set({ phase: 'failed', failure: Failure.from(error) });
				// The earlier result stays, unless a new verification has started.
				else if (this.#abort === abort) this.#set({ phase: settledPhase(this.#state) });
			})
			.finally(() => canceled?.removeEventListener('abort', cancel));
		return this.#settled;
	}

	/** Resolves when no work is running. */
	async settled(): Promise<void> {
		for (let last: Promise<void> | null = null; last !== this.#settled; ) {
			last = this.#settled;
			await last;
		}
	}

	async #verify(play: PlayPolicy | null, signal: AbortSignal): Promise<void> {
		const { file } = this.#state;
		const source = await sessionSource(file);
		const hosts = await this.#needs.hosts(file, source.python);
		signal.throwIfAborted();
		if (this.#lease?.hosts !== hosts) {
			this.forgetProcess();
			this.#lease = {
				hosts,
				lease: hosts.lease(source.kind === 'file' ? environmentHostLanguage(file) : 'python', 'environment'),
			};
		}
		const { seed } = verifiedRows;
		const runner = new EnvironmentRunner(hosts, source.file, {
			seed,
			limits: this.#needs.limits(file),
			source: sentSource(source),
		});
		const stop = () => runner.dispose();
		signal.addEventListener('abort', stop, { once: true });
		try {
			const text = source.kind === 'file' ? this.#needs.text(file) : undefined;
			const own = source.kind === 'file' ? {} : { own: (count: number) => runner.rows(count) };
			const data = await environmentData({
				file,
				...verifiedRows,
				signal,
				...(text === undefined ? {} : { text }),
				...own,
			});
			const environment = { ...sourcePlace(source), maxTurns };
			let { policyName } = this.#state;
			const playAll = async (rows: EnvironmentData['rows'], play: PlayPolicy) => {
				const { name, episodes } = await play({ environment, rows, seed }, signal);
				if (episodes.length > 0) policyName = name;
				return episodes;
			};
			const trained = play === null ? {} : { trained: (rows: EnvironmentData['rows']) => playAll(rows, play) };
			const verification = await verifyEnvironment(runner, data, { turns: maxTurns, seed, signal, ...trained });
			signal.throwIfAborted();
			this.#needs.log(file, [...runner.takeLogs(), ...verification.episodes.flatMap(({ logs }) => logs)]);
			const earlierPolicy = trainedStatistics(verification) === null ? this.#lastPolicy() : null;
			this.#set({ phase: 'done', verification, earlierPolicy, policyName, failure: null });
		} finally {
			signal.removeEventListener('abort', stop);
			runner.dispose();
		}
	}

	/** Returns the statistics of the last policy that played; null if none has. */
	#lastPolicy(): PolicyStatistics | null {
		const { verification, earlierPolicy } = this.#state;
		return (verification === null ? null : trainedStatistics(verification)) ?? earlierPolicy;
	}

	#set(change: Partial<EnvironmentState>): void {
		if (this.disposed) return;
		this.#state = { ...this.#state, ...change };
		this.#changed.fire();
	}
}

/** Returns the statistics of the policy that played in a verification; null if none did. */
export function trainedStatistics({ policies }: EnvironmentVerification): PolicyStatistics | null {
	return policies.find(({ policy }) => policy === trainedPolicy) ?? null;
}

function settledPhase({ verification, failure }: EnvironmentState): EnvironmentState['phase'] {
	if (failure !== null) return 'failed';
	return verification === null ? 'idle' : 'done';
}
