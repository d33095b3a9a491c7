/** The Testing view: suites and tests by their label, and what a run of them said. */
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

	/** Shows tests with this text alone. */
	async filter(text: string): Promise<void> {
		await this.#filter().click();
		await this.#workbench.page.keyboard.press('Control+a');
		await this.#workbench.page.keyboard.insertText(text);
	}

	/** A suite or a test with its state: "Failed", "Passed". */
	test(label: string, state = ''): Locator {
		const name = new RegExp(`^${label.replaceAll(/[.()]/g, '\\$&')}.*${state}`);
		return this.#workbench.page.locator('.sidebar').getByRole('treeitem', { name });
	}

	/** Unfolds a suite: the view does so by itself only where its tests are known when the filter changes. */
	async unfold(label: string): Promise<void> {
		const suite = this.test(label);
		await suite.waitFor();
		if ((await suite.getAttribute('aria-expanded')) === 'false') await suite.locator('.monaco-tl-twistie').click();
	}

	/** Runs the tests of the file in the editor. */
	async runFile(): Promise<void> {
		await this.#workbench.command('Test: Run Tests in Current File');
	}

	/** Where the message of a test is shown within an editor. */
	peek(): Locator {
		return this.#workbench.page.locator('.editor-instance .peekview-widget');
	}

	#filter(): Locator {
		return this.#workbench.page.locator('.testing-filter-wrapper');
	}
}
