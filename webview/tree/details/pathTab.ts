import { formatCounted, formatNumber } from '../../../src/base/format.ts';
import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { button } from '../../lib/controls.ts';
import { element, fill } from '../../lib/dom.ts';
import { roleNames } from '../draw/nodeShapes.ts';
import { pathText } from '../exports/pathText.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { DetailTab } from './detailTab.ts';
import { linkButton } from './facts.ts';
import { TextParts } from './textPart.ts';

/** Maximum number of steps shown. Longer paths show only the last ones. */
const limit = 200;

/** The path from the root to the selected node as a single trace, or the best path if no node is selected. */
export class PathTab implements DetailTab {
	readonly id = 'path';
	readonly label = 'Path';
	readonly element = element('div', { class: 'detail-body path-body' });
	readonly #model: TreeModel;
	readonly #texts = new TextParts();
	#drawn = '';

	constructor(model: TreeModel) {
		this.#model = model;
	}

	dispose(): void {
		this.#texts.dispose();
	}

	update(changes: ReadonlySet<Change>): void {
		const { current: side, selection } = this.#model;
		if (side === null) return;
		const end = selection?.id ?? side.shown.outcome?.best?.at(-1);
		const ids = end === undefined ? [] : side.shown.pathTo(end);
		const nodes = ids.map((id) => side.shown.node(id)).filter((node) => node !== undefined);
		// Text only changes when the remainder of truncated text arrives.
		const key = `${side.name} ${ids.join(' ')} ${nodes.map((node) => side.textOf(node).length).join(' ')}`;
		if (key === this.#drawn && !changes.has('moment') && !changes.has('sides')) return;
		this.#drawn = key;
		this.#texts.clear();
		if (nodes.length === 0) {
			fill(this.element, element('p', { class: 'quiet' }, 'Select a node to see its path.'));
			return;
		}
		const first = Math.max(0, nodes.length - limit);
		const count = formatCounted(nodes.filter(({ role }) => role !== 'problem').length, 'node');
		fill(
			this.element,
			element(
				'div',
				{ class: 'button-row' },
				element('span', { class: 'quiet' }, selection === null ? `Best path, ${count}` : `${count} from the root`),
				element('span', { class: 'spacer' }),
				button({
					label: 'Copy as Text',
					icon: 'copy',
					onClick: () => this.#model.post({ type: 'copy', text: pathText(nodes, (node) => side.textOf(node)) }),
				}).element,
			),
			first > 0 && element('p', { class: 'quiet' }, `${formatCounted(first, 'earlier step')} not shown.`),
			...nodes.slice(first).map((node) => this.#step(node)),
		);
	}

	#step(node: TreeNode): HTMLElement {
		const side = this.#model.current;
		if (side === null) return element('div');
		const q = side.shown.q(node.id) ?? node.score;
		const text = side.textOf(node);
		return element(
			'article',
			{ class: `path-step role-${node.role}`, aria: { label: `${roleNames[node.role]} ${node.id}` } },
			element(
				'div',
				{ class: 'path-head' },
				linkButton(`${roleNames[node.role]} ${node.id}`, () =>
					this.#model.select({ side: side.name, id: node.id }, true),
				),
				element('span', { class: 'spacer' }),
				q !== null && element('span', { class: 'quiet' }, formatNumber(q, 3)),
			),
			text === '' ? element('p', { class: 'quiet' }, '(no text)') : this.#texts.make(`Text of node ${node.id}`, text),
		);
	}
}
