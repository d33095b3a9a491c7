import type { ScoreRow } from '../../protocol/scorer.ts';
import type { Trace } from '../trace/trace.ts';

/**
 * 1 when the completion has the template's form exactly: every tag once, in order, nothing outside, an answer that is not
 * empty, and it ended by itself; else 0. Judged on the completion alone.
 */
export function formatOf(row: ScoreRow, trace: Trace): number {
	return trace.faults.length === 0 && !row.truncated ? 1 : 0;
}
