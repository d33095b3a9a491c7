// Builds every bundle of the project: node esbuild.mjs [--watch] [--production] [--tests]
import { rm } from 'node:fs/promises';
import * as esbuild from 'esbuild';

const watch = process.argv.includes('--watch');
const production = process.argv.includes('--production');
const tests = process.argv.includes('--tests');

/** @type {esbuild.BuildOptions} */
const shared = {
	bundle: true,
	metafile: true,
	sourcemap: production ? false : 'linked',
	minify: production,
	keepNames: false,
	legalComments: 'none',
	logLevel: 'warning',
	define: { 'process.env.NODE_ENV': production ? '"production"' : '"development"' },
};

/** Node programs are ES modules; bundled CommonJS packages still want `require`. */
const nodeProgram = {
	...shared,
	platform: 'node',
	format: 'esm',
	target: 'node20',
	banner: {
		js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
	},
	external: ['onnxruntime-node'],
};

const webviewApp = (name) => ({
	...shared,
	entryPoints: { [name]: `webview/${name}/main.ts` },
	outdir: 'dist/webview',
	platform: 'browser',
	format: 'esm',
	target: 'chrome130',
	loader: { '.css': 'css', '.svg': 'text' },
});

/** name -> options; the metafile test reads dist/meta/NAME.json */
export const bundles = {
	host: {
		...shared,
		entryPoints: { extension: 'src/extension.ts' },
		outdir: 'dist',
		outExtension: { '.js': '.cjs' },
		platform: 'node',
		format: 'cjs',
		target: 'node20',
		external: ['vscode'],
	},
	engine: {
		...nodeProgram,
		entryPoints: { engine: 'src/engine/main.ts', worker: 'src/engine/worker.ts' },
		outdir: 'dist',
	},
	cli: {
		...nodeProgram,
		entryPoints: { cli: 'src/cli.ts' },
		outdir: 'dist',
		banner: { js: `#!/usr/bin/env node\n${nodeProgram.banner.js}` },
	},
	dashboard: webviewApp('dashboard'),
	rollouts: webviewApp('rollouts'),
	...(tests
		? {
				integration: {
					...shared,
					entryPoints: { 'test/integration': 'test/integration/run.ts' },
					outdir: 'dist',
					outExtension: { '.js': '.cjs' },
					platform: 'node',
					format: 'cjs',
					target: 'node20',
					external: ['vscode', 'mocha'],
				},
			}
		: {}),
};

async function writeMeta(name, result) {
	const { mkdir, writeFile } = await import('node:fs/promises');
	await mkdir('dist/meta', { recursive: true });
	await writeFile(`dist/meta/${name}.json`, JSON.stringify(result.metafile));
}

if (process.argv[1]?.endsWith('esbuild.mjs')) {
	if (production) await rm('dist', { recursive: true, force: true });
	if (watch) {
		for (const options of Object.values(bundles)) await (await esbuild.context(options)).watch();
	} else {
		for (const [name, options] of Object.entries(bundles)) await writeMeta(name, await esbuild.build(options));
	}
}
