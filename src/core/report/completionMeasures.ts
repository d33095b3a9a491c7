import type { ComparedMeasure } from '../../protocol/recipeKeys/pipelineRecipe.ts';

/** Metrics for one completion; null if not applicable. */
export type CompletionMeasures = { readonly [K in ComparedMeasure]: number | null };

/** An evaluation question with the means over its samples. */
export interface MeasuredQuestion {
	/** Question category, if the data has one. */
	readonly category: string | null;
	readonly means: CompletionMeasures;
}

/** Accumulates the samples for one question. */
export class QuestionMeasures {
	readonly #category: string | null;
	readonly #sums = new Map<ComparedMeasure, { sum: number; count: number }>();

	constructor(category: string | null) {
		this.#category = category;
	}

	add(measures: CompletionMeasures): void {
		for (const [name, value] of Object.entries(measures) as [ComparedMeasure, number | null][]) {
			if (value === null) continue;
			const own = this.#sums.get(name) ?? { sum: 0, count: 0 };
			this.#sums.set(name, { sum: own.sum + value, count: own.count + 1 });
		}
	}

	question(): MeasuredQuestion {
		const mean = (name: ComparedMeasure): number | null => {
			const own = this.#sums.get(name);
			return own === undefined ? null : own.sum / own.count;
		};
		const means: CompletionMeasures = {
			accuracy: mean('accuracy'),
			format: mean('format'),
			'one-language': mean('one-language'),
			tokens: mean('tokens'),
			reflection: mean('reflection'),
			verification: mean('verification'),
			backtracking: mean('backtracking'),
		};
		return { category: this.#category, means };
	}
}
