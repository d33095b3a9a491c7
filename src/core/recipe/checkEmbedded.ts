import {
	type DpoStage,
	embeddedLossTypes,
	type GrpoStage,
	type HeadStage,
	type Recipe,
	type RewardModelStage,
	type RlooStage,
	type SftStage,
	type Stage,
} from '../../protocol/recipe.ts';
import { unreadFile } from '../dataset/readableHere.ts';
import { dataFileKind } from './hubId.ts';
import type { PathFault, Report } from './pathFault.ts';
import { recipeDefaults } from './recipeDefaults.ts';

/** Tokens that the embedded engine samples at most: its longest context. */
const longestCompletion = 8192;
const pytorchOnly = 'set "engine": "pytorch" or remove it.';

/** What the embedded engine does not have, each with the engine that has it. */
export function checkEmbedded(recipe: Recipe, report: Report): void {
	const { model, dataset, template } = recipe;
	for (const key of ['pytorch', 'ray'] as const) {
		if (recipe[key] === undefined) continue;
		report([key], `"${key}" is for the engine "${key}", and this recipe's is "embedded": set "engine" or remove it.`);
	}
	if ('path' in model) {
		for (const key of ['revision', 'template'] as const) {
			if (model[key] !== undefined)
				report(['model', key], `"${key}" is about models of the pytorch engine: ${pytorchOnly}`);
		}
	}
	if (typeof template === 'object') {
		for (const key of ['chat', 'system'] as const) {
			if (template[key] === undefined || template[key] === false) continue;
			report(
				['template', key],
				`"${key}" needs a chat template, which models of the embedded engine lack: ${pytorchOnly}`,
			);
		}
	}
	if (!('task' in dataset)) {
		for (const key of ['config', 'split'] as const) {
			if (dataset[key] !== undefined)
				report(['dataset', key], `"${key}" is about hub datasets, which the pytorch engine reads: ${pytorchOnly}`);
		}
		if (dataset.path === undefined && dataset.preset !== undefined) {
			report(
				['dataset', 'preset'],
				`The embedded engine does not read the hub: add "path" with ${dataset.preset} as a file, or set "engine": "pytorch".`,
			);
		}
		for (const key of ['path', 'heldOut'] as const) {
			const unread = unreadFile(dataset[key] ?? '');
			if (unread === null) continue;
			report(
				['dataset', key],
				`"${dataset[key]}" ${unread}, which the embedded engine does not read: convert it, or set "engine": "pytorch".`,
			);
		}
	}
	for (const [i, stage] of recipe.stages.entries()) {
		checkStage(stage, i, report);
		if ('data' in stage && stage.data !== undefined) checkData(stage.data, ['stages', i, 'data'], report);
		if (stage.type !== 'rejection-sampling') continue;
		for (const [k, file] of (stage.extra ?? []).entries()) checkData(file, ['stages', i, 'extra', k], report);
	}
}

function checkData({ path, split }: NonNullable<SftStage['data']>, key: PathFault['path'], report: Report): void {
	const place = (inner: string) => [...key, inner];
	if (split !== undefined) {
		report(place('split'), `"split" is about hub datasets, which the pytorch engine reads: ${pytorchOnly}`);
	}
	const kind = dataFileKind(path);
	if (kind === null || kind === 'jsonl') return;
	report(
		place('path'),
		`The embedded engine reads JSONL, and "${path}" is ${kind}: convert it, or set "engine": "pytorch".`,
	);
}

function checkStage(stage: Stage, i: number, report: Report): void {
	if ('trainer' in stage && stage.trainer !== undefined) {
		report(
			['stages', i, 'trainer'],
			`"trainer" holds options of TRL, which the embedded engine is not: ${pytorchOnly}`,
		);
	}
	if ('max_completion_length' in stage && (stage.max_completion_length ?? 0) > longestCompletion) {
		report(
			['stages', i, 'max_completion_length'],
			`"max_completion_length" is at most ${longestCompletion} in the embedded engine: lower it, or set "engine": "pytorch".`,
		);
	}
	if (stage.type === 'dpo' || stage.type === 'reward-model') checkPairs(stage, i, report);
	else if (stage.type === 'rloo') checkParts(stage, i, report);
	else if (stage.type === 'grpo') {
		const { loss_type } = stage;
		if (loss_type !== undefined && !(embeddedLossTypes as readonly string[]).includes(loss_type)) {
			report(
				['stages', i, 'loss_type'],
				`The embedded engine has no "loss_type" "${loss_type}": choose one of ${embeddedLossTypes.join(', ')}, or set "engine": "pytorch".`,
			);
		}
		checkParts(stage, i, report);
	} else if ((stage.type === 'value-model' || stage.type === 'process-reward-model') && stage.labels === undefined) {
		checkParts(stage, i, report);
	}
}

/** Pairs of the embedded engine are a file. */
function checkPairs({ pairs }: DpoStage | RewardModelStage, index: number, report: Report): void {
	const place = (key: string) => ['stages', index, 'pairs', key];
	const kind = dataFileKind(pairs.path);
	if (kind !== null && !['jsonl', 'txt'].includes(kind)) {
		report(
			place('path'),
			`The embedded engine reads JSONL, and "${pairs.path}" is ${kind}: convert it, or set "engine": "pytorch".`,
		);
	}
	if (pairs.split !== undefined) {
		report(place('split'), `"split" is about hub datasets, which the pytorch engine reads: ${pytorchOnly}`);
	}
}

/** Updates of the embedded engine hold whole groups. */
function checkParts(stage: GrpoStage | HeadStage | RlooStage, index: number, report: Report): void {
	const defaults = stage.type === 'grpo' || stage.type === 'rloo' ? recipeDefaults[stage.type] : recipeDefaults.head;
	const prompts = stage.prompts_per_step ?? defaults.prompts_per_step;
	const parts = stage.steps_per_generation ?? defaults.steps_per_generation;
	if (prompts % parts === 0) return;
	report(
		['stages', index, 'steps_per_generation'],
		`"steps_per_generation" ${parts} does not split the ${prompts} groups of "prompts_per_step" evenly: ` +
			`choose a divisor of ${prompts}.`,
	);
}
