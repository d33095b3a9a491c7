// Builds every bundle of the project: node esbuild.mjs [--watch] [--production] [--tests]
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, extname, join, relative, resolve } from 'node:path';
import * as esbuild from 'esbuild';

/**
 * Name of a bundle -> esbuild's options.
 * @param {{ production?: boolean, tests?: boolean, dist?: string }} options `dist`: folder of the results
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
		// A package's UMD build asks for its parts at run time, where a bundle has none: take its ES modules.
		mainFields: ['module', 'main'],
	};

	/** Node programs are ES modules; bundled CommonJS packages still want `require`. */
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

	/** Suites of the extension host, where `vscode` is: mocha loads them by `require`. */
	const hostSuites = {
		...shared,
		outdir: join(dist, 'test'),
		outExtension: { '.js': '.cjs' },
		platform: 'node',
		format: 'cjs',
		target: 'node20',
		external: ['vscode', 'mocha'],
		// What starts threads knows its own place; no suite starts one.
		logOverride: { 'empty-import-meta': 'silent' },
	};

	const webviewApp = (name) => ({
		...shared,
		entryPoints: { [name]: `webview/${name}/main.ts` },
		outdir: join(dist, 'webview'),
		platform: 'browser',
		mainFields: ['browser', 'module', 'main'],
		format: 'esm',
		target: 'chrome130',
		loader: { '.css': 'css', '.svg': 'text' },
	});

	return {
		extension: {
			...nodeProgram,
			define: shared.define,
			entryPoints: { extension: 'src/extension.ts' },
			external: ['vscode'],
			// Activation reads what it needs alone; the rest comes in files of its own when it is first used.
			splitting: true,
			chunkNames: 'extension-[name]-[hash]',
			plugins: [inOneFile('src/extension.ts')],
		},
		engine: {
			...nodeProgram,
			entryPoints: { engine: 'src/engines/embedded/main.ts', worker: 'src/engines/embedded/worker.ts' },
		},
		// The engine's process of recipes whose training runs in Python; Python's side is taken as it is.
		driver: { ...nodeProgram, entryPoints: { driver: 'src/engines/driver/main.ts' } },
		trainer: copied('src/engines/trainer/reasoning_lab_trainer', join(dist, 'trainer', 'reasoning_lab_trainer')),
		// What is installed for it, as pip reads it.
		trainerRequirements: copied('src/engines/trainer/requirements', join(dist, 'trainer', 'requirements')),
		// Parquet and YAML of other trainers are decoded in a thread of their own, whoever reads them.
		decoding: {
			...nodeProgram,
			entryPoints: { decodingWorker: 'src/runs/importers/decoding/decodingWorker.ts' },
		},
		// The index worker, and the threads in which it and the CLI go through rollouts.
		rolloutIndex: {
			...nodeProgram,
			entryPoints: { rolloutIndex: 'src/rolloutIndex/main.ts', indexThread: 'src/rolloutIndex/thread.ts' },
		},
		// The search worker.
		search: { ...nodeProgram, entryPoints: { search: 'src/search/main.ts' } },
		// The runner of pipelines.
		pipeline: { ...nodeProgram, entryPoints: { pipeline: 'src/pipeline/main.ts' } },
		cli: {
			...nodeProgram,
			entryPoints: { cli: 'src/cli.ts' },
			banner: { js: `#!/usr/bin/env node\n${nodeProgram.banner.js}` },
			// A verb is read when it is called.
			splitting: true,
			chunkNames: 'cli-[name]-[hash]',
			plugins: [inOneFile('src/cli.ts')],
		},
		rewardHost: {
			...nodeProgram,
			entryPoints: { rewardHost: 'src/rewards/host/main.ts' },
			// What one built-in reward alone needs is a file of its own: a host that does not use it starts without it.
			splitting: true,
			chunkNames: 'rewardHost-[name]-[hash]',
		},
		// The Python reward host is taken as it is.
		rewardPython: copied('src/rewards/python', join(dist, 'python')),
		// Sources of the built-in rewards, for people to read.
		rewardSources: {
			...nodeProgram,
			entryPoints: rewardSources(),
			outdir: join(dist, 'rewards'),
			banner: {},
			sourcemap: false,
			loader: { '.ts': 'copy' },
		},
		dashboard: webviewApp('dashboard'),
		rollouts: webviewApp('rollouts'),
		verification: webviewApp('verification'),
		query: webviewApp('query'),
		comparison: webviewApp('comparison'),
		transcript: webviewApp('transcript'),
		tree: webviewApp('tree'),
		strategies: webviewApp('strategies'),
		dataset: webviewApp('dataset'),
		playground: webviewApp('playground'),
		...(tests
			? {
					integration: { ...hostSuites, entryPoints: integrationEntryPoints() },
				}
			: {}),
	};
}

/**
 * Whatever is imported dynamically imports all of an entry point before. So what the entry point needs from its start is
 * shared by every part of the bundle, and is one file instead of one for each group of parts that share it.
 * @returns {esbuild.Plugin}
 */
function inOneFile(entryPoint) {
	return {
		name: 'in-one-file',
		setup(build) {
			const later = (folder, path) => relative('.', resolve(folder, path)).replaceAll('\\', '/');
			build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) =>
				kind === 'dynamic-import' ? { path: later(resolveDir, path), namespace: 'later' } : undefined,
			);
			build.onLoad({ filter: /./, namespace: 'later' }, ({ path }) => ({
				contents: `import './${entryPoint}'; export * from './${path}';`,
				resolveDir: resolve('.'),
			}));
		},
	};
}

/** The files of a folder, name to text: programs that a sandbox runs, which travel inside the bundles. */
function textsIn(folder) {
	return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/**
 * A folder as it is, whatever lies in it: a Python package reads its tables beside its modules when it runs.
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

/** The files below a folder, as paths from there with slashes; without what Python has compiled and the system has put there. */
export function shippedFiles(folder) {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.pyc'))
		.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
		.sort();
}

/** The files that core/reward/builtInInfos names; a test holds the two against each other. */
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

/** The runner and every suite as a file of its own: mocha loads the suites itself. */
function integrationEntryPoints() {
	const suites = readdirSync('test/integration/suites').filter((name) => name.endsWith('.test.ts'));
	return {
		integration: 'test/integration/run.ts',
		...Object.fromEntries(suites.map((name) => [`suites/${name.slice(0, -3)}`, `test/integration/suites/${name}`])),
	};
}

/** Chunks of earlier builds: their names hold a hash, so none replaces another. */
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
	if (has('--tests')) await rm('dist/test', { recursive: true, force: true }); // suites that are gone must not run
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
				process.exitCode = 1; // esbuild has said what is wrong
			}
		}
	}
}
