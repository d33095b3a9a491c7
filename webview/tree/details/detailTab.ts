import type { IDisposable } from '../../../src/base/disposable.ts';
import type { Change } from '../treeModel.ts';

/** A tab beside the tree. It is drawn only while it is shown. */
export interface DetailTab extends IDisposable {
	readonly id: string;
	readonly label: string;
	/** Whether the tab has content; default true. */
	readonly isOffered?: boolean;
	readonly element: HTMLElement;
	/** `changes` has everything if the tab was just opened. */
	update(changes: ReadonlySet<Change>): void;
}
