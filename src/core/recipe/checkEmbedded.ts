import type { GrpoStage, HeadStage, Recipe, RlooStage, Stage } from '../../protocol/recipeKeys/recipe.ts';
import { unreadFile } from '../dataset/readableHere.ts';
import { filledStage } from './filledStage.ts';
import { dataFileKind } from './hubId.ts';
import type { PathFault, Report } from './pathFault.ts';

/**
 * Reports inputs that the embedded engine cannot read and updates that it cannot split. Engine support for a key is
 * part of the key's declaration.
 */
export function checkEmbedded(recipe: Recipe, report: Report): void {
	const { dataset } = recipe;
	if (!('task' in dataset)) {
		if (dataset.path === undefined && dataset.preset !== undefined) {
			report(
				['dataset', 'preset'],
				`The embedded engine cannot read from the Hub. Set "path" to a file with ${dataset.preset}, or set "engine": "pytorch".`,
			);
		}
		for (const key of ['path', 'heldOut'] as const) {
			const unread = unreadFile(dataset[key] ?? '');
			if (unread === null) continue;
			report(
				['dataset', key],
				`"${dataset[key]}" ${unread}, so the embedded engine cannot read it. Convert it, or set "engine": "pytorch".`,
			);
		}
	}
	for (const [i, stage] of recipe.stages.entries()) {
		if (cutsBatches(stage)) checkParts(stage, i, report);
		const place = (...path: (string | number)[]) => ['stages', i, ...path, 'path'];
		if ('pairs' in stage) checkFile(stage.pairs.path, ['jsonl', 'txt'], place('pairs'), report);
		if ('data' in stage && stage.data !== undefined) checkFile(stage.data.path, ['jsonl'], place('data'), report);
		if (stage.type !== 'rejection-sampling') continue;
		for (const [k, file] of (stage.extra ?? []).entries()) checkFile(file.path, ['jsonl'], place('extra', k), report);
	}
}

/** Reports completions and pairs for the embedded engine that do not come from JSONL files. */
function checkFile(path: string, kinds: readonly string[], place: PathFault['path'], report: Report): void {
	const kind = dataFileKind(path);
	if (kind === null || kinds.includes(kind)) return;
	report(place, `The embedded engine reads JSONL, but "${path}" is ${kind}. Convert it, or set "engine": "pytorch".`);
}

function cutsBatches(stage: Stage): stage is GrpoStage | HeadStage | RlooStage {
	if (stage.type === 'value-model' || stage.type === 'process-reward-model') return stage.labels === undefined;
	return stage.type === 'grpo' || stage.type === 'rloo';
}

/** Requires updates on the embedded engine to contain whole groups. */
function checkParts(stage: GrpoStage | HeadStage | RlooStage, index: number, report: Report): void {
	const { prompts_per_step: prompts, steps_per_generation: parts } = filledStage(stage);
	if (prompts % parts === 0) return;
	report(
		['stages', index, 'steps_per_generation'],
		`"steps_per_generation" ${parts} does not divide the ${prompts} groups in "prompts_per_step" evenly: ` +
			`choose a divisor of ${prompts}.`,
	);
}
