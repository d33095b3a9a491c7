import type { ScoreRow } from '../../protocol/scorer.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/**
 * Returns 1 if the completion matches the template format exactly: every tag once and in order, nothing outside the
 * tags, a nonempty answer, and not truncated; otherwise 0. If truncation was not recorded, only the text is checked.
 * Returns null if the template has no tags, because any text would match.
 */
export function formatOf(row: ScoreRow, trace: Trace, tags: TraceTags): number | null {
	if (tags.think === null && tags.answer === null) return null;
	return trace.faults.length === 0 && row.truncated !== true ? 1 : 0;
}
