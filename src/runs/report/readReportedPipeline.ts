import { join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { ReportedPipeline, ReportedPipelineStage } from '../../core/report/reportedPipeline.ts';
import type { ReportedRun } from '../../core/report/reportedRun.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import { listFolder, readJson } from '../../files/safeFile.ts';
import { pipelineFiles, type StageState } from '../../protocol/pipeline.ts';
import type { LanguageName } from '../../protocol/recipeKeys/builtInRewards.ts';
import { readEvaluation } from '../evaluationFiles.ts';
import { OwnRun } from '../ownRun.ts';
import { pipelineStatus, readPipeline, stageRunsIn } from '../pipeline/pipelineFolder.ts';
import { templateTags } from '../runTags.ts';
import { readReportedEvaluation } from './readReportedEvaluations.ts';
import { languageOf, readReportedRun } from './readReportedRun.ts';

/**
 * Reads the report data for a pipeline. Anything unreadable is listed in `gaps`. Fails with `cancelled`, and with the
 * same errors as `readPipeline` if the folder is not a pipeline.
 */
export async function readReportedPipeline(
	folder: string,
	signal?: AbortSignalLike,
): Promise<{ readonly pipeline: ReportedPipeline; readonly runs: readonly string[] }> {
	const record = await readPipeline(folder);
	const recipe: unknown = await readJson(folder, pipelineFiles.recipe).catch(() => undefined);
	const folders = new Set((await listFolder(folder)).flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])));
	const withRun = new Set(await stageRunsIn(folder));
	const language = languageOfPipeline(recipe);
	const gaps: string[] = [];
	let tags: TraceTags | null = null;
	const stages: ReportedPipelineStage[] = [];
	for (const state of record.stages) {
		checkAborted(signal);
		const path = join(folder, state.name);
		const part = async <T>(read: Promise<T | null>): Promise<T | null> =>
			read.catch((error: unknown) => {
				const failure = Failure.from(error);
				if (failure.reason === 'cancelled') throw failure;
				gaps.push(`${state.name}: ${failure.message}`);
				return null;
			});
		let run: ReportedRun | null = null;
		if (withRun.has(path)) {
			const content = new OwnRun(path);
			const options = { title: state.name, language, ...(signal === undefined ? {} : { signal }) };
			run = await part(readReportedRun(content, options));
			tags = await templateTags(content);
		}
		// An evaluation stage's folder is an evaluation folder.
		const file = run === null && folders.has(state.name) ? await part(readEvaluation(path)) : null;
		const evaluation = file === null ? null : await part(readReportedEvaluation(path, file, { tags, language }));
		stages.push({ ...stageOf(state), run, evaluation });
	}
	return {
		pipeline: {
			title: record.name,
			id: record.id,
			status: await pipelineStatus(record).catch(() => record.status),
			error: record.error?.message ?? null,
			created: record.created,
			updated: record.updated,
			recipe,
			stages,
			gaps,
		},
		runs: record.stages.map(({ name }) => join(folder, name)).filter((path) => withRun.has(path)),
	};
}

function stageOf(state: StageState): Omit<ReportedPipelineStage, 'run' | 'evaluation'> {
	const { name, type, status, round, after, accuracy, started, ended, outputs, skipped, cut, partial, error } = state;
	return {
		...{ name, type, status, after, accuracy },
		...(round === undefined ? {} : { round }),
		detail: skipped ?? cut ?? partial ?? error?.message ?? null,
		seconds: started === null || ended === null ? null : ended - started,
		outputs: outputs.map(({ kind }) => kind),
	};
}

/**
 * Returns the language rewarded by the recipe or by the first stage that sets one. All stages are measured against this
 * language.
 */
function languageOfPipeline(recipe: unknown): LanguageName | null {
	const stages = (recipe as { stages?: unknown } | null | undefined)?.stages;
	const all = [recipe, ...(Array.isArray(stages) ? stages : [])];
	return all.map(languageOf).find((language) => language !== null) ?? null;
}
