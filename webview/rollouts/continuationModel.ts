import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import type {
	Continuation,
	MicroscopeCommand,
	MicroscopeEvent,
	PolicyContent,
	RolloutContent,
} from '../../src/protocol/microscopeMessages.ts';
import type { Place, TokenColumns } from '../../src/protocol/rolloutsMessages.ts';
import { placeKey } from './chosen.ts';
import { type Draft, type KeptContinuations, maxKeptCharacters } from './keptContinuations.ts';
import type { Ask } from './rolloutsState.ts';

/** A continuation that the policy generated from a prefix. */
export interface Continued {
	readonly number: number;
	readonly place: Place;
	readonly prefix: string;
	readonly text: string;
	readonly state: Continuation['state'];
	readonly ended: boolean;
	readonly failure: Failure | null;
	readonly temperature: number;
}

export interface ContinuedText {
	readonly place: Place;
	readonly rollout: RolloutContent;
	readonly text: string;
	readonly tokens: TokenColumns | null;
	readonly policy: PolicyContent;
}

/** Max continuations kept. */
const maxKept = 20;
/** Max completions whose edited prefix is kept. */
const maxDrafts = 5;

/** *Continue from Here*: the completion, the policy, and the continuations generated so far. */
export class ContinuationModel extends Disposable {
	readonly #ask: Ask;
	readonly #post: (command: MicroscopeCommand) => void;
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;
	readonly #drafted = this.register(new Emitter<void>());
	/** A prefix or a setting was edited. */
	readonly onDraft = this.#drafted.event;
	/** By completion, the most recently edited last. */
	readonly #drafts = new Map<string, Draft>();
	#abort: AbortController | null = null;
	#last = 0;
	content: ContinuedText | null = null;
	failure: Failure | null = null;
	/** Newest first, of all completions. */
	made: readonly Continued[] = [];

	constructor(ask: Ask, post: (command: MicroscopeCommand) => void) {
		super();
		this.#ask = ask;
		this.#post = post;
	}

	get running(): Continued | null {
		return this.made.find(({ state }) => state === 'running') ?? null;
	}

	/** Continuations of the open completion. */
	get own(): readonly Continued[] {
		const place = this.content?.place;
		return place === undefined ? [] : this.made.filter((one) => placeKey(one.place) === placeKey(place));
	}

	/** The unsent prefix of a completion. */
	draft(place: Place): Draft | null {
		return this.#drafts.get(placeKey(place)) ?? null;
	}

	setDraft(draft: Draft): void {
		const key = placeKey(draft.place);
		this.#drafts.delete(key);
		this.#drafts.set(key, draft);
		const [oldest] = this.#drafts.keys();
		if (this.#drafts.size > maxDrafts && oldest !== undefined) this.#drafts.delete(oldest);
		this.#drafted.fire();
	}

	/** What is saved: newest first, up to {@link maxKeptCharacters}. */
	kept(): KeptContinuations {
		let left = maxKeptCharacters;
		const fits = (length: number) => {
			left -= length;
			return left >= 0;
		};
		const drafts = [...this.#drafts.values()].reverse().filter(({ prefix }) => fits(prefix.length));
		const made = this.made
			.filter(({ prefix, text }) => fits(prefix.length + text.length))
			.map(({ state, failure, ...one }) => ({
				...one,
				// After a reload nothing is generating any more.
				state: state === 'running' ? ('stopped' as const) : state,
				failure: failure === null ? null : failure.toString().slice(0, 2000),
			}));
		return { drafts, made };
	}

	restore({ drafts, made }: KeptContinuations): void {
		for (const draft of drafts.toReversed()) this.#drafts.set(placeKey(draft.place), draft);
		this.made = made.map(({ failure, ...one }) => ({
			...one,
			failure: failure === null ? null : new Failure('internal', failure),
		}));
		this.#last = Math.max(0, ...made.map(({ number }) => number));
	}

	async open(place: Place): Promise<void> {
		this.#abort?.abort();
		const abort = new AbortController();
		this.#abort = abort;
		this.failure = null;
		this.content = null;
		try {
			const [rollout, policy] = await Promise.all([
				this.#ask('loadRollout', place, abort.signal),
				this.#ask('policy', { step: place.step }, abort.signal),
			]);
			const text = rollout.rollout.completion ?? (await this.#ask('loadCompletion', place, abort.signal)).completion;
			const tokens = rollout.rollout.hasTokens ? await this.#ask('loadTokens', place, abort.signal) : null;
			if (abort.signal.aborted) return;
			// Tokens that do not spell the text cannot be mapped to offsets in it.
			const spelt = tokens?.text.join('').startsWith(text.slice(0, 100_000)) ? tokens : null;
			this.content = { place, rollout, text, tokens: spelt, policy };
		} catch (error) {
			if (abort.signal.aborted) return;
			this.failure = Failure.from(error);
		}
		this.#changed.fire();
	}

	start(prefix: string, settings: { readonly maxTokens: number; readonly temperature: number }): void {
		const { content } = this;
		if (!content || this.running) return;
		this.#last++;
		const { place } = content;
		const { temperature } = settings;
		const begun: Continued = {
			...{ number: this.#last, place, prefix, text: '', state: 'running', ended: false, failure: null, temperature },
		};
		this.made = [begun, ...this.made].slice(0, maxKept);
		this.#post({ type: 'continueFrom', continuation: this.#last, ...place, prefix, ...settings });
		this.#changed.fire();
	}

	stop(): void {
		const { running } = this;
		if (running) this.#post({ type: 'stopContinuation', continuation: running.number });
	}

	receive(event: MicroscopeEvent): void {
		if (event.type !== 'continuation') return;
		const failure =
			event.failure === null ? null : new Failure(event.failure.reason, event.failure.message, event.failure.action);
		this.made = this.made.map((one) =>
			one.number === event.continuation && one.state === 'running'
				? { ...one, text: one.text + event.text, state: event.state, ended: event.ended, failure }
				: one,
		);
		this.#changed.fire();
	}
}
