import type { IDisposable } from '../../../src/base/disposable.ts';
import type { Change } from '../treeModel.ts';

/** A tab in the details sidebar. Drawn only while visible. */
export interface DetailTab extends IDisposable {
	readonly id: string;
	readonly label: string;
	/** Whether the tab has content. Default: true. */
	readonly isOffered?: boolean;
	readonly element: HTMLElement;
	/** `changes` contains every change kind if the tab was just opened. */
	update(changes: ReadonlySet<Change>): void;
}
