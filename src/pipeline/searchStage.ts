import { join } from 'node:path';
import type * as v from 'valibot';
import { failureText } from '../base/failureTally.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { fileLines } from '../files/fileLines.ts';
import { formatLine } from '../files/jsonLines.ts';
import { requireInside } from '../files/ownFolder.ts';
import {
	type DataExport,
	type DataSpec,
	dataSpecSchema,
	type SolutionLine,
	solutionLineSchema,
} from '../protocol/dataSpec.ts';
import { decode, decodeOrThrow } from '../protocol/decode.ts';
import { type Defaults, defaultsOf } from '../protocol/recipeKeys/keyDefaults.ts';
import { type DataKind, type SearchStage, searchStageSchema } from '../protocol/recipeKeys/pipelineRecipe.ts';
import { exportFile } from '../search/data/dataFolder.ts';
import { generateData } from '../search/data/generateData.ts';
import { contextOf, given, policyOf, problemsOf, scorerOf } from './policyWork.ts';
import { StageMeter } from './stageMeter.ts';
import { dataFile, dataOutputs } from './stageOutputs.ts';
import type { StageEnd, StageWork } from './stageWork.ts';

/** Export format for each kind of data. */
const exportOf = {
	completions: 'solutions',
	pairs: 'dpo',
	labels: 'soft-labels',
} as const satisfies Record<DataKind, DataExport>;

type Settings = SearchStage & Defaults<typeof searchStageSchema.keys>;

function specOf(work: StageWork, settings: Settings): DataSpec {
	const stage = work.stage as unknown as SearchStage;
	const { template } = work.recipe;
	const spec = {
		problems: problemsOf(work, settings.part, settings.problems),
		search: given({
			policy: policyOf(work),
			strategy: settings.strategy,
			params: stage.params,
			guide: scorerOf(stage.guide),
			judge: scorerOf(stage.judge),
			split: settings.split,
			budget: stage.budget,
			sampling: given({
				temperature: settings.temperature,
				topP: settings.top_p,
				maxTokens: stage.max_completion_length,
			}),
			// Without a stage template, the tags come from the policy's own run.
			tags: work.stage.template === undefined ? undefined : { think: template.think, answer: template.answer },
			concurrency: settings.concurrency,
			seed: work.recipe.seed,
		}),
		exports: settings.export.map((kind) => exportOf[kind]),
		...given({ keep: stage.keep, least: stage.least }),
		most: settings.most,
		pairs: { span: settings.span, most: settings.pairs_per_problem, margin: settings.margin },
		labels: { solutions: settings.solutions, completions: settings.completions },
		searches: settings.searches,
	};
	return decodeOrThrow(dataSpecSchema as v.GenericSchema<unknown, DataSpec>, spec, 'The search');
}

/** Searches problems with the policy and writes the results as training data. If stopped, keeps the results so far. */
export async function searchStage(work: StageWork): Promise<StageEnd> {
	const stage = work.stage as unknown as SearchStage;
	const settings = { ...defaultsOf(searchStageSchema), ...given(stage) } as Settings;
	const context = contextOf(work);
	const meter = new StageMeter(work, () => context.pool.totals);
	const folder = join(work.folder, 'search');
	let partial: string | undefined;
	try {
		const made = await generateData({
			spec: specOf(work, settings),
			folder,
			context,
			signal: work.signal,
			onProgress: ({ problems }) => meter.report({ progress: { done: problems, total: settings.problems } }),
		});
		if (made.state === 'stopped') return { kind: 'stopped' };
		const { failed, problems, failures } = made;
		if (failed > 0)
			partial = `${formatCount(failed)} of ${formatCounted(failed + problems, 'problem')} failed: ${failureText(failures)}`;
	} catch (error) {
		if (work.signal.aborted) return { kind: 'stopped' };
		throw error;
	} finally {
		meter.report();
		context.pool.dispose();
	}
	await ensureFolder(await requireInside(work.folder, 'data'));
	for (const kind of settings.export) {
		const lines = await linesOf(folder, kind, work.recipe);
		await writeFileAtomic(join(work.folder, dataFile(kind)), lines);
	}
	const outputs = await dataOutputs(work.folder, work.stage.name, { asked: settings.export, some: true });
	return { kind: 'finished', outputs, accuracy: null, ...(partial === undefined ? {} : { partial }) };
}

/** Returns the lines for one kind of data, in an order that does not depend on which search finished first. */
async function linesOf(folder: string, kind: DataKind, { template }: ResolvedRecipe): Promise<string[]> {
	const lines: string[] = [];
	for await (const value of fileLines(folder, exportFile(exportOf[kind]))) {
		if (kind === 'completions') {
			const decoded = decode(solutionLineSchema, value);
			if (decoded.ok) lines.push(formatLine(completionLine(decoded.value)));
		} else {
			const line = value as { readonly prompt?: unknown };
			// Use the prompt as the policy sees it, because prompts in pairs and labels are not wrapped in a template.
			const prompt =
				typeof line.prompt === 'string'
					? template.prompt.replaceAll('{prompt}', () => String(line.prompt))
					: line.prompt;
			lines.push(formatLine({ ...line, prompt }));
		}
	}
	return lines.sort();
}

function completionLine({ prompt, solution, answer, reward }: SolutionLine) {
	return {
		prompt,
		completion: solution,
		...(answer === null ? {} : { answer }),
		...(reward === null ? {} : { reward }),
	};
}
