/** Finds the browser for end-to-end tests: an installed one, Playwright's download, or Debian's package. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { chromium, type LaunchOptions } from 'playwright-core';
import { artifacts, node, root } from '../paths.ts';
import { run } from '../process.ts';

/**
 * Program names in order of preference. The first uses an eighth less CPU time than full headless Chromium and opens
 * pages faster.
 */
const names = [
	'chromium-headless-shell',
	'chromium',
	'chromium-browser',
	'google-chrome-stable',
	'google-chrome',
	'chrome',
	'microsoft-edge',
];
const places = [
	'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
	'/Applications/Chromium.app/Contents/MacOS/Chromium',
	'/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
];

export type Browser = { readonly launch: LaunchOptions } | { readonly missing: string };

/** Returns how to start Chromium, or what was tried and the command that would install it. */
export async function findChromium(say: (line: string) => void): Promise<Browser> {
	const { TEST_BROWSER: known, CHROMIUM_PATH: named } = process.env;
	if (known !== undefined) return JSON.parse(known);
	if (named !== undefined && !existsSync(named)) {
		return { missing: `CHROMIUM_PATH is ${named}, which does not exist` };
	}
	const present = named ?? installed();
	if (present !== undefined) return { launch: withPath(present) };

	const log = join(artifacts, 'browser-install.log');
	say("Chromium is not installed: using Playwright's download");
	const playwright = createRequire(join(root, 'package.json')).resolve('playwright-core/package.json');
	const cli = join(dirname(playwright), 'cli.js');
	const code = await run(node, [cli, 'install', 'chromium-headless-shell'], { log, timeoutSeconds: 300 });
	if (code === 0 && (await starts(options))) return { launch: options };

	const command = 'apt-get install -y chromium';
	if (existsSync('/usr/bin/apt-get') && process.getuid?.() === 0) {
		const apt = (seconds: number, ...args: string[]) =>
			run('apt-get', ['-qq', ...args], { log, env: { DEBIAN_FRONTEND: 'noninteractive' }, timeoutSeconds: seconds });
		await apt(300, 'update');
		for (const name of ['chromium-headless-shell', 'chromium']) {
			say(`Playwright's Chromium is not available: installing Debian's ${name} as root`);
			await apt(600, 'install', '-y', '--no-install-recommends', name);
			const launch = withPath(`/usr/bin/${name}`);
			if (await starts(launch)) return { launch };
		}
	}
	return {
		missing: `Chromium is not installed and could not be downloaded (log: ${log}). Run \`sudo ${command}\`, or set CHROMIUM_PATH`,
	};
}

/** Environment variables that save child processes the search and another download attempt. */
export function browserEnvironment(browser: Browser): Record<string, string> {
	return { TEST_BROWSER: JSON.stringify(browser) };
}

const options: LaunchOptions = {
	headless: true,
	args: [
		'--no-sandbox', // the sandbox needs user namespaces, which containers often lack; only our own pages are opened
		'--disable-gpu',
		'--disable-quic',
		'--no-first-run',
		'--disable-background-networking',
		'--disable-component-update',
		'--disable-sync',
	],
};

function withPath(executablePath: string): LaunchOptions {
	return { ...options, executablePath };
}

async function starts(launch: LaunchOptions): Promise<boolean> {
	try {
		await (await chromium.launch(launch)).close();
		return true;
	} catch {
		return false;
	}
}

function installed(): string | undefined {
	for (const name of names) {
		for (const folder of (process.env.PATH ?? '').split(delimiter)) {
			const path = join(folder, process.platform === 'win32' ? `${name}.exe` : name);
			if (folder !== '' && existsSync(path)) return path;
		}
	}
	return places.find((path) => existsSync(path));
}
