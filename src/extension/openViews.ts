/** A panel whose page can return to an earlier state. */
export interface ReturningView {
	/** Whether its tab has the focus. */
	readonly active: boolean;
	/** Keeps the current state of the page, replacing an earlier one. */
	keepState(): void;
	/** Returns the page to the kept state. */
	restoreState(): void;
}

/** The open panels of this window. */
export class OpenViews {
	readonly #views = new Set<ReturningView>();

	add(view: ReturningView): { dispose(): void } {
		this.#views.add(view);
		return { dispose: () => this.#views.delete(view) };
	}

	get count(): number {
		return this.#views.size;
	}

	/** Keeps the state of all panels, because a command can show something in any of them. */
	keepStates(): void {
		for (const view of this.#views) view.keepState();
	}

	/** The panel whose tab has the focus; null if another editor has it. */
	get active(): ReturningView | null {
		return [...this.#views].find(({ active }) => active) ?? null;
	}

	/** Whether a panel is still open. */
	has(view: ReturningView): boolean {
		return this.#views.has(view);
	}
}
