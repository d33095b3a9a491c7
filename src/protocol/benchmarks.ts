/** Benchmarks whose files are read and judged as such; the files are a person's. */
export const benchmarkNames = [
	'gsm8k',
	'math-500',
	'aime',
	'gpqa-diamond',
	'humaneval',
	'mbpp',
	'livecodebench',
] as const;
export type BenchmarkName = (typeof benchmarkNames)[number];
