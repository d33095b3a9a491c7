import { Failure } from '../../base/failure.ts';
import type { GrpoStage, HeadStage, ProcessStage, Recipe, TaskDataset } from '../../protocol/recipe.ts';
import { createTask } from '../dataset/createTask.ts';
import type { StepSplit } from '../search/search.ts';
import { stepRuleOf } from '../search/stepRule.ts';
import { resolveTemplate } from '../text/template.ts';
import { checkRewards } from './checkRewards.ts';
import { recipeDefaults } from './recipeDefaults.ts';
import { defaultCompletionLength, type SequenceLengths, sequenceLengths } from './sequenceLengths.ts';

/** A fault at a place of the recipe, such as `['stages', 1, 'beta']`. */
export interface PathFault {
	readonly path: readonly (string | number)[];
	/** One sentence that names the key and says what to do. */
	readonly message: string;
}

/** The embedded engine's limit: about four times as many floats (weights, two moments, gradient) lie in memory. */
export const maxParameters = 200_000_000;
/** Completions of one generation batch. */
export const maxBatchRows = 65_536;

/** Parameters of a decoder of these sizes, its embedding and output matrices included. */
export function countParameters(
	shape: { readonly layers: number; readonly width: number; readonly feedForward: number; readonly context: number },
	vocabulary: number,
): number {
	const { layers, width, feedForward, context } = shape;
	const block = 4 * width * width + 2 * width * feedForward + 2 * width;
	return 2 * vocabulary * width + context * width + layers * block + width;
}

type Report = (path: PathFault['path'], message: string) => void;

/** Collects what a thrown Failure says as a fault of that place. */
function attempt<T>(report: Report, path: PathFault['path'], make: () => T): T | null {
	try {
		return make();
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
		report(path, error.toString());
		return null;
	}
}

/** What no single key can tell: faults between the keys of a recipe. Empty: the recipe can be resolved. */
export function checkRecipe(recipe: Recipe): PathFault[] {
	const faults: PathFault[] = [];
	const report: Report = (path, message) => faults.push({ path, message });
	checkName(recipe.name, report);
	const template = attempt(report, ['template'], () => resolveTemplate(recipe.template));
	const { dataset } = recipe;
	const task = 'task' in dataset ? attempt(report, ['dataset'], () => createTask(dataset as TaskDataset)) : null;
	const lengths = task && template ? sequenceLengths(task, template) : null;
	checkRewards(recipe, template, report);
	for (const [i, stage] of recipe.stages.entries()) {
		const warmup = stage.warmup_steps ?? 0;
		if (warmup > stage.steps) {
			report(['stages', i, 'warmup_steps'], `"warmup_steps" ${warmup} is more than "steps" ${stage.steps}: lower it.`);
		}
		if (stage.type === 'grpo') checkGrpo(stage, i, report);
		else if (stage.type !== 'sft') checkHead(stage, i, report);
	}
	checkModel(recipe, lengths, report);
	return faults;
}

function checkName(name: string, report: Report): void {
	// Runs are folders named after it.
	if (name.length > 80) report(['name'], `"name" has ${name.length} characters: 80 at most, it names folders.`);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
	else if (/[\\/:*?"<>|\u0000-\u001f]/.test(name) || /^[.\s]|[.\s]$/.test(name)) {
		report(['name'], '"name" cannot name a folder: leave out \\ / : * ? " < > | and dots or blanks at its ends.');
	}
}

function checkHead(stage: HeadStage, index: number, report: Report): void {
	if (stage.type === 'process-reward-model') checkSplit(stage, index, report);
	const place = (key: string): PathFault['path'] => ['stages', index, key];
	if (stage.labels !== undefined) {
		for (const key of ['prompts_per_step', 'num_generations', 'completions', 'estimation'] as const) {
			if (!(key in stage)) continue;
			report(place(key), `"${key}" is about completions of the policy, but "labels" names a file: remove one of them.`);
		}
		return;
	}
	if (stage.batch_size !== undefined) {
		report(place('batch_size'), '"batch_size" is about a file of labels: add "labels" or set "prompts_per_step".');
	}
	const defaults = { ...recipeDefaults.head, ...recipeDefaults[stage.type] };
	const given = Object.fromEntries(Object.entries(stage).filter(([, value]) => value !== undefined));
	const { prompts_per_step, num_generations, steps_per_generation } = { ...defaults, ...given };
	checkBatch(index, prompts_per_step, num_generations, steps_per_generation, report);
	const completions = stage.type === 'value-model' ? 1 : (stage.completions ?? recipeDefaults[stage.type].completions);
	const rows = prompts_per_step * num_generations * completions;
	if (completions > 1 && rows > maxBatchRows) {
		report(
			place('completions'),
			`"prompts_per_step" x "num_generations" x "completions" is ${rows} for each step, more than ${maxBatchRows}: lower one of them.`,
		);
	}
}

function checkSplit(stage: ProcessStage, index: number, report: Report): void {
	const split = stage.split ?? recipeDefaults['process-reward-model'].split;
	if (split === 'completion') {
		report(['stages', index, 'split'], '"split" is "completion", which leaves one step: choose lines, or a text.');
		return;
	}
	attempt(report, ['stages', index, 'split'], () => stepRuleOf(split as StepSplit));
}

function checkGrpo(stage: GrpoStage, index: number, report: Report): void {
	const { num_generations, prompts_per_step, steps_per_generation } = recipeDefaults.grpo;
	checkBatch(
		index,
		stage.prompts_per_step ?? prompts_per_step,
		stage.num_generations ?? num_generations,
		stage.steps_per_generation ?? steps_per_generation,
		report,
	);
}

function checkBatch(index: number, prompts: number, generations: number, parts: number, report: Report): void {
	if (prompts % parts !== 0) {
		report(
			['stages', index, 'steps_per_generation'],
			`"steps_per_generation" ${parts} does not split the ${prompts} groups of "prompts_per_step" evenly: ` +
				`choose a divisor of ${prompts}.`,
		);
	}
	if (prompts * generations > maxBatchRows) {
		report(
			['stages', index, 'prompts_per_step'],
			`"prompts_per_step" x "num_generations" is ${prompts * generations} completions per batch, ` +
				`more than ${maxBatchRows}: lower one of them.`,
		);
	}
}

/** max_completion_length of a stage, its default included. */
export function completionLength(stage: GrpoStage | HeadStage, lengths: SequenceLengths | null): number {
	const fallback = lengths === null ? recipeDefaults.fileCompletionLength : defaultCompletionLength(lengths);
	return stage.max_completion_length ?? fallback;
}

function checkModel(recipe: Recipe, lengths: SequenceLengths | null, report: Report): void {
	const { model } = recipe;
	if ('path' in model) return;
	const { layers, width, heads, context } = model;
	if (width % heads !== 0) {
		const below = Math.floor(width / heads) * heads;
		const choices = below >= 8 ? `${below} or ${below + heads}` : `${below + heads}`;
		report(['model', 'width'], `"width" ${width} is not a multiple of "heads" ${heads}: choose ${choices}.`);
	}
	const completions = recipe.stages.flatMap((stage) =>
		stage.type !== 'sft' ? [completionLength(stage, lengths)] : lengths ? [lengths.completion] : [],
	);
	const needed = (lengths?.prompt ?? 2) + Math.max(1, ...completions);
	if (context !== undefined && context < needed) {
		report(
			['model', 'context'],
			`"context" ${context} is too short: prompt and completion take up to ${needed} tokens; ` +
				`raise it to ${needed} or lower "max_completion_length".`,
		);
	}
	const feedForward = model.feedForward ?? 4 * width;
	const parameters = countParameters({ layers, width, feedForward, context: context ?? needed }, 128);
	if (recipe.engine === 'embedded' && parameters > maxParameters) {
		report(
			['model'],
			`A model of ${layers} layers of width ${width} has about ${Math.round(parameters / 1e6)} million parameters, and the ` +
				`embedded engine takes ${maxParameters / 1e6} million at most: lower "width" or "layers".`,
		);
	}
}
