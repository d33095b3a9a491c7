/** A page in a plain browser without the editor and the extension, as seen by someone who received the file. */
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { pictures } from '../../scripts/paths.ts';
import { patience } from './workbenchPage.ts';

export class PlainPage {
	readonly page: Page;
	/** URLs requested by the page. */
	readonly requests: string[] = [];

	private constructor(page: Page) {
		this.page = page;
		page.setDefaultTimeout(patience);
		page.on('request', (request) => this.requests.push(request.url()));
	}

	static async open(browser: Browser, url: string): Promise<PlainPage> {
		const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'dark' });
		const plain = new PlainPage(await context.newPage());
		await plain.page.goto(url);
		return plain;
	}

	heading(level: number, name: string): Locator {
		return this.page.getByRole('heading', { level, name, exact: true });
	}

	/** Returns whether the page's own policy would allow scripts in elements or attributes. */
	runsScripts(): Promise<boolean> {
		return this.page.evaluate(async () => {
			const element = document.createElement('script');
			element.textContent = 'document.body.dataset.ran = "1"';
			const image = document.createElement('img');
			image.setAttribute('onerror', 'document.body.dataset.ran = "1"');
			image.src = 'data:image/png;base64,AA==';
			const failed = new Promise((resolve) => image.addEventListener('error', resolve));
			document.body.append(element, image);
			await failed;
			const ran = document.body.dataset.ran !== undefined || document.scripts.length > 1;
			element.remove();
			image.remove();
			return ran;
		});
	}

	/** Returns the number of pixels by which the page is wider than the window. */
	overflow(): Promise<number> {
		return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
	}

	async screenshot(name: string, fullPage = false): Promise<void> {
		if (pictures !== undefined) await this.page.screenshot({ path: join(pictures, `${name}.png`), fullPage });
	}

	close(): Promise<void> {
		return this.page.context().close();
	}
}
