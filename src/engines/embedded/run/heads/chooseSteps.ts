import { Random } from '../../../../base/random.ts';
import type { ResolvedProcessStage } from '../../../../core/recipe/resolvedRecipe.ts';

type Active = NonNullable<ResolvedProcessStage['active']>;

/** A step that could be labeled. */
export interface StepCandidate {
	/** The head's value after the step. */
	readonly value: number;
	/**
	 * The head's value for the whole solution, and whether the solution is correct (1 or 0), which is known without a
	 * label.
	 */
	readonly wholeValue: number;
	readonly outcome: number;
}

/** Keeps the weight of a step positive even if the head is certain about it. */
const tiny = 1e-6;

/** Returns how much a label for the step is expected to change the head. */
const expectedChange: Readonly<Record<Active['by'], (candidate: StepCandidate) => number>> = {
	random: () => 1,
	/*
	 * For a head with a sigmoid and cross-entropy, the gradient at its output is value minus label. If the label is
	 * correct with the probability that the head states, the expected gradient size is 2 value (1 - value) (expected
	 * gradient length; Settles and Craven 2008, section 3.3). These are also the steps with the highest entropy.
	 */
	uncertainty: ({ value }) => value * (1 - value),
	// Gradient size at the end of the solution, whose label is known. Measures what the head does not understand yet.
	surprise: ({ wholeValue, outcome }) => Math.abs(wholeValue - outcome),
};

/**
 * Returns the indexes of the steps to label, in ascending order: a random sample without replacement, weighted by
 * expected change (Efraimidis and Spirakis 2006, algorithm A). Choosing only the steps with the highest values would
 * make batches too uniform and training unstable.
 */
export function chooseSteps(
	{ steps, by }: Active,
	candidates: readonly StepCandidate[],
	...seed: readonly (string | number)[]
): number[] {
	const random = Random.of(...seed);
	const keys = candidates.map((candidate) => Math.log(1 - random.next()) / (expectedChange[by](candidate) + tiny));
	const order = candidates.map((_, i) => i).sort((a, b) => (keys[b] as number) - (keys[a] as number));
	return order.slice(0, steps).sort((a, b) => a - b);
}
