import { Disposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { type BranchPrefix, prefixAt } from '../../../core/playground/branching.ts';
import {
	exchangeOf,
	type History,
	type HistoryAction,
	isRunning,
	reduceHistory,
	restoredHistory,
} from '../../../core/playground/history.ts';
import { askCompletions } from '../../../policies/askCompletions.ts';
import {
	type AnswerCheck,
	askedAlternatives,
	type ChosenPolicy,
	type Exchange,
	longestCompletion,
	type PlaygroundCommand,
	type PlaygroundEvent,
	type PlaygroundSample,
	type PlaygroundSide,
} from '../../../protocol/playgroundMessages.ts';
import type { HeldPolicies } from './heldPolicies.ts';
import { copy, Drafts, emptySample, freshSide, messagesOf, notesOf, sampleOf } from './playgroundSamples.ts';

export type AskCommand = Extract<PlaygroundCommand, { type: 'ask' }>;

export type BranchCommand = Extract<PlaygroundCommand, { type: 'branch' }>;

type Policies = readonly [ChosenPolicy | null, ChosenPolicy | null];

/** A side of an exchange and the expected answer. */
export interface ToCheck {
	readonly side: PlaygroundSide;
	readonly expected: string;
	readonly samples: readonly PlaygroundSample[];
}

export interface PlaygroundSessionOptions {
	readonly held: Pick<HeldPolicies, 'take' | 'keepOnly'>;
	readonly post: (event: PlaygroundEvent) => void;
	/** Returns why policies are disabled in this window, or null if they are enabled. */
	readonly forbidden: () => string | null;
	/** Checks each sample, returning one entry per sample. Fails with the same errors as the scoring processes. */
	readonly check: (what: ToCheck, signal: AbortSignal) => Promise<AnswerCheck[]>;
	/** Called when a policy is asked a question. */
	readonly onAsked?: (policy: ChosenPolicy) => void;
	/** Minimum interval between updates during generation, in milliseconds. */
	readonly updateMs?: number;
	/** Returns the monotonic time, in milliseconds. */
	readonly now?: () => number;
}

/**
 * Extension side of a playground: queries policies, streams their answers, branches, checks answers, and keeps the
 * history.
 */
export class PlaygroundSession extends Disposable {
	readonly #options: PlaygroundSessionOptions;
	#history: History;
	#policies: Policies;
	#running: AbortController | null = null;
	#settled: Promise<void> = Promise.resolve();

	constructor(
		options: PlaygroundSessionOptions,
		started: { readonly policies: Policies; readonly exchanges: readonly Exchange[]; readonly current: number | null },
	) {
		super();
		this.#options = options;
		this.#policies = started.policies;
		this.#history = restoredHistory(started.exchanges, started.current);
		this.register({ dispose: () => this.#running?.abort() });
	}

	get history(): History {
		return this.#history;
	}

	get policies(): Policies {
		return this.#policies;
	}

	/** Settles when nothing is running. */
	get settled(): Promise<void> {
		return this.#settled;
	}

	/** Sends the complete state to a view that has just started. */
	begin(): void {
		const { exchanges } = this.#history;
		this.#options.post({
			type: 'snapshot',
			policies: [...this.#policies],
			forbidden: this.#options.forbidden(),
			exchanges: [...exchanges],
			...this.#place(),
		});
	}

	setPolicies(policies: Policies): void {
		this.#policies = policies;
		this.#options.held.keepOnly(policies.flatMap((policy) => (policy === null ? [] : [policy.spec])));
		this.postPolicies();
	}

	postPolicies(): void {
		this.#options.post({ type: 'policies', policies: [...this.#policies], forbidden: this.#options.forbidden() });
	}

	/** Asks the selected policies concurrently. Does nothing while a question is in progress. */
	ask(command: AskCommand): void {
		if (this.#running !== null) return;
		const asked = this.#policies.filter((policy) => policy !== null);
		if (asked.length === 0) throw new Failure('missing', 'No policy selected.', 'Select a policy first.');
		const { question, expected, sampling, template, system } = command;
		const exchange: Exchange = {
			id: this.#history.nextId,
			branch: null,
			...{ question, expected, sampling, template },
			sides: asked.map((policy) => freshSide(policy, question, template, system, sampling.samples)),
		};
		this.#start(exchange, null);
		for (const policy of asked) this.#options.onAsked?.(policy);
	}

	/** Continues an answer from a different token. Fails with the same errors as `prefixAt`. */
	branch({ exchange: id, side: at, sample, token, text }: BranchCommand): void {
		if (this.#running !== null) return;
		const from = exchangeOf(this.#history, id);
		const side = from?.sides[at];
		if (from === undefined || side === undefined) throw new Failure('missing', 'This exchange no longer exists.');
		const prefix = prefixAt(from, { side: at, sample, token }, text);
		const exchange: Exchange = {
			...from,
			id: this.#history.nextId,
			branch: prefix.branch,
			sampling: { ...from.sampling, samples: 1 },
			sides: [
				{
					...side,
					...{ state: 'opening', failure: null, notes: [], seconds: null },
					samples: [{ ...emptySample, text: prefix.prefix, given: prefix.prefix.length, detail: prefix.detail }],
				},
			],
		};
		this.#start(exchange, prefix);
	}

	/** Stops the current generation and keeps the text generated so far. */
	stop(): void {
		this.#running?.abort();
	}

	show(id: number): void {
		this.#turn({ type: 'show', id });
	}

	undo(): void {
		this.#turn({ type: 'undo' });
	}

	redo(): void {
		const before = this.#history;
		this.#history = reduceHistory(before, { type: 'redo' });
		const again = exchangeOf(this.#history, this.#history.current);
		if (this.#history !== before && again !== undefined) this.#tell(again.id);
	}

	clear(): void {
		this.#turn({ type: 'clear' });
	}

	/**
	 * Checks the answers of an exchange against a different expected answer. Fails with `busy`, `missing`, or the same
	 * errors as `check`.
	 */
	async check(id: number, expected: string): Promise<void> {
		if (this.#running !== null)
			throw new Failure('busy', 'The answer is still being generated.', 'Wait for it to finish, or stop it.');
		const exchange = exchangeOf(this.#history, id);
		if (exchange === undefined) throw new Failure('missing', 'This exchange no longer exists.');
		this.#requireTrust();
		this.#apply({ type: 'expected', id, expected });
		await this.#asRunning(async (signal) => {
			await Promise.all(exchange.sides.map((_, side) => this.#check(id, side, signal, true)));
		});
	}

	#start(exchange: Exchange, prefix: BranchPrefix | null): void {
		this.#requireTrust();
		this.#apply({ type: 'asked', exchange });
		this.#tell(exchange.id);
		void this.#asRunning(async (signal) => {
			await Promise.all(exchange.sides.map((_, side) => this.#answer(exchange, side, prefix, signal)));
		});
	}

	#asRunning(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
		const running = new AbortController();
		this.#running = running;
		const done = work(running.signal).finally(() => {
			if (this.#running === running) this.#running = null;
		});
		this.#settled = done.catch(() => undefined);
		return done;
	}

	/** Asks the policy on one side. Any outcome, including a failure, is recorded in the side's state. */
	async #answer(exchange: Exchange, at: number, prefix: BranchPrefix | null, signal: AbortSignal): Promise<void> {
		const { id, sampling } = exchange;
		const side = exchange.sides[at] as PlaygroundSide;
		const drafts = new Drafts(side.samples);
		const timer = setInterval(() => this.#postWritten(id, at, drafts), this.#options.updateMs ?? 100);
		let began: number | null = null;
		const seconds = () => (began === null ? null : (this.#now() - began) / 1000);
		try {
			const held = await this.#options.held.take(side.policy, signal);
			try {
				const { policy } = held;
				const { capabilities } = policy;
				if (prefix !== null && !capabilities.prefix) {
					throw new Failure('unsupported', `${policy.name} cannot continue from a given prefix.`);
				}
				const alternatives = Math.min(askedAlternatives, capabilities.alternatives);
				this.#change(id, at, {
					state: 'writing',
					model: policy.model.slice(0, 400),
					tags: policy.tags === null ? null : { think: copy(policy.tags.think), answer: copy(policy.tags.answer) },
					can: {
						logprobs: capabilities.logprobs,
						alternatives,
						prefix: capabilities.prefix,
						seed: capabilities.seed,
					},
					notes: notesOf(policy, sampling, alternatives, side.samples.length),
				});
				began = this.#now();
				const streams = side.policy.kind === 'openai' || side.policy.kind === 'scripted';
				const made = await askCompletions(
					policy,
					{
						messages: messagesOf(side),
						prefix: prefix?.prefix ?? '',
						n: side.samples.length,
						temperature: sampling.temperature,
						topP: sampling.topP,
						maxTokens: sampling.maxTokens,
						seed: sampling.seed,
						tokens: capabilities.logprobs ? Math.max(1, alternatives) : 0,
						portions: !streams && capabilities.prefix,
						longest: longestCompletion,
					},
					{
						signal,
						onPart: ({ index, text, generation }) => drafts.add(index, text, generation),
						...(policy.tags === null ? {} : { think: policy.tags.think }),
					},
				);
				this.#change(id, at, {
					state: 'checking',
					seconds: seconds(),
					samples: made.map((one, i) => sampleOf(one, side.samples[i] ?? emptySample)),
				});
			} finally {
				held.dispose();
			}
			await this.#check(id, at, signal, false);
		} catch (error) {
			const failure = signal.aborted ? null : Failure.from(error);
			const stopped = failure === null || failure.reason === 'cancelled';
			this.#change(id, at, {
				state: stopped ? 'stopped' : 'failed',
				failure: stopped ? null : { ...(failure as Failure).toJSON() },
				seconds: seconds(),
				// While a side is only being checked, its text is already complete.
				...(this.#side(id, at)?.state === 'checking' ? {} : { samples: drafts.ended() }),
			});
		} finally {
			clearInterval(timer);
		}
	}

	/** Checks a side's answers if there is an expected answer, and marks the side as finished. */
	async #check(id: number, at: number, signal: AbortSignal, again: boolean): Promise<void> {
		const exchange = exchangeOf(this.#history, id);
		const side = exchange?.sides[at];
		if (exchange === undefined || side === undefined) return;
		const { expected } = exchange;
		const before = again && side.state !== 'checking' ? side.state : 'finished';
		if (expected.trim() === '' || side.samples.length === 0 || before === 'failed') {
			const samples = side.samples.map((sample) => ({ ...sample, check: null }));
			this.#change(id, at, before === 'failed' ? {} : { state: before, samples });
			return;
		}
		this.#change(id, at, { state: 'checking' });
		try {
			const checks = await this.#options.check({ side, expected, samples: side.samples }, signal);
			const samples = side.samples.map((sample, i) => ({ ...sample, check: checks[i] ?? null }));
			this.#change(id, at, { state: before, samples });
		} catch (error) {
			const failure = Failure.from(error);
			const why =
				signal.aborted || failure.reason === 'cancelled' ? 'The check was canceled.' : `Not checked: ${failure}`;
			this.#change(id, at, { state: before, notes: [...side.notes, why] });
		}
	}

	#requireTrust(): void {
		const why = this.#options.forbidden();
		if (why !== null) throw new Failure('denied', why, 'Trust the workspace, then try again.');
	}

	#side(id: number, at: number): PlaygroundSide | undefined {
		return exchangeOf(this.#history, id)?.sides[at];
	}

	#change(id: number, side: number, change: Partial<PlaygroundSide>): void {
		this.#apply({ type: 'changed', id, side, change });
		this.#tell(id);
	}

	#apply(action: HistoryAction): void {
		this.#history = reduceHistory(this.#history, action);
	}

	/** Navigates the history; a running generation is not affected. */
	#turn(action: HistoryAction): void {
		const before = this.#history;
		this.#apply(action);
		if (this.#history === before) return;
		this.#options.post({ type: 'history', kept: this.#history.exchanges.map(({ id }) => id), ...this.#place() });
	}

	#tell(id: number): void {
		const exchange = exchangeOf(this.#history, id);
		if (this.disposed || exchange === undefined) return;
		this.#options.post({ type: 'exchange', exchange, ...this.#place() });
	}

	#postWritten(exchange: number, side: number, drafts: Drafts): void {
		const parts = drafts.news();
		if (this.disposed || parts.length === 0) return;
		this.#apply({ type: 'changed', id: exchange, side, change: { samples: drafts.samples } });
		this.#options.post({ type: 'written', exchange, side, parts });
	}

	#place() {
		return { current: this.#history.current, undone: this.#history.undone.length };
	}

	#now(): number {
		return this.#options.now?.() ?? performance.now();
	}

	/** Whether a generation or check is running. */
	get running(): boolean {
		return this.#history.exchanges.some(isRunning);
	}
}
