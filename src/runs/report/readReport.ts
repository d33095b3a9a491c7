import type { AbortSignalLike } from '../../base/async.ts';
import { runReport } from '../../core/report/composeReport.ts';
import type { ReportDocument } from '../../core/report/reportDocument.ts';
import type { RunContent } from '../runContent.ts';
import { readReportedRun } from './readReportedRun.ts';

export interface ReadReport {
	readonly document: ReportDocument;
	/** Folders of the runs that it tells of. */
	readonly runs: readonly string[];
	/** What could not be read, a sentence each. */
	readonly gaps: readonly string[];
}

/**
 * The report of what a person names. Fails as `open` does, and with `cancelled`.
 * @param open the run of any trainer that is named
 */
export async function readReport(
	named: string,
	open: (named: string) => Promise<RunContent>,
	{ now, signal }: { readonly now: number; readonly signal?: AbortSignalLike },
): Promise<ReadReport> {
	const content = await open(named);
	const run = await readReportedRun(content, signal === undefined ? {} : { signal });
	return { document: runReport(run, now), runs: [content.folder], gaps: run.gaps };
}
