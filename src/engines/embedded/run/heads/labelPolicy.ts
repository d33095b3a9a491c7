import type { ResolvedHeadStage, ResolvedProcessStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { StepSplit } from '../../../../core/search/search.ts';
import { type StepRule, stepRuleOf } from '../../../../core/search/stepRule.ts';
import { eosToken } from '../../../../core/text/tokenizer.ts';
import type { ScoreRow } from '../../../../protocol/scorer.ts';
import { judgeOutcomes } from '../../../shared/judgeOutcomes.ts';
import type { Sample } from '../../learner.ts';
import type { PosedProblem } from '../problemFeed.ts';
import type { TrainingParts } from '../stageHost.ts';
import type { LabeledRow } from './labeledRow.ts';
import { stepEnds } from './stepEnds.ts';

/** A completion of the policy with its outcome. */
export interface JudgedSample {
	readonly posed: PosedProblem;
	readonly sample: Sample;
	/** 1: correct; 0: incorrect. */
	readonly outcome: number;
}

/** Sampled rows, with the number of tokens used, including prompts. */
export interface LabeledBatch {
	readonly rows: readonly LabeledRow[];
	readonly sampled: number;
	readonly tokens: number;
	/** Mean outcome of completions sampled from the start; null if there are none. */
	readonly accuracy: number | null;
}

/** Completions with their outcomes; those to which accuracy does not apply are skipped. */
export async function judgedSamples(
	parts: TrainingParts,
	problems: readonly PosedProblem[],
	samples: readonly Sample[],
	step: number,
): Promise<JudgedSample[]> {
	const rows = samples.map((sample, i): ScoreRow => {
		const { prompt, problem } = problems[i] as PosedProblem;
		const completion = parts.tokenizer.decode(sample.tokens.slice(sample.promptLength));
		return { prompt, completion, answer: problem.answer, row: problem.row, truncated: sample.truncated };
	});
	const outcomes = await judgeOutcomes(parts, rows, step, 'The outcome of completions');
	return samples.flatMap((sample, i) => {
		const outcome = outcomes[i] ?? null;
		return outcome === null ? [] : [{ posed: problems[i] as PosedProblem, sample, outcome: outcome === 1 ? 1 : 0 }];
	});
}

/** Completion tokens of the text, without end of sequence: what search assigns values to. */
function textLength({ tokens, promptLength }: Sample): number {
	return tokens.length - promptLength - (tokens.at(-1) === eosToken ? 1 : 0);
}

/**
 * Labels every prefix of a completion with its outcome: with cross-entropy, the head learns the share of correct
 * completions from there on, which is the value of the policy (Cobbe et al. 2021, section 4; Yu et al. 2023, eq. 3).
 */
export function outcomeLabels({ sample, outcome }: JudgedSample): LabeledRow {
	const length = textLength(sample);
	return {
		tokens: sample.tokens,
		promptLength: sample.promptLength,
		labels: Array.from({ length: length + 1 }, (_, t) => [t, outcome] as const),
		whole: length,
	};
}

/** Labels steps with the outcome of their completion, a free way to evaluate a process head. */
export function outcomeOfSteps(judged: JudgedSample, rule: StepRule, parts: TrainingParts): LabeledRow {
	const { sample, outcome } = judged;
	const ends = stepEnds(sample.tokens.slice(sample.promptLength), parts.tokenizer, rule);
	return {
		tokens: sample.tokens,
		promptLength: sample.promptLength,
		labels: ends.map((end) => [end, outcome] as const),
		whole: ends.length - 1,
	};
}

export function ruleOf(stage: ResolvedProcessStage): StepRule {
	// The recipe has been checked: the rule exists and is not `completion`.
	return stepRuleOf(stage.split as StepSplit) as StepRule;
}

/** Samples, judges and labels a generation batch of a head stage. Its random streams depend on the batch number. */
export async function labelPolicy(
	parts: TrainingParts,
	stage: ResolvedHeadStage,
	generation: number,
	step: number,
): Promise<LabeledBatch> {
	const posed = parts.feed.nextPosed(stage.prompts_per_step, stage.max_completion_length);
	const problems = posed.flatMap((problem) => new Array<PosedProblem>(stage.num_generations).fill(problem));
	const samples = await parts.learner.sample({
		prompts: problems.map(({ promptTokens }) => promptTokens),
		seeds: problems.map((_, i) => `${parts.recipe.seed}/head/${generation}/${i}`),
		maxNewTokens: stage.max_completion_length,
		temperature: stage.temperature,
	});
	const judged = await judgedSamples(parts, problems, samples, step);
	const common = {
		sampled: samples.length,
		tokens: samples.reduce((sum, { tokens }) => sum + tokens.length, 0),
		accuracy: judged.length === 0 ? null : judged.reduce((sum, { outcome }) => sum + outcome, 0) / judged.length,
	};
	if (stage.type === 'value-model') return { ...common, rows: judged.map(outcomeLabels) };
	const steps = await labelSteps(parts, stage, judged, generation, step);
	return { ...common, ...steps, sampled: common.sampled + steps.sampled, tokens: common.tokens + steps.tokens };
}

interface Beginning {
	/** Index among the judged completions. */
	readonly of: number;
	/** Completion tokens. */
	readonly end: number;
}

/**
 * Labels of Math-Shepherd (Wang et al. 2024, section 3.3): `completions` are sampled from each step except the last;
 * its label is the share of correct ones (soft estimation, eq. 4) or whether any is correct (hard estimation, eq. 3).
 * The last step has the outcome.
 */
async function labelSteps(
	parts: TrainingParts,
	stage: ResolvedProcessStage,
	judged: readonly JudgedSample[],
	generation: number,
	step: number,
): Promise<{ rows: LabeledRow[]; sampled: number; tokens: number }> {
	const rule = ruleOf(stage);
	const ends = judged.map(({ sample }) => stepEnds(sample.tokens.slice(sample.promptLength), parts.tokenizer, rule));
	const beginnings: Beginning[] = ends.flatMap((list, of) => list.slice(0, -1).map((end) => ({ of, end })));
	const asked = beginnings.flatMap((beginning) =>
		Array.from({ length: stage.completions }, (_, k) => ({ ...beginning, k })),
	);
	const going = asked.map(({ of }) => judged[of] as JudgedSample);
	const samples =
		asked.length === 0
			? []
			: await parts.learner.sample({
					prompts: asked.map(({ end }, i) => {
						const { tokens, promptLength } = (going[i] as JudgedSample).sample;
						return tokens.slice(0, promptLength + end);
					}),
					seeds: asked.map(({ of, end, k }) => `${parts.recipe.seed}/head/${generation}/${of}/${end}/${k}`),
					maxNewTokens: asked.map(({ end }) => stage.max_completion_length - end),
					temperature: stage.temperature,
				});
	// As completions of the problem instead of the prefix they were sampled from.
	const whole = samples.map((sample, i): Sample => {
		return { ...sample, promptLength: (going[i] as JudgedSample).sample.promptLength };
	});
	const outcomes = await judgedSamples(
		parts,
		going.map(({ posed }) => posed),
		whole,
		step,
	);
	const right = new Map<string, { right: number; total: number }>();
	const places = new Map(whole.map((sample, i) => [sample, asked[i] as Beginning]));
	for (const { sample, outcome } of outcomes) {
		const { of, end } = places.get(sample) as Beginning;
		const count = right.get(`${of}/${end}`) ?? { right: 0, total: 0 };
		right.set(`${of}/${end}`, { right: count.right + outcome, total: count.total + 1 });
	}
	const rows = judged.map(({ sample, outcome }, of): LabeledRow => {
		const list = ends[of] as readonly number[];
		const labels = list.map((end, i): readonly [number, number] | null => {
			if (i === list.length - 1) return [end, outcome];
			const count = right.get(`${of}/${end}`);
			if (count === undefined) return null;
			return [end, stage.estimation === 'soft' ? count.right / count.total : Math.sign(count.right)];
		});
		const kept = labels.filter((label) => label !== null);
		return { tokens: sample.tokens, promptLength: sample.promptLength, labels: kept, whole: kept.length - 1 };
	});
	return { rows, sampled: samples.length, tokens: samples.reduce((sum, { tokens }) => sum + tokens.length, 0) };
}
