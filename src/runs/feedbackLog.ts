import { Sequencer } from '../base/async.ts';
import { completionKey } from '../core/feedback/judgedPairs.ts';
import { type Feedback, feedbackSchema } from '../protocol/feedback.ts';
import { annotationFolder } from './annotationFolder.ts';
import { AnnotationLines } from './annotationLines.ts';

export const feedbackFile = 'feedback.jsonl';

/** What a later line of the same rater replaces. */
export function feedbackKey(one: Feedback): string {
	if (one.kind === 'rating') return JSON.stringify([one.rater, completionKey(one)]);
	return JSON.stringify([one.rater, ...[completionKey(one.a), completionKey(one.b)].sort()]);
}

/** How people rate the completions of a run and which of two they prefer: annotations/feedback.jsonl. */
export class FeedbackLog {
	readonly #lines: AnnotationLines<Feedback>;
	readonly #turns = new Sequencer();

	/** @param folder see {@link annotationFolder}; it need not be there */
	constructor(folder: string) {
		this.#lines = new AnnotationLines(folder, feedbackFile, feedbackSchema, feedbackKey);
	}

	static async of(run: { readonly folder: string; readonly format: string }): Promise<FeedbackLog> {
		return new FeedbackLog(await annotationFolder(run));
	}

	/** Lines that are no feedback, of what was read. */
	get unreadable(): number {
		return this.#lines.unreadable;
	}

	/** What counts now, also what other windows added; without what was taken back. */
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
