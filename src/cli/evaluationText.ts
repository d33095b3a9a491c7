import { formatCounted, formatPercent } from '../base/format.ts';
import type { CurvePoint } from '../core/evaluation/evaluationReport.ts';
import type { Estimate } from '../core/evaluation/meanInterval.ts';
import type { PairedComparison } from '../core/evaluation/pairProblems.ts';
import type { PublishedResult } from '../core/evaluation/publishedResults.ts';
import { contaminationText } from '../core/report/contaminationText.ts';
import type { Evaluation } from '../search/evaluate/evaluatePolicy.ts';

/** Maximum number of categories printed; `--json` includes all of them. */
const maxCategories = 20;

const share = (value: number) => value.toFixed(3);
const interval = ({ accuracy, low, high }: Estimate) => `${share(accuracy)} (${share(low)} to ${share(high)})`;

/** Formats an evaluation as lines of text. */
export function evaluationLines({
	policy,
	problems,
	done,
	total,
	failures,
	report,
	contamination,
	questions,
}: Evaluation): string[] {
	const {
		samples,
		accuracy,
		passAtK,
		consAtK,
		bestAtK,
		judgedAtK,
		truncated,
		unanswered,
		tokens,
		categories,
		calibration,
		byLength,
	} = report;
	const [min, max] = samples;
	// An episode has a reward instead of an answer.
	const episodes = questions.some((question) => question.samples.some(({ episode }) => episode !== undefined));
	const each = min === max ? `${max}` : `${min} to ${max}`;
	const whole = done === total ? `${total}` : `${done} of ${total}`;
	return [
		`${policy} on ${problems}: ${whole} questions, ${each} ${max === 1 ? 'sample' : 'samples'} each`,
		...failures.map(({ message, count }) => `  failed    ${count}: ${message}`),
		`  pass@1    ${interval(accuracy)}, 95% interval`,
		...curve('pass', passAtK),
		...curve('cons', consAtK),
		...curve('best', bestAtK),
		...curve('judged', judgedAtK),
		`  tokens    ${tokens.all.toFixed(1)} per completion${apart(tokens)}`,
		`  truncated ${truncated === null ? 'not recorded' : percent(truncated)}${episodes ? '' : `; no answer ${percent(unanswered)}`}`,
		...(byLength.length < 2
			? []
			: [
					`  by length ${byLength.map(({ from, to, accuracy: own }) => `${from}${to === from ? '' : `-${to}`}: ${share(own)}`).join(', ')}`,
				]),
		...(calibration === null
			? []
			: [`  majority agreement as confidence: calibration error ${share(calibration.error)}`]),
		...categories
			.slice(0, maxCategories)
			.map((row) => `  ${row.name}: ${interval(row)}, ${formatCounted(row.problems, 'question')}`),
		...(categories.length > maxCategories ? [`  and ${categories.length - maxCategories} more categories`] : []),
		...(contamination === null ? [] : [`  training  ${contaminationText(contamination)}`]),
	];
}

/** Formats published results, grouped by metric. These values were not measured in this evaluation. */
export function publishedLines(published: readonly PublishedResult[]): string[] {
	return [...new Set(published.map(({ source, measure }) => `${source}: ${measure}`))].map((head) => {
		const own = published.filter(({ source, measure }) => `${source}: ${measure}` === head);
		return `  published, ${head}: ${own.map(({ model, accuracy }) => `${model} ${share(accuracy)}`).join(', ')}`;
	});
}

/**
 * Formats a paired comparison with another evaluation. @param name label of the other evaluation, such as "baseline"
 */
export function againstLines(name: string, paired: PairedComparison): string[] {
	const lead = `  ${name.padEnd(9)}`;
	if (paired.test === 'none') return [`${lead} ${paired.reason}`];
	const { first, second, difference, problems, gained, lost, p } = paired;
	const sign = difference.mean < 0 ? '' : '+';
	const change = `${sign}${share(difference.mean)} (${share(difference.low)} to ${share(difference.high)})`;
	return [
		`${lead} ${share(first)}, now ${share(second)}: ${change} on ${formatCounted(problems, 'question')}, p ${p < 0.001 ? '< 0.001' : p.toFixed(3)}`,
		`            ${gained} gained, ${lost} lost`,
	];
}

function curve(name: string, points: readonly CurvePoint[]): string[] {
	if (points.length < 2) return [];
	return [`  ${`${name}@k`.padEnd(10)}${points.map(({ k, accuracy }) => `${k}: ${share(accuracy)}`).join(', ')}`];
}

function apart({ right, wrong }: { readonly right: number | null; readonly wrong: number | null }): string {
	return right === null || wrong === null ? '' : ` (correct ${right.toFixed(1)}, incorrect ${wrong.toFixed(1)})`;
}

function percent(value: number): string {
	return formatPercent(value, 1);
}
