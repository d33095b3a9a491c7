import type { RunContent } from '../runs/runContent.ts';

export interface MetricColumns {
	readonly steps: readonly number[];
	/** One column per requested name, each parallel to `steps`. null if there is no value at that step. */
	readonly columns: readonly (readonly (number | null)[])[];
	/** All metric names in the run. */
	readonly names: ReadonlySet<string>;
}

/** Reads a run's requested metrics by step. */
export async function readColumns(
	content: RunContent,
	wanted: readonly string[],
	signal: AbortSignal,
	from = Number.NEGATIVE_INFINITY,
	to = Number.POSITIVE_INFINITY,
): Promise<MetricColumns> {
	const steps: number[] = [];
	const columns = wanted.map((): (number | null)[] => []);
	const names = new Set<string>();
	for await (const lines of content.metrics(signal)) {
		for (const { step, values } of lines) {
			for (const name in values) names.add(name);
			if (step < from || step > to) continue;
			steps.push(step);
			for (const [i, name] of wanted.entries()) columns[i]?.push(values[name] ?? null);
		}
	}
	return { steps, columns, names };
}
