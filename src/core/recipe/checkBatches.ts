import { defaultsOf } from '../../protocol/recipeKeys/keyDefaults.ts';
import type { Recipe, Stage } from '../../protocol/recipeKeys/recipe.ts';
import { pytorchSchema, raySchema } from '../../protocol/recipeKeys/torchRecipe.ts';
import { filledStage } from './filledStage.ts';
import type { Report } from './pathFault.ts';

/**
 * Row counts that must divide evenly among processes. TRL splits an update's rows into equal parts, and a generation
 * batch must contain whole groups. TRL has `generation_batch_size = per_device_train_batch_size x processes x (TRL's)
 * steps_per_generation`, and its steps_per_generation is ours times the gradient accumulation, so
 *
 *     prompts_per_step x num_generations = microBatch x accumulation x processes x steps_per_generation
 *
 * unless an update has fewer rows than a microBatch. For stages with a batch_size, `batch_size = microBatch x
 * accumulation x processes`.
 */
interface Update {
	readonly index: number;
	/** Key that determines the number of rows. */
	readonly key: 'prompts_per_step' | 'batch_size';
	readonly amount: number;
	/** Number of rows per unit of that key. */
	readonly rows: number;
	/** Number of updates that the rows are split into. */
	readonly parts: number;
}

function gcd(a: number, b: number): number {
	return b === 0 ? a : gcd(b, a % b);
}

/** Returns the number of training processes in a recipe for the pytorch or ray engine. */
export function processesOf(recipe: {
	readonly engine: Recipe['engine'];
	readonly pytorch?: { readonly processes?: number | undefined } | undefined;
	readonly ray?: { readonly workers?: number | undefined } | undefined;
}): number {
	return recipe.engine === 'ray'
		? (recipe.ray?.workers ?? defaultsOf(raySchema).workers)
		: (recipe.pytorch?.processes ?? defaultsOf(pytorchSchema).processes);
}

function updateOf(stage: Stage, index: number): Update | null {
	if (stage.type === 'ppo' || stage.type === 'value-model' || stage.type === 'rejection-sampling') return null;
	if (stage.type === 'grpo' || stage.type === 'rloo') {
		const { prompts_per_step, num_generations, steps_per_generation } = filledStage(stage);
		return {
			index,
			key: 'prompts_per_step',
			amount: prompts_per_step,
			rows: num_generations,
			parts: steps_per_generation,
		};
	}
	return { index, key: 'batch_size', amount: filledStage(stage).batch_size, rows: 1, parts: 1 };
}

/** Lists the multiples of `unit` closest to a number, such as `12 or 16`, each between 1 and 65536. */
function around(amount: number, unit: number): string {
	const below = Math.floor(amount / unit) * unit;
	return [below, below + unit].filter((one) => one >= 1 && one <= 65_536).join(' or ');
}

/** Lists the divisors of `rows` that are closest to a number. */
function divisors(rows: number, near: number): string {
	const all = Array.from({ length: Math.min(rows, 65_536) }, (_, i) => i + 1).filter((one) => rows % one === 0);
	const below = all.findLast((one) => one < near);
	const above = all.find((one) => one > near);
	return [below, above].filter((one) => one !== undefined).join(' or ');
}

/** Reports batches that TRL cannot divide evenly among processes, updates, and micro-batches. */
export function checkBatches(recipe: Recipe, report: Report): void {
	const processes = processesOf(recipe);
	const micro = recipe.pytorch?.microBatch;
	const perProcess: number[] = [];
	for (const [i, stage] of recipe.stages.entries()) {
		const update = updateOf(stage, i);
		if (update === null) continue;
		const { key, amount, rows, parts } = update;
		const total = amount * rows;
		if (total % (processes * parts) !== 0) {
			const what =
				key === 'batch_size' ? '"batch_size"' : `"prompts_per_step" x "num_generations" (${amount} x ${rows})`;
			const by = [
				...(parts > 1 ? [`${parts} updates ("steps_per_generation")`] : []),
				...(processes > 1 ? [`${processes} ${recipe.engine === 'ray' ? 'workers' : 'processes'}`] : []),
			];
			const unit = (processes * parts) / gcd(processes * parts, rows);
			report(
				['stages', i, parts > 1 && !given(stage, key) ? 'steps_per_generation' : key],
				`${what} is ${total} rows, which cannot be divided evenly among ${by.join(' and ')}. Set "${key}" to ${around(amount, unit)}.`,
			);
			continue;
		}
		perProcess.push(total / (processes * parts));
	}
	if (micro === undefined) return;
	// If an update has fewer rows than a micro-batch, they are processed in a single pass.
	const uneven = perProcess.filter((rows) => rows > micro && rows % micro !== 0);
	if (uneven[0] === undefined) return;
	report(
		['pytorch', 'microBatch'],
		`"microBatch" ${micro} does not divide the ${uneven[0]} rows per update in each process: ` +
			`choose ${divisors(uneven.reduce(gcd), micro)}.`,
	);
}

const given = (stage: Stage, key: Update['key']): boolean =>
	(stage as Partial<Record<string, unknown>>)[key] !== undefined;
