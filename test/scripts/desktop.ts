/** Runs the in-host suites in desktop VS Code, either installed or cached from an earlier download. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runTests } from '@vscode/test-electron';
import { cache, root } from './paths.ts';

/** Program paths of typical installations. `code` on the PATH is only a launcher. */
const places = [
	'/usr/share/code/code',
	'/opt/visual-studio-code/code',
	'/snap/code/current/usr/share/code/code',
	'/Applications/Visual Studio Code.app/Contents/MacOS/Electron',
	join(process.env.LOCALAPPDATA ?? '', 'Programs/Microsoft VS Code/Code.exe'),
];

/** Returns the path of a VS Code program, or undefined. VSCODE_PATH overrides it. */
export function findDesktop(): string | undefined {
	const named = process.env.VSCODE_PATH;
	if (named !== undefined) return existsSync(named) ? named : undefined;
	return [...downloads(), ...places].find((path) => existsSync(path));
}

/**
 * Returns VS Code programs in .vscode-test/vscode-PLATFORM-VERSION, where @vscode/test-electron stores its downloads.
 */
function downloads(): string[] {
	if (!existsSync(cache)) return [];
	return readdirSync(cache)
		.filter((name) => name.startsWith('vscode-'))
		.flatMap((name) =>
			['code', 'Code.exe', 'Visual Studio Code.app/Contents/MacOS/Electron'].map((file) => join(cache, name, file)),
		);
}

/** Returns the VS Code program to run suites in, or why there is none. */
export function desktop(): { readonly program: string } | { readonly missing: string } {
	const program = findDesktop();
	if (program === undefined) return { missing: 'VS Code is not installed (set VSCODE_PATH to its program)' };
	const headless = process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY;
	if (headless) return { missing: 'no display is available (try: xvfb-run npm test)' };
	return { program };
}

/** Runs the suites, which write their outcomes to `results`. */
export async function runOnDesktop(results: string, workspace: string, env: Record<string, string>): Promise<void> {
	const found = desktop();
	if ('missing' in found) throw new Error(found.missing);
	try {
		await runTests({
			vscodeExecutablePath: found.program,
			extensionDevelopmentPath: root,
			extensionTestsPath: join(root, 'dist/test/integration.cjs'),
			launchArgs: [workspace, '--disable-extensions', '--disable-workspace-trust', '--no-sandbox'],
			extensionTestsEnv: env,
		});
	} catch (error) {
		if (!existsSync(results)) throw error; // test failures are in the results
	}
}
