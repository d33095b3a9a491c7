import { join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import type { ReportedEvaluation } from '../../core/report/reportedRun.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import { isRunnerStage } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { readEvaluation } from '../evaluationFiles.ts';
import { OwnRun } from '../ownRun.ts';
import { readPipeline, stageRunsIn } from '../pipeline/pipelineFolder.ts';
import { readResolvedRecipe } from '../runReader.ts';
import { templateTags } from '../runTags.ts';
import { readReportedEvaluation, readReportedEvaluations } from './readReportedEvaluations.ts';
import { languageOf } from './readReportedRun.ts';

/**
 * Reads all evaluations in a pipeline: those of its evaluation stages, named after the stage, and those of other
 * stages' checkpoints, named after the stage and the evaluation. Unreadable evaluations are skipped. Fails with
 * `cancelled`, and with the same errors as `readPipeline`.
 */
export async function readPipelineEvaluations(folder: string, signal?: AbortSignalLike): Promise<ReportedEvaluation[]> {
	const { stages } = await readPipeline(folder);
	const runs = new Set(await stageRunsIn(folder));
	const found: ReportedEvaluation[] = [];
	let tags: TraceTags | null = null;
	let language: ReturnType<typeof languageOf> = null;
	for (const { name, type, status } of stages) {
		checkAborted(signal);
		const path = join(folder, name);
		if (runs.has(path)) {
			const content = new OwnRun(path);
			const recipe = await readResolvedRecipe(path).catch(() => undefined);
			tags = await templateTags(content);
			language = languageOf(recipe) ?? language;
			const context = { content, tags, recipe, language, ...(signal === undefined ? {} : { signal }) };
			const own = await readReportedEvaluations(context);
			found.push(...own.map((one) => ({ ...one, name: `${name}: ${one.name}` })));
		} else if (isRunnerStage(type) && status !== 'waiting') {
			const file = await readEvaluation(path).catch(() => null);
			const own = file === null ? null : await readReportedEvaluation(path, file, { tags, language });
			if (own !== null) found.push({ ...own, name });
		}
	}
	return found;
}
