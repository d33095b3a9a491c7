import type {
	GrpoStage,
	HeadStage,
	PpoStage,
	ProcessStage,
	Recipe,
	RejectionStage,
	RlooStage,
} from '../../protocol/recipeKeys/recipe.ts';
import type { StepSplit } from '../search/search.ts';
import { stepRuleOf } from '../search/stepRule.ts';
import { filledStage } from './filledStage.ts';
import { attempt, type PathFault, type Report } from './pathFault.ts';

/** Maximum number of completions in a generation batch. */
export const maxBatchRows = 65_536;

/** Finds conflicts within each stage that apply to every engine. */
export function checkStages(recipe: Recipe, report: Report): void {
	for (const [i, stage] of recipe.stages.entries()) {
		if (stage.type === 'ppo') checkPpo(stage, i, report);
		const warmup = 'warmup_steps' in stage ? (stage.warmup_steps ?? 0) : 0;
		if ('steps' in stage && warmup > stage.steps) {
			report(
				['stages', i, 'warmup_steps'],
				`"warmup_steps" ${warmup} is greater than "steps" ${stage.steps}. Lower it.`,
			);
		}
		if (['grpo', 'rloo', 'ppo', 'rejection-sampling'].includes(stage.type)) checkGroups(stage as GroupStage, i, report);
		else if (stage.type === 'value-model' || stage.type === 'process-reward-model') checkHead(stage, i, report);
	}
}

function checkHead(stage: HeadStage, index: number, report: Report): void {
	if (stage.type === 'process-reward-model') checkSplit(stage, index, report);
	const place = (key: string): PathFault['path'] => ['stages', index, key];
	if (stage.labels !== undefined) {
		for (const key of ['prompts_per_step', 'num_generations', 'completions', 'estimation'] as const) {
			if (!(key in stage)) continue;
			report(
				place(key),
				`"${key}" applies to completions from the policy, but "labels" specifies a file. Remove one of them.`,
			);
		}
		if (stage.type === 'process-reward-model' && stage.active !== undefined) {
			report(place('active'), '"active" chooses steps to label, but "labels" specifies a file. Remove one of them.');
		}
		return;
	}
	if (stage.batch_size !== undefined) {
		report(
			place('batch_size'),
			'"batch_size" applies to label files. Add "labels", or set "prompts_per_step" instead.',
		);
	}
	const { prompts_per_step, num_generations } = filledStage(stage);
	checkBatch(index, prompts_per_step, num_generations, report);
	const completions = stage.type === 'value-model' ? 1 : filledStage(stage).completions;
	const rows = prompts_per_step * num_generations * completions;
	if (completions > 1 && rows > maxBatchRows) {
		report(
			place('completions'),
			`"prompts_per_step" x "num_generations" x "completions" is ${rows} per step, which is more than ${maxBatchRows}. Lower one of them.`,
		);
	}
}

function checkSplit(stage: ProcessStage, index: number, report: Report): void {
	const { split } = filledStage(stage);
	if (split === 'completion') {
		report(
			['stages', index, 'split'],
			'"split" is "completion", which results in a single step. Use "lines" or a separator string.',
		);
		return;
	}
	attempt(report, ['stages', index, 'split'], () => stepRuleOf(split as StepSplit));
}

function checkPpo(stage: PpoStage, index: number, report: Report): void {
	const { prompts_per_step, num_generations, num_mini_batches: parts, critic_warmup_steps } = filledStage(stage);
	const rows = prompts_per_step * num_generations;
	if (rows % parts !== 0) {
		report(
			['stages', index, 'num_mini_batches'],
			`"num_mini_batches" ${parts} does not divide the ${rows} completions in a batch evenly. Choose a divisor of ${rows}.`,
		);
	}
	if (critic_warmup_steps >= stage.steps) {
		report(
			['stages', index, 'critic_warmup_steps'],
			`"critic_warmup_steps" leaves none of the ${stage.steps} steps for the policy. Lower it, or raise "steps".`,
		);
	}
}

/** A stage that samples several completions for each problem. */
type GroupStage = GrpoStage | PpoStage | RlooStage | RejectionStage;

function checkGroups(stage: GroupStage, index: number, report: Report): void {
	const { num_generations, prompts_per_step } = filledStage(stage);
	checkBatch(index, prompts_per_step, num_generations, report);
}

function checkBatch(index: number, prompts: number, generations: number, report: Report): void {
	if (prompts * generations <= maxBatchRows) return;
	report(
		['stages', index, 'prompts_per_step'],
		`"prompts_per_step" x "num_generations" is ${prompts * generations} completions per batch, ` +
			`which is more than ${maxBatchRows}. Lower one of them.`,
	);
}
