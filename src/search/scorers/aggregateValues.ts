/** How to combine step values into one (Lightman et al. 2023: prod, min; Snell et al. 2024: last). */
export type ValueAggregate = 'last' | 'min' | 'prod' | 'mean';

/** Returns null if there are no values. */
export function aggregateValues(values: readonly number[], how: ValueAggregate): number | null {
	if (values.length === 0) return null;
	switch (how) {
		case 'last':
			return values.at(-1) as number;
		case 'min':
			return values.reduce((min, value) => Math.min(min, value));
		case 'prod':
			return values.reduce((product, value) => product * value, 1);
		case 'mean':
			return values.reduce((sum, value) => sum + value, 0) / values.length;
	}
}
