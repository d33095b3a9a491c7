import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import type { FeedbackContent } from '../../src/protocol/explorerMessages.ts';
import type { CompletionRating } from '../../src/protocol/feedback.ts';
import type { Place } from '../../src/protocol/rolloutsMessages.ts';
import type { Ask } from './rolloutsState.ts';

type Judged = FeedbackContent['completions'][number];
type Group = Omit<Place, 'index'>;

const sameGroup = (a: Group, b: Group) => a.split === b.split && a.step === b.step && a.group === b.group;

/** Rating that + and - start from if a completion has no rating. */
const middle: CompletionRating = 3;

/**
 * Human ratings of the completions in the open group. A rating is shown and saved immediately; if saving fails, it is
 * reverted and the error is reported.
 */
export class FeedbackModel extends Disposable {
	readonly #ask: Ask;
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;
	#group: Group | null = null;
	#judged = new Map<number, Judged>();
	#abort: AbortController | null = null;
	#saving: Promise<void> = Promise.resolve();
	/** Why the last rating was not saved, or why the ratings could not be loaded. */
	failure: Failure | null = null;

	constructor(ask: Ask) {
		super();
		this.#ask = ask;
	}

	/** Loads the ratings of a group unless it is already open. */
	async open(group: Group): Promise<void> {
		if (this.#group !== null && sameGroup(this.#group, group)) return;
		this.#abort?.abort();
		const abort = new AbortController();
		this.#abort = abort;
		this.#group = { split: group.split, step: group.step, group: group.group };
		this.#judged = new Map();
		this.failure = null;
		try {
			const { completions } = await this.#ask('loadFeedback', this.#group, abort.signal);
			if (abort.signal.aborted) return;
			// Keep ratings made while the request was pending, because they are newer.
			for (const one of completions) if (!this.#judged.has(one.index)) this.#judged.set(one.index, one);
		} catch (error) {
			if (abort.signal.aborted) return;
			this.failure = Failure.from(error);
		}
		this.#changed.fire();
	}

	/** Forces a reload the next time a group is opened, because ratings may have changed in another window. */
	forget(): void {
		this.#abort?.abort();
		this.#group = null;
	}

	mine(index: number): CompletionRating | null {
		return this.#judged.get(index)?.mine ?? null;
	}

	others(index: number): Judged['others'] {
		return this.#judged.get(index)?.others ?? [];
	}

	/** Number of completions that the user has rated. */
	get rated(): number {
		return [...this.#judged.values()].filter(({ mine }) => mine !== null).length;
	}

	/** Rates a completion in the open group; null clears the rating. */
	rate(index: number, rating: CompletionRating | null): void {
		const group = this.#group;
		const before = this.mine(index);
		if (group === null || before === rating) return;
		this.#set(index, rating);
		this.#saving = this.#saving
			.then(() => this.#ask('saveRating', { ...group, index, rating }))
			.then(
				() => {
					this.failure = null;
				},
				(error: unknown) => {
					this.failure = Failure.from(error);
					const open = this.#group !== null && sameGroup(this.#group, group);
					if (open && this.mine(index) === rating) this.#set(index, before);
				},
			)
			.then(() => {
				if (!this.disposed) this.#changed.fire();
			});
	}

	/** Raises or lowers the rating by one, starting at the middle if there is no rating. */
	raise(index: number, by: 1 | -1): void {
		const next = (this.mine(index) ?? middle) + by;
		this.rate(index, Math.max(1, Math.min(5, next)) as CompletionRating);
	}

	/** Resolves when all ratings have been saved or reported as failed. */
	saved(): Promise<void> {
		return this.#saving;
	}

	#set(index: number, mine: CompletionRating | null): void {
		this.#judged.set(index, { index, others: this.others(index), mine });
		this.#changed.fire();
	}
}
