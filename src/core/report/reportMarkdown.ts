import { formatNumber } from '../../base/format.ts';
import { describeChart } from './chartSvg.ts';
import { markdownFence, markdownText } from './markdownText.ts';
import { intervalText } from './numberText.ts';
import type { ReportBlock, ReportChart, ReportDocument, ReportPoint, ReportSection } from './reportDocument.ts';

/** Maximum number of rows in a curve's table. */
const maxPoints = 6;

/** Renders a report as Markdown (CommonMark with tables). Charts become tables with a selection of their points. */
export function reportMarkdown(report: ReportDocument): string {
	const parts = [`# ${title(report.title)}`, markdownText(report.subtitle)];
	for (const section of report.sections) parts.push(...sectionParts(section, 2));
	return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Returns a nonempty title, because an empty heading is not a heading in Markdown. */
const title = (text: string) => markdownText(text) || '–';

function sectionParts({ title: name, blocks, sections = [] }: ReportSection, level: number): string[] {
	return [
		`${'#'.repeat(Math.min(level, 6))} ${title(name)}`,
		...blocks.flatMap(blockParts),
		...sections.flatMap((inner) => sectionParts(inner, level + 1)),
	];
}

function blockParts(block: ReportBlock): string[] {
	switch (block.kind) {
		case 'paragraph':
			return [markdownText(block.text)];
		case 'list':
			return [block.items.map((item) => `- ${markdownText(item) || '–'}`).join('\n')];
		case 'facts':
			return [table([block.caption, ''], [], block.rows)];
		case 'table': {
			const { caption, columns, rows, note } = block;
			const right = columns.map(({ numbers }) => numbers === true);
			const head = columns.map((column) => column.title);
			return [markdownText(caption), table(head, right, rows), ...(note === undefined ? [] : [markdownText(note)])];
		}
		case 'charts':
			return block.charts.flatMap(chartParts);
		case 'text':
			return [
				`**${title(block.title)}**`,
				markdownFence(block.text),
				...(block.note === undefined ? [] : [markdownText(block.note)]),
			];
	}
}

function table(head: readonly string[], right: readonly boolean[], rows: readonly (readonly string[])[]): string {
	const row = (cells: readonly string[]) => `| ${cells.map((cell) => markdownText(cell)).join(' | ')} |`;
	return [row(head), `|${head.map((_, i) => (right[i] ? '---:' : '---')).join('|')}|`, ...rows.map(row)].join('\n');
}

function chartParts(chart: ReportChart): string[] {
	const shown = chart.series.map(({ name, points }) => ({ name, points: some(points) }));
	const head = chart.series.length > 1 ? ['', chart.x, chart.title] : [chart.x, chart.title];
	const rows = shown.flatMap(({ name, points }) =>
		points.map((point) => [
			...(chart.series.length > 1 ? [name] : []),
			formatNumber(point.x),
			point.low === undefined || point.high === undefined
				? formatNumber(point.y)
				: intervalText({ accuracy: point.y, low: point.low, high: point.high }),
		]),
	);
	const sentence = markdownText(`${chart.title}: ${describeChart(chart)}`);
	return rows.length === 0
		? [sentence]
		: [
				sentence,
				table(
					head,
					head.map((_, i) => i >= head.length - 2),
					rows,
				),
			];
}

/** Selects evenly spaced points, including the first and last. */
function some(points: readonly ReportPoint[]): ReportPoint[] {
	const known = points.filter(({ y }) => Number.isFinite(y));
	if (known.length <= maxPoints) return known;
	return Array.from(
		{ length: maxPoints },
		(_, i) => known[Math.round((i * (known.length - 1)) / (maxPoints - 1))] as ReportPoint,
	);
}
