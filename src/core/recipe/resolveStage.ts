import type { DpoStage, HeadStage, Stage } from '../../protocol/recipe.ts';
import { completionLength } from './checkModel.ts';
import type { Machine } from './machine.ts';
import { recipeDefaults } from './recipeDefaults.ts';
import { filled } from './recipeValues.ts';
import { dataPath } from './resolveDataset.ts';
import type { ResolvedDpoStage, ResolvedHeadStage, ResolvedStage } from './resolvedRecipe.ts';
import type { SequenceLengths } from './sequenceLengths.ts';

function resolvePairs(pairs: DpoStage['pairs'], machine: Machine, embedded: boolean): ResolvedDpoStage['pairs'] {
	const resolved = filled(recipeDefaults.pairs, pairs);
	return { ...resolved, path: embedded ? machine.resolvePath(resolved.path) : dataPath(resolved.path, machine) };
}

function resolveHead(stage: HeadStage, lengths: SequenceLengths | null, machine: Machine): ResolvedHeadStage {
	const { labels } = stage;
	const common = {
		until: null,
		max_completion_length: completionLength(stage, lengths),
		labels:
			labels === undefined
				? null
				: { ...filled(recipeDefaults.labels, labels), path: machine.resolvePath(labels.path) },
	};
	const defaults = { ...recipeDefaults.optimiser, ...recipeDefaults.head };
	if (stage.type === 'value-model') {
		return { ...filled({ ...defaults, ...recipeDefaults['value-model'] }, stage), ...common };
	}
	return { ...filled({ ...defaults, ...recipeDefaults['process-reward-model'] }, stage), ...common };
}

/** A stage with its defaults; `lengths` of a task's problems, null for a file. */
export function resolveStage(
	stage: Stage,
	lengths: SequenceLengths | null,
	machine: Machine,
	embedded: boolean,
): ResolvedStage {
	if (stage.type === 'value-model' || stage.type === 'process-reward-model') {
		return resolveHead(stage, lengths, machine);
	}
	if (stage.type === 'dpo') {
		const resolved = filled({ ...recipeDefaults.optimiser, ...recipeDefaults.dpo }, stage);
		return { ...resolved, until: null, pairs: resolvePairs(stage.pairs, machine, embedded) };
	}
	if (stage.type === 'reward-model') {
		const resolved = filled({ ...recipeDefaults.optimiser, ...recipeDefaults['reward-model'] }, stage);
		return { ...resolved, until: null, pairs: resolvePairs(stage.pairs, machine, embedded) };
	}
	const until = stage.until === undefined ? null : filled(recipeDefaults.until, stage.until);
	if (stage.type === 'pretrain') {
		const { corpus } = stage;
		return {
			...filled({ ...recipeDefaults.optimiser, ...recipeDefaults.pretrain }, stage),
			until,
			corpus:
				corpus === undefined
					? null
					: { ...filled(recipeDefaults.corpus, corpus), path: machine.resolvePath(corpus.path) },
		};
	}
	if (stage.type === 'distill') {
		const data = filled(recipeDefaults.teacherData, stage.data);
		return {
			...filled({ ...recipeDefaults.optimiser, ...recipeDefaults.distill }, stage),
			minReward: stage.minReward ?? null,
			until,
			data: { ...data, path: dataPath(data.path, machine) },
		};
	}
	if (stage.type === 'rloo') {
		const resolved = filled({ ...recipeDefaults.optimiser, ...recipeDefaults.rloo }, stage);
		return {
			...resolved,
			until,
			max_completion_length: completionLength(stage, lengths),
			epsilon_high: stage.epsilon_high ?? resolved.epsilon,
		};
	}
	if (stage.type === 'sft') {
		return { ...filled({ ...recipeDefaults.optimiser, ...recipeDefaults.sft }, stage), until };
	}
	const resolved = filled({ ...recipeDefaults.optimiser, ...recipeDefaults.grpo }, stage);
	return {
		...resolved,
		until,
		max_completion_length: completionLength(stage, lengths),
		epsilon_high: stage.epsilon_high ?? resolved.epsilon,
		// TRL computes every row.
		skip_dead_groups: embedded && resolved.skip_dead_groups,
		control: stage.control ?? null,
	};
}
