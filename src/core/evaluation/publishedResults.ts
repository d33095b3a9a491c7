import type { BenchmarkName } from '../../protocol/benchmarks.ts';

/** A published result that we did not measure ourselves. */
export interface PublishedResult {
	readonly model: string;
	/** Source, such as "DeepSeek-R1 (Guo et al. 2025, arXiv:2501.12948v1), table 5". */
	readonly source: string;
	/** Metric, such as "pass@1" or "cons@64". */
	readonly measure: string;
	/** Accuracy from 0 to 1. */
	readonly accuracy: number;
}

// Cites v1; the version in Nature (645, 2025) reports different numbers for R1-Zero.
const source = (table: number) => `DeepSeek-R1 (Guo et al. 2025, arXiv:2501.12948v1), table ${table}`;

/**
 * AIME 2024 pass@1 and cons@64, MATH-500, GPQA-Diamond, and LiveCodeBench (all pass@1), in percent, or null if not
 * published. Tables 4 and 5 also appear in the README of the model's repository, which lists 44.0 instead of 50.0 for
 * QwQ-32B-Preview.
 */
const rows: readonly (readonly [model: string, table: number, ...percent: readonly (number | null)[]])[] = [
	['DeepSeek-R1', 4, 79.8, null, 97.3, 71.5, 65.9],
	['OpenAI-o1-1217', 4, 79.2, null, 96.4, 75.7, 63.4],
	['OpenAI-o1-mini', 2, 63.6, 80.0, 90.0, 60.0, 53.8],
	['OpenAI-o1-0912', 2, 74.4, 83.3, 94.8, 77.3, 63.4],
	['DeepSeek-R1-Zero', 2, 71.0, 86.7, 95.9, 73.3, 50.0],
	['GPT-4o-0513', 5, 9.3, 13.4, 74.6, 49.9, 32.9],
	['Claude-3.5-Sonnet-1022', 5, 16.0, 26.7, 78.3, 65.0, 38.9],
	['QwQ-32B-Preview', 5, 50.0, 60.0, 90.6, 54.5, 41.9],
	['DeepSeek-R1-Distill-Qwen-1.5B', 5, 28.9, 52.7, 83.9, 33.8, 16.9],
	['DeepSeek-R1-Distill-Qwen-7B', 5, 55.5, 83.3, 92.8, 49.1, 37.6],
	['DeepSeek-R1-Distill-Qwen-14B', 5, 69.7, 80.0, 93.9, 59.1, 53.1],
	['DeepSeek-R1-Distill-Qwen-32B', 5, 72.6, 83.3, 94.3, 62.1, 57.2],
	['DeepSeek-R1-Distill-Llama-8B', 5, 50.4, 80.0, 89.1, 49.0, 39.6],
	['DeepSeek-R1-Distill-Llama-70B', 5, 70.0, 86.7, 94.5, 65.2, 57.5],
	['DeepSeek-R1-Zero-Qwen-32B', 6, 47.0, 60.0, 91.6, 55.0, 40.2],
];

const columns: Readonly<Partial<Record<BenchmarkName, readonly (readonly [column: number, measure: string])[]>>> = {
	aime: [
		[0, 'pass@1'],
		[1, 'cons@64'],
	],
	'math-500': [[2, 'pass@1']],
	'gpqa-diamond': [[3, 'pass@1']],
	livecodebench: [[4, 'pass@1']],
};

/** Returns the published results for a benchmark, best first for each metric. Empty if unknown. */
export function publishedResults(benchmark: BenchmarkName): PublishedResult[] {
	return (columns[benchmark] ?? []).flatMap(([column, measure]) =>
		rows
			.flatMap(([model, table, ...percents]) => {
				const percent = percents[column] ?? null;
				if (percent === null) return [];
				// Percentages have one decimal place; do not add digits that were not published.
				return [{ model, source: source(table), measure, accuracy: Math.round(percent * 10) / 1000 }];
			})
			.sort((a, b) => b.accuracy - a.accuracy),
	);
}
