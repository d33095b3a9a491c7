import type { DistillStage, DpoStage, HeadStage, RejectionStage, SftStage, Stage } from '../../protocol/recipe.ts';
import { completionLength } from './checkModel.ts';
import type { Machine } from './machine.ts';
import { recipeDefaults } from './recipeDefaults.ts';
import { filled } from './recipeValues.ts';
import { dataPath } from './resolveDataset.ts';
import type {
	ResolvedDistillStage,
	ResolvedDpoStage,
	ResolvedHeadStage,
	ResolvedRejectionStage,
	ResolvedStage,
} from './resolvedRecipe.ts';
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

function resolveData(data: SftStage['data'], machine: Machine, embedded: boolean): ResolvedDistillStage['data'] {
	if (data === undefined) return null;
	const { solution, ...columns } = filled(recipeDefaults.teacherData, data);
	return {
		...columns,
		path: embedded ? machine.resolvePath(data.path) : dataPath(data.path, machine),
		...(embedded ? { solution: solution ?? 'solution' } : {}),
	};
}

/** Whether completions are sampled in it. */
export function distillSamples(stage: Pick<DistillStage, 'data' | 'teacher'>): boolean {
	return stage.teacher !== undefined && stage.data === undefined;
}

function resolveRejection(
	stage: RejectionStage,
	lengths: SequenceLengths | null,
	machine: Machine,
): ResolvedRejectionStage {
	const { problems, num_generations, prompts_per_step, temperature } = filled(
		recipeDefaults['rejection-sampling'],
		stage,
	);
	const { correct, minReward, language, minTokens, maxTokens, perProblem, duplicates } = stage.keep ?? {};
	const { keep } = recipeDefaults;
	return {
		type: stage.type,
		steps: Math.ceil(problems / prompts_per_step),
		until: null,
		problems,
		num_generations,
		prompts_per_step,
		max_completion_length: completionLength(stage, lengths),
		temperature,
		keep: {
			correct: correct ?? keep.correct,
			minReward: minReward ?? null,
			language:
				language === undefined
					? null
					: { language: language.language, minShare: language.minShare ?? keep.language.minShare },
			minTokens: minTokens ?? null,
			maxTokens: maxTokens ?? null,
			perProblem: perProblem ?? null,
			duplicates: duplicates ?? keep.duplicates,
		},
		extra: (stage.extra ?? []).map(({ share, ...file }) => ({
			...(resolveData(file, machine, true) as NonNullable<ResolvedDistillStage['data']>),
			share: share ?? null,
		})),
	};
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
	if (stage.type === 'rejection-sampling') return resolveRejection(stage, lengths, machine);
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
		const { max_completion_length: _, ...resolved } = filled(
			{ ...recipeDefaults.optimiser, ...recipeDefaults.distill },
			stage,
		);
		return {
			...resolved,
			minReward: stage.minReward ?? null,
			until,
			data: resolveData(stage.data, machine, embedded),
			teacher: stage.teacher === undefined ? null : { path: machine.resolvePath(stage.teacher.path) },
			...(distillSamples(stage) ? { max_completion_length: completionLength(stage, lengths) } : {}),
		};
	}
	if (stage.type === 'ppo') {
		return {
			...filled({ ...recipeDefaults.optimiser, ...recipeDefaults.ppo }, stage),
			until,
			max_completion_length: completionLength(stage, lengths),
			critic_learning_rate: stage.critic_learning_rate ?? null,
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
		const data = resolveData(stage.data, machine, embedded);
		return { ...filled({ ...recipeDefaults.optimiser, ...recipeDefaults.sft }, stage), until, data };
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
