/** A panel whose page can restore an earlier state. */
export interface ReturningView {
	/** Whether its tab has focus. */
	readonly active: boolean;
	/** Saves the current state of the page, replacing any earlier one. */
	keepState(): void;
	/** Restores the saved state of the page. */
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

	/** Saves the state of all panels, because a command can change what any of them shows. */
	keepStates(): void {
		for (const view of this.#views) view.keepState();
	}

	/** The panel whose tab has focus; null if another editor has focus. */
	get active(): ReturningView | null {
		return [...this.#views].find(({ active }) => active) ?? null;
	}

	/** Whether a panel is still open. */
	has(view: ReturningView): boolean {
		return this.#views.has(view);
	}
}
