/** Page object for a run's rollouts panel: steps, groups in the open step, completions in the open group. */
import type { Frame, Locator } from 'playwright-core';

export class RolloutsPage {
	readonly frame: Frame;
	constructor(frame: Frame) {
		this.frame = frame;
	}

	steps(): Locator {
		return this.frame.getByRole('listbox', { name: 'Steps' }).getByRole('option');
	}

	/** Returns the open step according to the slider, because its row may be scrolled out of view below newer ones. */
	async openStep(): Promise<number> {
		const shown = this.frame.locator('.toolbar .slider-value').filter({ hasText: /\d/ });
		return Number(/\d+/.exec((await shown.textContent()) ?? '')?.[0]);
	}

	groups(): Locator {
		return this.frame.getByRole('listbox', { name: 'Groups' }).getByRole('option');
	}

	/** Completions in the open group. */
	cards(): Locator {
		return this.frame.getByRole('article');
	}

	follow(): Locator {
		return this.frame.getByRole('button', { name: 'Follow', exact: true });
	}
}
