import { formatCounted, formatNumber } from '../../base/format.ts';
import { describeMetric } from '../metrics/catalog.ts';
import { type MetricContext, type StageType, stageTypes } from '../metrics/metricInfo.ts';
import { intervalText, shareText } from './numberText.ts';
import type { ReportBlock, ReportChart, ReportSection, ReportTable } from './reportDocument.ts';
import type { HeldOut, ReportedRun, ReportedStage } from './reportedRun.ts';

/** A row in the stage results table, for a stage from the only run or from one of several runs. */
interface StageRow {
	readonly title: string;
	readonly stage: ReportedStage;
}

export const stageTitle = ({ number, type }: ReportedStage, count: number) =>
	count === 1 ? `Stage: ${type}` : `Stage ${number}: ${type}`;

/** Returns the rows for one or several runs, in order. A run with a single stage is shown under its own title. */
export function stageRows(runs: readonly ReportedRun[]): StageRow[] {
	return runs.flatMap(({ title, stages }) =>
		stages.map((stage) => {
			const own = `${stage.number}. ${stage.type}`;
			if (runs.length === 1) return { title: own, stage };
			return { title: stages.length === 1 ? title : `${title}, ${own}`, stage };
		}),
	);
}

/** Returns accuracy, format, and length at the end of each stage, or null if nothing is known. */
export function boughtTable(rows: readonly StageRow[]): ReportTable | null {
	const known = rows.filter(({ stage }) => stage.after !== null || stage.completions !== null);
	if (known.length === 0) return null;
	const sources = known.flatMap(({ title, stage }) =>
		stage.completions === null ? [] : [`${title}: ${stage.completions.of}`],
	);
	return {
		kind: 'table',
		caption: 'Results by stage',
		columns: [
			{ title: 'stage' },
			{ title: 'accuracy before', numbers: true },
			{ title: 'accuracy after', numbers: true },
			{ title: 'format', numbers: true },
			{ title: 'one language', numbers: true },
			{ title: 'tokens', numbers: true },
			{ title: 'characters', numbers: true },
			{ title: 'reflection', numbers: true },
			{ title: 'truncated', numbers: true },
		],
		rows: known.map(({ title, stage: { before, after, completions } }) => [
			title,
			intervalText(before),
			intervalText(after),
			shareText(completions?.format),
			shareText(completions?.consistency),
			formatNumber(completions?.tokens),
			completions === null ? '–' : formatNumber(Math.round(completions.characters)),
			shareText(completions?.reflection),
			shareText(completions?.truncated),
		]),
		note: [
			'Accuracy on held-out problems, with 95% intervals.',
			'Format: fraction of completions whose tags match the template.',
			'One language: mean fraction of the thinking section in its main language.',
			'Tokens and characters: mean per completion.',
			'Reflection: markers per completion, based on a list of phrases.',
			...(sources.length === 0 ? [] : [`Measured on ${sources.join('; ')}.`]),
		].join(' '),
	};
}

/** Returns a chart of held-out accuracy over the entire run, or null if there are fewer than two measurements. */
export function heldOutChart({ stages }: ReportedRun): ReportChart | null {
	const measured = new Map<number, HeldOut>();
	for (const { heldOut } of stages) for (const one of heldOut) measured.set(one.step, one);
	const points = [...measured.values()]
		.sort((a, b) => a.step - b.step)
		.map(({ step, accuracy, low, high }) => ({ x: step, y: accuracy, low, high }));
	return points.length < 2 ? null : { title: 'Held-out accuracy', x: 'step', series: [{ name: '', points }] };
}

export function stageSection(stage: ReportedStage, count: number, format: string | null = null): ReportSection {
	const { steps, before, after, curves, completions } = stage;
	const context: MetricContext = {
		stage: stageTypes.find((type): type is StageType => type === stage.type) ?? null,
		...(format === null ? {} : { format }),
	};
	const rows: (readonly [string, string])[] = [
		['steps', steps === null ? 'none' : steps[0] === steps[1] ? `${steps[0]}` : `${steps[0]} to ${steps[1]}`],
		...(before === null ? [] : [['held-out accuracy before', heldOutText(before)] as const]),
		...(after === null ? [] : [['held-out accuracy after', heldOutText(after)] as const]),
		...(completions === null
			? []
			: [['completions analyzed', `${completions.completions}: ${completions.of}`] as const]),
	];
	const charts = curves.map(({ name, points }): ReportChart => {
		const info = describeMetric(name, context);
		return { title: info.title === name ? name : `${info.title} (${name})`, x: 'step', series: [{ name: '', points }] };
	});
	const blocks: ReportBlock[] = [{ kind: 'facts', caption: 'Stage', rows }];
	if (charts.length > 0) blocks.push({ kind: 'charts', charts });
	return { title: stageTitle(stage, count), blocks };
}

function heldOutText(measured: HeldOut): string {
	const { step, problems, samples } = measured;
	const each = samples === 1 ? '' : `, ${formatCounted(samples, 'sample')} each`;
	return `${intervalText(measured)} at step ${step}, ${formatCounted(problems, 'problem')}${each}`;
}
