import { formatCount, formatDuration, formatNumber, formatPercent } from '../../../src/base/format.ts';
import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import type { TreeEventOf } from '../../../src/protocol/treeLog.ts';
import { element, fill } from '../../lib/dom.ts';
import { columnHead, numberCell, staticTable } from '../../lib/staticTable.ts';
import { plainLabel } from '../../lib/trace/hiddenCharacters.ts';
import { roleNames } from '../draw/nodeShapes.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { TreeSide } from '../treeSide.ts';
import type { DetailTab } from './detailTab.ts';
import { type Fact, facts, linkButton, section } from './facts.ts';
import { NodeActions } from './nodeActions.ts';
import { eventsOfNode, lastSelectionValue } from './nodeEvents.ts';
import { TextParts, valueText } from './textPart.ts';

/** Maximum number of children listed. */
const listed = 40;

/** Details for the selected node: text, statistics and actions. */
export class NodeTab implements DetailTab {
	readonly id = 'node';
	readonly label = 'Node';
	readonly element = element('div', { class: 'detail-body' });
	readonly #model: TreeModel;
	readonly #texts = new TextParts();
	readonly #actions: NodeActions;
	readonly #head = element('div', { class: 'node-head' });
	readonly #rest = element('div', { class: 'detail-body' });
	#key = '';

	constructor(model: TreeModel) {
		this.#model = model;
		this.#actions = new NodeActions(model);
	}

	dispose(): void {
		this.#texts.dispose();
	}

	update(changes: ReadonlySet<Change>): void {
		const { current: side, selected: node, selection } = this.#model;
		if (side === null || node === undefined || selection === null) {
			this.#key = '';
			this.#texts.clear();
			fill(this.element, element('p', { class: 'quiet' }, 'Select a node to see its details.'));
			return;
		}
		this.#actions.update(side, node);
		const key = `${selection.side} ${node.id}`;
		if (changes.has('tab') || key !== this.#key) {
			fill(this.element, this.#head, this.#actions.element, this.#rest);
			this.#actions.close();
		} else if (!['events', 'moment', 'sides', 'selection', 'text'].some((change) => changes.has(change as Change)))
			return;
		this.#key = key;
		this.#draw(side, node);
	}

	#draw(side: TreeSide, node: TreeNode): void {
		this.#texts.clear();
		const isBest = side.shown.outcome?.best?.includes(node.id) ?? false;
		fill(
			this.#head,
			element('h2', null, `${roleNames[node.role]} ${node.id}`),
			isBest && element('span', { class: 'badge right' }, 'best path'),
			node.by === 'person' && element('span', { class: 'badge' }, 'added by user'),
			node.pruned !== null && element('span', { class: 'badge wrong' }, 'pruned'),
			node.mergedInto !== null && element('span', { class: 'badge' }, 'merged'),
		);
		const { moment, events } = side;
		fill(
			this.#rest,
			this.#text(side, node),
			section('Statistics', this.#statistics(side, node)),
			...eventsOfNode(events, 'tool', node.id, moment).map((tool) => this.#tool(tool)),
			// The event recurs with the points that a revision has addressed, so show only the last one.
			...eventsOfNode(events, 'critique', node.id, moment)
				.slice(-1)
				.map((critique) => this.#critique(critique)),
			this.#references(eventsOfNode(events, 'reference', node.id, moment)),
			this.#children(side, node),
		);
	}

	#text(side: TreeSide, node: TreeNode): HTMLElement {
		const text = side.textOf(node);
		if (text === '') return element('p', { class: 'quiet' }, '(no text)');
		const isCut = side.isCut(node);
		return element(
			'div',
			null,
			this.#texts.make(`Text of node ${node.id}`, text),
			isCut && element('p', { class: 'quiet', role: 'status' }, 'Loading the remaining text…'),
		);
	}

	#statistics({ shown, events, moment, name }: TreeSide, node: TreeNode): HTMLElement {
		const q = shown.q(node.id);
		const parents = node.parents.map((id, i) =>
			element(
				'span',
				null,
				i > 0 && ', ',
				linkButton(String(id), () => this.#model.select({ side: name, id }, true)),
			),
		);
		const selection = lastSelectionValue(events, node.id, moment);
		const rows: Fact[] = [
			['Answer', node.answer === null ? null : plainLabel(node.answer, 200)],
			['Reward', node.reward === null ? null : formatNumber(node.reward, 4), 'Reward of the episode that ends here'],
			['Visits N', formatCount(node.visits), 'Simulations through this node'],
			[
				'Value Q',
				q === null ? null : formatNumber(q, 4),
				shown.backup === 'max' ? 'Maximum backed-up value' : 'Mean backed-up value',
			],
			['Sum W', node.visits === 0 ? null : formatNumber(node.total, 4), 'Sum of backed-up values'],
			['Maximum value', node.visits === 0 ? null : formatNumber(node.greatest, 4)],
			['Prior P', node.prior === null ? null : formatNumber(node.prior, 4), 'Prior probability among siblings'],
			[
				'Selection value',
				selection === null ? null : formatNumber(selection, 4),
				'Score in the last selection decision (UCT, PUCT or strategy-specific)',
			],
			...[...node.scores].map(([scorer, value]): Fact => [`Score: ${plainLabel(scorer, 60)}`, formatNumber(value, 4)]),
			['Log-probability', node.logprob === null ? null : `${formatNumber(node.logprob, 4)} nats`],
			[
				'per token',
				node.logprob === null || !node.tokens
					? null
					: `${formatNumber(node.logprob / node.tokens, 3)} nats, probability ${formatPercent(Math.exp(node.logprob / node.tokens))}`,
			],
			['Tokens', node.tokens === null ? null : formatCount(node.tokens)],
			[
				'Entropy',
				node.entropy === null ? null : `${formatNumber(node.entropy, 3)} nats`,
				'Mean over the node’s tokens',
			],
			['Finish reason', node.finish === null ? null : plainLabel(node.finish, 60)],
			['Depth', formatCount(node.depth)],
			['Parents', node.parents.length === 0 ? null : element('span', null, ...parents)],
			['Children', formatCount(node.children.length)],
			['Pruned', node.pruned === null ? null : plainLabel(node.pruned, 200)],
			[
				'Merged into',
				node.mergedInto === null
					? null
					: linkButton(`node ${node.mergedInto}`, () =>
							this.#model.select({ side: name, id: node.mergedInto as number }, true),
						),
			],
			[
				'Created',
				linkButton(
					`at event ${formatCount(node.born + 1)}, ${formatDuration(node.bornAt)}`,
					() => this.#model.goTo(node.born + 1),
					'Show the tree at this event',
				),
			],
		];
		return facts(rows);
	}

	#tool({ name, arguments: given, result, error, seconds }: TreeEventOf<'tool'>): HTMLElement {
		return section(
			`Tool: ${plainLabel(name, 80)}`,
			facts([['Time', seconds === undefined ? null : formatDuration(seconds)]]),
			element('h3', null, 'Arguments'),
			this.#texts.make(`Arguments for ${name}`, valueText(given)),
			error !== undefined && element('h3', null, 'Error'),
			error !== undefined && element('div', { class: 'tool-error' }, this.#texts.make(`Error from ${name}`, error)),
			result !== undefined && element('h3', null, 'Result'),
			result !== undefined && this.#texts.make(`Result from ${name}`, valueText(result)),
			error === undefined && result === undefined && element('p', { class: 'quiet' }, 'No result.'),
		);
	}

	#critique({ missing, superfluous, addressed }: TreeEventOf<'critique'>): HTMLElement {
		const done = new Set(addressed);
		const item = (text: string, number: number): HTMLElement =>
			element(
				'li',
				{ class: 'critique-item' },
				element(
					'span',
					{ class: done.has(number) ? 'badge right' : 'badge warning' },
					done.has(number) ? 'addressed' : 'open',
				),
				element('span', null, plainLabel(text, 2000)),
			);
		const list = (title: string, items: readonly string[], from: number): (HTMLElement | null)[] =>
			items.length === 0
				? []
				: [
						element('h3', null, title),
						element('ul', { class: 'critique' }, ...items.slice(0, 200).map((text, i) => item(text, from + i))),
					];
		return section(
			'Critique',
			...list('Missing', missing, 0),
			...list('Superfluous', superfluous, missing.length),
			missing.length + superfluous.length === 0 && element('p', { class: 'quiet' }, 'Nothing missing or superfluous.'),
		);
	}

	#references(references: readonly TreeEventOf<'reference'>[]): HTMLElement | null {
		if (references.length === 0) return null;
		// A later check of the same reference replaces the earlier one.
		const last = new Map(references.map((reference) => [`${reference.label}\n${reference.source}`, reference]));
		const side = this.#model.selection?.side ?? 'main';
		return section(
			'References',
			element(
				'ul',
				{ class: 'references' },
				...[...last.values()]
					.slice(0, 200)
					.map(({ label, source, supported, evidence, note }) =>
						element(
							'li',
							null,
							element(
								'span',
								{ class: supported === null ? 'badge' : supported ? 'badge right' : 'badge wrong' },
								supported === null ? 'not checked' : supported ? 'supported' : 'not supported',
							),
							element('span', null, `${plainLabel(label, 60)} ${plainLabel(source, 400)}`),
							evidence !== null &&
								linkButton(`evidence: node ${evidence}`, () => this.#model.select({ side, id: evidence }, true)),
							note !== undefined && element('span', { class: 'quiet' }, plainLabel(note, 400)),
						),
					),
			),
		);
	}

	#children({ shown, name }: TreeSide, node: TreeNode): HTMLElement | null {
		if (node.children.length === 0) return null;
		const rows = node.children.slice(0, listed).map((id) => {
			const child = shown.node(id);
			const q = shown.q(id) ?? child?.score ?? null;
			return element(
				'tr',
				null,
				element(
					'td',
					null,
					linkButton(`${id}`, () => this.#model.select({ side: name, id }, true)),
				),
				element('td', { class: 'child-text' }, plainLabel(child?.label ?? child?.text ?? '', 100)),
				numberCell(formatNumber(q, 3)),
				numberCell(formatCount(child?.visits ?? 0)),
			);
		});
		return section(
			'Children',
			staticTable('children', {
				head: ['Node', 'Text', columnHead('Value', 'number'), columnHead('Visits', 'number')],
				rows,
			}),
			node.children.length > listed &&
				element('p', { class: 'quiet' }, `and ${formatCount(node.children.length - listed)} more`),
		);
	}
}
