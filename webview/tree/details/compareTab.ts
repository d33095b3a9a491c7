import { formatCount, formatCounted, formatDuration, formatNumber } from '../../../src/base/format.ts';
import { stopText } from '../../../src/core/search/stopText.ts';
import { element, fill } from '../../lib/dom.ts';
import { rowHead, staticTable } from '../../lib/staticTable.ts';
import { plainLabel } from '../../lib/trace/hiddenCharacters.ts';
import { type AnswerGroup, answerGroups, sameAnswer } from '../answerGroups.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { SideName, TreeSide } from '../treeSide.ts';
import { treeStatistics } from '../treeStatistics.ts';
import type { DetailTab } from './detailTab.ts';
import { linkButton, section } from './facts.ts';

const listed = 60;

/** Compares statistics and answers of two trees side by side. */
export class CompareTab implements DetailTab {
	readonly id = 'compare';
	readonly label = 'Compare';
	readonly element = element('div', { class: 'detail-body' });
	readonly #model: TreeModel;

	constructor(model: TreeModel) {
		this.#model = model;
	}

	get isOffered(): boolean {
		return this.#model.other !== null;
	}

	dispose(): void {}

	update(changes: ReadonlySet<Change>): void {
		if (!['source', 'events', 'moment', 'sides', 'tab'].some((change) => changes.has(change as Change))) return;
		const { main, other } = this.#model;
		if (main === null || other === null) return;
		const hadFocus = this.element.contains(document.activeElement);
		fill(this.element, this.#numbers(main, other), this.#answers(main, other));
		if (hadFocus) this.element.closest<HTMLElement>('.tab-panel')?.focus();
	}

	#numbers(main: TreeSide, other: TreeSide): HTMLElement {
		const sides = [main, other].map((side) => ({ side, tree: side.shown, statistics: treeStatistics(side.shown) }));
		const row = (name: string, of: (one: (typeof sides)[number]) => string): HTMLElement | null => {
			const values = sides.map(of);
			if (values.every((value) => value === '' || value === '–')) return null;
			return element(
				'tr',
				{ class: values[0] === values[1] ? 'same' : '' },
				rowHead(name),
				...values.map((value) => element('td', null, value)),
			);
		};
		return section(
			'Both trees',
			staticTable('children compare-table', {
				head: [
					element('td', null, element('span', { class: 'visually-hidden' }, 'Metric')),
					plainLabel(main.source.title, 60) || 'This tree',
					plainLabel(other.source.title, 60) || 'Other tree',
				],
				rows: [
					row('Strategy', ({ tree }) => plainLabel(tree.start?.strategy ?? '', 60)),
					row('Policy', ({ tree }) => plainLabel(tree.start?.policy.name ?? '', 60)),
					row('Nodes', ({ statistics }) => formatCount(statistics.nodes)),
					row('Depth', ({ statistics }) => formatCount(statistics.depth)),
					row('Leaves', ({ statistics }) => formatCount(statistics.leaves)),
					row('Mean branching factor', ({ statistics }) => formatNumber(statistics.branching, 3)),
					row('Tokens', ({ statistics }) => (statistics.tokens === 0 ? '' : formatCount(statistics.tokens))),
					row('Simulations', ({ statistics }) =>
						statistics.simulations === 0 ? '' : formatCount(statistics.simulations),
					),
					row('Pruned', ({ statistics }) => formatCount(statistics.pruned)),
					row('Terminal nodes', ({ statistics }) => formatCount(statistics.finals)),
					row('Best value', ({ statistics }) => formatNumber(statistics.bestValue, 3)),
					row('Answer', ({ tree }) => plainLabel(tree.outcome?.answer ?? '', 80)),
					row('Time', ({ side }) => formatDuration(side.lastEvent?.at ?? null)),
					row('Stop reason', ({ tree }) => (tree.outcome === null ? 'not yet' : stopText[tree.outcome.stop])),
				],
			}),
		);
	}

	#answers(main: TreeSide, other: TreeSide): HTMLElement | null {
		const [ours, theirs] = [answerGroups(main.shown), answerGroups(other.shown)];
		const rows: { answer: string; main: AnswerGroup | null; other: AnswerGroup | null }[] = ours.map((group) => ({
			answer: group.answer,
			main: group,
			other: theirs.find((one) => sameAnswer(one.answer, group.answer)) ?? null,
		}));
		for (const group of theirs) {
			if (!rows.some((row) => row.other === group)) rows.push({ answer: group.answer, main: null, other: group });
		}
		if (rows.length === 0) return null;
		const cell = (side: SideName, group: AnswerGroup | null): HTMLElement =>
			element(
				'td',
				null,
				group === null
					? '–'
					: linkButton(
							formatCounted(group.nodes.length, 'node'),
							() => this.#model.select({ side, id: group.bestNode }, true),
							'Go to highest-scoring node',
						),
				group !== null && group.best !== null && ` ${formatNumber(group.best, 3)}`,
			);
		return section(
			'Answers in both trees',
			staticTable('children compare-table', {
				rows: rows
					.slice(0, listed)
					.map((row) =>
						element(
							'tr',
							null,
							rowHead(
								plainLabel(row.answer, 80) || '(empty)',
								(row.main ?? row.other)?.correct === true && element('span', { class: 'badge right' }, 'correct'),
								row.main !== null && row.other !== null && element('span', { class: 'badge' }, 'in both'),
							),
							cell('main', row.main),
							cell('other', row.other),
						),
					),
			}),
			rows.length > listed && element('p', { class: 'quiet' }, `and ${formatCount(rows.length - listed)} more`),
		);
	}
}
