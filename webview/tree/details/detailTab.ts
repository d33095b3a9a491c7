import type { IDisposable } from '../../../src/base/disposable.ts';
import type { Change } from '../treeModel.ts';

/** One of the views beside the tree. It is asked to draw only while it is shown. */
export interface DetailTab extends IDisposable {
	readonly id: string;
	readonly label: string;
	/** Whether there is something to show now; always, where it is left out. */
	readonly isOffered?: boolean;
	readonly element: HTMLElement;
	/** `changes` is everything when the tab has just been shown. */
	update(changes: ReadonlySet<Change>): void;
}
