import { Random } from '../../base/random.ts';
import { AnswerClasses } from '../search/answerClasses.ts';
import { bestOfK, type Sampled, voteOfK } from '../search/comparison/subsets.ts';
import { type Difference, differenceInterval } from './differenceInterval.ts';
import { type Estimate, meanInterval } from './meanInterval.ts';
import { passAtK } from './passAtK.ts';

/** One judged completion of a question. */
export interface EvaluatedSample {
	/** Question id. */
	readonly problem: number;
	readonly correct: boolean;
	/** Stated answer, or null if none can be parsed. */
	readonly answer: string | null;
	/** Number of completion tokens. */
	readonly tokens: number;
	/** Whether the completion was truncated, or null if not recorded. */
	readonly truncated: boolean | null;
	/** Question category, if the data has one. */
	readonly category: string | null;
	/** Log-probability of the completion in nats. Absent or null if unknown. */
	readonly logprob?: number | null;
	/** Score from a judge other than the verifier; higher is better. Absent or null if not scored. */
	readonly score?: number | null;
}

/** An estimate for a given number of samples. */
export interface CurvePoint extends Estimate {
	readonly k: number;
}

export interface CategoryRow extends Estimate {
	readonly name: string;
	readonly problems: number;
}

export interface LengthBand {
	/** Minimum and maximum number of tokens. */
	readonly from: number;
	readonly to: number;
	readonly samples: number;
	/** Fraction of correct samples. */
	readonly accuracy: number;
}

export interface CalibrationBin {
	/** Minimum and maximum confidence. */
	readonly from: number;
	readonly to: number;
	readonly problems: number;
	/** Means over the questions in the bin. */
	readonly confidence: number;
	readonly accuracy: number;
}

export interface ChoiceGain extends Difference {
	readonly by: 'judge' | 'majority';
	readonly k: number;
}

export interface EvaluationReport {
	readonly problems: number;
	/** Minimum and maximum number of samples per question. */
	readonly samples: readonly [min: number, max: number];
	/** pass@1: mean over questions of the mean over samples. */
	readonly accuracy: Estimate;
	/** Unbiased pass@k (Chen et al. 2021), for k = 1, 2, 4, ... up to the minimum number of samples. */
	readonly passAtK: readonly CurvePoint[];
	/** Majority vote among k (cons@k, maj@k; Wang et al. 2023), averaged over subsets of the samples. */
	readonly consAtK: readonly CurvePoint[];
	/**
	 * Best of k by mean token log-probability, unbiased like pass@k. Empty unless the log-probability of every sample is
	 * known.
	 */
	readonly bestAtK: readonly CurvePoint[];
	/** Best of k by judge score, unbiased. Empty if any finished sample has no score. */
	readonly judgedAtK: readonly CurvePoint[];
	/**
	 * Gain over pass@1 from selecting one of k samples, for the largest k on the curves. Samples are selected by judge
	 * score if available, or by majority vote otherwise. The gain is the mean over questions with its 95% interval, or
	 * null if there is only one sample per question.
	 */
	readonly gain: ChoiceGain | null;
	/** Fraction of truncated samples among those for which truncation is recorded, or null if it was never recorded. */
	readonly truncated: number | null;
	/** Fraction of all samples without an answer. */
	readonly unanswered: number;
	/** Mean token counts of all, correct, and incorrect samples, or null if there are no such samples. */
	readonly tokens: { readonly all: number; readonly right: number | null; readonly wrong: number | null };
	/** Four bands with equal numbers of samples, or fewer if lengths are equal. */
	readonly byLength: readonly LengthBand[];
	/** Most frequent category first. Empty if the data has no categories. */
	readonly categories: readonly CategoryRow[];
	/**
	 * Calibration of the majority vote. The confidence of a question is the fraction of its samples that agree with the
	 * majority; its accuracy is 1 if the majority is correct and 0 otherwise. null with fewer than four samples per
	 * question, because the fraction is then meaningless.
	 */
	readonly calibration: { readonly bins: readonly CalibrationBin[]; readonly error: number } | null;
}

/** Minimum number of samples. With fewer, there are too few confidence levels for the bins to be meaningful. */
const fewestForConfidence = 4;
const bins = 10;
const bands = 4;
/** Maximum number of categories in a table. */
const maxCategories = 100;

interface Question {
	readonly samples: readonly EvaluatedSample[];
	readonly classes: readonly Sampled[];
	/** The same samples, with judge scores in place of log-probabilities. */
	readonly judged: readonly Sampled[];
	readonly share: number;
}

/**
 * Computes the evaluation report.
 * @param samples samples from at least one question
 */
export function evaluationReport(samples: readonly EvaluatedSample[]): EvaluationReport {
	const byProblem = new Map<number, EvaluatedSample[]>();
	for (const sample of samples) {
		const own = byProblem.get(sample.problem);
		if (own === undefined) byProblem.set(sample.problem, [sample]);
		else own.push(sample);
	}
	const questions = [...byProblem.entries()].sort(([a], [b]) => a - b).map(([, own]) => questionOf(own));
	const counts = questions.map((question) => question.samples.length);
	const fewest = Math.min(...counts);
	const ks = powersUpTo(fewest);
	const random = Random.of('evaluation');
	const curve = (value: (question: Question, k: number) => number): CurvePoint[] =>
		ks.map((k) => ({ k, ...meanInterval(questions.map((question) => value(question, k))) }));
	return {
		problems: questions.length,
		samples: [fewest, Math.max(...counts)],
		accuracy: meanInterval(questions.map(({ share }) => share)),
		passAtK: curve(({ samples: own }, k) => passAtK(own.length, own.filter(({ correct }) => correct).length, k)),
		consAtK: curve(({ classes }, k) => voteOfK(classes, k, false, random)),
		bestAtK: samples.every((sample) => scoreOf(sample) !== null) ? curve(({ classes }, k) => bestOfK(classes, k)) : [],
		judgedAtK: isJudged(questions) ? curve(({ judged }, k) => bestOfK(judged, k)) : [],
		gain: fewest < 2 ? null : gainOf(questions, fewest, random),
		truncated: truncatedShare(samples),
		unanswered: shareOf(samples, ({ answer }) => answer === null),
		tokens: {
			all: meanTokens(samples) ?? 0,
			right: meanTokens(samples.filter(({ correct }) => correct)),
			wrong: meanTokens(samples.filter(({ correct }) => !correct)),
		},
		byLength: lengthBands(samples),
		categories: categoriesOf(questions),
		calibration: fewest < fewestForConfidence ? null : calibrationOf(questions),
	};
}

function questionOf(samples: readonly EvaluatedSample[]): Question {
	const known = new AnswerClasses();
	const classes = samples.map((sample): Sampled => {
		const { correct, answer, truncated } = sample;
		return {
			right: correct,
			class: answer === null ? null : known.of(answer),
			final: truncated !== true || answer !== null,
			score: scoreOf(sample),
		};
	});
	return {
		samples,
		classes,
		judged: classes.map((one, i) => ({ ...one, score: samples[i]?.score ?? null })),
		share: shareOf(samples, ({ correct }) => correct),
	};
}

function gainOf(questions: readonly Question[], k: number, random: Random): ChoiceGain {
	const by = isJudged(questions) ? 'judge' : 'majority';
	const gains = questions.map(
		({ judged, classes, share }) => (by === 'judge' ? bestOfK(judged, k) : voteOfK(classes, k, false, random)) - share,
	);
	return { by, k, ...differenceInterval(gains) };
}

/** Returns whether all finished samples have a score. Unfinished samples are never selected and do not need one. */
function isJudged(questions: readonly Question[]): boolean {
	const all = questions.flatMap(({ judged }) => judged);
	return all.some(({ score }) => score !== null) && all.every(({ score, final }) => score !== null || !final);
}

function scoreOf({ logprob, tokens }: EvaluatedSample): number | null {
	return logprob === null || logprob === undefined || tokens <= 0 ? null : logprob / tokens;
}

/** Returns 1, 2, 4, ..., and `max` itself. */
function powersUpTo(max: number): number[] {
	const ks: number[] = [];
	for (let k = 1; k < max; k *= 2) ks.push(k);
	return [...ks, max];
}

function shareOf<T>(items: readonly T[], holds: (item: T) => boolean): number {
	return items.length === 0 ? Number.NaN : items.filter(holds).length / items.length;
}

function truncatedShare(samples: readonly EvaluatedSample[]): number | null {
	const known = samples.filter(({ truncated }) => truncated !== null);
	return known.length === 0 ? null : shareOf(known, ({ truncated }) => truncated === true);
}

function meanTokens(samples: readonly EvaluatedSample[]): number | null {
	return samples.length === 0 ? null : samples.reduce((sum, { tokens }) => sum + tokens, 0) / samples.length;
}

function lengthBands(samples: readonly EvaluatedSample[]): LengthBand[] {
	const sorted = [...samples].sort((a, b) => a.tokens - b.tokens);
	const made: LengthBand[] = [];
	for (let b = 0, start = 0; b < bands && start < sorted.length; b++) {
		let end = Math.max(start + 1, Math.round(((b + 1) * sorted.length) / bands));
		// Keep samples of equal length in the same band.
		while (end < sorted.length && sorted[end]?.tokens === sorted[end - 1]?.tokens) end++;
		const own = sorted.slice(start, end);
		made.push({
			from: own[0]?.tokens ?? 0,
			to: own.at(-1)?.tokens ?? 0,
			samples: own.length,
			accuracy: shareOf(own, ({ correct }) => correct),
		});
		start = end;
	}
	return made;
}

function categoriesOf(questions: readonly Question[]): CategoryRow[] {
	const shares = new Map<string, number[]>();
	for (const { samples, share } of questions) {
		const name = samples[0]?.category ?? null;
		if (name === null) continue;
		const own = shares.get(name);
		if (own === undefined) shares.set(name, [share]);
		else own.push(share);
	}
	return [...shares]
		.sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1))
		.slice(0, maxCategories)
		.map(([name, values]) => ({ name, problems: values.length, ...meanInterval(values) }));
}

/**
 * Returns the expected calibration error (Guo et al. 2017, eq. 3) of the fraction of samples that agree with the
 * majority (Wang et al. 2023, section 3.3).
 */
function calibrationOf(questions: readonly Question[]): EvaluationReport['calibration'] {
	const sums = Array.from({ length: bins }, () => ({ problems: 0, confidence: 0, accuracy: 0 }));
	for (const { classes } of questions) {
		const { confidence, accuracy } = majorityOf(classes);
		const bin = sums[Math.min(bins - 1, Math.floor(confidence * bins))] as (typeof sums)[number];
		bin.problems++;
		bin.confidence += confidence;
		bin.accuracy += accuracy;
	}
	const error = sums.reduce((sum, bin) => sum + Math.abs(bin.confidence - bin.accuracy), 0) / questions.length;
	return {
		error,
		bins: sums.flatMap(({ problems, confidence, accuracy }, b) =>
			problems === 0
				? []
				: [
						{
							from: b / bins,
							to: (b + 1) / bins,
							problems,
							confidence: confidence / problems,
							accuracy: accuracy / problems,
						},
					],
		),
	};
}

/** Computes the majority vote. In a tie, each leading answer is equally likely to be selected. */
function majorityOf(samples: readonly Sampled[]): { confidence: number; accuracy: number } {
	const votes = new Map<number, { all: number; right: number }>();
	for (const { class: answer, right } of samples) {
		if (answer === null) continue;
		const vote = votes.get(answer) ?? { all: 0, right: 0 };
		vote.all++;
		if (right) vote.right++;
		votes.set(answer, vote);
	}
	const max = Math.max(0, ...[...votes.values()].map(({ all }) => all));
	const chosen = [...votes.values()].filter(({ all }) => all === max);
	if (chosen.length === 0) return { confidence: 0, accuracy: 0 };
	return {
		confidence: max / samples.length,
		accuracy: chosen.reduce((sum, { all, right }) => sum + right / all, 0) / chosen.length,
	};
}
