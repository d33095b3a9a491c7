import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../../scripts/paths.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Module -> modules it may import according to the table in docs/architecture.md. */
function documented(): Map<string, string[]> {
	const text = read('docs/architecture.md').split('### Who may import whom')[1] ?? '';
	const rows = [...text.matchAll(/^\| ((?:src|webview)\/[\w/]+) \| ([^|]+) \|/gm)];
	return new Map(
		rows.map(([, module, imports]) => [
			module as string,
			imports?.trim() === 'nothing' ? [] : (imports as string).split(',').map((name) => name.trim()),
		]),
	);
}

/** Returns an imported module's name as in the table: its folder below src or webview. */
const nameOf = (module: string) => module.slice(module.indexOf('/') + 1);

/** Returns all TypeScript files in the given folders. */
function sourcesOf(...folders: string[]): string[] {
	return folders.flatMap((folder) =>
		readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
			.map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/')),
	);
}

/** Returns the source of a call's argument from a position up to its closing parenthesis. */
function argumentOf(text: string, start: number): string {
	for (let depth = 1, at = start; at < text.length; at++) {
		if (text[at] === '(') depth++;
		else if (text[at] === ')' && --depth === 0) return text.slice(start, at).trim();
	}
	return text.slice(start);
}

const table = documented();
const layers = [...table.keys()];
const layerOf = (path: string) => layers.find((layer) => path === `${layer}.ts` || path.startsWith(`${layer}/`));

describe('import table in docs/architecture.md', () => {
	test('matches the project references', () => {
		const { references } = JSON.parse(read('tsconfig.json')) as { references: { path: string }[] };
		const projects = references.map(({ path }) => path).filter((path) => path !== 'test');
		assert.deepEqual(layers.toSorted(), projects.toSorted());
		for (const [layer, imports] of table) {
			const config = JSON.parse(read(`${layer}/tsconfig.json`)) as { references: { path: string }[] };
			const allowed = config.references.map(({ path }) => nameOf(relative(root, resolve(root, layer, path))));
			assert.deepEqual(allowed.toSorted(), imports.toSorted(), layer);
		}
	});

	test('is respected by every import in the sources', () => {
		let imports = 0;
		for (const path of sourcesOf('src', 'webview')) {
			// The composition root extension.ts belongs to the folder of the same name, and so does the program cli.ts.
			const from = layerOf(path);
			assert.ok(from, `${path} belongs to no layer`);
			for (const [, target] of read(path).matchAll(/(?:from|import) '(\.[^']+)'/g)) {
				const file = relative(root, resolve(root, dirname(path), target as string)).replaceAll('\\', '/');
				const to = layerOf(file);
				if (to === undefined || to === from) continue;
				imports++;
				assert.ok(table.get(from)?.includes(nameOf(to)), `${path} imports ${file}`);
			}
		}
		assert.ok(imports > 200, `${imports}`);
	});

	test('native, heavy and archived packages are imported in one file each', () => {
		const importers = (name: string) =>
			sourcesOf('src', 'webview')
				.filter((path) => new RegExp(`(?:from|import\\(?) ?'${name}'`).test(read(path)))
				.toSorted();
		assert.deepEqual(importers('onnxruntime-node'), [
			'src/engines/embedded/compute/runtime.ts',
			'src/rewards/onnxModel.ts',
		]);
		assert.deepEqual(importers('@duckdb/node-api'), ['src/rolloutIndex/duckdb.ts']);
		assert.deepEqual(importers('hyparquet'), ['src/runs/importers/decoding/parquetRows.ts']);
		assert.deepEqual(importers('yaml'), ['src/runs/importers/decoding/yamlText.ts']);
		assert.deepEqual(importers('ajv'), ['src/rewards/builtIn/jsonSchemas.ts']);
		assert.deepEqual(importers('@huggingface/tokenizers'), ['src/rewards/onnxModel.ts']);
		assert.deepEqual(importers('@vscode/webview-ui-toolkit'), ['webview/lib/controls.ts']);
	});

	test('message streams are read only by the reader that lets programs exit', () => {
		const readers = sourcesOf('src').filter((path) => /\b(?:Stream|Socket)MessageReader\b/.test(read(path)));
		assert.deepEqual(readers, ['src/rpc/messageReader.ts']);
	});

	test('messages shown without a dialog have links in their text disabled', () => {
		const shows = /vscode\.window\.show(?:Information|Warning|Error)Message\(/g;
		for (const path of sourcesOf('src/extension')) {
			if (['src/extension/plainMessages.ts', 'src/extension/notices.ts'].includes(path)) continue;
			const text = read(path);
			for (const { index } of text.matchAll(shows)) {
				const call = text.slice(index, text.indexOf(');\n', index));
				assert.match(call, /\bmodal: true\b/, `${path} shows a message without disabling its links`);
			}
		}
	});

	test('files are opened without blocking on a pipe', () => {
		/** Files opened in other ways, with the reason why that is safe. */
		const others: Readonly<Record<string, string>> = {
			'src/cli/versionVerb.ts': 'the package itself',
			'src/engines/driver/ray/jobPackage.ts': 'the programs in dist',
			'src/environment/doctor/doctor.ts': 'the package itself',
			'src/environment/gpu/download.ts': "a download in the user's storage",
			'src/environment/machine/rocm.ts': 'a system file',
			'src/environment/setup/requirements.ts': 'the package itself',
			'src/environment/setup/setupLog.ts': "a log in the user's storage",
			'src/rewards/host/debugged.ts': 'a request that the caller has just written',
			'src/rewards/host/rewardSource.ts': 'a file that this process has loaded already',
			'src/rewards/hostPrograms.ts': 'the programs in dist',
			'src/rewards/sandbox/controlGroup.ts': 'kernel files',
			'src/rewards/sandbox/findGroupPlace.ts': 'kernel files',
			'src/rewards/sandbox/harnessFiles.ts': 'the package itself',
			'src/processes/inheritedDescriptors.ts': '/dev/null',
			'src/files/atomicFile.ts': 'folders, which are flushed',
			'src/files/openedFile.ts': 'flags that are set on the line before',
			'src/runs/transcript/spooledLines.ts': 'a new file in a new folder',
			'src/search/tools/workspaceTool.ts': 'flags that are set on the line before',
		};
		const opening = [
			'open',
			'openSync',
			'readFile',
			'readFileSync',
			'createReadStream',
			'createWriteStream',
			'appendFile',
		];
		const unsafe = new Set<string>();
		let safe = 0;
		for (const path of sourcesOf('src')) {
			const text = read(path);
			const names = [...text.matchAll(/import \{([^}]+)\} from 'node:fs(?:\/promises)?'/g)]
				.flatMap(([, list = '']) => list.split(','))
				.map((name) => name.trim())
				.filter((name) => opening.includes(name));
			if (names.length === 0) continue;
			for (const { index } of text.matchAll(new RegExp(`(?<![.\\w#])(?:${names.join('|')})\\(`, 'g'))) {
				const call = text.slice(index, text.indexOf(';\n', index));
				// Skip declarations with that name, and methods.
				if (/^\w+\([^)]*: /.test(call)) continue;
				if (/O_NONBLOCK|'wx'|['`]\/(?:proc|sys)\//.test(call)) safe++;
				else unsafe.add(path);
			}
		}
		assert.ok(safe > 20, `${safe}`);
		assert.deepEqual([...unsafe].toSorted(), Object.keys(others).toSorted());
	});

	test('Markdown in native views contains only literals and escaped text, and is not trusted', () => {
		let calls = 0;
		for (const path of sourcesOf('src/extension')) {
			const text = read(path);
			assert.doesNotMatch(text, /\.(?:isTrusted|supportHtml|supportThemeIcons|baseUri)\s*=(?!=)/, path);
			// actionConfirmation.test.ts tests that tool arguments do not become Markdown.
			const allowed = path.endsWith('/languageModelTools.ts') ? /\b(?!)/ : /new vscode\.MarkdownString\((?!\))/;
			assert.doesNotMatch(text, allowed, `${path} turns text into Markdown`);
			assert.doesNotMatch(text, /\b(?:createTerminal|executeCommand)\([^)]*`/, `${path} builds a command from text`);
			for (const { index } of text.matchAll(/\.appendMarkdown\(/g)) {
				calls++;
				const given = argumentOf(text, index + '.appendMarkdown('.length);
				const open = given
					.replace(/\bplain(?:Markdown)?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g, "''")
					.replace(/\$\{''\}/g, '')
					.replace(/^\w+ === '' \? /, '');
				assert.match(open, /^(?:'[^']*'|`[^`$]*`)(?: : (?:'[^']*'|`[^`$]*`))?$/, `${path} appends ${given}`);
			}
		}
		assert.ok(calls > 5, String(calls));
	});

	test('pages only create text from strings', () => {
		const sinks =
			/\.(?:innerHTML|outerHTML|srcdoc)\s*=(?!=)|\.(?:insertAdjacentHTML|setHTMLUnsafe)\(|document\.write|\beval\(|new Function\(/;
		for (const path of sourcesOf('webview')) assert.doesNotMatch(read(path), sinks, path);
		// Text and titles are set by dom.ts, which makes hidden characters visible; textBody.ts does so itself.
		const texts = /\.(?:textContent|innerText|title)\s*=(?!=)|createTextNode\(/;
		const own = ['webview/lib/dom.ts', 'webview/lib/trace/textBody.ts'];
		for (const path of sourcesOf('webview')) {
			if (!own.some((end) => path.endsWith(end))) assert.doesNotMatch(read(path), texts, path);
		}
	});

	test('a unit test named after a source file is in the matching folder', () => {
		const sources = new Map<string, string[]>();
		for (const path of sourcesOf('src', 'webview')) {
			const name = basename(path, '.ts');
			sources.set(name, [...(sources.get(name) ?? []), dirname(path.replace(/^src\//, ''))]);
		}
		let mirrored = 0;
		for (const path of sourcesOf('test/unit').filter((file) => file.endsWith('.test.ts'))) {
			const folders = sources.get(basename(path, '.test.ts'));
			const folder = dirname(relative('test/unit', path)).replaceAll('\\', '/');
			// Tests for the project's own tools.
			if (folders === undefined || folder === 'runner') continue;
			mirrored++;
			assert.ok(folders.includes(folder), `${path} belongs in ${folders.join(' or ')}, or needs another name`);
		}
		assert.ok(mirrored > 200, `${mirrored}`);
	});

	test('counts that a file can set for a policy or a search have an upper bound', () => {
		for (const path of ['src/protocol/policySpec.ts', 'src/protocol/searchSpec.ts']) {
			for (const [pipe] of read(path).matchAll(/v\.pipe\(v\.number\(\), v\.integer\(\)[^\n]*/g)) {
				assert.match(pipe, /v\.maxValue\(/, `${path}: ${pipe}`);
			}
		}
	});

	test('blocking calls are not used in code that runs in the editor', () => {
		for (const path of sourcesOf('src/extension', 'src/runs', 'src/rpc', 'src/core', 'src/protocol')) {
			assert.doesNotMatch(read(path), /\b\w+Sync\(/, path);
		}
	});
});
