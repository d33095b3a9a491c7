import * as v from 'valibot';
import { formatDuration, formatNumber } from '../../base/format.ts';
import { decode } from '../../protocol/decode.ts';
import { type Comparison, comparisonSchema } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import { type ComparedStages, type ComparisonVerdict, compareStages, verdictOf } from './comparedStages.ts';
import { changeText, shareText, spanText, valueText } from './numberText.ts';
import type { ReportTable } from './reportDocument.ts';
import type { ReportedPipeline, ReportedPipelineStage } from './reportedPipeline.ts';
import type { ReportedEvaluation } from './reportedRun.ts';

/** Returns the comparisons that the recipe declares, ignoring invalid ones. */
export function comparisonsOf(recipe: unknown): readonly Comparison[] {
	const decoded = decode(v.object({ compare: v.array(comparisonSchema) }), recipe);
	return decoded.ok ? decoded.value.compare : [];
}

/** Describes the seed of a pipeline recipe. */
export function seedText({ recipe }: ReportedPipeline): string {
	const seed = (recipe as { readonly seed?: unknown } | null | undefined)?.seed;
	return typeof seed === 'number' ? `seed ${seed}` : 'no seed';
}

/** A declared comparison between two stages, with its result in each pipeline. */
export interface ComparedClaim extends Comparison {
	readonly pipelines: readonly {
		readonly id: string;
		readonly seed: string;
		readonly compared: ComparedStages;
		/** null if there was nothing to compare. */
		readonly verdict: ComparisonVerdict | null;
	}[];
}

/** Evaluates the comparisons declared in the first recipe across all pipelines. */
export function comparedClaims(pipelines: readonly ReportedPipeline[]): ComparedClaim[] {
	return comparisonsOf(pipelines[0]?.recipe).map((comparison) => ({
		...comparison,
		pipelines: pipelines.map((pipeline) => {
			const [own, other] = [comparison.stage, comparison.against].map((name) => evaluationOf(pipeline.stages, name));
			const compared = own && other ? compareStages(own, other, comparison) : { reason: 'not measured' };
			const verdict = 'reason' in compared ? null : verdictOf(comparison.expect ?? 'above', compared.difference);
			return { id: pipeline.id, seed: seedText(pipeline), compared, verdict };
		}),
	}));
}

/** Returns a table with one column per pipeline, or null if there are no comparisons. */
export function claimsTable(claims: readonly ComparedClaim[]): ReportTable | null {
	const [first] = claims;
	if (first === undefined) return null;
	const several = first.pipelines.length > 1;
	return {
		kind: 'table',
		caption: 'Comparisons by question',
		columns: [
			{ title: 'claim' },
			{ title: 'stages' },
			{ title: 'measure' },
			...first.pipelines.map(({ seed }) => ({ title: several ? seed : 'difference', numbers: true })),
			{ title: 'held' },
		],
		rows: claims.map(({ claim, stage, against, measure = 'accuracy', category, expect = 'above', pipelines }) => {
			const held = pipelines.filter(({ verdict }) => verdict?.holds).length;
			const signs = pipelines.filter(({ verdict }) => verdict?.sign).length;
			const came = pipelines.every(({ verdict }) => verdict === null) ? 'not measured' : held === 1 ? 'yes' : 'no';
			return [
				claim,
				`${stage} against ${against}`,
				`${measure}${category === undefined ? '' : `, ${category}`}, ${expect}`,
				...pipelines.map(({ compared }) =>
					'reason' in compared
						? compared.reason
						: `${valueText(compared.against)} → ${valueText(compared.stage)}: ${changeText(compared.difference)}`,
				),
				several ? `${held} of ${pipelines.length} (same sign in ${signs})` : came,
			];
		}),
		note: [
			'Means and their paired difference by question, with 95% intervals.',
			'above, below: the entire interval is on that side; not-below: the interval is not entirely below 0.',
			...(several
				? [
						'Held: number of pipelines in which the expectation held and, in parentheses, the number in which the mean difference had the expected sign.',
					]
				: []),
		].join(' '),
	};
}

/** Evaluations of one stage across pipelines. */
interface MeasuredStage {
	/** Title of the evaluated stage, including any perturbation of its thinking. */
	readonly title: string;
	readonly evaluations: readonly ReportedEvaluation[];
	/** Duration of the evaluated stage, in seconds. */
	readonly seconds: readonly number[];
}

/**
 * Returns the results of each evaluated stage by category, averaged over pipelines, or null if nothing was evaluated.
 */
export function measuredTable(pipelines: readonly ReportedPipeline[]): ReportTable | null {
	const [first] = pipelines;
	if (first === undefined) return null;
	const measured = first.stages.flatMap(({ name, type, after }): MeasuredStage[] => {
		if (type !== 'evaluate') return [];
		const evaluations = pipelines.flatMap(({ stages }) => evaluationOf(stages, name) ?? []);
		if (evaluations.length === 0) return [];
		const [of] = after;
		const seconds = pipelines.flatMap(({ stages }) => stages.find((stage) => stage.name === of)?.seconds ?? []);
		const perturbation = evaluations[0]?.perturbation ?? null;
		return [{ title: `${of ?? name}${perturbation === null ? '' : `, ${perturbation}`}`, evaluations, seconds }];
	});
	if (measured.length === 0) return null;
	const kinds = [...new Set(measured.flatMap(({ evaluations }) => evaluations.flatMap(kindsOf)))].slice(0, 8);
	const several = pipelines.length > 1;
	// Most pipelines have none of these markers.
	const marks = (['verification', 'backtracking'] as const).filter((mark) =>
		measured.some(({ evaluations }) => evaluations.some(({ completions }) => (completions?.[mark] ?? 0) > 0)),
	);
	return {
		kind: 'table',
		caption: several ? 'Stages by evaluation: mean (min to max)' : 'Stages by evaluation',
		columns: [
			{ title: 'stage' },
			{ title: 'pass@1', numbers: true },
			...kinds.map((kind) => ({ title: kind, numbers: true })),
			{ title: 'format', numbers: true },
			{ title: 'one language', numbers: true },
			{ title: 'tokens', numbers: true },
			{ title: 'reflection', numbers: true },
			...marks.map((mark) => ({ title: mark, numbers: true })),
			{ title: 'time', numbers: true },
		],
		rows: measured.map(({ title, evaluations, seconds }) => {
			const over = (of: (evaluation: ReportedEvaluation) => number | null | undefined, format = shareText) =>
				spanText(
					evaluations.flatMap((evaluation) => of(evaluation) ?? []),
					format,
				);
			return [
				title,
				over(({ report }) => report.accuracy.accuracy),
				...kinds.map((kind) => over(({ report }) => report.categories.find(({ name }) => name === kind)?.accuracy)),
				over(({ completions }) => completions?.format),
				over(({ completions }) => completions?.consistency),
				over(({ report }) => report.tokens.all, formatNumber),
				over(({ completions }) => completions?.reflection),
				...marks.map((mark) => over(({ completions }) => completions?.[mark])),
				spanText(seconds, formatDuration),
			];
		}),
		note: 'Covers the completions in each evaluation. Format: fraction in the correct format. One language: mean fraction of the thinking section in its main language. Tokens: mean length. Reflection, verification, backtracking: markers per completion, based on a list of phrases. Time: duration of the stage itself.',
	};
}

const kindsOf = ({ report }: ReportedEvaluation): string[] => report.categories.map(({ name }) => name).sort();

function evaluationOf(stages: readonly ReportedPipelineStage[], name: string): ReportedEvaluation | null {
	return stages.find((stage) => stage.name === name)?.evaluation ?? null;
}
