import * as v from 'valibot';
import { decode } from '../../protocol/decode.ts';
import { type Comparison, comparisonSchema } from '../../protocol/pipelineRecipe.ts';
import { compareStages, verdictOf } from './comparedStages.ts';
import type { ReportedPipeline, ReportedPipelineStage } from './composeReport.ts';
import { changeText, durationText, numberText, shareText } from './numberText.ts';
import type { ReportTable } from './reportDocument.ts';
import type { ReportedEvaluation } from './reportedRun.ts';

/** What its recipe compares; what is no comparison is left out. */
export function comparisonsOf(recipe: unknown): readonly Comparison[] {
	const decoded = decode(v.object({ compare: v.array(comparisonSchema) }), recipe);
	return decoded.ok ? decoded.value.compare : [];
}

/** The seed of a pipeline's recipe, in words. */
export function seedText({ recipe }: ReportedPipeline): string {
	const seed = (recipe as { readonly seed?: unknown } | null | undefined)?.seed;
	return typeof seed === 'number' ? `seed ${seed}` : 'no seed';
}

/** What is claimed of stages, and what of that came out, with a column for each pipeline; null: nothing is claimed. */
export function claimsTable(pipelines: readonly ReportedPipeline[]): ReportTable | null {
	const comparisons = comparisonsOf(pipelines[0]?.recipe);
	if (comparisons.length === 0) return null;
	const several = pipelines.length > 1;
	return {
		kind: 'table',
		caption: 'What is compared, question by question',
		columns: [
			{ title: 'claim' },
			{ title: 'of' },
			{ title: 'measure' },
			...pipelines.map((pipeline) => ({ title: several ? seedText(pipeline) : 'difference', numbers: true })),
			{ title: 'came out' },
		],
		rows: comparisons.map((comparison) => {
			const { claim, stage, against, measure = 'accuracy', category, expect = 'above' } = comparison;
			const verdicts: boolean[] = [];
			let signs = 0;
			const cells = pipelines.map(({ stages }) => {
				const [own, other] = [stage, against].map((name) => evaluationOf(stages, name));
				if (!own || !other) return '–';
				const compared = compareStages(own, other, comparison);
				if ('reason' in compared) return compared.reason;
				const verdict = verdictOf(expect, compared.difference);
				verdicts.push(verdict.holds);
				if (verdict.sign) signs++;
				return `${valueText(compared.against)} → ${valueText(compared.stage)}: ${changeText(compared.difference)}`;
			});
			const held = verdicts.filter(Boolean).length;
			const came = several
				? `${held} of ${pipelines.length}, on that side in ${signs}`
				: verdicts.length === 0
					? 'not measured'
					: held === 1
						? 'yes'
						: 'no';
			return [
				claim,
				`${stage} against ${against}`,
				`${measure}${category === undefined ? '' : `, ${category}`}, ${expect}`,
				...cells,
				came,
			];
		}),
		note: [
			'Means, and their difference with its 95 % interval: paired bootstrap over questions.',
			'Above and below: the whole interval lies there; not-below: the interval does not lie below 0 as a whole.',
			...(several ? ['Came out: in so many pipelines, and the mean difference lies on that side in so many.'] : []),
		].join(' '),
	};
}

const valueText = (value: number) => numberText(Number(value.toPrecision(3)));

/** Evaluations that belong to each other: the same stage in each pipeline. */
interface MeasuredStage {
	/** The stage that was evaluated. */
	readonly title: string;
	readonly evaluations: readonly ReportedEvaluation[];
	/** How long the evaluated stage took, in seconds. */
	readonly seconds: readonly number[];
}

/** What every evaluated stage came to, by kind of question, as means over the pipelines; null: nothing was evaluated. */
export function measuredTable(pipelines: readonly ReportedPipeline[]): ReportTable | null {
	const [first] = pipelines;
	if (first === undefined) return null;
	const measured = first.stages.flatMap(({ name, type, after }): MeasuredStage[] => {
		if (type !== 'evaluate') return [];
		const evaluations = pipelines.flatMap(({ stages }) => evaluationOf(stages, name) ?? []);
		if (evaluations.length === 0) return [];
		const [of] = after;
		const seconds = pipelines.flatMap(({ stages }) => stages.find((stage) => stage.name === of)?.seconds ?? []);
		return [{ title: of ?? name, evaluations, seconds }];
	});
	if (measured.length === 0) return null;
	const kinds = [...new Set(measured.flatMap(({ evaluations }) => evaluations.flatMap(kindsOf)))].slice(0, 8);
	const several = pipelines.length > 1;
	return {
		kind: 'table',
		caption: several ? 'What each stage bought: mean (least to most)' : 'What each stage bought',
		columns: [
			{ title: 'stage' },
			{ title: 'pass@1', numbers: true },
			...kinds.map((kind) => ({ title: kind, numbers: true })),
			{ title: 'format', numbers: true },
			{ title: 'one language', numbers: true },
			{ title: 'tokens', numbers: true },
			{ title: 'reflection', numbers: true },
			{ title: 'time', numbers: true },
		],
		rows: measured.map(({ title, evaluations, seconds }) => {
			const over = (of: (evaluation: ReportedEvaluation) => number | null | undefined, tell = shareText) =>
				spanText(
					evaluations.flatMap((evaluation) => of(evaluation) ?? []),
					tell,
				);
			return [
				title,
				over(({ report }) => report.accuracy.accuracy),
				...kinds.map((kind) => over(({ report }) => report.categories.find(({ name }) => name === kind)?.accuracy)),
				over(({ completions }) => completions?.format),
				over(({ completions }) => completions?.consistency),
				over(({ report }) => report.tokens.all, numberText),
				over(({ completions }) => completions?.reflection),
				spanText(seconds, durationText),
			];
		}),
		note: 'Of the completions of each evaluation. Format: share in the right form. One language: mean share of the thinking in its language. Tokens: mean length. Reflection: marks a completion, by a list of phrases. Time: of the stage itself.',
	};
}

const kindsOf = ({ report }: ReportedEvaluation): string[] => report.categories.map(({ name }) => name).sort();

function spanText(values: readonly number[], tell: (value: number) => string): string {
	if (values.length === 0) return '–';
	const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
	if (values.length === 1) return tell(mean);
	return `${tell(mean)} (${tell(Math.min(...values))} to ${tell(Math.max(...values))})`;
}

function evaluationOf(stages: readonly ReportedPipelineStage[], name: string): ReportedEvaluation | null {
	return stages.find((stage) => stage.name === name)?.evaluation ?? null;
}
