/** Page object for a reward file in the editor. */
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

	/** Shows the file through its tab if it has one, and otherwise by name. */
	async open(): Promise<void> {
		const { page } = this.#workbench;
		const tab = this.#workbench.editorTab(new RegExp(this.#name.replaceAll('.', '\\.')));
		// Opening the file by name would open it a second time if a panel has focus.
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
				// Files are indexed shortly after the workbench has started.
				if (attempt >= 5) throw error;
				await page.keyboard.press('Escape');
			}
		}
		await tab.waitFor();
		await this.#lines().first().waitFor();
	}

	/** Returns the inline text after lines, which the editor renders as generated content. */
	async inline(): Promise<string[]> {
		return await this.#workbench.page.evaluate(() =>
			[...document.querySelectorAll('.editor-instance .view-lines span')]
				.map((span) => getComputedStyle(span, '::after').content)
				.filter((content) => content !== 'none' && content !== 'normal' && content !== '""')
				.map((content) => content.replace(/^"|"$/g, '').replaceAll('\u00a0', ' ')),
		);
	}

	/** Resolves when the inline text after a line matches. */
	async untilInline(wanted: RegExp): Promise<string> {
		let found: string | undefined;
		let seen: string[] = [];
		try {
			await waitUntil(async () => {
				seen = await this.inline();
				found = seen.find((text) => wanted.test(text));
				return found !== undefined;
			}, `a line ends with ${wanted}`);
		} catch (error) {
			throw new Error(`${(error as Error).message}; the lines end in ${JSON.stringify(seen)}`);
		}
		return found ?? '';
	}

	/** Replaces a line's text after its indentation, and saves. */
	async setLine(line: number, text: string): Promise<void> {
		const { page } = this.#workbench;
		await this.goTo(line);
		await page.keyboard.press('Home');
		await page.keyboard.press('Shift+End');
		// Insert like a paste, to avoid auto-closing and completion.
		await page.keyboard.insertText(text);
		await page.keyboard.press('Escape');
		await this.save();
		// Scroll back so that the signatures are visible.
		await page.keyboard.press('Control+Home');
	}

	/** Replaces the entire text, and saves. */
	async replaceAll(text: string): Promise<void> {
		const { page } = this.#workbench;
		await page.locator('.editor-instance .view-lines').first().click();
		await page.keyboard.press('Control+a');
		await page.keyboard.insertText(text);
		await page.keyboard.press('Escape');
		await this.save();
	}

	/** Moves the cursor. Lines and columns are 1-based. */
	async goTo(line: number, column = 1): Promise<void> {
		const { page } = this.#workbench;
		await page.locator('.editor-instance .view-lines').first().click();
		await page.keyboard.press('Control+g');
		const input = this.#workbench.quickInput();
		await input.waitFor();
		await input.fill(`:${line}:${column}`);
		await page.keyboard.press('Enter');
		await page.locator('.quick-input-widget:visible').waitFor({ state: 'hidden' });
		// Keys pressed before the editor regains focus are lost.
		await page.locator('.editor-instance .monaco-editor.focused').first().waitFor();
		await page.locator('.statusbar').getByText(`Ln ${line}, Col ${column}`, { exact: true }).waitFor();
	}

	async save(): Promise<void> {
		await this.#workbench.page.keyboard.press('Control+s');
		const dirty = this.#workbench.page.locator('.editor-group-container .tab.active.dirty');
		await dirty.waitFor({ state: 'detached' });
	}

	/** Undoes the last edits, and saves. */
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

	/** Rows in the Problems view. */
	problems(): Locator {
		return this.#workbench.page.locator('.markers-panel').getByRole('treeitem');
	}

	/** Returns the number of lines marked in the gutter as not reached by any row. */
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
