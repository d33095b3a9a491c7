import { Failure } from '../../../base/failure.ts';
import { completionKey } from '../../../core/feedback/judgedPairs.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import type { FeedbackContent } from '../../../protocol/explorerMessages.ts';
import {
	type Feedback,
	longestFeedbackText,
	type PreferenceChoice,
	type RatedCompletion,
} from '../../../protocol/feedback.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { Place } from '../../../protocol/rolloutsMessages.ts';
import { FeedbackLog, feedbackKey } from '../../../runs/feedbackLog.ts';
import type { RunContent } from '../../../runs/runContent.ts';

export interface CompletionFeedbackOptions {
	readonly content: () => Promise<RunContent>;
	readonly rollout: (place: Place) => Promise<RolloutLine>;
	/** Returns the rater's name in this window. */
	readonly rater: () => string;
}

/** Reads and saves human ratings of entire completions for the rollouts panel. */
export class CompletionFeedback {
	readonly #options: CompletionFeedbackOptions;
	#log: Promise<FeedbackLog> | null = null;

	constructor(options: CompletionFeedbackOptions) {
		this.#options = options;
	}

	async group({ split, step, group }: Omit<Place, 'index'>): Promise<FeedbackContent> {
		const rater = this.#options.rater();
		const completions = new Map<number, FeedbackContent['completions'][number]>();
		for (const one of await (await this.#open()).all()) {
			if (one.kind !== 'rating' || one.rating === null) continue;
			if (one.split !== split || one.step !== step || one.group !== group) continue;
			const known = completions.get(one.index) ?? { index: one.index, mine: null, others: [] };
			const mine = one.rater === rater;
			completions.set(one.index, {
				...known,
				...(mine ? { mine: one.rating } : { others: [...known.others, { rater: one.rater, rating: one.rating }] }),
			});
		}
		return { rater, completions: [...completions.values()].sort((a, b) => a.index - b.index) };
	}

	async rate(place: Place, rating: FeedbackContent['completions'][number]['mine']): Promise<void> {
		const [line, log] = await Promise.all([this.#options.rollout(place), this.#open()]);
		await log.save({ kind: 'rating', ...this.#common(line), ...ratedOf(place, line), rating });
	}

	async preference(
		a: Place,
		b: Place,
	): Promise<{ readonly samePrompt: boolean; readonly choice: PreferenceChoice | null }> {
		const [first, second, log] = await this.#pair(a, b);
		const samePrompt = messageText(first.prompt) === messageText(second.prompt);
		const asked: Feedback = this.#preference([a, first], [b, second], null);
		const known = (await log.all()).find((one) => feedbackKey(one) === feedbackKey(asked));
		if (known?.kind !== 'preference' || known.choice === null) return { samePrompt, choice: null };
		const swapped = completionKey(known.a) !== completionKey(a);
		return { samePrompt, choice: swapped ? mirrored[known.choice] : known.choice };
	}

	/** Saves a preference. Fails with `invalid` if the completions have different prompts. */
	async prefer(a: Place, b: Place, choice: PreferenceChoice | null): Promise<void> {
		const [first, second, log] = await this.#pair(a, b);
		if (messageText(first.prompt) !== messageText(second.prompt)) {
			throw new Failure(
				'invalid',
				'Completions for different prompts cannot be ranked.',
				'Choose two completions for the same prompt.',
			);
		}
		await log.save(this.#preference([a, first], [b, second], choice));
	}

	#open(): Promise<FeedbackLog> {
		this.#log ??= this.#options.content().then((content) => FeedbackLog.of(content));
		this.#log.catch(() => {
			this.#log = null;
		});
		return this.#log;
	}

	#pair(a: Place, b: Place): Promise<[RolloutLine, RolloutLine, FeedbackLog]> {
		return Promise.all([this.#options.rollout(a), this.#options.rollout(b), this.#open()]);
	}

	#common(line: RolloutLine) {
		return {
			format: 1,
			time: Date.now() / 1000,
			rater: this.#options.rater(),
			prompt: messageText(line.prompt),
		} as const;
	}

	#preference(
		[a, first]: readonly [Place, RolloutLine],
		[b, second]: readonly [Place, RolloutLine],
		choice: PreferenceChoice | null,
	): Feedback {
		return { kind: 'preference', ...this.#common(first), a: ratedOf(a, first), b: ratedOf(b, second), choice };
	}
}

const mirrored = { a: 'b', b: 'a', equal: 'equal' } as const;

/** Returns a completion in the format stored with its rating. Fails with `unsupported` if it is too long to store. */
function ratedOf({ split, step, group, index }: Place, { completion, reward }: RolloutLine): RatedCompletion {
	const text = messageText(completion);
	if (text.length > longestFeedbackText) {
		throw new Failure('unsupported', `Completion ${index} is too long to rate, because a rating includes its text.`);
	}
	return { split, step, group, index, completion: text, reward };
}
