import assert from 'node:assert/strict';
import { builtinModules } from 'node:module';
import { basename } from 'node:path';
import { before, describe, it } from 'node:test';
import * as esbuild from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { builtInInfos } from '../../src/core/reward/builtInInfos.ts';

interface Bundle {
	readonly meta: esbuild.Metafile;
	/** Size of each file that it makes, in bytes. */
	readonly sizes: ReadonlyMap<string, number>;
}

const webviews = ['dashboard', 'rollouts', 'verification'];
const builtins = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);

/** Modules that stay outside a bundle and are imported when it runs. */
function externals({ meta }: Bundle): string[] {
	return Object.values(meta.outputs).flatMap(({ imports }) =>
		imports.filter(({ external }) => external).map(({ path }) => path),
	);
}

/** Sources of a bundle that lie under a folder. */
function inputsUnder({ meta }: Bundle, ...folders: string[]): string[] {
	return Object.keys(meta.inputs).filter((path) => folders.some((folder) => path.startsWith(folder)));
}

describe('the walls between the layers hold in the production bundles', () => {
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
			built.set(name, { meta: result.metafile, sizes });
		}
	});

	it('only the host bundle imports vscode', () => {
		for (const [name, made] of built) assert.equal(externals(made).includes('vscode'), name === 'host', name);
	});

	it('no webview bundle imports a Node module, or anything else', () => {
		for (const name of webviews) {
			assert.deepEqual(externals(bundle(name)), [], name);
			assert.deepEqual(inputsUnder(bundle(name), 'src/host', 'src/engine', 'src/runs', 'src/cli', 'src/rpc'), [], name);
		}
	});

	it('no webview bundle holds another app', () => {
		for (const name of webviews) {
			const others = webviews.filter((other) => other !== name).map((other) => `webview/${other}/`);
			assert.deepEqual(inputsUnder(bundle(name), ...others), []);
		}
	});

	it('the host spawns the engine and never holds it', () => {
		assert.deepEqual(
			externals(bundle('host')).filter((path) => path.startsWith('onnxruntime')),
			[],
		);
		const walled = ['src/engine/', 'src/cli', 'src/lab/', 'webview/', 'node_modules/onnxruntime'];
		assert.deepEqual(inputsUnder(bundle('host'), ...walled), []);
	});

	it('neither engine nor CLI holds the host, and one file alone imports onnxruntime', () => {
		for (const name of ['engine', 'cli']) {
			assert.deepEqual(inputsUnder(bundle(name), 'src/host/', 'src/extension.ts', 'webview/'), [], name);
		}
		const importers = Object.entries(bundle('engine').meta.inputs)
			.filter(([, { imports }]) => imports.some(({ path }) => path.startsWith('onnxruntime')))
			.map(([path]) => path);
		assert.equal(importers.length, 1, importers.join(', '));
	});

	it('what the programs import when they run is Node, vscode and onnxruntime-node', () => {
		for (const name of ['host', 'engine', 'cli']) {
			for (const path of externals(bundle(name))) {
				assert.ok(builtins.has(path) || path === 'vscode' || path === 'onnxruntime-node', `${name} imports ${path}`);
			}
		}
	});

	it('the host bundle is smaller than 400 kB', () => {
		const size = Math.max(...bundle('host').sizes.values());
		assert.ok(size < 400_000, `${size} bytes`);
	});

	it('the source of every built-in reward is shipped', () => {
		const shipped = Object.keys(bundle('rewardSources').meta.outputs).map((path) => basename(path));
		assert.deepEqual(
			builtInInfos.map(({ file }) => basename(file)).filter((name) => !shipped.includes(name)),
			[],
		);
	});
});
