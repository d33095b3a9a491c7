/** Page object for the Testing view: suites and tests by label, and their results. */
import type { Locator } from 'playwright-core';
import type { WorkbenchPage } from './workbenchPage.ts';

export class TestExplorerPage {
	readonly #workbench: WorkbenchPage;

	constructor(workbench: WorkbenchPage) {
		this.#workbench = workbench;
	}

	/** Opens the view. */
	async open(): Promise<void> {
		await this.#workbench.command('Testing: Focus on Test Explorer View');
		await this.#filter().waitFor();
	}

	/** Filters tests by text. */
	async filter(text: string): Promise<void> {
		await this.#filter().click();
		await this.#workbench.page.keyboard.press('Control+a');
		await this.#workbench.page.keyboard.insertText(text);
	}

	/** A suite or test with its state, such as "Failed" or "Passed". */
	test(label: string, state = ''): Locator {
		const name = new RegExp(`^${label.replaceAll(/[.()]/g, '\\$&')}.*${state}`);
		return this.#workbench.page.locator('.sidebar').getByRole('treeitem', { name });
	}

	/** Expands a suite. The view does so automatically only if the tests are known when the filter changes. */
	async unfold(label: string): Promise<void> {
		const suite = this.test(label);
		await suite.waitFor();
		// Repeat, because the view can expand the suite just before the click, which then collapses it.
		while ((await suite.getAttribute('aria-expanded')) === 'false') {
			await suite.locator('.monaco-tl-twistie').click();
			await this.#workbench.page.waitForTimeout(300);
		}
	}

	/** Runs the tests in the active editor's file. */
	async runFile(): Promise<void> {
		await this.#workbench.command('Test: Run Tests in Current File');
	}

	/** Peek view in an editor that shows a test's message. */
	peek(): Locator {
		return this.#workbench.page.locator('.editor-instance .peekview-widget');
	}

	#filter(): Locator {
		return this.#workbench.page.locator('.testing-filter-wrapper');
	}
}
