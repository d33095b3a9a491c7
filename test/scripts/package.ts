/**
 * `npm run package [-- --target linux-x64]`: builds the VSIX for one platform, or for `all`, from production bundles and
 * only that platform's native libraries. The contents are listed here; nothing else can be included. Libraries of other
 * platforms are downloaded from the npm registry once (platformLibraries.ts); otherwise, no network is needed. With
 * `--if-stale`, updates the cached VSIX for this platform if a source is newer.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createVSIX } from '@vscode/vsce';
import * as esbuild from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { FileLock } from '../../src/files/fileLock.ts';
import { modified, newestUnder } from './build.ts';
import { cache, keptPackage, root } from './paths.ts';
import { lockedPackage, targets } from './platformLibraries.ts';
import { thirdPartyNotices } from './thirdPartyNotices.ts';

interface Manifest {
	readonly name: string;
	readonly version: string;
	readonly dependencies: Record<string, string>;
	readonly [key: string]: unknown;
}

/** Files and folders in the repository that are included unchanged. */
const copied = ['LICENSE', 'README.md', 'CHANGELOG.md', 'docs', 'media', 'syntaxes'];

/** Packages excluded from the bundles: the native libraries and their runtime dependencies. */
const external = ['onnxruntime-node', 'onnxruntime-common', '@duckdb/node-api', '@duckdb/node-bindings', 'detect-libc'];

/** Returns the package that contains DuckDB's library for a platform. */
const duckdbLibrary = (target: string): string =>
	`@duckdb/node-bindings-${target.replace(/^alpine-(.*)$/, 'linux-$1-musl')}`;

const sources = [...copied, 'src', 'webview', 'esbuild.mjs', 'package.json', 'package-lock.json'];
const packagingMs = 300_000;

/** Rebuilds the cached VSIX if a source is newer. Concurrent callers wait for it. @returns its path */
async function packageIfStale(): Promise<string> {
	mkdirSync(cache, { recursive: true });
	const lock = await FileLock.acquire(`${keptPackage}.lock`, keptPackage, packagingMs);
	try {
		const newest = Math.max(...sources.map((name) => newestUnder(join(root, name))));
		if (modified(keptPackage) <= newest) await makePackage(`${process.platform}-${process.arch}`, keptPackage);
	} finally {
		await lock.release();
	}
	return keptPackage;
}

/** Returns the folder of onnxruntime's libraries for a platform. Its package has those for all platforms. */
function runtimeLibrary(target: string): string {
	const [platform, arch] = target.split('-');
	const library = `bin/napi-v6/${platform}/${arch}`;
	if (existsSync(join(root, 'node_modules/onnxruntime-node', library))) return library;
	throw new Error(`onnxruntime-node has no library for ${target}.`);
}

/** Builds the VSIX and resolves with its path. */
export async function makePackage(target: string, out?: string): Promise<string> {
	runtimeLibrary(target);
	mkdirSync(cache, { recursive: true });
	const stage = mkdtempSync(join(cache, 'package-'));
	try {
		return await packageIn(stage, target, out);
	} finally {
		rmSync(stage, { recursive: true, force: true });
	}
}

async function packageIn(stage: string, target: string, out?: string): Promise<string> {
	const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
	const inputs = new Set<string>();
	for (const options of Object.values(bundles({ production: true, dist: join(stage, 'dist') }))) {
		const { metafile } = await esbuild.build({ ...options, absWorkingDir: root });
		for (const input of Object.keys(metafile?.inputs ?? {})) inputs.add(input);
	}
	for (const name of copied) {
		if (existsSync(join(root, name))) cpSync(join(root, name), join(stage, name), { recursive: true });
	}
	copyPictures(stage);
	copyRuntime(stage, target);
	writeFileSync(join(stage, 'ThirdPartyNotices.txt'), thirdPartyNotices(inputs, [...external, duckdbLibrary(target)]));
	writeFileSync(join(stage, '.vscodeignore'), '# Everything in this folder is intended to be shipped.\n');
	writeFileSync(join(stage, 'package.json'), JSON.stringify(shippedManifest(manifest), undefined, '\t'));

	const path = out ?? join(root, `${manifest.name}-${target}-${manifest.version}.vsix`);
	await createVSIX({
		cwd: stage,
		packagePath: path,
		target,
		allowMissingRepository: true,
		rewriteRelativeLinks: false,
		skipLicense: false,
	});
	return path;
}

/** Returns the manifest without development-only fields. */
function shippedManifest({ scripts, devDependencies, allowScripts, private: _, ...rest }: Manifest): object {
	const dependencies = Object.fromEntries(
		Object.entries(rest.dependencies).filter(([name]) => external.includes(name)),
	);
	return { ...rest, dependencies };
}

/** Copies the images shown in the README. */
function copyPictures(stage: string): void {
	const readme = join(root, 'README.md');
	if (!existsSync(readme)) return;
	for (const [, path] of readFileSync(readme, 'utf8').matchAll(/(?:!\[[^\]]*\]\(|<img[^>]+src=")([^)"\s]+)/g)) {
		if (path === undefined || /^[a-z]+:/.test(path)) continue;
		mkdirSync(dirname(join(stage, path)), { recursive: true });
		cpSync(join(root, path), join(stage, path));
	}
}

/**
 * Copies the native packages' JavaScript and the libraries for the platform, omitting files that only installers use.
 */
function copyRuntime(stage: string, target: string): void {
	const source = join(root, 'node_modules/onnxruntime-node');
	const library = runtimeLibrary(target);
	for (const name of external) {
		const from = join(root, 'node_modules', name);
		const to = join(stage, 'node_modules', name);
		cpSync(from, to, {
			recursive: true,
			filter: (path) => isShipped(relative(from, path).replaceAll('\\', '/'), statSync(path).isDirectory()),
		});
		const { scripts, devDependencies, dependencies, optionalDependencies, ...manifest } = JSON.parse(
			readFileSync(join(from, 'package.json'), 'utf8'),
		);
		const needed = Object.entries(dependencies ?? {}).filter(([dependency]) => external.includes(dependency));
		writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, dependencies: Object.fromEntries(needed) }));
	}
	cpSync(join(source, library), join(stage, 'node_modules/onnxruntime-node', library), { recursive: true });
	const duckdb = duckdbLibrary(target);
	cpSync(lockedPackage(duckdb), join(stage, 'node_modules', duckdb), { recursive: true });
}

/**
 * Returns whether to ship a path: programs and manifests, but no sources, source maps, types, or files for other
 * platforms.
 */
function isShipped(path: string, folder: boolean): boolean {
	if (/^(bin|script|node_modules|src|__test__)(\/|$)/.test(path)) return false;
	return folder || /\.c?js$|package\.json$/.test(path);
}

if (process.argv[1] === import.meta.filename) {
	const { values } = parseArgs({
		options: {
			target: { type: 'string', default: `${process.platform}-${process.arch}` },
			out: { type: 'string' },
			'if-stale': { type: 'boolean', default: false },
		},
	});
	const out = values.out === undefined ? undefined : resolve(values.out);
	for (const target of values.target === 'all' ? targets : [values.target]) {
		const path = values['if-stale'] ? await packageIfStale() : await makePackage(target, out);
		console.log(`${relative(root, path)}: ${(statSync(path).size / 1e6).toFixed(1)} MB`);
	}
}
