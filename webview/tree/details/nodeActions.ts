import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { button } from '../../lib/controls.ts';
import { element, fill, setText, uniqueId } from '../../lib/dom.ts';
import type { TreeModel } from '../treeModel.ts';
import type { TreeSide } from '../treeSide.ts';

/** Node actions: branch, edit, prune. The tooltip of a disabled action explains why. */
export class NodeActions {
	readonly element: HTMLElement;
	readonly #model: TreeModel;
	readonly #why = element('p', { class: 'quiet', id: uniqueId('why') });
	readonly #branch;
	readonly #edit;
	readonly #prune;
	readonly #form = element('form', { class: 'edit-form', hidden: true });
	readonly #text = element('textarea', {
		class: 'edit-text',
		attributes: { rows: 8, spellcheck: 'false' },
		aria: { label: 'New step text' },
	});
	#node: TreeNode | null = null;
	#side: TreeSide | null = null;

	constructor(model: TreeModel) {
		this.#model = model;
		this.#branch = button({
			label: 'Branch from Here',
			title: 'Continue the search from this node only',
			onClick: () => this.#node && model.post({ type: 'branch', node: this.#node.id }),
		});
		this.#edit = button({
			label: 'Edit and Continue…',
			title: 'Add an edited copy of this step and continue the search from it',
			onClick: () => this.#open(),
		});
		this.#prune = button({
			label: 'Prune',
			title: 'Exclude this node and its descendants from the search',
			onClick: () =>
				this.#node && model.post({ type: 'prune', node: this.#node.id, restore: this.#node.pruned !== null }),
		});
		fill(
			this.#form,
			this.#text,
			element(
				'div',
				{ class: 'button-row' },
				button({ label: 'Continue from Edited Step', appearance: 'primary', onClick: () => this.#send() }).element,
				button({ label: 'Cancel', onClick: () => this.close(true) }).element,
			),
		);
		this.#form.addEventListener('submit', (event) => event.preventDefault());
		this.#form.addEventListener('keydown', (event) => {
			event.stopPropagation();
			if (event.key === 'Escape') this.close(true);
			if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#send();
		});
		this.element = element(
			'div',
			{ class: 'node-actions' },
			element('div', { class: 'button-row' }, this.#branch.element, this.#edit.element, this.#prune.element),
			this.#why,
			this.#form,
		);
	}

	update(side: TreeSide, node: TreeNode): void {
		this.#node = node;
		this.#side = side;
		const why = this.#reason(side);
		const isRoot = node.parents.length === 0;
		const isTurn = side.source.episodes && !isRoot;
		const shown =
			why ?? (isTurn ? 'Turns of an episode cannot be edited, because their calls have already been made.' : null);
		setText(this.#why, shown ?? '');
		this.#why.hidden = shown === null;
		this.#branch.setDisabled(why !== null || node.final);
		this.#edit.setDisabled(why !== null || isRoot || isTurn);
		if (isTurn) this.close();
		this.#prune.setDisabled(why !== null || isRoot);
		this.#prune.setLabel(node.pruned === null ? 'Prune' : 'Restore');
	}

	close(focus = false): void {
		if (this.#form.hidden) return;
		this.#form.hidden = true;
		if (focus) this.#edit.element.focus();
	}

	#reason(side: TreeSide): string | null {
		if (side.name === 'other') return 'Open this tree separately to continue it.';
		if (side.source.canGoOn !== true) return side.source.canGoOn;
		if (side.source.running) return 'The search is running. Stop it to continue from a node.';
		return null;
	}

	#open(): void {
		if (this.#node === null || this.#side === null) return;
		this.#text.value = this.#side.textOf(this.#node);
		this.#form.hidden = false;
		this.#text.focus();
	}

	#send(): void {
		if (this.#node === null || this.#form.hidden) return;
		this.#model.post({ type: 'edit', node: this.#node.id, text: this.#text.value });
		this.close(true);
	}
}
