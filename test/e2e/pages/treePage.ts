/** Page object for a search's tree view: header, tree, replay, details. */
import type { Frame, Locator } from 'playwright-core';

export class TreePage {
	readonly frame: Frame;
	constructor(frame: Frame) {
		this.frame = frame;
	}

	/** "mcts · script · 23 nodes · ..." */
	facts(): Locator {
		return this.frame.locator('header .facts');
	}

	state(): Locator {
		return this.frame.locator('header .state');
	}

	async nodes(): Promise<number> {
		const text = await this.facts().innerText();
		return Number(/([\d,]+) nodes/.exec(text)?.[1]?.replaceAll(',', '') ?? 0);
	}

	tree(): Locator {
		return this.frame.getByRole('tree').first();
	}

	/** The selected node, as announced by screen readers. */
	chosen(): Locator {
		return this.tree().locator('[role=treeitem][aria-selected=true]');
	}

	slider(): Locator {
		return this.frame.getByRole('slider', { name: 'Replay position' });
	}

	/** Description of the event at the slider's position. */
	moment(): Locator {
		return this.frame.getByRole('region', { name: 'Replay' }).locator('.time-line');
	}

	button(name: string | RegExp): Locator {
		return this.frame.getByRole('button', { name });
	}

	tab(name: string | RegExp): Locator {
		return this.frame.getByRole('tab', { name });
	}
}
