/**
 * Native libraries of other platforms, which npm does not install. They are downloaded from the configured registry,
 * checked against package-lock.json, and kept in the cache.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cache, root } from './paths.ts';

/** Platforms for which onnxruntime-node and DuckDB have libraries. onnxruntime-node has none for macOS on Intel. */
export const targets = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64'] as const;

interface Locked {
	readonly version: string;
	readonly integrity: string;
}

/** Returns the folder of a package that package-lock.json names: the installed one, or one downloaded now or earlier. */
export function lockedPackage(name: string): string {
	const installed = join(root, 'node_modules', name);
	if (existsSync(installed)) return installed;
	const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
		readonly packages: Readonly<Record<string, Locked | undefined>>;
	};
	const locked = lock.packages[`node_modules/${name}`];
	if (locked === undefined) throw new Error(`package-lock.json does not contain ${name}.`);
	const folder = join(cache, 'packages', `${name.replaceAll('/', '+')}-${locked.version}`);
	if (!existsSync(folder)) download(name, locked, folder);
	return folder;
}

function download(name: string, { version, integrity }: Locked, folder: string): void {
	mkdirSync(join(cache, 'packages'), { recursive: true });
	const aside = mkdtempSync(join(cache, 'packages', 'download-'));
	try {
		// npm is a script on Windows.
		const options = { cwd: aside, encoding: 'utf8', shell: process.platform === 'win32' } as const;
		const packed = execFileSync('npm', ['pack', '--silent', `${name}@${version}`], options)
			.trim()
			.split('\n')
			.at(-1);
		const archive = join(aside, packed as string);
		const sha512 = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
		if (sha512 !== integrity) throw new Error(`${name}@${version} is not the package that package-lock.json names.`);
		execFileSync('tar', ['-xzf', archive, '-C', aside]);
		renameSync(join(aside, 'package'), folder);
	} finally {
		rmSync(aside, { recursive: true, force: true });
	}
}
