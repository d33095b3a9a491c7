import { estimateAccuracy } from '../../core/evaluation/meanInterval.ts';
import type { EvaluationLine, EvaluationSummary, ThoughtLine } from '../../protocol/evaluation.ts';
import type { RolloutEpisode } from '../../protocol/rolloutEpisode.ts';
import type { ScoreRow } from '../../protocol/scorer.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';
import { judgeOutcomes } from './judgeOutcomes.ts';

export interface EvaluationSettings {
	/** Prefix for the evaluation's files and metrics, such as `heldout`. */
	readonly name: string;
	readonly problems: number;
	readonly samples: number;
	/** Sampling temperature; 0 is greedy. */
	readonly temperature: number;
}

export interface Evaluation {
	readonly summary: EvaluationSummary;
	readonly lines: readonly EvaluationLine[];
}

/** A sampled completion that has not been scored yet. */
export interface EvaluatedSample extends ScoreRow {
	/** Index of the problem in the evaluation. */
	readonly problem: number;
	readonly sample: number;
	/** Whether the completion is correct, if known without the run's accuracy; null if it cannot be judged. */
	readonly correct?: boolean | null;
	/** Episode that produced the completion, in a recipe with an environment. */
	readonly episode?: RolloutEpisode;
	/** Latent thoughts before the completion, in a stage that trains them. */
	readonly thoughts?: readonly ThoughtLine[];
}

function scoreRow({
	problem: _,
	sample: __,
	correct: ___,
	episode: ____,
	thoughts: _____,
	...row
}: EvaluatedSample): ScoreRow {
	return row;
}

function extraOf({ episode, thoughts }: EvaluatedSample): Pick<EvaluationLine, 'extra'> {
	const extra = { ...(episode === undefined ? {} : { episode }), ...(thoughts === undefined ? {} : { thoughts }) };
	return Object.keys(extra).length === 0 ? {} : { extra };
}

/** Scores an evaluation's completions in chunks. Skips completions to which accuracy does not apply. */
export class EvaluationJudge {
	readonly #rewards: Pick<RecipeScorers, 'accuracy' | 'reload'>;
	readonly #step: number;
	readonly #lines: EvaluationLine[] = [];
	readonly #correct = new Map<number, boolean[]>();

	constructor(rewards: Pick<RecipeScorers, 'accuracy' | 'reload'>, step: number) {
		this.#rewards = rewards;
		this.#step = step;
	}

	async add(samples: readonly EvaluatedSample[]): Promise<void> {
		const unjudged = samples.filter(({ correct }) => correct === undefined);
		const rows = unjudged.map(scoreRow);
		const values = rows.length === 0 ? [] : await judgeOutcomes({ rewards: this.#rewards }, rows, this.#step);
		const judged = new Map(unjudged.map((one, i) => [one, values[i] ?? null]));
		for (const one of samples) {
			const { problem, sample, prompt, answer, truncated, messages } = one;
			const completion = messages === undefined ? one.completion : [...messages.completion];
			const value = one.correct === undefined ? (judged.get(one) ?? null) : one.correct;
			if (value === null) continue;
			const correct = value === 1 || value === true;
			const others = this.#correct.get(problem);
			if (others === undefined) this.#correct.set(problem, [correct]);
			else others.push(correct);
			this.#lines.push({ problem, sample, prompt, completion, answer, correct, truncated, ...extraOf(one) });
		}
	}

	result({ name, samples, temperature }: EvaluationSettings): Evaluation {
		const measured = [...this.#correct.values()];
		return {
			lines: this.#lines,
			summary: {
				name,
				step: this.#step,
				problems: measured.length,
				samples,
				temperature,
				...estimateAccuracy(measured),
			},
		};
	}
}
