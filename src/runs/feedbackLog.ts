import { Sequencer } from '../base/async.ts';
import { completionKey } from '../core/feedback/judgedPairs.ts';
import { type Feedback, feedbackSchema } from '../protocol/feedback.ts';
import { annotationFolder } from './annotationFolder.ts';
import { AnnotationLines } from './annotationLines.ts';

export const feedbackFile = 'feedback.jsonl';

/** Returns the key of a line of feedback. A later line with the same key from the same rater replaces it. */
export function feedbackKey(one: Feedback): string {
	if (one.kind === 'rating') return JSON.stringify([one.rater, completionKey(one)]);
	return JSON.stringify([one.rater, ...[completionKey(one.a), completionKey(one.b)].sort()]);
}

/** Human ratings of a run's completions and preferences between two of them: annotations/feedback.jsonl. */
export class FeedbackLog {
	readonly #lines: AnnotationLines<Feedback>;
	readonly #turns = new Sequencer();

	/** @param folder see {@link annotationFolder}; does not have to exist */
	constructor(folder: string) {
		this.#lines = new AnnotationLines(folder, feedbackFile, feedbackSchema, feedbackKey);
	}

	static async of(run: { readonly folder: string; readonly format: string }): Promise<FeedbackLog> {
		return new FeedbackLog(await annotationFolder(run));
	}

	/** Number of invalid lines among those read so far. */
	get unreadable(): number {
		return this.#lines.unreadable;
	}

	/** Returns the current feedback, including additions from other windows and excluding cleared ratings. */
	all(): Promise<Feedback[]> {
		return this.#turns.queue(async () => {
			const records = await this.#lines.read();
			return [...records.values()].filter((one) => (one.kind === 'rating' ? one.rating : one.choice) !== null);
		});
	}

	/** Fails with `denied`, `full` or `invalid` (the file is a link). */
	save(feedback: Feedback): Promise<void> {
		return this.#turns.queue(() => this.#lines.append(feedback));
	}
}
