import type { PerToken, Sample } from '../learner.ts';

/** Which completion tokens the policy generated (1); absent if it generated all of them. */
type Trained = Sample['trained'];
type Masked = Pick<Sample, 'tokens' | 'promptLength'> & { readonly trained?: Trained };

/** Returns the number of completion tokens that the policy generated. */
export function trainedLength({ tokens, promptLength, trained }: Masked): number {
	return trained === undefined ? tokens.length - promptLength : trained.reduce((sum, one) => sum + one, 0);
}

/** Returns the values of the tokens that the policy generated. */
export function ofTrained<T extends PerToken | Float64Array>(values: T, trained: Trained): T {
	return trained === undefined ? values : (values.filter((_, t) => trained[t] === 1) as T);
}

/** Inverse of {@link ofTrained}: returns one value per completion token, 0 for tokens from the environment. */
export function overAll(values: PerToken, trained: Trained): PerToken {
	if (trained === undefined) return values;
	let next = 0;
	return Float32Array.from(trained, (one) => (one === 1 ? (values[next++] as number) : 0));
}
