import { Failure } from '../base/failure.ts';
import { failureText } from '../base/failureTally.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { evaluationFiles, evaluationSpecSchema } from '../protocol/evaluationFolder.ts';
import { defaultsOf } from '../protocol/recipeKeys/keyDefaults.ts';
import { type EvaluateStage, evaluateStageSchema, evaluationProtocols } from '../protocol/recipeKeys/pipelineRecipe.ts';
import { evaluatePolicy } from '../search/evaluate/evaluatePolicy.ts';
import { contextOf, given, policyOf, problemsOf, scorerOf } from './policyWork.ts';
import { StageMeter } from './stageMeter.ts';
import { outputOf } from './stageOutputs.ts';
import type { StageEnd, StageWork } from './stageWork.ts';

/** Evaluates the policy and stores the results in the stage's folder. If stopped, keeps the results so far. */
export async function evaluateStage(work: StageWork): Promise<StageEnd> {
	const stage = work.stage as unknown as EvaluateStage;
	const protocol = stage.protocol === undefined ? {} : evaluationProtocols[stage.protocol];
	const settings = { ...defaultsOf(evaluateStageSchema), ...protocol, ...given(stage) };
	const spec = decodeOrThrow(
		evaluationSpecSchema,
		{
			name: work.stage.name,
			policy: policyOf(work),
			problems: problemsOf(work, settings.part, settings.problems),
			samples: settings.samples,
			sampling: given({
				temperature: settings.temperature,
				topP: settings.top_p,
				maxTokens: stage.max_completion_length,
			}),
			...given({ judge: scorerOf(stage.judge), perturb: stage.perturb }),
			category: stage.category ?? null,
			concurrency: settings.concurrency,
			seed: work.recipe.seed,
		},
		'The evaluation',
	);
	const context = contextOf(work);
	const meter = new StageMeter(work, () => context.pool.totals);
	try {
		const { done, total, failures, report } = await evaluatePolicy({
			spec,
			folder: work.folder,
			context,
			signal: work.signal,
			onProgress: ({ done, total }) => meter.report({ progress: { done, total } }),
		});
		if (done < total) {
			if (work.signal.aborted) return { kind: 'stopped' };
			throw new Failure(
				'unavailable',
				`Only ${done} of ${total} problems were answered: ${failureText(failures)}`,
				'Resume the pipeline.',
			);
		}
		const outputs = [await outputOf(work.folder, 'report', evaluationFiles.report)];
		return { kind: 'finished', outputs, accuracy: report.accuracy.accuracy };
	} catch (error) {
		if (work.signal.aborted) return { kind: 'stopped' };
		throw error;
	} finally {
		meter.report();
		context.pool.dispose();
	}
}
