import {
	firstUpper,
	formatCount,
	formatCounted,
	formatDuration,
	formatNumber,
	formatPercent,
} from '../../../src/base/format.ts';
import { stopText } from '../../../src/core/search/stopText.ts';
import { element, fill } from '../../lib/dom.ts';
import { columnHead, numberCell, staticTable } from '../../lib/staticTable.ts';
import { plainLabel } from '../../lib/trace/hiddenCharacters.ts';
import { answerGroups } from '../answerGroups.ts';
import { describeEvent } from '../eventWords.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { TreeSide } from '../treeSide.ts';
import { treeStatistics } from '../treeStatistics.ts';
import type { DetailTab } from './detailTab.ts';
import { type Fact, facts, linkButton, section } from './facts.ts';

/** Maximum number of answers and errors listed. */
const listed = { answers: 50, faults: 50 } as const;

/** Search overview: problem, strategy, budget, result and answers. */
export class SearchTab implements DetailTab {
	readonly id = 'search';
	readonly label = 'Search';
	readonly element = element('div', { class: 'detail-body' });
	readonly #model: TreeModel;

	constructor(model: TreeModel) {
		this.#model = model;
	}

	dispose(): void {}

	update(changes: ReadonlySet<Change>): void {
		if (!['source', 'events', 'moment', 'sides', 'selection'].some((change) => changes.has(change as Change))) return;
		const side = this.#model.current;
		if (side === null) return;
		const hadFocus = this.element.contains(document.activeElement);
		fill(
			this.element,
			...this.#problem(side),
			this.#outcome(side),
			this.#answers(side),
			this.#settings(side),
			this.#faults(side),
		);
		if (hadFocus) this.element.closest<HTMLElement>('.tab-panel')?.focus();
	}

	#problem({ shown }: TreeSide): (HTMLElement | null)[] {
		const problem = shown.start?.problem;
		if (problem === undefined) return [element('p', { class: 'quiet' }, 'The search has not started.')];
		return [
			section(
				'Problem',
				problem.prompt.trim() === ''
					? element('p', { class: 'quiet' }, 'The log does not include the problem.')
					: element('p', { class: 'problem-text' }, shownText(problem.prompt)),
			),
			problem.answer === null ? null : facts([['Gold answer', plainLabel(problem.answer, 200)]]),
		];
	}

	#outcome(side: TreeSide): HTMLElement {
		const { shown } = side;
		const { outcome } = shown;
		const end = outcome === null ? null : side.events[side.moment - 1];
		const ended = end?.t === 'end' ? end : side.events.findLast((event, i) => event.t === 'end' && i < side.moment);
		const result = outcome?.best?.at(-1);
		const { nodes, depth, tokens, simulations, pruned } = treeStatistics(shown);
		const rows: Fact[] = [
			[
				'State',
				outcome === null ? (side.source.running ? 'Running' : 'Incomplete') : firstUpper(stopText[outcome.stop]),
			],
			['Answer', outcome?.answer == null ? null : plainLabel(outcome.answer, 200)],
			['Value', outcome?.value == null ? null : formatNumber(outcome.value, 4)],
			[
				'Best path',
				result === undefined
					? null
					: linkButton(`to node ${result}`, () => this.#model.select({ side: side.name, id: result }, true)),
			],
			['Nodes', formatCount(nodes)],
			['Depth', formatCount(depth)],
			['Simulations', simulations === 0 ? null : formatCount(simulations)],
			['Tokens', tokens === 0 ? null : formatCount(outcome !== null && ended?.t === 'end' ? ended.tokens : tokens)],
			['Pruned', pruned === 0 ? null : formatCount(pruned)],
			['Time', side.lastEvent === null ? null : formatDuration(side.lastEvent.at)],
			['Cost', ended?.t === 'end' && ended.cost !== null ? formatNumber(ended.cost, 4) : null],
			['Message', ended?.t === 'end' && ended.message !== undefined ? plainLabel(ended.message, 400) : null],
		];
		return section('Result', facts(rows));
	}

	#answers(side: TreeSide): HTMLElement | null {
		const groups = answerGroups(side.shown);
		if (groups.length === 0) return null;
		const total = groups.reduce((sum, { nodes }) => sum + nodes.length, 0);
		const table = staticTable('answers', {
			head: ['Answer', ...['Nodes', 'Share', 'Best value'].map((name) => columnHead(name, 'number'))],
			rows: groups.slice(0, listed.answers).map(({ answer, nodes, best, bestNode, correct }) =>
				element(
					'tr',
					null,
					element(
						'td',
						null,
						linkButton(plainLabel(answer, 80) || '(empty)', () =>
							this.#model.select({ side: side.name, id: bestNode }, true),
						),
						correct === true && element('span', { class: 'badge right' }, 'correct'),
					),
					numberCell(formatCount(nodes.length)),
					numberCell(formatPercent(nodes.length / total, 0)),
					numberCell(formatNumber(best, 3)),
				),
			),
		});
		const more = groups.length - listed.answers;
		return section(
			'Answers',
			table,
			more > 0 && element('p', { class: 'quiet' }, `and ${formatCounted(more, 'more answer')}`),
		);
	}

	#settings({ shown, source }: TreeSide): HTMLElement | null {
		const { start } = shown;
		if (start === null) return null;
		const budget = Object.entries(start.budget).map(([name, limit]) => `${formatNumber(limit as number)} ${name}`);
		const scorers = start.scorers.map(
			({ name, oracle }) => plainLabel(name, 60) + (oracle ? ' (oracle upper bound)' : ''),
		);
		return section(
			'Configuration',
			facts([
				['Strategy', plainLabel(start.strategy, 80)],
				['Policy', plainLabel([start.policy.name, start.policy.model].filter(Boolean).join(', '), 160)],
				['Scorers', scorers.join(', ')],
				['Budget', budget.join(', ')],
				// Logs from other programs do not record a seed.
				['Seed', source.foreign === null ? String(start.seed) : null],
				['Backup', source.foreign !== null ? null : start.backup === 'max' ? 'max' : 'mean'],
				['Written by', source.foreign === null ? null : plainLabel(source.foreign, 80)],
				...Object.entries(start.params)
					.slice(0, 60)
					.map(
						([name, value]): Fact => [
							plainLabel(name, 40),
							plainLabel(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 160),
						],
					),
			]),
		);
	}

	#faults(side: TreeSide): HTMLElement | null {
		const facts = [
			...side.source.faults.map((fault) => plainLabel(fault, 300)),
			...side.events.slice(0, side.moment).flatMap((event) => (event.t === 'fault' ? [describeEvent(event)] : [])),
		];
		if (side.shown.skipped > 0)
			facts.push(`${formatCount(side.shown.skipped)} invalid events in the log were skipped.`);
		if (facts.length === 0) return null;
		return section(
			'Errors',
			element('ul', { class: 'faults' }, ...facts.slice(0, listed.faults).map((words) => element('li', null, words))),
			facts.length > listed.faults &&
				element('p', { class: 'quiet' }, `and ${formatCount(facts.length - listed.faults)} more`),
		);
	}
}

/** Returns text with line breaks kept and invisible characters escaped, truncated to the limit. */
export function shownText(text: string, limit = 4000): string {
	return text
		.slice(0, limit)
		.split('\n')
		.map((line) => plainLabel(line, limit))
		.join('\n')
		.concat(text.length > limit ? '…' : '');
}
