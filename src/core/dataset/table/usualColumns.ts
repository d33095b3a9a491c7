/** Columns that can contain either a worked solution or policy output. */
export const sampledColumns = ['output', 'response', 'completion', 'chosen'] as const;

/** Common column names in published datasets, most likely first. */
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
