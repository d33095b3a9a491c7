import type { ScoreRow } from '../../protocol/scorer.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/**
 * 1 when the completion has the template's form exactly: every tag once, in order, nothing outside, an answer that is not
 * empty, and it ended by itself; else 0. Judged on the completion alone; where it is not recorded whether the completion
 * was truncated, by its text. null: the template has no tags, so any text would have the right form.
 */
export function formatOf(row: ScoreRow, trace: Trace, tags: TraceTags): number | null {
	if (tags.think === null && tags.answer === null) return null;
	return trace.faults.length === 0 && row.truncated !== true ? 1 : 0;
}
