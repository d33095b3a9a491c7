import { formatCount, formatCounted, formatNumber } from '../../base/format.ts';
import { comparePaired, pairProblems } from '../evaluation/pairProblems.ts';
import { publishedResults } from '../evaluation/publishedResults.ts';
import { intervalText, shareText, timeText } from './numberText.ts';
import { pairedText } from './pairedText.ts';
import type { ReportBlock, ReportChart, ReportSection } from './reportDocument.ts';
import type { ReportedEvaluation } from './reportedRun.ts';

/** Returns the section on checkpoint evaluations: an overview table, paired comparisons by question, then each one. */
export function evaluationsSection(
	evaluations: readonly ReportedEvaluation[],
	title = 'Evaluations',
): ReportSection | null {
	if (evaluations.length === 0) return null;
	return {
		title,
		blocks: [
			{
				kind: 'table',
				caption: 'pass@1 with 95% intervals. cons@k is the majority vote over k samples.',
				columns: [
					{ title: 'evaluation' },
					{ title: 'policy' },
					{ title: 'questions', numbers: true },
					{ title: 'samples', numbers: true },
					{ title: 'pass@1', numbers: true },
					{ title: 'pass@k', numbers: true },
					{ title: 'cons@k', numbers: true },
					{ title: 'tokens', numbers: true },
				],
				rows: evaluations.map((evaluation) => {
					const { name, policy, done, total, report } = evaluation;
					const last = <T>(list: readonly T[]) => list.at(-1);
					const curve = (of: typeof report.passAtK) => {
						const point = last(of);
						return point === undefined || point.k < 2 ? '–' : `${shareText(point.accuracy)} (k ${point.k})`;
					};
					return [
						name,
						policy,
						done === total ? String(total) : `${done} of ${total}`,
						samplesText(report.samples),
						intervalText(report.accuracy),
						curve(report.passAtK),
						curve(report.consAtK),
						formatNumber(report.tokens.all),
					];
				}),
			},
			...pairsOf(evaluations),
			...writingOf(evaluations),
		],
		sections: evaluations.map(evaluationSection),
	};
}

const samplesText = ([min, max]: readonly [number, number]) => (min === max ? `${max}` : `${min} to ${max}`);

/**
 * Maximum number of evaluations to compare pairwise. Above this limit, each one is compared only with the previous one.
 */
const maxForAllPairs = 8;

/** Returns paired comparisons of evaluations on the same questions. */
function pairsOf(evaluations: readonly ReportedEvaluation[]): ReportBlock[] {
	const rows: string[][] = [];
	for (const [i, second] of evaluations.entries()) {
		const same = evaluations.filter(({ problems }) => problems.hash === second.problems.hash);
		const before = same.filter((one) => evaluations.indexOf(one) < i);
		for (const first of same.length <= maxForAllPairs ? before : before.slice(-1)) {
			const paired = comparePaired(pairProblems(first.counts, second.counts));
			rows.push([`${second.name} vs. ${first.name}`, ...pairedText(paired)]);
		}
	}
	if (rows.length === 0) return [];
	return [
		{
			kind: 'table',
			caption: 'Paired comparison by question',
			columns: [
				{ title: 'evaluations' },
				{ title: 'questions', numbers: true },
				{ title: 'change in pass@1', numbers: true },
				{ title: 'gained', numbers: true },
				{ title: 'lost', numbers: true },
				{ title: 'p', numbers: true },
			],
			rows,
			note: 'Intervals are 95%. p: sign-flip test over questions, or exact McNemar test if both evaluations have one sample per question. Gained and lost: questions with more or fewer correct samples.',
		},
	];
}

/** Returns the format and language statistics for each evaluation's completions. */
function writingOf(evaluations: readonly ReportedEvaluation[]): ReportBlock[] {
	const rows = evaluations.flatMap(({ name, report, completions }) =>
		completions === null
			? []
			: [
					[
						...[name, intervalText(report.accuracy), shareText(completions.format), shareText(completions.consistency)],
						...[formatNumber(completions.tokens), shareText(completions.reflection), shareText(completions.truncated)],
					],
				],
	);
	if (rows.length === 0) return [];
	return [
		{
			kind: 'table',
			caption: 'Completion format',
			columns: [
				{ title: 'evaluation' },
				{ title: 'pass@1', numbers: true },
				{ title: 'format', numbers: true },
				{ title: 'one language', numbers: true },
				{ title: 'tokens', numbers: true },
				{ title: 'reflection', numbers: true },
				{ title: 'truncated', numbers: true },
			],
			rows,
		},
	];
}

/** Returns the full section for one evaluation. */
export function evaluationSection(evaluation: ReportedEvaluation): ReportSection {
	const { name, policy, problems, done, total, created, protocol, contamination, report } = evaluation;
	const { accuracy, samples, truncated, unanswered, tokens, calibration } = report;
	const facts: (readonly [string, string])[] = [
		['policy', policy],
		[
			'questions',
			`${problems.name}: ${done === total ? formatCounted(total, 'question') : `${formatCount(done)} of ${formatCounted(total, 'question')}`}`,
		],
		['sampling', `${samplesText(samples)} each, ${protocol}`],
		['created', timeText(created)],
		['pass@1', `${intervalText(accuracy)}, 95% interval`],
		['truncated', shareText(truncated)],
		['no answer', shareText(unanswered)],
		[
			'tokens',
			`${formatNumber(tokens.all)} per completion; correct ${formatNumber(tokens.right)}, incorrect ${formatNumber(tokens.wrong)}`,
		],
		...(calibration === null
			? []
			: [['calibration error', `${shareText(calibration.error)} (confidence: agreement with the majority)`] as const]),
		...(contamination === null ? [] : [['training data overlap', contamination] as const]),
	];
	return {
		title: name,
		blocks: [{ kind: 'facts', caption: 'Evaluation', rows: facts }, ...curvesOf(evaluation), ...tablesOf(evaluation)],
	};
}

function curvesOf({ report }: ReportedEvaluation): ReportBlock[] {
	const { passAtK, consAtK, bestAtK, judgedAtK, calibration } = report;
	const charts: ReportChart[] = [];
	if (passAtK.length > 1) {
		const series = (name: string, curve: typeof passAtK) => ({
			name,
			points: curve.map(({ k, accuracy, low, high }) => ({ x: k, y: accuracy, low, high })),
		});
		charts.push({
			title: 'Accuracy by number of samples',
			x: 'k',
			series: [
				series('pass@k', passAtK),
				series('cons@k', consAtK),
				...(bestAtK.length > 1 ? [series('best of k by log-probability', bestAtK)] : []),
				...(judgedAtK.length > 1 ? [series('best of k by the judge', judgedAtK)] : []),
			],
		});
	}
	if (calibration !== null && calibration.bins.length > 1) {
		charts.push({
			title: 'Accuracy by confidence',
			x: 'fraction of samples that agree',
			series: [
				{
					name: 'measured',
					points: calibration.bins.map(({ confidence, accuracy }) => ({ x: confidence, y: accuracy })),
				},
				{
					name: 'calibrated',
					points: [
						{ x: 0, y: 0 },
						{ x: 1, y: 1 },
					],
				},
			],
		});
	}
	return charts.length === 0 ? [] : [{ kind: 'charts', charts }];
}

function tablesOf({
	report: { byLength, categories, accuracy, consAtK },
	...evaluation
}: ReportedEvaluation): ReportBlock[] {
	const blocks: ReportBlock[] = [];
	const published = evaluation.benchmark === null ? [] : publishedResults(evaluation.benchmark);
	if (published.length > 0) {
		const max = consAtK.at(-1);
		blocks.push({
			kind: 'table',
			caption: 'Comparison with published results',
			columns: [{ title: 'model' }, { title: 'metric' }, { title: 'result', numbers: true }, { title: 'source' }],
			rows: [
				[evaluation.policy, 'pass@1', intervalText(accuracy), 'measured locally'],
				...(max === undefined || max.k < 2
					? []
					: [[evaluation.policy, `cons@${max.k}`, intervalText(max), 'measured locally']]),
				...published.map(({ model, measure, accuracy: reported, source }) => [
					model,
					measure,
					shareText(reported),
					source,
				]),
			],
			note: 'Published results come from different evaluations, with their own prompts, sample counts, and judges.',
		});
	}
	if (categories.length > 0) {
		blocks.push({
			kind: 'table',
			caption: 'By category',
			columns: [{ title: 'category' }, { title: 'questions', numbers: true }, { title: 'pass@1', numbers: true }],
			rows: categories.map((row) => [row.name, String(row.problems), intervalText(row)]),
		});
	}
	if (byLength.length > 1) {
		blocks.push({
			kind: 'table',
			caption: 'By completion length',
			columns: [{ title: 'tokens' }, { title: 'samples', numbers: true }, { title: 'correct', numbers: true }],
			rows: byLength.map(({ from, to, samples, accuracy }) => [
				from === to ? formatNumber(from) : `${formatNumber(from)} to ${formatNumber(to)}`,
				String(samples),
				shareText(accuracy),
			]),
		});
	}
	return blocks;
}
