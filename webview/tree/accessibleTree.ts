import { element, fill, setAria, uniqueId } from '../lib/dom.ts';
import type { Scene } from './draw/scene.ts';
import { describeNode } from './nodeWords.ts';

/** Maximum number of siblings and children exposed on each side of the current one. */
const around = 12;

/**
 * ARIA tree for the drawing: the selected node with its ancestors, siblings and children. Overlays the canvas and
 * receives pointer and keyboard input.
 */
export class AccessibleTree {
	readonly element: HTMLElement;
	readonly #items = element('div', { class: 'visually-hidden', role: 'presentation' });
	readonly #prefix = uniqueId('node');

	constructor(label: string) {
		this.element = element(
			'div',
			{ class: 'tree-stage', role: 'tree', tabIndex: 0, aria: { label, multiselectable: false } },
			this.#items,
		);
	}

	setLabel(label: string): void {
		setAria(this.element, 'label', label);
	}

	/** @param place place of the selected node, or -1 if there is none */
	update(scene: Scene, place: number): void {
		const { ids, parent, depth, count, hidden } = scene.layout.tree;
		const { nodes } = scene.tree;
		const isBorn = (at: number): boolean => (ids[at] as number) < nodes.length;
		const children = new Map<number, number[]>();
		const wanted = new Set<number>();
		const at = place === -1 ? (count > 0 ? 0 : -1) : place;
		const childrenOf = (up: number): number[] => {
			let list = children.get(up);
			if (list === undefined) {
				list = [];
				const node = up === -1 ? null : nodes[ids[up] as number];
				const born = node === null ? scene.tree.roots : (node?.children ?? []);
				for (const id of born) {
					const child = scene.layout.tree.placeOf[id] ?? -1;
					if (child !== -1 && parent[child] === up && isBorn(child)) list.push(child);
				}
				children.set(up, list);
			}
			return list;
		};
		if (at !== -1 && isBorn(at)) {
			for (let up = at; up !== -1; up = parent[up] as number) wanted.add(up);
			const siblings = childrenOf(parent[at] as number);
			const own = siblings.indexOf(at);
			for (const sibling of siblings.slice(Math.max(0, own - around), own + around)) wanted.add(sibling);
			for (const child of childrenOf(at).slice(0, around)) wanted.add(child);
		}
		const best = new Set(scene.tree.outcome?.best ?? []);
		// With thousands of ancestors, expose only the nearest ones.
		const named = [...wanted].sort((a, b) => a - b).slice(-100);
		fill(
			this.#items,
			...named.map((item) => {
				const id = ids[item] as number;
				const node = nodes[id];
				if (node === undefined) return null;
				const siblings = childrenOf(parent[item] as number);
				const isOpen = hidden[item] === 0;
				return element(
					'div',
					{
						id: `${this.#prefix}-${id}`,
						role: 'treeitem',
						aria: {
							level: (depth[item] as number) + 1,
							setsize: siblings.length,
							posinset: siblings.indexOf(item) + 1,
							selected: item === place,
							expanded: node.children.length === 0 ? null : isOpen,
						},
					},
					describeNode(scene.tree, node, hidden[item] as number, best.has(id)),
				);
			}),
		);
		const chosen = place === -1 || !wanted.has(place) ? null : `${this.#prefix}-${ids[place]}`;
		setAria(this.element, 'activedescendant', chosen);
	}
}
