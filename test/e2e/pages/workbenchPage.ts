/** Page object for the workbench: command palette, side bar, quick picks, webview panels, notifications. */
import { join } from 'node:path';
import type { Frame, Locator, Page } from 'playwright-core';
import { pictures } from '../../scripts/paths.ts';
import { boundInput } from './boundedInput.ts';

/** Generous timeout for a busy two-core machine. Nothing waits longer than necessary. */
export const patience = 60_000;

export type AppName =
	| 'dashboard'
	| 'rollouts'
	| 'verification'
	| 'transcript'
	| 'query'
	| 'comparison'
	| 'runTable'
	| 'pipelineGraph'
	| 'newSearch'
	| 'report'
	| 'episode'
	| 'tree'
	| 'strategies'
	| 'dataset'
	| 'playground';

/** Color theme kinds, as the class names that the workbench uses. */
export type ThemeKind = 'vs-dark' | 'vs' | 'hc-black' | 'hc-light';

export class WorkbenchPage {
	readonly page: Page;
	constructor(page: Page) {
		this.page = page;
		page.setDefaultTimeout(patience);
		boundInput(page);
	}

	async open(url: string): Promise<void> {
		await this.page.goto(url, { waitUntil: 'domcontentloaded', timeout: patience });
		await this.ready();
	}

	/** Reloads the window like a user running "Reload Window". */
	async reload(): Promise<void> {
		// Use the editor's command because a browser reload discards state that the workbench has not saved.
		const gone = this.page.waitForEvent('framenavigated', {
			predicate: (frame) => frame === this.page.mainFrame(),
			timeout: patience,
		});
		await this.command('Developer: Reload Window');
		await gone;
		await this.ready();
	}

	private async ready(): Promise<void> {
		await this.page.locator('.monaco-workbench .activitybar').waitFor();
		await this.page.locator('.monaco-workbench .statusbar').waitFor();
		// Wait for the side bar and editors to be restored; anything opened earlier might be closed again.
		await this.page.waitForFunction(() => performance.getEntriesByName('code/didStartWorkbench').length > 0);
	}

	/** Runs a command by its title in the command palette. */
	async command(title: string): Promise<void> {
		const row = this.quickItems().filter({ hasText: title }).first();
		await this.#inPalette(`>${title}`, (timeout) => row.click({ timeout }));
	}

	/** Returns the command titles that the palette shows for a query. */
	async commandsFor(text: string): Promise<string[]> {
		await this.#inPalette(`>${text}`, (timeout) => this.quickItems().first().waitFor({ timeout }));
		const titles = await this.quickItems().allInnerTexts();
		await this.page.keyboard.press('Escape');
		// Keys pressed while the palette closes are lost.
		await this.quickInput().waitFor({ state: 'hidden' });
		return titles.map((title) => title.split('\n')[0] ?? '');
	}

	/**
	 * Opens the palette and acts on it. Retries, because the extension's commands may not be registered yet and any focus
	 * change closes it.
	 */
	async #inPalette(text: string, act: (timeout: number) => Promise<void>): Promise<void> {
		for (let attempt = 0; ; attempt++) {
			const timeout = attempt < 5 ? 4000 : patience;
			try {
				await this.page.keyboard.press('F1');
				await this.quickInput().fill(text, { timeout });
				await act(timeout);
				return;
			} catch (error) {
				if (attempt >= 5) throw error;
				await this.page.keyboard.press('Escape');
			}
		}
	}

	/** Opens a workspace file by name. */
	async openFile(name: string): Promise<void> {
		const row = this.quickItems().filter({ hasText: name }).first();
		const tab = this.page.locator('.editor-group-container').getByRole('tab', { name, selected: true }).first();
		// Retry, because a search can finish before a new file is indexed, any focus change closes the list, and an editor
		// that was requested earlier can appear late and replace the file.
		for (let attempt = 0; ; attempt++) {
			const timeout = attempt < 5 ? 4000 : patience;
			try {
				await this.page.keyboard.press('Control+P');
				await this.quickInput().fill(name, { timeout });
				await row.click({ timeout });
				// Until the tab is selected, the editor's buttons belong to the previously active file.
				await tab.waitFor({ timeout });
				return;
			} catch (error) {
				if (attempt >= 5) throw error;
				await this.page.keyboard.press('Escape');
			}
		}
	}

	quickInput(): Locator {
		return this.page.locator('.quick-input-widget:visible input').first();
	}

	quickItems(): Locator {
		return this.page.locator('.quick-input-widget:visible .monaco-list-row');
	}

	/** Waits for the quick pick with that title, because one that is closing looks the same as an open one. */
	async asked(title: string | RegExp): Promise<void> {
		await this.page.locator('.quick-input-widget:visible .quick-input-title').filter({ hasText: title }).waitFor();
	}

	/** Selects an item in the open quick pick. */
	async pick(text: string | RegExp): Promise<void> {
		const item = this.quickItems().filter({ hasText: text }).first();
		await item.waitFor();
		// Move the pointer away because the hover of one item covers others.
		await this.page.mouse.move(0, 0);
		await item.click();
	}

	async type(text: string): Promise<void> {
		await this.quickInput().fill(text);
		await this.page.keyboard.press('Enter');
	}

	/**
	 * Enters a path in the workbench's file dialog and clicks the button once the dialog lists `beside`, an existing
	 * entry.
	 */
	async fileDialog(path: string, beside: string | RegExp, button: string | RegExp): Promise<void> {
		const widget = this.page.locator('.quick-input-widget:visible');
		await widget.getByRole('button', { name: button, exact: true }).waitFor();
		const listed = this.quickItems().filter({ hasText: beside }).first();
		// Retry, because the dialog may still fill in its own suggestion after it has appeared.
		for (let attempt = 0; ; attempt++) {
			await this.page.waitForTimeout(300);
			await this.quickInput().fill(path);
			try {
				await listed.waitFor({ timeout: 4000 });
				if ((await this.quickInput().inputValue()) === path) break;
			} catch (error) {
				if (attempt >= 8) throw error;
			}
		}
		// The dialog ignores input while it reads the folder.
		const done = widget.getByRole('button', { name: button, exact: true });
		for (let attempt = 0; attempt < 8; attempt++) {
			await done.click();
			const closed = done.waitFor({ state: 'hidden', timeout: 3000 }).then(
				() => true,
				() => false,
			);
			if (await closed) return;
		}
		throw new Error(`The dialog does not accept ${path}`);
	}

	/** Opens the extension's view in the side bar. */
	async openSideBar(): Promise<void> {
		const tab = this.page.getByRole('tab', { name: /^Reasoning Lab/ });
		await tab.waitFor();
		if ((await tab.getAttribute('aria-selected')) !== 'true') await tab.click();
		await this.page
			.locator('.sidebar')
			.getByRole('heading', { name: /^Reasoning Lab/ })
			.waitFor();
	}

	/** Rows in the Runs tree whose accessible name contains the text. */
	run(name: string | RegExp): Locator {
		return this.page.locator('.sidebar').getByRole('treeitem', { name });
	}

	/** Runs an inline action on a run's row. */
	async runAction(name: string | RegExp, action: string | RegExp): Promise<void> {
		const row = this.run(name).first();
		await row.hover();
		await row.getByRole('button', { name: action }).click();
	}

	/** Selects an entry in a row's context menu. */
	async runMenu(row: Locator, entry: string): Promise<void> {
		const item = this.page.getByRole('menuitem', { name: entry, exact: true });
		// Retry, because the workbench may detect that its folder is trusted after the side bar appears, and an open menu
		// keeps its disabled entries.
		for (let attempt = 0; ; attempt++) {
			await row.first().click({ button: 'right' });
			await item.waitFor();
			// A menu ignores clicks just after it opens.
			await this.page.waitForTimeout(500);
			if (attempt >= 20 || (await item.isEnabled())) break;
			await this.page.keyboard.press('Escape');
			await item.waitFor({ state: 'detached' });
		}
		await item.click();
	}

	statusBarItem(text: string | RegExp): Locator {
		return this.page.locator('.statusbar').getByRole('button', { name: text });
	}

	editorTab(name: string | RegExp): Locator {
		return this.page.locator('.editor-group-container').getByRole('tab', { name });
	}

	/** Notification toasts in a workbench without the test driver. */
	toasts(): Locator {
		return this.page.locator('.notifications-toasts .notification-toast');
	}

	/** Messages as announced by screen readers, which the test driver does not suppress, unlike toasts. */
	announcements(): Locator {
		return this.page.locator('.monaco-alert');
	}

	/** Returns the frame of the visible webview app, identified by the script its page loaded. */
	async app(name: AppName, timeout = patience): Promise<Frame> {
		const deadline = Date.now() + timeout;
		for (;;) {
			const frame = await this.findApp(name);
			if (frame !== undefined) return frame;
			if (Date.now() > deadline) throw new Error(`No ${name} panel on screen after ${timeout / 1000} s`);
			await this.page.waitForTimeout(100);
		}
	}

	/** Clicks a row and returns the frame of the app that it opens. */
	async appOfRow(row: Locator, name: AppName): Promise<Frame> {
		// Retry, because the workbench selects a row without opening it if it redraws the row during the click.
		for (let attempt = 0; attempt < 5; attempt++) {
			await row.click();
			const frame = await this.app(name, 10_000).catch(() => undefined);
			if (frame !== undefined) return frame;
		}
		throw new Error(`The row did not open a ${name} panel`);
	}

	/** Returns a heading in the rendered Markdown preview. */
	async preview(heading: string): Promise<Locator> {
		const outer = this.page.frameLocator('iframe.webview.ready:visible').last();
		return outer.frameLocator('iframe#active-frame').getByRole('heading', { name: heading, exact: true }).first();
	}

	private async findApp(name: AppName): Promise<Frame | undefined> {
		for (const outer of await this.page.locator('iframe.webview.ready').all()) {
			try {
				if (!(await outer.isVisible())) continue;
				const inner = await (await outer.elementHandle({ timeout: 1000 }))?.contentFrame();
				const active = await inner?.$('iframe#active-frame');
				const frame = await active?.contentFrame();
				if (!frame) continue;
				if ((await frame.locator(`script[src*="/${name}.js"]`).count()) > 0) return frame;
			} catch {
				// The webview was replaced during the check.
			}
		}
		return undefined;
	}

	/** Resolves when a color theme of that kind is active. */
	async themed(kind: ThemeKind): Promise<void> {
		await this.page.locator(`.monaco-workbench.${kind}`).waitFor();
	}

	/** Returns whether a color theme of that kind becomes active within two seconds. */
	async isThemed(kind: ThemeKind): Promise<boolean> {
		const themed = this.page.locator(`.monaco-workbench.${kind}`).waitFor({ timeout: 2000 });
		return themed.then(
			() => true,
			() => false,
		);
	}

	/** Takes a screenshot if screenshots are enabled. Always moves the mouse away to dismiss hovers. */
	async screenshot(name: string): Promise<void> {
		await this.page.mouse.move(0, 0);
		if (pictures !== undefined) await this.page.screenshot({ path: join(pictures, `${name}.png`) });
	}

	async closeSideBar(): Promise<void> {
		if (await this.page.locator('.part.sidebar').isVisible()) await this.page.keyboard.press('Control+b');
	}
}
