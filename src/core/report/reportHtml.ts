import { chartColors, chartSvg } from './chartSvg.ts';
import { htmlText } from './htmlText.ts';
import type {
	ReportBlock,
	ReportCharts,
	ReportDocument,
	ReportSection,
	ReportTable,
	ReportText,
} from './reportDocument.ts';
import { reportStyle } from './reportStyle.ts';
import { visibleLine } from './visibleText.ts';

/** Content security policy: no loading, no scripts, only inline styles. */
export const reportPolicy =
	"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** Renders a report as a self-contained HTML file: no scripts, no requests, charts as inline SVG. */
export function reportHtml(report: ReportDocument): string {
	const page = new Page();
	const body = report.sections.map((section) => page.section(section, 2)).join('\n');
	const contents = report.sections.map(({ title }, i) => `<li><a href="#s${page.top[i]}">${line(title)}</a></li>`);
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${reportPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${htmlText(visibleLine(report.title))}</title>
<style>${reportStyle}</style>
</head>
<body>
<header>
<h1>${line(report.title)}</h1>
<p>${line(report.subtitle)}</p>
</header>
<nav aria-label="Contents"><ul>
${contents.join('\n')}
</ul></nav>
<main>
${body}
</main>
</body>
</html>
`;
}

const line = (text: string) => `<bdi>${htmlText(visibleLine(text))}</bdi>`;

class Page {
	#sections = 0;
	#charts = 0;
	/** Ids of the top-level sections. */
	readonly top: number[] = [];

	section({ title, blocks, sections = [] }: ReportSection, level: number): string {
		const id = ++this.#sections;
		if (level === 2) this.top.push(id);
		const heading = Math.min(level, 6);
		return [
			`<section id="s${id}" aria-labelledby="s${id}-h">`,
			`<h${heading} id="s${id}-h">${line(title)}</h${heading}>`,
			...blocks.map((block) => this.#block(block)),
			...sections.map((inner) => this.section(inner, level + 1)),
			'</section>',
		].join('\n');
	}

	#block(block: ReportBlock): string {
		switch (block.kind) {
			case 'paragraph':
				return `<p>${line(block.text)}</p>`;
			case 'list':
				return `<ul>${block.items.map((item) => `<li>${line(item)}</li>`).join('')}</ul>`;
			case 'facts':
				return [
					`${wide(block.caption)}<table class="facts"><caption>${line(block.caption)}</caption><tbody>`,
					...block.rows.map(([name, value]) => `<tr><th scope="row">${line(name)}</th><td>${line(value)}</td></tr>`),
					'</tbody></table></div>',
				].join('');
			case 'table':
				return table(block);
			case 'charts':
				return this.#figures(block);
			case 'text':
				return text(block);
		}
	}

	#figures({ charts }: ReportCharts): string {
		const figures = charts.map((chart) => {
			const named = chart.series.length > 1;
			const legend = chart.series.map(
				({ name }, i) => `<li><span class="key s${i % chartColors}"></span>${line(name)}</li>`,
			);
			return [
				`<figure><figcaption>${line(chart.title)}</figcaption>`,
				chartSvg(chart, `c${++this.#charts}`),
				named ? `<ul class="legend">${legend.join('')}</ul>` : '',
				'</figure>',
			].join('');
		});
		return `<div class="charts">${figures.join('\n')}</div>`;
	}
}

/** Makes content wider than the page scroll on its own, including by keyboard. */
const wide = (caption: string) =>
	`<div class="wide" tabindex="0" role="group" aria-label="${htmlText(visibleLine(caption))}">`;

/** Maximum length of cells that are kept on one line, in characters. */
const shortest = 28;

function table({ caption, columns, rows, note }: ReportTable): string {
	const cell = (i: number, value: string) => {
		const width = value.length <= shortest ? 'k' : 'l';
		return ` class="${columns[i]?.numbers ? `n ${width}` : width}"`;
	};
	const row = (cells: readonly string[]) =>
		cells.map((value, i) =>
			i === 0 ? `<th scope="row"${cell(i, value)}>${line(value)}</th>` : `<td${cell(i, value)}>${line(value)}</td>`,
		);
	const head = columns.map(({ title }, i) => `<th scope="col"${cell(i, title)}>${line(title)}</th>`);
	return [
		`${wide(caption)}<table><caption>${line(caption)}</caption>`,
		`<thead><tr>${head.join('')}</tr></thead><tbody>`,
		...rows.map((cells) => `<tr>${row(cells).join('')}</tr>`),
		'</tbody></table></div>',
		note === undefined ? '' : `<p class="note">${line(note)}</p>`,
	].join('');
}

function text({ title, text: content, note, folded }: ReportText): string {
	const said = note === undefined ? '' : `<p class="note">${line(note)}</p>`;
	const body = `<pre dir="auto" tabindex="0">${htmlText(content)}</pre>${said}`;
	if (folded) return `<details><summary>${line(title)}</summary>${body}</details>`;
	return `<div class="text"><p class="name">${line(title)}</p>${body}</div>`;
}
