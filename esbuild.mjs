// Builds all bundles: node esbuild.mjs [--watch] [--production] [--tests]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, extname, join, relative, resolve } from 'node:path';
import * as esbuild from 'esbuild';

/**
 * Returns esbuild options by bundle name.
 * @param {{ production?: boolean, tests?: boolean, dist?: string }} options `dist`: output folder
 * @returns {Record<string, esbuild.BuildOptions>}
 */
export function bundles({ production = false, tests = false, dist = 'dist' } = {}) {
	/** @type {esbuild.BuildOptions} */
	const shared = {
		bundle: true,
		metafile: true,
		sourcemap: production ? false : 'linked',
		minify: production,
		legalComments: 'none',
		logLevel: 'warning',
		define: { 'process.env.NODE_ENV': production ? '"production"' : '"development"' },
		// Prefers ES modules, because UMD builds load their parts with runtime require() calls that fail in a bundle.
		mainFields: ['module', 'main'],
	};

	/** Node programs are ES modules, but bundled CommonJS packages still need `require`. */
	const nodeProgram = {
		...shared,
		define: { ...shared.define, HARNESS_FILES: JSON.stringify(JSON.stringify(textsIn('src/rewards/sandbox/harness'))) },
		outdir: dist,
		platform: 'node',
		format: 'esm',
		target: 'node20',
		banner: {
			js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
		},
		external: ['onnxruntime-node', '@duckdb/node-api'],
	};

	/** Suites that run in the extension host, where `vscode` is available. Mocha loads them with `require`. */
	const hostSuites = {
		...shared,
		outdir: join(dist, 'test'),
		outExtension: { '.js': '.cjs' },
		platform: 'node',
		format: 'cjs',
		target: 'node20',
		external: ['vscode', 'mocha'],
		// Only code that starts threads uses import.meta, and no suite starts threads.
		logOverride: { 'empty-import-meta': 'silent' },
	};

	return {
		extension: {
			...nodeProgram,
			define: shared.define,
			entryPoints: { extension: 'src/extension.ts' },
			external: ['vscode'],
			// Activation loads only the code it needs; everything else is loaded on first use from separate files.
			splitting: true,
			chunkNames: 'extension-[name]-[hash]',
			plugins: [inOneFile('src/extension.ts', 'src/extension/runLoader.ts')],
		},
		engine: {
			...nodeProgram,
			entryPoints: { engine: 'src/engines/embedded/main.ts', worker: 'src/engines/embedded/worker.ts' },
		},
		// Engine process for recipes that train in Python; the Python code is copied unchanged.
		driver: { ...nodeProgram, entryPoints: { driver: 'src/engines/driver/main.ts' } },
		trainer: copied('src/engines/trainer/reasoning_lab_trainer', join(dist, 'trainer', 'reasoning_lab_trainer')),
		// pip requirement files for the trainer.
		trainerRequirements: copied('src/engines/trainer/requirements', join(dist, 'trainer', 'requirements')),
		// Parquet and YAML files from other trainers are always decoded in a separate thread. Long chat logs are checked in one,
		// and large traces are searched for steps in several.
		decoding: {
			...nodeProgram,
			entryPoints: {
				decodingWorker: 'src/runs/importers/decoding/decodingWorker.ts',
				partsWorker: 'src/runs/importers/parts/partsWorker.ts',
				transcriptInspection: 'src/runs/transcript/inspectionWorker.ts',
			},
		},
		// Index worker, and the threads that it and the CLI use to scan rollouts.
		rolloutIndex: {
			...nodeProgram,
			entryPoints: { rolloutIndex: 'src/rolloutIndex/main.ts', indexThread: 'src/rolloutIndex/thread.ts' },
		},
		// The search worker.
		search: { ...nodeProgram, entryPoints: { search: 'src/search/main.ts' } },
		// Pipeline runner.
		pipeline: { ...nodeProgram, entryPoints: { pipeline: 'src/pipeline/main.ts' } },
		cli: {
			...nodeProgram,
			entryPoints: { cli: 'src/cli.ts' },
			banner: { js: `#!/usr/bin/env node\n${nodeProgram.banner.js}` },
			// Each CLI command is loaded on demand.
			splitting: true,
			chunkNames: 'cli-[name]-[hash]',
			plugins: [inOneFile('src/cli.ts')],
		},
		rewardHost: {
			...nodeProgram,
			entryPoints: { rewardHost: 'src/rewards/host/main.ts' },
			// Code used by only one built-in reward is a separate file, so hosts that do not use the reward start without it.
			splitting: true,
			chunkNames: 'rewardHost-[name]-[hash]',
		},
		// The Python reward host is copied unchanged.
		rewardPython: copied('src/rewards/python', join(dist, 'python')),
		// Readable sources of the built-in rewards.
		rewardSources: {
			...nodeProgram,
			entryPoints: rewardSources(),
			outdir: join(dist, 'rewards'),
			banner: {},
			sourcemap: false,
			loader: { '.ts': 'copy' },
		},
		...webviewApps({ ...shared, outdir: join(dist, 'webview') }),
		...(tests
			? {
					integration: { ...hostSuites, entryPoints: integrationEntryPoints() },
				}
			: {}),
	};
}

/**
 * Returns a bundle for each folder of webview with a main module.
 * @param {esbuild.BuildOptions} options
 * @returns {Record<string, esbuild.BuildOptions>}
 */
function webviewApps(options) {
	const names = readdirSync('webview').filter((name) => existsSync(join('webview', name, 'main.ts')));
	const app = (name) => ({
		...options,
		entryPoints: { [name]: `webview/${name}/main.ts` },
		platform: 'browser',
		mainFields: ['browser', 'module', 'main'],
		format: 'esm',
		target: 'chrome130',
		loader: { '.css': 'css', '.svg': 'text' },
	});
	return Object.fromEntries(names.map((name) => [name, app(name)]));
}

/**
 * Makes every dynamically imported module import the given modules first: the entry point, and modules that it loads
 * right after startup. Code that one of these needs is then shared by all later parts of the bundle and ends up in one
 * file, not in one file per group of parts that share it.
 * @returns {esbuild.Plugin}
 */
function inOneFile(...first) {
	return {
		name: 'in-one-file',
		setup(build) {
			const later = (folder, path) => relative('.', resolve(folder, path)).replaceAll('\\', '/');
			build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) =>
				kind === 'dynamic-import' ? { path: later(resolveDir, path), namespace: 'later' } : undefined,
			);
			build.onLoad({ filter: /./, namespace: 'later' }, ({ path }) => {
				const before = first.includes(path) ? first.slice(0, first.indexOf(path)) : first;
				return {
					contents: `${before.map((file) => `import './${file}';`).join(' ')} export * from './${path}';`,
					resolveDir: resolve('.'),
				};
			});
		},
	};
}

/** Returns the files in a folder, as text by name. These programs run in a sandbox and are embedded in the bundles. */
function textsIn(folder) {
	return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/**
 * Copies a folder unchanged, including data files, because Python packages read data files next to their modules at run
 * time.
 * @returns {esbuild.BuildOptions}
 */
function copied(folder, outdir) {
	const files = shippedFiles(folder);
	return {
		entryPoints: files.map((name) => ({ in: `${folder}/${name}`, out: name.slice(0, -extname(name).length) })),
		loader: Object.fromEntries(files.map((name) => [extname(name), 'copy'])),
		outdir,
		metafile: true,
		logLevel: 'warning',
	};
}

/**
 * Returns the paths of all files in a folder, relative to it and with slashes. Excludes hidden files and compiled
 * Python files.
 */
export function shippedFiles(folder) {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.pyc'))
		.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
		.sort();
}

/** Returns the files listed in core/reward/builtInInfos; a test checks that both lists match. */
function rewardSources() {
	const folder = 'src/core/reward';
	const pure = readdirSync(folder).filter((name) => name.endsWith('Reward.ts') || name === 'judgePrompt.ts');
	const files = [
		...pure.map((name) => `${folder}/${name}`),
		'src/rewards/codeTests.ts',
		'src/rewards/builtIn/rewardModel.ts',
	];
	return Object.fromEntries(files.map((file) => [basename(file, '.ts'), file]));
}

/** Returns the test runner and each suite as a separate file, because mocha loads the suites. */
function integrationEntryPoints() {
	const suites = readdirSync('test/integration/suites').filter((name) => name.endsWith('.test.ts'));
	return {
		integration: 'test/integration/run.ts',
		...Object.fromEntries(suites.map((name) => [`suites/${name.slice(0, -3)}`, `test/integration/suites/${name}`])),
	};
}

/** Removes chunks from earlier builds, which are never overwritten because their names contain a hash. */
async function removeOldChunks(folder, prefix, { outputs }) {
	const made = new Set(Object.keys(outputs).map((path) => basename(path)));
	for (const name of readdirSync(folder)) {
		if (name.startsWith(prefix) && !made.has(name)) await rm(join(folder, name));
	}
}

if (process.argv[1]?.endsWith('esbuild.mjs')) {
	const has = (flag) => process.argv.includes(flag);
	const all = Object.entries(bundles({ production: has('--production'), tests: has('--tests') }));
	if (has('--production')) await rm('dist', { recursive: true, force: true });
	if (has('--tests')) await rm('dist/test', { recursive: true, force: true }); // Prevents deleted suites from running.
	if (has('--watch')) {
		for (const [, options] of all) {
			await (await esbuild.context({ ...options, logLevel: 'info' })).watch();
		}
	} else {
		await mkdir('dist/meta', { recursive: true });
		for (const [name, options] of all) {
			try {
				const { metafile } = await esbuild.build(options);
				await writeFile(`dist/meta/${name}.json`, JSON.stringify(metafile));
				if (options.chunkNames !== undefined) await removeOldChunks('dist', `${name}-`, metafile);
			} catch {
				process.exitCode = 1; // esbuild has already reported the error.
			}
		}
	}
}
