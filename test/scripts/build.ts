/** Builds the bundles in dist/ when a source is newer. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { node, root } from './paths.ts';
import { run } from './process.ts';

const results = ['extension.js', 'engine.js', 'worker.js', 'cli.js', 'webview/dashboard.js', 'webview/rollouts.js'];
const sources = ['src', 'webview', 'esbuild.mjs', 'package-lock.json'];

/** Builds if necessary, and throws if the build fails. esbuild writes its own messages to standard error. */
export async function buildIfStale(): Promise<void> {
	const built = Math.min(...results.map((name) => modified(join(root, 'dist', name))));
	const newest = Math.max(...sources.map((name) => newestUnder(join(root, name))));
	if (built > newest) return;
	const code = await run(node, ['esbuild.mjs'], { cwd: root });
	if (code !== 0) throw new Error('The build failed; see the esbuild output above.');
}

/** Returns the modification time in milliseconds, or 0 for a missing path. */
export function modified(path: string): number {
	return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Returns the modification time of a file, or of the newest file in a folder, recursively. */
export function newestUnder(path: string): number {
	if (!statSync(path).isDirectory()) return modified(path);
	return readdirSync(path).reduce((newest, name) => Math.max(newest, newestUnder(join(path, name))), modified(path));
}
