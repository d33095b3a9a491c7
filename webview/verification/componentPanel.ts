import { formatCounted, formatNumber } from '../../src/base/format.ts';
import type { RowSummary, VerificationContent } from '../../src/protocol/verificationMessages.ts';
import { element, fill } from '../lib/dom.ts';
import { signedBar } from '../lib/signedBar.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { panel } from './panel.ts';
import type { ResultsModel } from './resultsModel.ts';

/** Returns why a correlation is undefined. Pure. */
export function whyUndefined(rows: readonly Pick<RowSummary, 'value' | 'others'>[], name: string): string {
	const both = rows.flatMap(({ value, others }) => {
		const other = Object.hasOwn(others, name) ? (others[name] ?? null) : null;
		return value === null || other === null ? [] : [[value, other] as const];
	});
	if (both.length < 3) return `fewer than 3 rows with both values (${both.length})`;
	const constant = (side: 0 | 1) => both.every((pair) => pair[side] === both[0]?.[side]);
	if (constant(0)) return 'this reward is constant on these rows';
	return constant(1) ? 'the other reward is constant on these rows' : 'undefined';
}

/** Combines line numbers into ranges: "3", "5–7". Pure. */
export function lineRanges(lines: readonly number[]): { readonly first: number; readonly last: number }[] {
	const ranges: { first: number; last: number }[] = [];
	for (const line of [...new Set(lines)].sort((a, b) => a - b)) {
		const open = ranges.at(-1);
		if (open !== undefined && open.last === line - 1) open.last = line;
		else ranges.push({ first: line, last: line });
	}
	return ranges;
}

const maxRanges = 12;

/** Correlations with the recipe's other rewards, plus line coverage. */
export class ComponentPanel {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #correlations = element('div', { class: 'correlations' });
	readonly #coverage = element('div', { class: 'coverage' });

	constructor(model: ResultsModel) {
		this.#model = model;
		this.element = element(
			'div',
			{ class: 'panel-pair' },
			panel('Correlation with other rewards', null, this.#correlations),
			panel('Line coverage', null, this.#coverage),
		);
	}

	update(content: VerificationContent): void {
		this.#drawCorrelations(content);
		this.#drawCoverage(content);
	}

	#drawCorrelations({ statistics }: VerificationContent): void {
		const entries = Object.entries(statistics.correlation);
		if (entries.length === 0) {
			const why = 'No other rewards to compare with: no recipe combines this reward with others.';
			fill(this.#correlations, element('p', { class: 'quiet' }, why));
			return;
		}
		const rows = entries
			.toSorted(([, a], [, b]) => Math.abs(b ?? 0) - Math.abs(a ?? 0))
			.map(([name, value]) => {
				const why = value === null ? whyUndefined(this.#model.verified, name) : null;
				return element(
					'tr',
					null,
					element('th', { attributes: { scope: 'row' } }, plainLabel(name, 60)),
					element('td', { class: 'number' }, formatNumber(value, 2)),
					element('td', null, value === null ? element('span', { class: 'quiet' }, why) : signedBar(value, 1)),
				);
			});
		fill(
			this.#correlations,
			element(
				'table',
				{ class: 'plain-table' },
				element('caption', { class: 'quiet' }, "Pearson's r over rows with both values (−1 to 1)"),
				element('tbody', null, ...rows),
			),
		);
	}

	#drawCoverage({ coverage }: VerificationContent): void {
		if (coverage === null) {
			fill(this.#coverage, element('p', { class: 'quiet' }, 'Line coverage was not measured.'));
			return;
		}
		const reached = new Set(coverage.reached);
		const missed = lineRanges(coverage.lines.filter((line) => !reached.has(line)));
		if (missed.length === 0) {
			fill(
				this.#coverage,
				element('p', null, `All ${formatCounted(coverage.lines.length, 'executable line')} covered.`),
			);
			return;
		}
		const words = `${coverage.lines.length - reached.size} of ${formatCounted(coverage.lines.length, 'line')} not covered by any row.`;
		const links = missed.slice(0, maxRanges).map(({ first, last }) => {
			const name = first === last ? `line ${first}` : `lines ${first}–${last}`;
			const link = element('button', { class: 'link', attributes: { type: 'button' } }, name);
			link.addEventListener('click', () => this.#model.post({ type: 'openFile', line: first }));
			return element('li', null, link);
		});
		fill(
			this.#coverage,
			element('p', null, words),
			element('ul', { class: 'inline-list' }, ...links),
			missed.length > maxRanges && element('p', { class: 'quiet' }, `and ${missed.length - maxRanges} more ranges`),
		);
	}
}
