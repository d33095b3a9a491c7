import { readFile, writeFile } from 'node:fs/promises';

/** Samples of one quantity in a given unit. */
export interface Measurement {
	readonly name: string;
	readonly unit: string;
	readonly samples: readonly number[];
}

export interface BenchOptions {
	/** Command line of another program to run in turns with the bench. */
	readonly against: string | null;
	/** Finds the other program's value (first group) in its output. */
	readonly againstPattern: RegExp;
	/** Number of measurements of each quantity. */
	readonly rounds: number;
	/** Uses the smallest sizes that cover everything. Shows that the bench works, but the results are meaningless. */
	readonly tiny: boolean;
}

/** A bench, exported as `bench` from a file NAME.bench.ts in this folder. */
export interface Bench {
	readonly title: string;
	run(options: BenchOptions): Promise<Measurement[]>;
}

/** Thrown when the bench cannot run because this machine lacks something it needs, which is not a failure. */
export class NotHere extends Error {}

export function median(samples: readonly number[]): number {
	const sorted = samples.toSorted((a, b) => a - b);
	const middle = sorted.length >> 1;
	const upper = sorted[middle] ?? Number.NaN;
	return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

function show(x: number): string {
	return Math.abs(x) >= 100 ? x.toFixed(0) : x.toPrecision(3);
}

export function table(measurements: readonly Measurement[]): string {
	const rows = measurements.map(({ name, unit, samples }) => [
		name,
		show(median(samples)),
		unit,
		samples.length > 1
			? `${show(Math.min(...samples))} to ${show(Math.max(...samples))}, ${samples.length} samples`
			: '',
	]);
	const widths = [0, 1, 2].map((c) => Math.max(...rows.map((row) => (row[c] as string).length)));
	return rows
		.map(([name, value, unit, spread]) =>
			`${(name as string).padEnd(widths[0] as number)}  ${(value as string).padStart(widths[1] as number)} ${(unit as string).padEnd(widths[2] as number)}  ${spread}`.trimEnd(),
		)
		.join('\n');
}

/** Writes medians to the results file as `{name: {value, unit, samples}}` and keeps results of other benches. */
export async function writeResults(file: URL, measurements: readonly Measurement[]): Promise<void> {
	let results: Record<string, unknown> = {};
	try {
		results = JSON.parse(await readFile(file, 'utf8'));
	} catch {
		// The file is missing or truncated, so start a new one.
	}
	for (const { name, unit, samples } of measurements) {
		results[name] = { value: median(samples), unit, samples: samples.length };
	}
	const sorted = Object.fromEntries(Object.entries(results).toSorted(([a], [b]) => (a < b ? -1 : 1)));
	await writeFile(file, `${JSON.stringify(sorted, null, '\t')}\n`);
}
