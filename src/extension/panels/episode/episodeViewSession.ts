import { checkAborted } from '../../../base/async.ts';
import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { samePrefix } from '../../../core/episode/branchDifferences.ts';
import { rowLabel } from '../../../core/episode/rowLabel.ts';
import type { EnvironmentData } from '../../../episodes/environmentData.ts';
import type { EnvironmentRunner } from '../../../episodes/environmentRunner.ts';
import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import type { EpisodeBranch, EpisodeCommand, EpisodeEvent, EpisodeStatus } from '../../../protocol/episodeMessages.ts';
import { maxTurns } from '../../../protocol/episodeMessages.ts';
import { BranchPlayer } from './branchPlayer.ts';
import { EpisodeBranches } from './episodeBranches.ts';
import { failureOf, shownEnvironment } from './episodeStatus.ts';
import type { RecordedEpisode } from './shownEpisode.ts';

export interface EpisodeViewNeeds {
	/** Absolute path of the environment file or of a package's manifest, or a server's address. */
	readonly file: string;
	/** Folder of the run that this copy of the file belongs to. */
	readonly runFolder: string | null;
	/** Opens the environment. Fails if running code is not allowed or if the user does not consent. */
	open(): Promise<EnvironmentRunner>;
	/**
	 * Reads the rows that can be selected.
	 * @param opened returns the environment, which provides its own rows if it comes from another library
	 */
	data(signal: AbortSignal, opened: () => Promise<EnvironmentRunner>): Promise<EnvironmentData>;
	post(event: EpisodeEvent): void;
	/** Returns why running code is not allowed, or null. */
	forbidden(): string | null;
	readonly debugs: boolean;
	readonly saves: boolean;
	/** Interval between updates while calls are replayed, in milliseconds. */
	readonly updateMs?: number;
}

export interface StartedView {
	readonly branches: readonly EpisodeBranch[];
	readonly show: { readonly branch: number; readonly turn: number } | null;
}

/**
 * Extension side of the episode view, which runs the environment and keeps the episodes. Only one action runs at a
 * time. The instance of the latest episode is kept for its next turn; to continue from anywhere else, the calls so
 * far are replayed.
 */
export class EpisodeViewSession extends Disposable {
	readonly #needs: EpisodeViewNeeds;
	readonly #branches: EpisodeBranches;
	#show: StartedView['show'];
	#version = 1;
	#runner: EnvironmentRunner | null = null;
	#environment: EnvironmentDescription | null = null;
	#data: EnvironmentData | null = null;
	#live: BranchPlayer | null = null;
	#instance = 0;
	#busy: { readonly what: string; readonly abort: AbortController } | null = null;
	#failure: EpisodeStatus['failure'] = null;
	#settled: Promise<void> = Promise.resolve();
	#posted = 0;

	constructor(needs: EpisodeViewNeeds, { branches, show }: StartedView) {
		super();
		this.#needs = needs;
		this.#branches = new EpisodeBranches(branches);
		this.#show = show;
		this.register(
			toDisposable(() => {
				this.#busy?.abort.abort();
				this.#close();
			}),
		);
	}

	get branches(): readonly EpisodeBranch[] {
		return this.#branches.all;
	}

	/** Settles when no action is running. */
	get settled(): Promise<void> {
		return this.#settled;
	}

	/** Local files of the environment. */
	get files(): readonly string[] {
		return [...(this.#runner?.files ?? []), ...(this.#data?.files ?? [])];
	}

	branch(id: number): EpisodeBranch {
		return this.#branches.get(id);
	}

	/** Sends the complete state to a view that has just started, and loads the environment. */
	begin(): void {
		this.#needs.post({ type: 'snapshot', status: this.#status(), branches: [...this.branches], show: this.#show });
		if (this.#environment === null && this.#busy === null) this.load();
	}

	/** Loads the environment and the rows. */
	load(): void {
		if (this.#needs.forbidden() !== null) this.#postStatus();
		else void this.#run('Loading the environment', (signal) => this.#load(signal));
	}

	/** Shows an episode played elsewhere. */
	record(episode: RecordedEpisode): void {
		const branch = this.#branches.record(episode, 1);
		this.#show = { branch: branch.id, turn: 0 };
		this.#postKept();
		this.#needs.post({ type: 'branch', branch, show: 0 });
	}

	/** Starts an episode. */
	reset({ index, columns, seed }: Extract<EpisodeCommand, { type: 'reset' }>): void {
		void this.#run('Resetting', async (signal) => {
			const data = await this.#rows(signal);
			const row = index === null ? undefined : data.rows[index];
			if (index !== null && row === undefined) throw rowGone();
			const origin = { kind: 'stepped' } as const;
			const branch = this.#branches.add(
				{ origin, row: columns === null ? (row?.row ?? null) : null, columns: columns ?? row?.columns ?? {}, seed },
				this.#version,
			);
			this.#postKept();
			try {
				const player = await this.#play(branch, [], signal);
				this.#postBranch(player.branch, 0);
			} catch (error) {
				this.remove(branch.id);
				throw error;
			}
		});
	}

	/**
	 * Makes the calls of the next turn. Creates a branch if the episode continues after this turn, was recorded, or
	 * cannot be replayed.
	 */
	call({ branch: id, turn, calls }: Extract<EpisodeCommand, { type: 'call' }>): void {
		void this.#run(`Calling ${calls.map(({ name }) => name).join(', ')}`, async (signal) => {
			if (turn >= maxTurns) throw new Failure('invalid', `An episode can have up to ${maxTurns} turns.`);
			const player = await this.#at(id, turn, signal);
			if (!player.failed) await player.call(calls, signal);
			this.#postBranch(player.branch, player.branch.turns.length);
		});
	}

	/** Requests the reward at the end of an episode. */
	reward(id: number): void {
		void this.#run('Getting the reward', async (signal) => {
			const { turns } = this.#branches.get(id);
			const player = await this.#at(id, turns.length, signal);
			if (!player.failed) await player.reward(signal);
			this.#postBranch(player.branch, player.branch.turns.length);
		});
	}

	/**
	 * Replays the calls of an episode with the current code, after the action in progress. A new replay replaces a
	 * pending one.
	 */
	replay(id: number): void {
		if (this.#busy === null) void this.#replay(id);
		else void this.#settled.then(() => this.#replay(id));
	}

	#replay(id: number): Promise<void> {
		return this.#run('Replaying', async (signal) => {
			await this.#opened();
			const asked = this.#branches.get(id);
			const of = asked.origin.kind === 'replay' ? this.#branches.find(asked.origin.of) : asked;
			const source = of ?? asked;
			const { row, columns, seed } = source;
			const known = this.branches.find(({ origin }) => origin.kind === 'replay' && origin.of === source.id);
			const empty = { reset: null, turns: [], reward: null, version: this.#version };
			const origin = { kind: 'replay', of: source.id } as const;
			const branch =
				known === undefined
					? this.#branches.add({ origin, row, columns, seed }, this.#version)
					: { id: known.id, origin, row, columns, seed, ...empty };
			this.#postKept();
			const player = await this.#play(branch, source.turns, signal);
			const wanted = source.reward !== null || source.error?.during === 'reward';
			if (!player.failed && wanted && this.#environment?.ownsReward) await player.reward(signal);
			this.#postBranch(player.branch, null);
		});
	}

	remove(id: number): void {
		if (this.#live?.branch.id === id) this.#endLive();
		this.#branches.remove(id);
		if (this.#show?.branch === id) this.#show = null;
		this.#postKept();
	}

	/** Cancels the current action and ends its process, which may be stuck. */
	stop(): void {
		if (this.#busy === null) return;
		this.#busy.abort.abort();
		this.#close();
	}

	/** Starts a new process. */
	restart(): void {
		this.stop();
		this.#close();
		this.load();
	}

	/** Reloads the environment because its code has changed. */
	changed(): void {
		this.#version++;
		this.restart();
		this.#needs.post({ type: 'changed', version: this.#version });
	}

	postStatus(): void {
		this.#postStatus();
	}

	/** Returns a row's columns. */
	row(index: number): Readonly<Record<string, unknown>> {
		const row = this.#data?.rows[index];
		if (row === undefined) throw rowGone();
		return row.columns;
	}

	/** Runs an action exclusively. */
	act(what: string, work: (environment: EnvironmentDescription, signal: AbortSignal) => Promise<void>): void {
		void this.#run(what, async (signal) => {
			await this.#opened();
			const environment = this.#environment;
			if (environment !== null) await work(environment, signal);
		});
	}

	/** Runs an action. If another one is in progress, waits for it if it is being canceled; otherwise, does nothing. */
	#run(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
		if (this.disposed || (this.#busy !== null && !this.#busy.abort.signal.aborted)) return this.#settled;
		const busy = { what, abort: new AbortController() };
		const before = this.#settled;
		this.#busy = busy;
		this.#failure = null;
		this.#postStatus();
		this.#settled = (async () => {
			await before;
			try {
				checkAborted(busy.abort.signal);
				await work(busy.abort.signal);
			} catch (error) {
				if (!busy.abort.signal.aborted) this.#failure = failureOf(error, this.#needs.file);
			}
			if (this.#busy === busy) this.#busy = null;
			this.#postStatus();
		})();
		return this.#settled;
	}

	async #load(signal: AbortSignal): Promise<void> {
		this.#data = null;
		await Promise.all([this.#opened(), this.#rows(signal)]);
	}

	async #opened(): Promise<EnvironmentRunner> {
		const reason = this.#needs.forbidden();
		if (reason !== null) throw new Failure('denied', reason, 'Trust the workspace, then try again.');
		if (this.#runner === null) {
			const runner = await this.#needs.open();
			if (this.disposed) runner.dispose();
			this.#runner = runner;
		}
		const runner = this.#runner;
		const environment = await runner.describe();
		if (environment.asyncReset) {
			throw new Failure('invalid', 'reset is asynchronous, and trainers do not await it.', 'Remove "async".');
		}
		if (this.#runner === runner) this.#environment = environment;
		return runner;
	}

	async #rows(signal: AbortSignal): Promise<EnvironmentData> {
		this.#data ??= await this.#needs.data(signal, () => this.#opened());
		return this.#data;
	}

	/**
	 * Returns an episode that can be continued from this turn: the latest one, or a replay up to this turn. If the
	 * replayed turns differ, the replay becomes a new episode.
	 */
	async #at(id: number, turn: number, signal: AbortSignal): Promise<BranchPlayer> {
		const source = this.#branches.get(id);
		const whole = turn >= source.turns.length;
		if (whole && this.#live?.branch === source && !this.#live.failed) return this.#live;
		if (whole && source.error !== undefined) {
			throw new Failure('invalid', 'This episode has failed.', 'Go back to an earlier turn to continue from there.');
		}
		const { row, columns, seed, origin } = source;
		const trial: EpisodeBranch = {
			...{ id: source.id, origin, row, columns, seed, version: this.#version },
			...{ reset: null, turns: [], reward: null },
		};
		const player = await this.#start(trial, () => undefined);
		const turns = source.turns.slice(0, turn);
		await player.reset(signal);
		await player.repeat(turns, signal);
		const same = !player.failed && samePrefix(player.branch, source, turn);
		if (same && whole && origin.kind !== 'recorded') {
			player.adopt({ ...player.branch, reward: source.reward });
		} else {
			const note = same ? {} : { note: changedNote };
			const added = this.#branches.add({ origin: { kind: 'branch', of: id, turn }, row, columns, seed }, this.#version);
			player.adopt({ ...player.branch, id: added.id, origin: added.origin, ...note });
			this.#postKept();
		}
		this.#branches.set(player.branch);
		this.#live = player;
		return player;
	}

	/** Plays an episode from the beginning, shows its progress, and keeps it. */
	async #play(branch: EpisodeBranch, turns: EpisodeBranch['turns'], signal: AbortSignal): Promise<BranchPlayer> {
		const player = await this.#start(branch, (next) => {
			const now = performance.now();
			if (now - this.#posted < (this.#needs.updateMs ?? 150)) return;
			this.#postBranch(next, null);
		});
		this.#branches.set(branch);
		this.#live = player;
		await player.reset(signal);
		await player.repeat(turns, signal);
		return player;
	}

	async #start(branch: EpisodeBranch, changed: (branch: EpisodeBranch) => void): Promise<BranchPlayer> {
		const runner = await this.#opened();
		this.#endLive();
		return new BranchPlayer(runner, this.#instance++, branch, (next) => {
			if (this.#live?.branch === next) this.#branches.set(next);
			changed(next);
		});
	}

	#endLive(): void {
		this.#live?.end();
		this.#live = null;
	}

	#close(): void {
		this.#live = null;
		this.#runner?.dispose();
		this.#runner = null;
	}

	#status(): EpisodeStatus {
		const { file, runFolder, debugs, saves } = this.#needs;
		const environment = this.#environment;
		return {
			...{ file, runFolder, debugs, saves, version: this.#version },
			forbidden: this.#needs.forbidden(),
			environment: environment === null ? null : shownEnvironment(environment),
			rows: (this.#data?.rows ?? []).map(({ row, columns }) => ({ row, label: rowLabel(columns) })),
			dataset: this.#data?.described ?? null,
			remarks: [...(this.#data?.remarks ?? [])],
			busy: this.#busy?.what ?? null,
			failure: this.#failure,
		};
	}

	#postStatus(): void {
		if (!this.disposed) this.#needs.post({ type: 'status', status: this.#status() });
	}

	#postBranch(branch: EpisodeBranch, show: number | null): void {
		// It may have been closed in the meantime.
		if (this.#branches.find(branch.id) === undefined) return;
		this.#posted = performance.now();
		if (show !== null) this.#show = { branch: branch.id, turn: show };
		if (!this.disposed) this.#needs.post({ type: 'branch', branch, show });
	}

	#postKept(): void {
		if (!this.disposed) this.#needs.post({ type: 'kept', branches: this.branches.map(({ id }) => id) });
	}
}

const changedNote = 'The environment responded differently when the calls so far were replayed.';

const rowGone = () => new Failure('missing', 'The row is no longer in the list.', 'Select another one.');
