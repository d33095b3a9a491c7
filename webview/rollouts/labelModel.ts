import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { Failure } from '../../src/base/failure.ts';
import type { LabelsContent, RolloutContent } from '../../src/protocol/explorerMessages.ts';
import type { Place } from '../../src/protocol/rolloutsMessages.ts';
import type { StepRating } from '../../src/protocol/stepLabel.ts';
import type { Ask } from './rolloutsState.ts';

/** Maximum number of ratings that can be undone. */
const maxUndo = 1000;

export interface LabeledText extends LabelsContent {
	readonly place: Place;
	readonly rollout: RolloutContent;
	readonly text: string;
}

/**
 * Steps of a completion and their human ratings. Each rating is saved immediately; if saving fails, it is reverted and
 * the error is reported.
 */
export class LabelModel extends Disposable {
	readonly #ask: Ask;
	readonly #changed = this.register(new Emitter<void>());
	readonly onChange = this.#changed.event;
	#earlier: { readonly step: number; readonly rating: StepRating | null }[] = [];
	#saving: Promise<void> = Promise.resolve();
	#abort: AbortController | null = null;
	content: LabeledText | null = null;
	failure: Failure | null = null;
	/** Why the last rating was not saved. */
	unsaved: Failure | null = null;
	current = 0;

	constructor(ask: Ask) {
		super();
		this.#ask = ask;
	}

	get canUndo(): boolean {
		return this.#earlier.length > 0;
	}

	get rated(): number {
		return this.content?.ratings.filter((rating) => rating !== null).length ?? 0;
	}

	/** @param rule rule for splitting steps; null uses the rule from existing labels, or detects it from the text */
	async open(place: Place, rule: string | null = null): Promise<void> {
		this.#abort?.abort();
		const abort = new AbortController();
		this.#abort = abort;
		this.failure = null;
		this.unsaved = null;
		try {
			const [rollout, labels] = await Promise.all([
				this.#ask('loadRollout', place, abort.signal),
				this.#ask('loadLabels', { ...place, rule }, abort.signal),
			]);
			const text = rollout.rollout.completion ?? (await this.#ask('loadCompletion', place, abort.signal)).completion;
			if (abort.signal.aborted) return;
			this.content = { ...labels, place, rollout, text };
			const first = labels.ratings.indexOf(null);
			this.current = first === -1 ? 0 : first;
			this.#earlier = [];
		} catch (error) {
			if (abort.signal.aborted) return;
			this.content = null;
			this.failure = Failure.from(error);
		}
		this.#changed.fire();
	}

	move(to: number): void {
		const last = (this.content?.steps.length ?? 0) - 1;
		const next = Math.max(0, Math.min(last, to));
		if (next === this.current) return;
		this.current = next;
		this.#changed.fire();
	}

	/** Rates the current step and moves to the next one; null clears the rating without moving. */
	rate(rating: StepRating | null): void {
		const { content, current } = this;
		if (!content || content.steps.length === 0) return;
		const before = content.ratings[current] ?? null;
		if (before !== rating) {
			this.#earlier.push({ step: current, rating: before });
			if (this.#earlier.length > maxUndo) this.#earlier.shift();
			this.#set(current, rating);
		}
		if (rating !== null && current < content.steps.length - 1) this.current++;
		this.#changed.fire();
	}

	undo(): void {
		const last = this.#earlier.pop();
		if (!last) return;
		this.current = last.step;
		this.#set(last.step, last.rating);
		this.#changed.fire();
	}

	/** Resolves when all ratings have been saved or reported as failed. */
	saved(): Promise<void> {
		return this.#saving;
	}

	#set(step: number, rating: StepRating | null): void {
		const { content } = this;
		if (!content) return;
		const ratings = content.ratings.map((old, i) => (i === step ? rating : old));
		this.content = { ...content, ratings };
		const { place, rule } = content;
		// Save sequentially, so the last rating wins.
		this.#saving = this.#saving
			.then(() => this.#ask('saveLabels', { ...place, rule, ratings }))
			.then(
				() => this.#tell(null),
				(error: unknown) => this.#tell(Failure.from(error)),
			);
	}

	#tell(failure: Failure | null): void {
		const changed = (this.unsaved === null) !== (failure === null);
		this.unsaved = failure;
		if (changed && !this.disposed) this.#changed.fire();
	}
}
