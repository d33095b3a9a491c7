/** A reward file in the editor, as a person reads and changes it. */
import type { Locator } from 'playwright-core';
import { waitUntil } from '../laboratory.ts';
import type { WorkbenchPage } from './workbenchPage.ts';

export class RewardPage {
	readonly #workbench: WorkbenchPage;
	readonly #name: string;

	constructor(workbench: WorkbenchPage, name: string) {
		this.#workbench = workbench;
		this.#name = name;
	}

	/** Shows the file: by its tab, else by its name. */
	async open(): Promise<void> {
		const { page } = this.#workbench;
		const tab = this.#workbench.editorTab(new RegExp(this.#name.replaceAll('.', '\\.')));
		// Opened by its name it would stand a second time beside a panel that has the focus.
		if ((await tab.count()) > 0) {
			await tab.first().click();
			await page.locator('.editor-group-container .tab.active', { hasText: this.#name }).first().waitFor();
			return;
		}
		for (let attempt = 0; ; attempt++) {
			await page.keyboard.press('Control+p');
			await this.#workbench.quickInput().waitFor();
			await this.#workbench.quickInput().fill(this.#name);
			const row = this.#workbench.quickItems().filter({ hasText: this.#name }).first();
			try {
				await row.waitFor({ timeout: 5000 });
				await row.click({ timeout: 5000 });
				break;
			} catch (error) {
				// Files are found a moment after the workbench is there.
				if (attempt >= 5) throw error;
				await page.keyboard.press('Escape');
			}
		}
		await tab.waitFor();
		await this.#lines().first().waitFor();
	}

	/** The texts that stand behind lines, which the editor draws as generated content. */
	async inline(): Promise<string[]> {
		return await this.#workbench.page.evaluate(() =>
			[...document.querySelectorAll('.editor-instance .view-lines span')]
				.map((span) => getComputedStyle(span, '::after').content)
				.filter((content) => content !== 'none' && content !== 'normal' && content !== '""')
				.map((content) => content.replace(/^"|"$/g, '').replaceAll('\u00a0', ' ')),
		);
	}

	/** Resolves when a text behind a line is as wanted. */
	async untilInline(wanted: RegExp): Promise<string> {
		let found: string | undefined;
		let seen: string[] = [];
		try {
			await waitUntil(async () => {
				seen = await this.inline();
				found = seen.find((text) => wanted.test(text));
				return found !== undefined;
			}, `a line ends in ${wanted}`);
		} catch (error) {
			throw new Error(`${(error as Error).message}; what stands there: ${JSON.stringify(seen)}`);
		}
		return found ?? '';
	}

	/** Replaces a line's text, from its indentation on, and saves. */
	async setLine(line: number, text: string): Promise<void> {
		const { page } = this.#workbench;
		await this.goTo(line);
		await page.keyboard.press('Home');
		await page.keyboard.press('Shift+End');
		// As a paste does: nothing is closed or completed.
		await page.keyboard.insertText(text);
		await page.keyboard.press('Escape');
		await this.save();
		// Signatures are on screen again.
		await page.keyboard.press('Control+Home');
	}

	/** Replaces the whole text, and saves. */
	async replaceAll(text: string): Promise<void> {
		const { page } = this.#workbench;
		await page.locator('.editor-instance .view-lines').first().click();
		await page.keyboard.press('Control+a');
		await page.keyboard.insertText(text);
		await page.keyboard.press('Escape');
		await this.save();
	}

	/** Puts the cursor there; lines and columns count from 1. */
	async goTo(line: number, column = 1): Promise<void> {
		const { page } = this.#workbench;
		await page.locator('.editor-instance .view-lines').first().click();
		await page.keyboard.press('Control+g');
		const input = this.#workbench.quickInput();
		await input.waitFor();
		await input.fill(`:${line}:${column}`);
		await page.keyboard.press('Enter');
		await page.locator('.quick-input-widget:visible').waitFor({ state: 'hidden' });
		// Keys that are pressed before the focus is back are lost.
		await page.locator('.editor-instance .monaco-editor.focused').first().waitFor();
		await page.locator('.statusbar').getByText(`Ln ${line}, Col ${column}`, { exact: true }).waitFor();
	}

	async save(): Promise<void> {
		await this.#workbench.page.keyboard.press('Control+s');
		const dirty = this.#workbench.page.locator('.editor-group-container .tab.active.dirty');
		await dirty.waitFor({ state: 'detached' });
	}

	/** What the last edits did is taken back, and saved. */
	async undo(times = 1): Promise<void> {
		for (let i = 0; i < times; i++) await this.#workbench.page.keyboard.press('Control+z');
		await this.save();
	}

	lens(title: string): Locator {
		return this.#workbench.page
			.locator('.codelens-decoration')
			.getByRole('button', { name: title, exact: true })
			.first();
	}

	/** Rows of the Problems view. */
	problems(): Locator {
		return this.#workbench.page.locator('.markers-panel').getByRole('treeitem');
	}

	/** Lines whose gutter says that no row has reached them. */
	async unreachedMarks(): Promise<number> {
		return await this.#workbench.page.evaluate(
			() =>
				[
					...document.querySelectorAll(
						'.editor-instance .glyph-margin-widgets *, .editor-instance .margin-view-overlays *',
					),
				].filter((node) => getComputedStyle(node).backgroundImage.includes('unreached')).length,
		);
	}

	#lines(): Locator {
		return this.#workbench.page.locator('.editor-instance .view-line');
	}
}
