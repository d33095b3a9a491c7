import { checkAborted } from '../base/async.ts';
import { withMessages } from '../core/export/chatText.ts';
import { type RolloutSelection, selectsPlace } from '../core/export/selection.ts';
import { judgedPairs, preferenceLine } from '../core/feedback/judgedPairs.ts';
import { formatLine } from '../files/jsonLines.ts';
import type { Feedback, RatedCompletion } from '../protocol/feedback.ts';
import { ownFormat } from './annotationFolder.ts';
import { writeExport } from './exportRollouts.ts';
import { FeedbackLog } from './feedbackLog.ts';
import type { ExportOptions, ExportSummary } from './rolloutExport.ts';
import type { RolloutSplit } from './runContent.ts';

export interface FeedbackExport {
	readonly split?: RolloutSplit;
	readonly selection?: RolloutSelection;
	/**
	 * Minimum difference between the mean ratings in a pair. Direct comparisons of two completions are always included.
	 * Default: no minimum.
	 */
	readonly margin?: number;
}

/** Exports human ratings and preferences as pairs for `dpo` and `reward-model`: prompt, chosen, rejected. */
export function exportFeedback(
	run: { readonly folder: string; readonly format: string },
	{ split, selection = {}, margin = 0 }: FeedbackExport,
	path: string,
	options: ExportOptions,
): Promise<ExportSummary> {
	return writeExport(run, 'preferences', path, options, async (lines, count) => {
		const log = await FeedbackLog.of(run);
		const selected = (one: RatedCompletion) =>
			(split === undefined || one.split === split) && selectsPlace(one, selection);
		const feedback = (await log.all()).filter((one: Feedback) =>
			one.kind === 'rating' ? selected(one) : selected(one.a) && selected(one.b),
		);
		const { pairs, undecided } = judgedPairs(feedback);
		count.read = pairs.length + undecided;
		for (let i = 0; i < undecided; i++) count.leaveOut('rated equal, or with conflicting ratings');
		for (const pair of pairs) {
			checkAborted(options.signal);
			if (pair.margin !== null && pair.margin < margin) {
				count.leaveOut('whose ratings differ by less than the margin');
				continue;
			}
			const line = chatLine(preferenceLine(pair), run.format);
			if (typeof line === 'string') count.leaveOut(line);
			else {
				await lines.append(formatLine(line));
				count.written++;
			}
		}
		count.unreadable = log.unreadable;
		return null;
	});
}

/**
 * For another trainer's run, returns the line with the chat messages behind its formatted prompt, or the reason it is
 * skipped.
 */
function chatLine(line: ReturnType<typeof preferenceLine>, format: string) {
	const { prompt, chosen, rejected } = line;
	if (format === ownFormat) return line;
	const [better, worse] = [
		withMessages({ prompt, completion: chosen }),
		withMessages({ prompt, completion: rejected }),
	];
	if (typeof better === 'string') return better;
	if (typeof worse === 'string') return worse;
	return { ...line, prompt: better.prompt, chosen: better.completion, rejected: worse.completion };
}
