/** The workbench as a person uses it: command palette, side bar, quick picks, webview panels, notifications. */
import { join } from 'node:path';
import type { Frame, Locator, Page } from 'playwright-core';
import { pictures } from '../../scripts/paths.ts';

/** Generous, since a loaded machine of two cores may take long; nothing waits longer than it has to. */
export const patience = 60_000;

export type AppName =
	| 'dashboard'
	| 'rollouts'
	| 'verification'
	| 'transcript'
	| 'query'
	| 'comparison'
	| 'tree'
	| 'strategies'
	| 'dataset'
	| 'playground';

/** Kinds of color themes by the class that the workbench then has. */
export type ThemeKind = 'vs-dark' | 'vs' | 'hc-black' | 'hc-light';

export class WorkbenchPage {
	readonly page: Page;
	constructor(page: Page) {
		this.page = page;
		page.setDefaultTimeout(patience);
	}

	async open(url: string): Promise<void> {
		await this.page.goto(url, { waitUntil: 'domcontentloaded', timeout: patience });
		await this.ready();
	}

	/** As a person does with "Reload Window". */
	async reload(): Promise<void> {
		// The editor's own command, not the browser's: that one drops what the workbench has not written yet.
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
		// Side bar and editors are as they were: what is opened before may be closed again.
		await this.page.waitForFunction(() => performance.getEntriesByName('code/didStartWorkbench').length > 0);
	}

	/** Runs a command by its title in the palette. */
	async command(title: string): Promise<void> {
		const row = this.quickItems().filter({ hasText: title }).first();
		await this.#inPalette(`>${title}`, (timeout) => row.click({ timeout }));
	}

	/** The titles that the palette offers for a text. */
	async commandsFor(text: string): Promise<string[]> {
		await this.#inPalette(`>${text}`, (timeout) => this.quickItems().first().waitFor({ timeout }));
		const titles = await this.quickItems().allInnerTexts();
		await this.page.keyboard.press('Escape');
		// A key that comes while it closes is lost.
		await this.quickInput().waitFor({ state: 'hidden' });
		return titles.map((title) => title.split('\n')[0] ?? '');
	}

	/** The palette may be opened before the extension's commands are known, and what takes the focus closes it; then it is opened again. */
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

	/** Opens a file of the workspace by its name. */
	async openFile(name: string): Promise<void> {
		const row = this.quickItems().filter({ hasText: name }).first();
		// A search is over before a file that was written just now is seen, and what takes the focus closes the list; then it is
		// opened again.
		for (let attempt = 0; ; attempt++) {
			const timeout = attempt < 5 ? 4000 : patience;
			try {
				await this.page.keyboard.press('Control+P');
				await this.quickInput().fill(name, { timeout });
				await row.click({ timeout });
				break;
			} catch (error) {
				if (attempt >= 5) throw error;
				await this.page.keyboard.press('Escape');
			}
		}
		await this.editorTab(name).first().waitFor();
	}

	quickInput(): Locator {
		return this.page.locator('.quick-input-widget:visible input').first();
	}

	quickItems(): Locator {
		return this.page.locator('.quick-input-widget:visible .monaco-list-row');
	}

	/** Waits for the question with that title: one that is being closed still looks like one that is open. */
	async asked(title: string | RegExp): Promise<void> {
		await this.page.locator('.quick-input-widget:visible .quick-input-title').filter({ hasText: title }).waitFor();
	}

	/** Chooses an item of the quick pick that is open. */
	async pick(text: string | RegExp): Promise<void> {
		const item = this.quickItems().filter({ hasText: text }).first();
		await item.waitFor();
		// What is told of an item under a resting pointer covers others.
		await this.page.mouse.move(0, 0);
		await item.click();
	}

	async type(text: string): Promise<void> {
		await this.quickInput().fill(text);
		await this.page.keyboard.press('Enter');
	}

	/** Enters a path into the workbench's own file dialog, and presses its button once it lists `beside`, which is there. */
	async fileDialog(path: string, beside: string | RegExp, button: string | RegExp): Promise<void> {
		const widget = this.page.locator('.quick-input-widget:visible');
		await widget.getByRole('button', { name: button, exact: true }).waitFor();
		const listed = this.quickItems().filter({ hasText: beside }).first();
		// The dialog may still write its own proposal when it is already there.
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
		// It takes nothing while it looks into the folder.
		const done = widget.getByRole('button', { name: button, exact: true });
		for (let attempt = 0; attempt < 8; attempt++) {
			await done.click();
			const closed = done.waitFor({ state: 'hidden', timeout: 3000 }).then(
				() => true,
				() => false,
			);
			if (await closed) return;
		}
		throw new Error(`The dialog does not take ${path}`);
	}

	/** Opens the extension's side bar. */
	async openSideBar(): Promise<void> {
		const tab = this.page.getByRole('tab', { name: /^Reasoning Lab/ });
		await tab.waitFor();
		if ((await tab.getAttribute('aria-selected')) !== 'true') await tab.click();
		await this.page
			.locator('.sidebar')
			.getByRole('heading', { name: /^Reasoning Lab/ })
			.waitFor();
	}

	/** Rows of the Runs tree whose accessible name has the text. */
	run(name: string | RegExp): Locator {
		return this.page.locator('.sidebar').getByRole('treeitem', { name });
	}

	/** Runs an inline action of a run's row. */
	async runAction(name: string | RegExp, action: string | RegExp): Promise<void> {
		const row = this.run(name).first();
		await row.hover();
		await row.getByRole('button', { name: action }).click();
	}

	/** Chooses an entry of a row's context menu. */
	async runMenu(row: Locator, entry: string): Promise<void> {
		const item = this.page.getByRole('menuitem', { name: entry, exact: true });
		// The workbench may learn that its folder is trusted after the side bar is there; what is disabled until then stays so in
		// a menu that is open.
		for (let attempt = 0; ; attempt++) {
			await row.first().click({ button: 'right' });
			await item.waitFor();
			// A menu takes no click in the first moment after it has opened.
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

	/** Toasts of a workbench without the test driver. */
	toasts(): Locator {
		return this.page.locator('.notifications-toasts .notification-toast');
	}

	/** Text of messages as screen readers hear it; the test driver suppresses toasts, not this. */
	announcements(): Locator {
		return this.page.locator('.monaco-alert');
	}

	/** The frame of a webview app that is on screen: the one whose page loaded that app's script. */
	async app(name: AppName, timeout = patience): Promise<Frame> {
		const deadline = Date.now() + timeout;
		for (;;) {
			const frame = await this.findApp(name);
			if (frame !== undefined) return frame;
			if (Date.now() > deadline) throw new Error(`No ${name} panel on screen after ${timeout / 1000} s`);
			await this.page.waitForTimeout(100);
		}
	}

	/** A heading of the Markdown that is shown rendered. */
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
				// The webview was replaced while it was looked at.
			}
		}
		return undefined;
	}

	/** Resolves when a color theme of that kind is on screen. */
	async themed(kind: ThemeKind): Promise<void> {
		await this.page.locator(`.monaco-workbench.${kind}`).waitFor();
	}

	/** Whether a color theme of that kind is on screen within two seconds. */
	async isThemed(kind: ThemeKind): Promise<boolean> {
		const themed = this.page.locator(`.monaco-workbench.${kind}`).waitFor({ timeout: 2000 });
		return themed.then(
			() => true,
			() => false,
		);
	}

	/** Takes a picture where pictures are wanted. What hovers where the mouse was left goes either way. */
	async screenshot(name: string): Promise<void> {
		await this.page.mouse.move(0, 0);
		if (pictures !== undefined) await this.page.screenshot({ path: join(pictures, `${name}.png`) });
	}

	async closeSideBar(): Promise<void> {
		if (await this.page.locator('.part.sidebar').isVisible()) await this.page.keyboard.press('Control+b');
	}
}
