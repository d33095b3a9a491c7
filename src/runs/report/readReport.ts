import { resolve } from 'node:path';
import type { AbortSignalLike } from '../../base/async.ts';
import { pipelineReport, runReport } from '../../core/report/composeReport.ts';
import type { ReportDocument } from '../../core/report/reportDocument.ts';
import { isPipelineFolder } from '../pipeline/pipelineFolder.ts';
import type { RunContent } from '../runContent.ts';
import { readReportedPipeline } from './readReportedPipeline.ts';
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
	const path = resolve(named);
	if (await isPipelineFolder(path)) {
		const { pipeline, runs } = await readReportedPipeline(path, signal);
		const gaps = [...pipeline.gaps, ...pipeline.stages.flatMap(({ run }) => run?.gaps ?? [])];
		return { document: pipelineReport(pipeline, now), runs, gaps };
	}
	const content = await open(named);
	const run = await readReportedRun(content, signal === undefined ? {} : { signal });
	return { document: runReport(run, now), runs: [content.folder], gaps: run.gaps };
}
