import { evaluationReport } from '../../../../src/core/evaluation/evaluationReport.ts';
import type { ReportedEvaluation, ReportedRun } from '../../../../src/core/report/reportedRun.ts';

const unmarked = { reflection: 0, verification: 0, backtracking: 0 };

/** Builds an evaluation of twelve questions with four samples each, where the first `known` are correct. */
export function madeEvaluation(name: string, known: number): ReportedEvaluation {
	const questions = Array.from({ length: 12 }, (_, problem) => ({ problem, right: problem < known }));
	return {
		name,
		policy: 'tiny, step 12',
		problems: { name: 'questions.jsonl', hash: 'same' },
		...{ done: 12, total: 12, created: 1_700_000_000, protocol: 'temperature 0.6, top-p 0.95, seed 0' },
		perturbation: null,
		benchmark: null,
		contamination: null,
		report: evaluationReport(
			questions.flatMap(({ problem, right }) =>
				[3, 4, 5, 6].map((tokens) => ({
					...{ problem, correct: right, answer: right ? '7' : String(tokens), tokens, truncated: false },
					category: problem % 3 === 0 ? 'numbers' : 'words',
				})),
			),
		),
		completions: null,
		questions: new Map(
			questions.map(({ problem, right }) => [
				`q${problem}`,
				{
					category: problem % 3 === 0 ? 'numbers' : 'words',
					means: { accuracy: Number(right), format: 1, 'one-language': null, tokens: 4.5, ...unmarked },
				},
			]),
		),
		counts: new Map(questions.map(({ problem, right }) => [`q${problem}`, { right: right ? 4 : 0, samples: 4 }])),
	};
}

/** Builds a run with content for every section of a report. */
export function madeRun(changes: Partial<ReportedRun> = {}): ReportedRun {
	const before = { step: 0, accuracy: 0.25, low: 0.15, high: 0.4, problems: 64, samples: 1 };
	const after = { step: 12, accuracy: 0.75, low: 0.63, high: 0.84, problems: 64, samples: 1 };
	return {
		title: 'tiny',
		id: 'tiny-20260304-101500-ab12',
		engine: 'embedded',
		foreign: false,
		status: 'finished',
		error: null,
		created: 1_700_000_000,
		updated: 1_700_000_065,
		step: 12,
		totalSteps: 12,
		device: 'cpu (1 worker)',
		parent: { run: 'cold-20260304-100000-cd34', checkpoint: 'step_000180' },
		tags: ['first'],
		note: 'Looks well.',
		environment: [['seed: recipe', '1']],
		recipe: { name: 'tiny', stages: [{ type: 'grpo', steps: 12, num_generations: 4 }] },
		stages: [
			{
				number: 1,
				type: 'grpo',
				steps: [1, 12],
				curves: [
					{
						name: 'reward',
						points: [
							{ x: 1, y: 0.25 },
							{ x: 12, y: 0.5 },
						],
					},
				],
				heldOut: [before, after],
				...{ before, after },
				completions: {
					...{ completions: 64, format: 0.5, consistency: 0.875, characters: 40.4, tokens: 12.5 },
					...{ ...unmarked, reflection: 0.25, truncated: 0 },
					of: 'held-out samples at step 12',
				},
			},
		],
		evaluations: [madeEvaluation('first', 3), madeEvaluation('second', 9)],
		rollouts: [
			{
				...{ title: 'Best', step: 12, prompt: '3+4=', think: '3+4=7', answer: '7' },
				...{ completion: '<think>3+4=7</think><answer>7</answer>', gold: '7', reward: 1 },
				...{ rewards: [['accuracy', 1]], truncated: false },
			},
		],
		searches: [
			{
				...{ name: 'mcts', strategy: 'mcts', policy: 'tiny', problem: '3+4=', nodes: 9, depth: 3, stop: 'complete' },
				...{ answer: '7', correct: true, tokens: 120, best: { value: 0.9, texts: ['3+4', '=7'] } },
			},
		],
		diagnosis: {
			kind: 'alerts',
			summary: 'Most likely cause: dead groups (since step 4).',
			alerts: [
				{
					...{ id: 'dead-groups', rule: 'dead-groups', level: 'warning', step: 4, lastStep: 9, time: 1_700_000_010 },
					...{ message: 'Half of the groups are dead.', action: 'Make problems harder.' },
					...{ metrics: [], evidence: [], recipe: null },
				},
			],
		},
		gaps: ['engine.log: gone'],
		...changes,
	};
}
