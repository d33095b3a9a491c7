/** Supported benchmark file formats. Users provide the files. */
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
