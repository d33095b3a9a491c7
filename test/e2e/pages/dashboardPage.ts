/** Page object for a run's dashboard: status, actions, charts and their tables. */
import type { Frame, Locator } from 'playwright-core';

export class DashboardPage {
	readonly frame: Frame;
	constructor(frame: Frame) {
		this.frame = frame;
	}

	/** Waits until the header shows this state. */
	async status(words: RegExp): Promise<void> {
		await this.frame.locator('.run-header .status').filter({ hasText: words }).waitFor();
	}

	action(name: string): Locator {
		return this.frame.getByRole('toolbar', { name: 'Run' }).getByRole('button', { name, exact: true });
	}

	card(title: string): Locator {
		return this.frame.getByRole('region', { name: title, exact: true });
	}

	/** Legend value of a chart's line at the newest step. */
	legend(title: string): Locator {
		return this.card(title).locator('.legend .value').first();
	}

	/** Returns the step shown in the header. */
	async step(): Promise<number> {
		const text = await this.frame.getByRole('progressbar', { name: 'Completed steps' }).getAttribute('aria-valuenow');
		return Number(text);
	}

	/** Switches between a chart and its table. */
	async toggleTable(title: string): Promise<void> {
		const card = this.card(title);
		await card.scrollIntoViewIfNeeded();
		await card.hover();
		await card.getByRole('button', { name: `Table: ${title}` }).click();
	}

	/** Returns the number of rows in a chart's table, excluding the header. */
	async rowCount(title: string): Promise<number> {
		const table = this.card(title).getByRole('table');
		return Number(await table.getAttribute('aria-rowcount')) - 1;
	}

	/**
	 * Returns the first column of a chart's table from top to bottom. Scrolls, because only visible rows are rendered.
	 */
	async tableSteps(title: string): Promise<number[]> {
		const rows = this.card(title).locator('.chart-table-rows');
		const steps: number[] = [];
		await rows.evaluate((element) => element.scrollTo({ top: 0 }));
		for (;;) {
			// Rows are rendered some time after the table was scrolled.
			await rows.evaluate(async (element) => {
				for (;;) {
					const boxes = [...element.querySelectorAll('[role=row]')].map((row) => row.getBoundingClientRect());
					const { top, bottom } = element.getBoundingClientRect();
					const end = Math.min(bottom, top + element.scrollHeight);
					const covers = (y: number) => boxes.some((box) => box.top <= y && y <= box.bottom);
					if (covers(top + 1) && covers(end - 1)) return;
					await new Promise((resolve) => setTimeout(resolve, 20));
				}
			});
			const { shown, atEnd } = await rows.evaluate((element) => {
				const shown = [...element.querySelectorAll('[role=row]')].map((row) => ({
					index: Number(row.getAttribute('aria-rowindex')),
					step: Number(row.querySelector('[role=rowheader]')?.textContent),
				}));
				const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 1;
				element.scrollTo({ top: element.scrollTop + element.clientHeight - 44 });
				return { shown, atEnd };
			});
			// Row 1 is the header. Rows at the seam are rendered twice.
			for (const { index, step } of shown) steps[index - 2] = step;
			if (atEnd) return steps;
		}
	}
}
