/** Columns that may contain a worked solution, or what a policy wrote. */
export const sampledColumns = ['output', 'response', 'completion', 'chosen'] as const;

/** Column names used in published datasets, most likely first. */
export const usualColumns = {
	prompt: ['prompt', 'question', 'problem', 'query', 'instruction', 'input', 'task', 'text', 'messages'],
	answer: [
		'answer',
		'final_answer',
		'gold',
		'gold_answer',
		'ground_truth',
		'expected',
		'target',
		'label',
		...sampledColumns,
	],
	solution: [
		'solution',
		'rationale',
		'reasoning',
		'cot',
		'chain_of_thought',
		'explanation',
		'thinking',
		...sampledColumns,
	],
} as const;
