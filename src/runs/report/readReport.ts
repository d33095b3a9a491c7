import { resolve } from 'node:path';
import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { pipelineReport, pipelinesReport, runReport } from '../../core/report/composeReport.ts';
import { evaluationsSection } from '../../core/report/evaluationSections.ts';
import { type ComparedClaim, comparedClaims } from '../../core/report/pipelineSections.ts';
import type { ReportDocument } from '../../core/report/reportDocument.ts';
import type { ReportedEvaluation, ReportedRun } from '../../core/report/reportedRun.ts';
import { runsReport } from '../../core/report/runsReport.ts';
import { isPipelineFolder, readPipeline, stageRunsIn } from '../pipeline/pipelineFolder.ts';
import type { RunContent } from '../runContent.ts';
import { readAnnotation, readResolvedRecipe } from '../runReader.ts';
import { templateTags } from '../runTags.ts';
import { readPipelineEvaluations } from './readPipelineEvaluations.ts';
import { readReportedEvaluations } from './readReportedEvaluations.ts';
import { readReportedPipeline } from './readReportedPipeline.ts';
import { languageOf, readReportedRun } from './readReportedRun.ts';

/** Which part of a report to read: all of it, or only checkpoint evaluations. */
export type ReportPart = 'all' | 'evaluations';

export interface ReadReportOptions {
	/** Seconds since the epoch. */
	readonly now: number;
	readonly signal?: AbortSignalLike;
	readonly part?: ReportPart;
}

export interface ReadReport {
	readonly document: ReportDocument;
	/** Folders of the runs covered by the report. */
	readonly runs: readonly string[];
	/** Descriptions of anything that could not be read, one sentence each. */
	readonly gaps: readonly string[];
	/** For pipelines: the claims in their recipe, with results. */
	readonly claims: readonly ComparedClaim[];
}

/**
 * Reads the report for a run or pipeline that the user names. Fails with the same errors as `open`, and with
 * `cancelled`.
 * @param open opens a run from any trainer
 */
export async function readReport(
	named: string,
	open: (named: string) => Promise<RunContent>,
	{ now, signal, part = 'all' }: ReadReportOptions,
): Promise<ReadReport> {
	const path = resolve(named);
	if (await isPipelineFolder(path)) {
		if (part === 'evaluations') return evaluationsOfPipeline(path, signal);
		const { pipeline, runs } = await readReportedPipeline(path, signal);
		const gaps = [...pipeline.gaps, ...pipeline.stages.flatMap(({ run }) => run?.gaps ?? [])];
		return { document: pipelineReport(pipeline, now), runs, gaps, claims: comparedClaims([pipeline]) };
	}
	const content = await open(named);
	if (part === 'evaluations') return evaluationsOf(content, signal);
	const run = await readReportedRun(content, signal === undefined ? {} : { signal });
	return { document: runReport(run, now), runs: [content.folder], gaps: run.gaps, claims: [] };
}

/**
 * Reads a combined report for several pipelines, such as one recipe with different seeds, or for several runs from any
 * trainers. Fails with `invalid` for a mix of both, and with the same errors as `open`.
 */
export async function readSeveralReport(
	named: readonly string[],
	open: (named: string) => Promise<RunContent>,
	options: Omit<ReadReportOptions, 'part'>,
): Promise<ReadReport> {
	const isPipeline = await Promise.all(named.map((one) => isPipelineFolder(resolve(one))));
	if (isPipeline.every((one) => one)) return readPipelinesReport(named, options);
	if (!isPipeline.some((one) => one)) return readRunsReport(named, open, options);
	const pipeline = named[isPipeline.indexOf(true)];
	throw new Failure(
		'invalid',
		`${pipeline} is a pipeline, but ${named[isPipeline.indexOf(false)]} is not.`,
		'Use only pipelines, or only runs.',
	);
}

async function readRunsReport(
	named: readonly string[],
	open: (named: string) => Promise<RunContent>,
	{ now, signal }: Omit<ReadReportOptions, 'part'>,
): Promise<ReadReport> {
	const contents: RunContent[] = [];
	for (const one of named) {
		const content = await open(one);
		if (contents.some(({ folder }) => folder === content.folder)) {
			throw new Failure('invalid', `${one} is listed twice.`, 'List each run once.');
		}
		contents.push(content);
	}
	const runs: ReportedRun[] = [];
	for (const content of contents) runs.push(await readReportedRun(content, signal === undefined ? {} : { signal }));
	const gaps = runs.flatMap(({ title, gaps: own }) => own.map((gap) => `${title}: ${gap}`));
	return { document: runsReport(runs, now), runs: contents.map(({ folder }) => folder), gaps, claims: [] };
}

async function readPipelinesReport(
	named: readonly string[],
	{ now, signal }: Omit<ReadReportOptions, 'part'>,
): Promise<ReadReport> {
	const read: Awaited<ReturnType<typeof readReportedPipeline>>[] = [];
	for (const one of named) {
		read.push(await readReportedPipeline(resolve(one), signal));
	}
	const pipelines = read.map(({ pipeline }) => pipeline);
	const gaps = pipelines.flatMap((one) => [...one.gaps, ...one.stages.flatMap(({ run }) => run?.gaps ?? [])]);
	const runs = read.flatMap((one) => one.runs);
	return { document: pipelinesReport(pipelines, now), runs, gaps, claims: comparedClaims(pipelines) };
}

/** Fails with `missing` if the run has no evaluated checkpoints. */
async function evaluationsOf(content: RunContent, signal?: AbortSignalLike): Promise<ReadReport> {
	const [name, tags, recipe] = await Promise.all([
		nameOf(content),
		templateTags(content),
		readResolvedRecipe(content.folder).catch(() => undefined),
	]);
	const language = languageOf(recipe);
	const context = { content, tags, recipe, language, ...(signal === undefined ? {} : { signal }) };
	return evaluationsReport(name, await readReportedEvaluations(context), [content.folder]);
}

/** Fails with `missing` if the pipeline has no evaluated checkpoints. */
async function evaluationsOfPipeline(folder: string, signal?: AbortSignalLike): Promise<ReadReport> {
	const { name } = await readPipeline(folder);
	return evaluationsReport(name, await readPipelineEvaluations(folder, signal), await stageRunsIn(folder));
}

function evaluationsReport(
	name: string,
	evaluations: readonly ReportedEvaluation[],
	runs: readonly string[],
): ReadReport {
	const section = evaluationsSection(evaluations);
	if (section === null) {
		throw new Failure('missing', `${name} has no evaluated checkpoints.`, 'Evaluate one with reasoning-lab evaluate.');
	}
	const document = {
		title: `Evaluations of ${name}`,
		subtitle: 'Intervals are 95% confidence intervals.',
		sections: [{ title: 'All', blocks: section.blocks }, ...(section.sections ?? [])],
	};
	return { document, runs, gaps: [], claims: [] };
}

async function nameOf(content: RunContent): Promise<string> {
	const person = await readAnnotation(content.folder).catch(() => null);
	return person?.name ?? (await content.record()).name;
}
