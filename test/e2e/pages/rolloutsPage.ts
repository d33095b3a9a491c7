/** The rollouts panel of one run: steps, groups of the open step, completions of the open group. */
import type { Frame, Locator } from 'playwright-core';

export class RolloutsPage {
	readonly frame: Frame;
	constructor(frame: Frame) {
		this.frame = frame;
	}

	steps(): Locator {
		return this.frame.getByRole('listbox', { name: 'Steps' }).getByRole('option');
	}

	/** Number of the open step, as the slider tells it: its row may be out of sight below newer ones. */
	async openStep(): Promise<number> {
		const shown = this.frame.locator('.toolbar .slider-value').filter({ hasText: /\d/ });
		return Number(/\d+/.exec((await shown.textContent()) ?? '')?.[0]);
	}

	groups(): Locator {
		return this.frame.getByRole('listbox', { name: 'Groups' }).getByRole('option');
	}

	/** Completions of the open group. */
	cards(): Locator {
		return this.frame.getByRole('article');
	}

	follow(): Locator {
		return this.frame.getByRole('button', { name: 'Follow', exact: true });
	}
}
