/**
 * `npm run charts -- FOLDER`: draws the curves in docs/pictures from pipelines of the templates and of the recipes in
 * test/scripts/charts. FOLDER contains their run folders (`runs`); each chart uses the newest pipeline with its name,
 * and charts without one are skipped. Gradient weights are computed and need no run.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultObjective, type Objective } from '../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../src/core/grpo/objective/rowLoss.ts';
import { chartSvg } from '../../src/core/report/chartSvg.ts';
import { htmlText } from '../../src/core/report/htmlText.ts';
import type { ReportChart, ReportPoint, ReportSeries } from '../../src/core/report/reportDocument.ts';
import { dark, light } from '../../src/core/report/reportStyle.ts';
import { readMetrics } from '../../src/runs/runReader.ts';
import { root } from './paths.ts';

/** A line of a chart: a metric of a stage, divided by a number. */
type Line = readonly [name: string, stage: string, metric: string, divisor?: number];

interface DocChart {
	/** File name in docs/pictures. */
	readonly file: string;
	/** Name of the pipeline's recipe. */
	readonly recipe: string;
	readonly title: string;
	readonly lines: readonly Line[];
}

const accuracy = 'eval/heldout/accuracy';

const charts: readonly DocChart[] = [
	{
		file: 'self-rewarding',
		recipe: 'self-rewarding',
		title: 'Self-rewarding: the reward rises, the answers get worse',
		lines: [
			['accepted by the policy', 'self-judge', 'rewards/self-judge/mean'],
			['correct', 'self-judge', 'rewards/accuracy/mean'],
		],
	},
	{
		file: 'no-labels',
		recipe: 'no-labels',
		title: 'Held-out accuracy without labels',
		lines: ['labels', 'majority', 'control', 'certainty', 'self-certainty'].map(
			(stage): Line => [stage, stage, accuracy],
		),
	},
	{
		file: 'active-labels',
		recipe: 'active-labels',
		title: 'Held-out loss of process reward heads',
		lines: ['random', 'uncertainty', 'surprise'].map((stage): Line => [stage, stage, 'eval/head/loss']),
	},
	{
		file: 'curriculum',
		recipe: 'curriculum',
		title: 'Dead groups',
		lines: ['uniform', 'range', 'target'].map((stage): Line => [stage, stage, 'groups/dead']),
	},
	{
		file: 'off-policy',
		recipe: 'off-policy',
		title: 'Held-out accuracy with samples up to 16 updates old',
		lines: [
			['no staleness', 'fresh', accuracy],
			['sequence_mask', 'stale', accuracy],
			['token_truncate', 'truncated', accuracy],
			['no correction', 'uncorrected', accuracy],
		],
	},
	{
		file: 'distillation',
		recipe: 'distillation',
		title: 'Held-out accuracy of two students',
		lines: [
			["the student's samples", 'on-policy', accuracy],
			["the teacher's samples", 'off-policy', accuracy],
		],
	},
	{
		file: 'preferences',
		recipe: 'spin',
		title: 'The first round of self-play',
		lines: [
			['rewards/margins', 'spin-1', 'rewards/margins'],
			['rewards/accuracies', 'spin-1', 'rewards/accuracies'],
		],
	},
	{
		file: 'think',
		recipe: 'think',
		title: 'Accuracy and length under R1-Zero',
		lines: [
			['correct', 'zero', 'rewards/accuracy/mean'],
			['tokens / 100', 'zero', 'completions/mean_length', 100],
		],
	},
	{
		file: 'losses-entropy',
		recipe: 'algorithms',
		title: 'Entropy per token, in nats',
		lines: ['dapo', 'gspo', 'cispo', 'sapo', 'high-entropy'].map((stage): Line => [stage, stage, 'entropy']),
	},
];

/** Number of points per line. Longer series are averaged over equal stretches. */
const points = 30;

async function lineOf(pipeline: string, [name, stage, metric, divisor = 1]: Line): Promise<ReportSeries> {
	const known = (await readMetrics(join(pipeline, stage))).flatMap(({ step, values }): ReportPoint[] => {
		const y = values[metric];
		return typeof y === 'number' ? [{ x: step, y: y / divisor }] : [];
	});
	const size = Math.max(1, Math.ceil(known.length / points));
	const means = Array.from({ length: Math.ceil(known.length / size) }, (_, i): ReportPoint => {
		const part = known.slice(i * size, (i + 1) * size);
		const mean = (of: 'x' | 'y') => part.reduce((sum, point) => sum + point[of], 0) / part.length;
		return { x: Math.round(mean('x')), y: mean('y') };
	});
	return { name, points: means };
}

/** Losses whose weights are drawn, with settings for which they differ. */
const weighted: readonly (readonly [name: string, objective: Partial<Objective>])[] = [
	['dapo, epsilon_high 0.28', { lossType: 'dapo', epsilonHigh: 0.28 }],
	['cispo, epsilon_high 2', { lossType: 'cispo', epsilonHigh: 2 }],
	['sapo', { lossType: 'sapo' }],
	['vespo', { lossType: 'vespo' }],
	['gmpo, epsilon_high 0.4', { lossType: 'gmpo', epsilonLow: 0.4, epsilonHigh: 0.4 }],
	['dppo_tv, epsilon_high 0.2', { lossType: 'dppo_tv', epsilonHigh: 0.2 }],
];

/**
 * Returns the weight of a token's log-probability gradient by its importance ratio, for a completion of only this
 * token with advantage 1. The old probability is 0.3.
 */
function gradientWeights(): ReportChart {
	const old = Math.log(0.3);
	const series = weighted.map(([name, changes]): ReportSeries => {
		const objective = { ...defaultObjective, ...changes };
		const ratios = Array.from({ length: 126 }, (_, i) => i / 50);
		const weightAt = (ratio: number): number => {
			const row = { logprobs: [old + Math.log(ratio)], oldLogprobs: [old], refLogprobs: null, advantage: 1 };
			return -(rowLoss(row, objective).gradients[0] as number);
		};
		return { name, points: ratios.slice(1).map((x) => ({ x, y: weightAt(x) })) };
	});
	return { title: "Weight of a token's gradient, for advantage 1", x: 'importance ratio', series };
}

const palette = (colors: readonly string[]) =>
	colors.map((color, i) => `.line.s${i}{stroke:${color}}.dot.s${i},.key.s${i}{fill:${color}}`).join('');
const style = [
	'text{font:11px system-ui,sans-serif;fill:#5b6470}.title{font-size:12px;font-weight:600}',
	'.grid{stroke:#d8dde3}.line{fill:none;stroke-width:1.6;stroke-linejoin:round}',
	palette(light),
	`@media (prefers-color-scheme:dark){text{fill:#a7b0bb}.grid{stroke:#3a424c}${palette(dark)}}`,
].join('');

/** Returns the chart as a separate file, with colors that suit light and dark pages, a title and a legend. */
function standalone(chart: ReportChart): string {
	const columns = chart.series.some(({ name }) => name.length > 18) ? 2 : 3;
	const keys = chart.series.map(({ name }, i) => {
		const x = 16 + (i % columns) * (420 / columns);
		const y = 256 + Math.floor(i / columns) * 16;
		return `<rect class="key s${i}" x="${x}" y="${y - 8}" width="10" height="10"/><text x="${x + 15}" y="${y + 1}">${htmlText(name)}</text>`;
	});
	const height = 246 + 16 * Math.ceil(keys.length / columns);
	const inner = chartSvg(chart, 'c').replace(
		'<svg class="chart" viewBox="0 0 420 220"',
		'<svg y="20" width="420" height="220"',
	);
	return (
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 ${height}" width="420" height="${height}" role="img" aria-label="${htmlText(chart.title)}"><title>${htmlText(chart.title)}</title><style>${style}</style>` +
		`<text class="title" x="16" y="14">${htmlText(chart.title)}</text>${inner}${keys.join('')}</svg>\n`
	);
}

const [folder = '.'] = process.argv.slice(2);
const names = (await readdir(join(folder, 'runs'))).sort();
const pictures = join(root, 'docs/pictures');
await mkdir(pictures, { recursive: true });
await writeFile(join(pictures, 'losses-weights.svg'), standalone(gradientWeights()));
for (const { file, recipe, title, lines } of charts) {
	const newest = names.findLast((name) => name.startsWith(`${recipe}-2`));
	const pipeline = newest === undefined ? null : join(folder, 'runs', newest);
	if (pipeline === null || lines.some(([, stage]) => !existsSync(join(pipeline, stage, 'metrics.jsonl')))) {
		console.log(`${file}: no finished pipeline "${recipe}"`);
		continue;
	}
	const series = await Promise.all(lines.map((line) => lineOf(pipeline, line)));
	await writeFile(join(pictures, `${file}.svg`), standalone({ title, x: 'step', series }));
	console.log(`${file}: ${newest}`);
}
