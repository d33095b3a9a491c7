import { element, fill } from '../lib/dom.ts';
import type { Size } from './draw/camera.ts';
import { nodeAt, type Scene } from './draw/scene.ts';
import { describeNode } from './nodeWords.ts';

/** Tooltip with details about a node, shown next to the pointer. */
export class HoverBox {
	readonly element = element('div', { class: 'hover-box', hidden: true, aria: { hidden: true } });

	show(scene: Scene, place: number, x: number, y: number, size: Size): void {
		const node = nodeAt(scene, place);
		if (node === undefined) return;
		const isBest = scene.tree.outcome?.best?.includes(node.id) ?? false;
		fill(this.element, describeNode(scene.tree, node, scene.layout.tree.hidden[place] as number, isBest));
		this.element.hidden = false;
		const { offsetWidth, offsetHeight } = this.element;
		const left = Math.max(4, Math.min(x + 16, size.width - offsetWidth - 4));
		const top = y + 20 + offsetHeight > size.height ? Math.max(4, y - offsetHeight - 12) : y + 20;
		this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
	}

	hide(): void {
		this.element.hidden = true;
	}
}
