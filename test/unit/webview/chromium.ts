import { accessSync, constants } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = [
	'/usr/bin/chromium',
	'/usr/bin/chromium-browser',
	'/usr/bin/google-chrome',
	'/usr/bin/google-chrome-stable',
];

/** A browser that is there, else the one that Playwright downloaded; null when there is none. */
export function findChromium(): string | null {
	for (const path of [process.env.CHROMIUM ?? '', ...places, chromium.executablePath()]) {
		try {
			if (path === '') continue;
			accessSync(path, constants.X_OK);
			return path;
		} catch {
			// The next one.
		}
	}
	return null;
}

export function launchChromium(executablePath: string): Promise<Browser> {
	return chromium.launch({
		executablePath,
		args: [
			'--headless',
			'--no-sandbox',
			'--disable-gpu',
			'--disable-quic',
			'--no-first-run',
			'--disable-background-networking',
			'--disable-component-update',
			'--disable-sync',
		],
	});
}
