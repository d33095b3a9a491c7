import { estimateAccuracy } from '../../core/evaluation/interval.ts';
import type { EvaluationLine, EvaluationSummary } from '../../protocol/evaluation.ts';
import type { ScoreRow } from '../../protocol/scorer.ts';
import type { Sample } from '../learner.ts';
import { judgeOutcomes } from './judgeOutcomes.ts';
import type { TrainingParts } from './stageHost.ts';

export interface EvaluationSettings {
	/** Names its files and metrics: `heldout`. */
	readonly name: string;
	readonly problems: number;
	readonly samples: number;
	/** 0: greedy. */
	readonly temperature: number;
}

export interface Evaluation {
	readonly summary: EvaluationSummary;
	readonly lines: readonly EvaluationLine[];
}

/** Completions that are sampled at once. */
const chunkRows = 1024;

/** Longest completion of an evaluation: what the grpo stages allow, or all of the context. A row ends with its context anyway. */
function completionLimit({ recipe, learner }: TrainingParts): number {
	const wanted = recipe.stages.map((stage) => (stage.type === 'grpo' ? stage.max_completion_length : 0));
	return Math.max(...wanted) || learner.shape.context;
}

/**
 * Accuracy of the current weights on the fixed held-out problems, by sampling. Its random streams are its own, so
 * training does not notice it.
 * Problems to which accuracy does not apply (no gold answer) are left out.
 */
export async function evaluate(parts: TrainingParts, step: number, settings: EvaluationSettings): Promise<Evaluation> {
	const posed = parts.feed.heldOut(settings.problems);
	const limit = completionLimit(parts);
	const rows = posed.flatMap((problem, i) =>
		Array.from({ length: settings.samples }, (_, sample) => ({ posed: problem, problem: i, sample })),
	);
	const lines: EvaluationLine[] = [];
	const correct: boolean[][] = posed.map(() => []);
	for (let start = 0; start < rows.length; start += chunkRows) {
		const chunk = rows.slice(start, start + chunkRows);
		const samples = await parts.learner.sample({
			prompts: chunk.map((row) => row.posed.promptTokens),
			seeds: chunk.map((row) => `${parts.recipe.seed}/${settings.name}/${step}/${row.problem}/${row.sample}`),
			maxNewTokens: limit,
			temperature: settings.temperature,
		});
		const scored: ScoreRow[] = chunk.map(({ posed: { prompt, problem } }, i) => {
			const sample = samples[i] as Sample;
			const completion = parts.tokenizer.decode(sample.tokens.slice(sample.promptLength));
			return { prompt, completion, answer: problem.answer, row: problem.row, truncated: sample.truncated };
		});
		const values = await judgeOutcomes(parts, scored, step);
		for (const [i, { problem, sample }] of chunk.entries()) {
			const value = values[i] ?? null;
			if (value === null) continue;
			const { prompt, completion, answer, truncated } = scored[i] as ScoreRow;
			const right = value === 1;
			correct[problem]?.push(right);
			lines.push({ problem, sample, prompt, completion, answer, correct: right, truncated });
		}
	}
	const { name, temperature } = settings;
	const measured = correct.filter((samples) => samples.length > 0);
	return {
		lines,
		summary: {
			name,
			step,
			problems: measured.length,
			samples: settings.samples,
			temperature,
			...estimateAccuracy(measured),
		},
	};
}
