import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, join } from 'node:path';
import { before, describe, it } from 'node:test';
import * as esbuild from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { builtInInfos } from '../../src/core/reward/builtInInfos.ts';

interface Bundle {
	readonly meta: esbuild.Metafile;
	/** Size in bytes of each output file. */
	readonly sizes: ReadonlyMap<string, number>;
	/** Contents of each output file, by path with forward slashes. */
	readonly contents: ReadonlyMap<string, Uint8Array>;
}

const webviews = [
	'dashboard',
	'rollouts',
	'verification',
	'query',
	'transcript',
	'comparison',
	'runTable',
	'pipelineGraph',
	'newSearch',
	'report',
	'tree',
	'strategies',
	'dataset',
	'playground',
	'episode',
];
const builtins = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);

/** Returns modules that are not bundled but imported at run time. */
function externals({ meta }: Bundle): string[] {
	return Object.values(meta.outputs).flatMap(({ imports }) =>
		imports.filter(({ external }) => external).map(({ path }) => path),
	);
}

/** Returns a bundle's sources in the given folders. */
function inputsUnder({ meta }: Bundle, ...folders: string[]): string[] {
	return Object.keys(meta.inputs).filter((path) => folders.some((folder) => path.startsWith(folder)));
}

/** Returns the files in a bundle that are loaded before its entry point runs: the entry file and everything it imports. */
function loadedAtStart({ outputs }: esbuild.Metafile, entryPoint: string): string[] {
	const [entry] = Object.entries(outputs).find(([, output]) => output.entryPoint === entryPoint) ?? [];
	assert.ok(entry, `no file is made of ${entryPoint}`);
	const found = new Set([entry]);
	for (const path of found) {
		for (const { path: imported, kind, external } of outputs[path]?.imports ?? []) {
			if (kind === 'import-statement' && !external) found.add(imported);
		}
	}
	return [...found];
}

describe('production bundles respect layer boundaries', () => {
	const built = new Map<string, Bundle>();
	const bundle = (name: string): Bundle => {
		const found = built.get(name);
		assert.ok(found, `there is no bundle ${name}`);
		return found;
	};

	before(async () => {
		for (const [name, options] of Object.entries(bundles({ production: true }))) {
			const result = await esbuild.build({ ...options, metafile: true, write: false });
			const sizes = new Map(result.outputFiles.map(({ path, contents }) => [path, contents.byteLength]));
			const contents = new Map(result.outputFiles.map((file) => [file.path.replaceAll('\\', '/'), file.contents]));
			built.set(name, { meta: result.metafile, sizes, contents });
		}
	});

	it('only the extension bundle imports vscode', () => {
		for (const [name, made] of built) assert.equal(externals(made).includes('vscode'), name === 'extension', name);
	});

	it('webview bundles have no external imports', () => {
		for (const name of webviews) {
			assert.deepEqual(externals(bundle(name)), [], name);
			assert.deepEqual(
				inputsUnder(bundle(name), 'src/extension', 'src/engines/', 'src/runs', 'src/cli', 'src/rpc'),
				[],
				name,
			);
		}
	});

	it('webview bundles contain no other app', () => {
		for (const name of webviews) {
			const others = webviews.filter((other) => other !== name).map((other) => `webview/${other}/`);
			assert.deepEqual(inputsUnder(bundle(name), ...others), []);
		}
	});

	it('the extension starts the engine but does not contain it', () => {
		assert.deepEqual(
			externals(bundle('extension')).filter((path) => path.startsWith('onnxruntime')),
			[],
		);
		const walled = ['src/engines/', 'src/cli', 'src/rolloutIndex/', 'webview/', 'node_modules/onnxruntime'];
		assert.deepEqual(inputsUnder(bundle('extension'), ...walled), []);
	});

	it('the engine and the CLI do not contain the extension, and only one file imports onnxruntime', () => {
		for (const name of ['engine', 'cli']) {
			assert.deepEqual(inputsUnder(bundle(name), 'src/extension/', 'src/extension.ts', 'webview/'), [], name);
		}
		const importers = Object.entries(bundle('engine').meta.inputs)
			.filter(([, { imports }]) => imports.some(({ path }) => path.startsWith('onnxruntime')))
			.map(([path]) => path);
		assert.equal(importers.length, 1, importers.join(', '));
	});

	it('the driver contains no computation and no native packages', () => {
		const walled = ['src/engines/embedded/', 'src/extension/', 'src/cli', 'src/rolloutIndex/', 'webview/'];
		assert.deepEqual(inputsUnder(bundle('driver'), ...walled), []);
		for (const path of externals(bundle('driver'))) assert.ok(builtins.has(path), `driver imports ${path}`);
	});

	it('the index worker contains neither the extension nor an engine, and only it and the CLI import DuckDB, dynamically in one file', () => {
		const walled = ['src/extension/', 'src/extension.ts', 'src/engines/', 'src/cli', 'webview/'];
		assert.deepEqual(inputsUnder(bundle('rolloutIndex'), ...walled), []);
		const importing = [...built].filter(([, made]) => externals(made).some((path) => path.startsWith('@duckdb/')));
		assert.deepEqual(importing.map(([name]) => name).sort(), ['cli', 'rolloutIndex']);
		for (const name of ['cli', 'rolloutIndex']) {
			const kinds = Object.values(bundle(name).meta.outputs).flatMap(({ imports }) =>
				imports.filter(({ path }) => path.startsWith('@duckdb/')).map(({ kind }) => kind),
			);
			assert.deepEqual(new Set(kinds), new Set(['dynamic-import']));
		}
	});

	it('the search worker contains no extension, engine or CLI code, and no native packages', () => {
		const walled = ['src/extension/', 'src/extension.ts', 'src/engines/', 'src/cli', 'src/rolloutIndex/', 'webview/'];
		assert.deepEqual(inputsUnder(bundle('search'), ...walled), []);
		for (const path of externals(bundle('search'))) assert.ok(builtins.has(path), `search imports ${path}`);
	});

	it('programs import only Node, vscode and the native packages at run time', () => {
		const allowed = ['vscode', 'onnxruntime-node', '@duckdb/node-api'];
		for (const name of ['extension', 'engine', 'cli', 'rolloutIndex', 'search']) {
			for (const path of externals(bundle(name))) {
				assert.ok(builtins.has(path) || allowed.includes(path), `${name} imports ${path}`);
			}
		}
	});

	it('activation loads little code, and none that runs a reward or talks to an engine', () => {
		const { meta } = bundle('extension');
		const files = loadedAtStart(meta, 'src/extension.ts');
		const size = files.reduce((sum, path) => sum + (meta.outputs[path]?.bytes ?? 0), 0);
		assert.ok(size < 82_500, `${size} bytes in ${files.length} files`);
		assert.ok(files.length <= 3, `${files.length} files`);
		const sources = files.flatMap((path) => Object.keys(meta.outputs[path]?.inputs ?? {}));
		const later = [
			'vscode-jsonrpc/',
			'jsonc-parser/',
			'valibot/',
			'src/extension/rewardTests/',
			'src/runs/runReader.ts',
			'src/rewards/host',
			'src/extension/panels/',
			'core/reward/audit/',
		];
		/** Code that registers editors and commands and loads their panels. */
		const small = ['dataset/datasetEditors.ts', 'playground/playgroundCommands.ts'];
		assert.deepEqual(
			sources.filter((path) => later.some((part) => path.includes(part)) && !small.some((end) => path.endsWith(end))),
			[],
		);
	});

	it('the command line loads verbs on demand', () => {
		const { meta } = bundle('cli');
		const size = (entryPoint: string) =>
			loadedAtStart(meta, entryPoint).reduce((sum, path) => sum + (meta.outputs[path]?.bytes ?? 0), 0);
		const start = size('src/cli.ts');
		assert.ok(start < 80_000, `${start} bytes`);
		const sources = loadedAtStart(meta, 'src/cli.ts').flatMap((path) => Object.keys(meta.outputs[path]?.inputs ?? {}));
		assert.deepEqual(
			sources.filter((path) => path.endsWith('Verb.ts')),
			[],
		);
	});

	it('the extension contains no code for running rewards in separate processes', () => {
		const heavy = ['src/rewards/host/', 'src/core/math/', '@cortex-js/', 'ajv', 'onnx', '@huggingface/', 'quickjs'];
		// Extracting an answer from text does not need a math parser.
		const light = ['statedAnswer.ts', 'brackets.ts', 'fullWidth.ts'].map((name) => `src/core/math/${name}`);
		assert.deepEqual(
			Object.keys(bundle('extension').meta.inputs).filter(
				(path) => !light.includes(path) && heavy.some((part) => path.includes(part)),
			),
			[],
		);
		const size = [...bundle('extension').sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
		assert.ok(size < 1_984_000, `${size} bytes`);
	});

	it('Python packages are shipped complete and unchanged, with their tables', () => {
		for (const [name, folder] of [
			['trainer', 'src/engines/trainer/reasoning_lab_trainer'],
			['trainerRequirements', 'src/engines/trainer/requirements'],
			['rewardPython', 'src/rewards/python'],
		] as const) {
			const outputs = [...bundle(name).contents];
			const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
				.map((path) => path.replaceAll('\\', '/'))
				.filter((path) => !path.includes('__pycache__') && statSync(join(folder, path)).isFile());
			assert.ok(files.length > 3, folder);
			for (const path of files) {
				const [, made] = outputs.find(([out]) => out.endsWith(`/${path}`)) ?? [];
				assert.ok(made !== undefined, `${folder}/${path} is not shipped`);
				assert.deepEqual(Buffer.from(made), readFileSync(join(folder, path)), path);
			}
		}
	});

	it('the source of every built-in reward is shipped', () => {
		const shipped = Object.keys(bundle('rewardSources').meta.outputs).map((path) => basename(path));
		assert.deepEqual(
			builtInInfos.map(({ file }) => basename(file)).filter((name) => !shipped.includes(name)),
			[],
		);
	});
});
