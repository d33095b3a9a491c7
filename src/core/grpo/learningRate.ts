import type { SchedulerName } from '../../protocol/recipeKeys/recipe.ts';

export interface Schedule {
	readonly learning_rate: number;
	readonly lr_scheduler_type: SchedulerName;
	readonly warmup_steps: number;
	/** Number of updates in the stage. */
	readonly steps: number;
}

/**
 * Returns the learning rate of an update, as in `optimization.py` from transformers. `index` is 0-based, so the first
 * warm-up update has rate 0. `constant` ignores warm-up, `cosine` follows half a period down to 0, and `linear` decays
 * linearly to 0.
 */
export function learningRateAt(schedule: Schedule, index: number): number {
	const { learning_rate: peak, warmup_steps: warmup, steps } = schedule;
	if (schedule.lr_scheduler_type === 'constant') return peak;
	if (index < warmup) return (peak * index) / Math.max(1, warmup);
	const rest = Math.max(1, steps - warmup);
	switch (schedule.lr_scheduler_type) {
		case 'constant_with_warmup':
			return peak;
		case 'linear':
			return peak * Math.max(0, (steps - index) / rest);
		case 'cosine':
			return peak * Math.max(0, 0.5 * (1 + Math.cos((Math.PI * (index - warmup)) / rest)));
	}
}
