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

	/** Number of the open step, as the list of steps tells it. */
	async openStep(): Promise<number> {
		const option = this.steps().and(this.frame.locator('[aria-selected=true]'));
		return Number(/\d+/.exec(await option.innerText())?.[0]);
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
