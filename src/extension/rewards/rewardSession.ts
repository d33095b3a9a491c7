import { Disposable, toDisposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { Failure } from '../../base/failure.ts';
import type { RowToVerify } from '../../core/reward/verification/rowToVerify.ts';
import type { RewardDescription } from '../../protocol/rewardHost.ts';
import type { Verification } from '../../protocol/verification.ts';
import { LoadFailure } from '../../rewards/loadFailure.ts';
import type { RewardLimits, RewardRunner } from '../../rewards/rewardRunner.ts';
import type { RewardVerifier } from '../../rewards/rewardVerifier.ts';
import {
	type PlanRequest,
	rowsOfReward,
	type VerificationPlan,
	type WhatToVerify,
} from '../../rewards/verificationPlan.ts';
import { type FileVerification, noResults, type RewardResults, unverified } from './fileVerification.ts';

/** Dependencies of a session, queried on each use because settings can change. */
export interface SessionNeeds {
	/** Resolves once the scoring programs are known. Fails in an untrusted workspace. */
	verifier(file: string): Promise<RewardVerifier>;
	request(file: string): Omit<PlanRequest, 'what' | 'signal'>;
	limits(file: string): Partial<RewardLimits>;
	/** Returns whether line coverage should be collected. */
	coverage(): boolean;
	/** Logs output from a reward. */
	log(file: string, reward: string, lines: readonly string[]): void;
}

/** Delay before intermediate steps are reported, in milliseconds; most verifications finish sooner. */
const quietMs = 150;
/**
 * Maximum time to wait for the recipe's other rewards, in milliseconds. Later verifications have a shorter limit
 * because the user is waiting for their results.
 */
const othersMs = { first: 3000, later: 100 } as const;

const parts = ['data', 'rollouts', 'selection'] as const;
type Part = (typeof parts)[number];

/**
 * Verifies a single reward file. Only one verification runs at a time; a new one cancels the current one and takes over
 * its remaining parts. Scoring uses the same runner as training.
 */
export class RewardSession extends Disposable {
	readonly file: string;
	readonly #needs: SessionNeeds;
	readonly #changed = this.register(new Emitter<void>());
	readonly onDidChange = this.#changed.event;
	readonly #asked = new WeakMap<Verification, readonly RowToVerify[]>();
	#state: FileVerification;
	#opened: { readonly context: string; readonly runner: RewardRunner } | null = null;
	/** Pending parts. A new verification completes the parts left by a canceled one. */
	readonly #owed = new Set<Part>();
	#reload = false;
	#run: string | null = null;
	#selected: { readonly reward: string | null; readonly text: string; readonly row: number } | null = null;
	#abort: AbortController | null = null;
	#startedAt = 0;
	#settled: Promise<void> = Promise.resolve();
	#timer: NodeJS.Timeout | null = null;

	constructor(file: string, needs: SessionNeeds) {
		super();
		this.file = file;
		this.#needs = needs;
		this.#state = unverified(file);
		this.register(
			toDisposable(() => {
				this.#abort?.abort();
				if (this.#timer !== null) clearTimeout(this.#timer);
				this.forgetProcess();
			}),
		);
	}

	get state(): FileVerification {
		return this.#state;
	}

	/** When the last verification was started, in milliseconds since the epoch. */
	get startedAt(): number {
		return this.#startedAt;
	}

	/** Folder of the run whose rollouts are included. */
	get run(): string | null {
		return this.#run;
	}

	/** Returns the rows scored by a verification in this session, in the same order as its results. */
	rowsOf(verification: Verification): readonly RowToVerify[] | undefined {
		return this.#asked.get(verification);
	}

	/** Verifies all selected parts. Resolves when the verification has finished, failed, or been superseded. */
	verify(): Promise<void> {
		this.#reload = true;
		return this.#start(parts);
	}

	/** Includes the latest rollouts of a run from now on; null excludes them. */
	verifyRollouts(run: string | null): Promise<void> {
		this.#run = run;
		return this.#start(this.#state.phase === 'done' && !this.#state.stale ? ['rollouts'] : ['data', 'rollouts']);
	}

	/** Also verifies text as a completion for one of the `problems`, using `reward` or, if it is null, all rewards. */
	verifySelection(text: string, reward: string | null, row = 0): Promise<void> {
		this.#selected = { text, reward, row };
		return this.#start(this.#state.phase === 'done' ? ['selection'] : parts);
	}

	/** Excludes the selected text from the next verification. */
	forgetSelection(): void {
		this.#selected = null;
	}

	/** Sets whether the text differs from what was verified. */
	setStale(stale: boolean): void {
		if (this.#state.stale !== stale) this.#set({ stale });
	}

	/** Discards the process after the interpreter or limits have changed; the next verification starts a new one. */
	forgetProcess(): void {
		this.#opened?.runner.dispose();
		this.#opened = null;
	}

	/**
	 * Creates the verification plan and a separate process for an audit, a comparison, or a test. The caller must dispose
	 * of the process. Fails with the same errors as `RewardRunner.describe`.
	 */
	async open(
		what: WhatToVerify,
		signal?: AbortSignal,
	): Promise<{
		readonly plan: VerificationPlan;
		readonly runner: RewardRunner;
		readonly rewards: readonly RewardDescription[];
		readonly verifier: RewardVerifier;
	}> {
		const verifier = await this.#needs.verifier(this.file);
		const plan = await this.#plan(verifier, what, signal);
		const runner = verifier.open(plan, this.#needs.limits(this.file));
		try {
			return { plan, runner, verifier, rewards: await runner.describe(signal) };
		} catch (error) {
			runner.dispose();
			throw error;
		}
	}

	/** Returns the problems sampled from the file's data. Fails in an untrusted workspace. */
	async problems(signal?: AbortSignal): Promise<VerificationPlan['problems']> {
		return (await this.#plan(await this.#needs.verifier(this.file), { kind: 'data' }, signal)).problems;
	}

	/** Cancels running work; the previous results are kept. */
	cancel(): void {
		this.#abort?.abort();
		this.#owed.clear();
		const { phase, results } = this.#state;
		if (phase === 'loading' || phase === 'running') this.#set({ phase: results.size === 0 ? 'idle' : 'done' });
	}

	/** Resolves when no work is running. */
	async settled(): Promise<void> {
		for (let last: Promise<void> | null = null; last !== this.#settled; ) {
			last = this.#settled;
			await last;
		}
	}

	#start(wanted: readonly Part[]): Promise<void> {
		if (this.disposed) return Promise.resolve();
		for (const part of wanted) this.#owed.add(part);
		this.#abort?.abort();
		const abort = new AbortController();
		this.#abort = abort;
		this.#startedAt = Date.now();
		this.#set({ phase: 'loading' });
		this.#settled = this.#go(abort.signal).catch((error: unknown) => {
			if (!abort.signal.aborted) this.#fail(Failure.from(error));
		});
		return this.#settled;
	}

	#fail(failure: Failure): void {
		const blamed = failure instanceof LoadFailure ? failure.file : this.file;
		const files = [...new Set([...this.#state.files, blamed])];
		this.#set({ phase: 'failed', failure, files });
	}

	async #go(signal: AbortSignal): Promise<void> {
		const verifier = await this.#needs.verifier(this.file);
		const what = this.#whatOf('data') as WhatToVerify;
		const data = await this.#plan(verifier, what, signal);
		signal.throwIfAborted();
		const runner = this.#runner(verifier, data);
		if (this.#reload) runner.reload();
		this.#reload = false;
		const rewards = await runner.describe(signal);
		signal.throwIfAborted();
		this.#set({ phase: 'running', rewards, failure: null, caseFaults: data.caseFaults });
		const others = this.#state.results.size === 0 ? othersMs.first : othersMs.later;
		for (const part of parts) {
			if (!this.#owed.has(part)) continue;
			const asked = this.#whatOf(part);
			if (asked === null) this.#drop(part);
			else {
				const plan = part === 'data' ? data : await this.#plan(verifier, asked, signal);
				await this.#verifyOn(verifier, { part, plan, runner, othersMs: others, signal });
			}
			signal.throwIfAborted();
			this.#owed.delete(part);
		}
		const names = new Set(rewards.map(({ name }) => name));
		const results = new Map([...this.#state.results].filter(([name]) => names.has(name)));
		this.#set({ phase: 'done', results, files: [...new Set([this.file, ...runner.files, ...data.files])] });
	}

	/** Returns what to verify for a part, or null if nothing is selected for it. */
	#whatOf(part: Part): WhatToVerify | null {
		if (part === 'data') return { kind: 'data' };
		if (part === 'rollouts') return this.#run === null ? null : { kind: 'rollouts', run: this.#run };
		const selected = this.#selected;
		return selected === null ? null : { kind: 'selection', text: selected.text, row: selected.row };
	}

	async #verifyOn(
		verifier: RewardVerifier,
		work: {
			readonly part: Part;
			readonly plan: VerificationPlan;
			readonly runner: RewardRunner;
			readonly othersMs: number;
			readonly signal: AbortSignal;
		},
	): Promise<void> {
		const { part, plan, runner, signal } = work;
		const reward = part === 'selection' ? (this.#selected?.reward ?? null) : null;
		const { verifications, rewards } = await verifier.verify(plan, runner, {
			signal,
			othersMs: work.othersMs,
			coverage: this.#needs.coverage(),
			...(reward === null ? {} : { rewards: [reward] }),
		});
		signal.throwIfAborted();
		if (part === 'selection') this.#drop(part);
		const names = rewards.map(({ name }) => name);
		for (const verification of verifications) {
			this.#asked.set(verification, rowsOfReward(plan, verification.reward, names));
			if (verification.logs.length > 0) this.#needs.log(this.file, verification.reward, verification.logs);
			this.#put(verification.reward, { [part]: verification });
		}
	}

	#plan(verifier: RewardVerifier, what: WhatToVerify, signal: AbortSignal | undefined): Promise<VerificationPlan> {
		return verifier.plan({ ...this.#needs.request(this.file), what, ...(signal === undefined ? {} : { signal }) });
	}

	#runner(verifier: RewardVerifier, plan: VerificationPlan): RewardRunner {
		const limits = this.#needs.limits(this.file);
		const context = JSON.stringify([plan.data.context, limits]);
		if (this.#opened?.context === context) return this.#opened.runner;
		this.forgetProcess();
		if (this.disposed) throw new Failure('cancelled', 'The editor is closing.');
		const runner = verifier.open(plan, limits);
		this.#opened = { context, runner };
		return runner;
	}

	#put(reward: string, changes: Partial<RewardResults>): void {
		const results = new Map(this.#state.results);
		results.set(reward, { ...(results.get(reward) ?? noResults), ...changes });
		this.#state = { ...this.#state, results };
	}

	#drop(part: Part): void {
		const results = new Map([...this.#state.results].map(([name, one]) => [name, { ...one, [part]: null }]));
		this.#state = { ...this.#state, results };
	}

	#set(changes: Partial<FileVerification>): void {
		if (this.disposed) return;
		this.#state = { ...this.#state, ...changes };
		const { phase } = this.#state;
		if (phase !== 'loading' && phase !== 'running') {
			if (this.#timer !== null) clearTimeout(this.#timer);
			this.#timer = null;
			this.#changed.fire();
			return;
		}
		this.#timer ??= setTimeout(() => {
			this.#timer = null;
			this.#changed.fire();
		}, quietMs);
	}
}
