/**
 * Determines which files a test file depends on: direct and indirect imports, and files and programs that the sources
 * refer to by path. Programs started by the product are not followed from the product's sources, because nearly
 * everything starts an engine. A test about a program names it, either by its path or in a line `// @reaches NAME...`.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { bundles } from '../../esbuild.mjs';
import { root as ownRoot } from '../scripts/paths.ts';

/** Uses paths relative to the checkout, with forward slashes. */
export class ImportGraph {
	readonly #root: string;
	readonly #files = new Map<string, Edges>();
	readonly #entries = bundleEntries();

	/** @param root folder of the checkout */
	constructor(root = ownRoot) {
		this.#root = root;
	}

	/**
	 * Returns all files that a file depends on, including itself, with their distance in steps.
	 * @param programs whether to follow programs that tests start; default true
	 */
	dependencies(file: string, programs = true): Map<string, number> {
		return this.#closure([file], programs);
	}

	/** Returns the files in `tests` that depend on any file in `changed`. */
	dependents(tests: readonly string[], changed: ReadonlySet<string>, programs = true): string[] {
		return tests.filter((test) => {
			const dependencies = this.dependencies(test, programs);
			return [...changed].some((file) => dependencies.has(file));
		});
	}

	/** Returns the programs that a test file declares it reaches. */
	programsOf(test: string): readonly string[] {
		return this.#edges(test).programs;
	}

	/** Returns the sources of a program. @param program name of a bundle */
	sourcesOf(program: string): Map<string, number> {
		return this.#closure(this.#entries.get(program) ?? [], false);
	}

	/** Returns whether a file is in a program's own folder rather than in one shared between programs. */
	isOwn(program: string, file: string): boolean {
		return (this.#entries.get(program) ?? []).some((entry) => {
			const folder = entry.replace(/\/main\.ts$|\.ts$/, '');
			return file === entry || file.startsWith(`${folder}/`);
		});
	}

	#closure(files: readonly string[], programs: boolean): Map<string, number> {
		const found = new Map(files.map((file) => [file, 0]));
		for (const [path, distance] of found) {
			const edges = this.#edges(path);
			const started = programs ? edges.programs.flatMap((program) => this.#entries.get(program) ?? []) : [];
			for (const next of [...edges.files, ...started]) if (!found.has(next)) found.set(next, distance + 1);
		}
		return found;
	}

	#edges(path: string): Edges {
		let edges = this.#files.get(path);
		if (edges === undefined) {
			edges = this.#readEdges(path);
			this.#files.set(path, edges);
		}
		return edges;
	}

	#readEdges(path: string): Edges {
		if (!/\.(ts|mjs|css)$/.test(path)) return { files: [], programs: [] };
		const text = readFileSync(join(this.#root, path), 'utf8');
		const isTest = path.startsWith('test/');
		const files = new Set<string>();
		const programs = new Set<string>();
		for (const [, quoted, url] of text.matchAll(/['"`]([^'"`\n$]{2,200})['"`]|url\(([^)'"]+)\)/g)) {
			const [name = ''] = (quoted ?? (url as string)).split('?');
			const bundle = isTest ? /^(?:\.\.\/)*dist\/(.+?)(?:\.js)?$/.exec(name)?.[1] : undefined;
			if (bundle !== undefined) programs.add(bundle);
			else for (const target of this.#targets(path, name, isTest)) files.add(target);
		}
		if (isTest) for (const program of reached(this.#annotated(path, text))) programs.add(program);
		files.delete(path);
		return { files: [...files], programs: [...programs].filter((program) => this.#entries.has(program)) };
	}

	/** Returns the text with its `@reaches` lines. For an older checkout, uses the lines from this one. */
	#annotated(path: string, text: string): string {
		if (this.#root === ownRoot || !existsSync(join(ownRoot, path))) return text;
		return readFileSync(join(ownRoot, path), 'utf8');
	}

	/** Returns the files that a string refers to, relative to the file and, in a test, also to the checkout. */
	#targets(from: string, name: string, isTest: boolean): string[] {
		if (/^\.{1,2}\//.test(name)) {
			return filesAt(this.#root, relative(this.#root, resolve(this.#root, dirname(from), name)), isTest);
		}
		if (!isTest) return [];
		if (/^(src|webview|media|syntaxes|test|docs)\/./.test(name)) return filesAt(this.#root, name, true);
		return rootFiles.has(name) ? [name] : [];
	}
}

interface Edges {
	readonly files: readonly string[];
	/** Bundle names. */
	readonly programs: readonly string[];
}

const rootFiles = new Set(['package.json', 'esbuild.mjs', 'README.md', 'CHANGELOG.md', 'biome.json', 'tsconfig.json']);

/** Returns the programs named in `// @reaches NAME...` lines and the webview apps that a page test opens. */
function reached(text: string): string[] {
	const lines = [...text.matchAll(/^\/\/ @reaches (.+)$/gm)].flatMap(([, names]) =>
		(names as string).trim().split(/\s+/),
	);
	return [...lines, ...[...text.matchAll(/\bapp: '(\w+)'/g)].map(([, app]) => app as string)];
}

/** Maps each bundle's name and each of its output files to their source files. */
function bundleEntries(): Map<string, string[]> {
	const entries = new Map<string, string[]>();
	for (const [name, { entryPoints = {} }] of Object.entries(bundles())) {
		const sources = Array.isArray(entryPoints)
			? (entryPoints as { readonly in: string; readonly out: string }[]).map((file) => [file.out, file.in] as const)
			: Object.entries(entryPoints as Record<string, string>);
		entries.set(name, [...(entries.get(name) ?? []), ...sources.map(([, source]) => source)]);
		for (const [file, source] of sources) if (file !== name) entries.set(file, [source]);
	}
	return entries;
}

/** Returns the file at a path, or all files in the folder there. @param folders whether folders count */
function filesAt(root: string, path: string, folders: boolean): string[] {
	const file = path.replaceAll('\\', '/').replace(/\/$/, '');
	if (file === '' || file.startsWith('..') || file.includes('node_modules')) return [];
	const stats = statSync(join(root, file), { throwIfNoEntry: false });
	if (stats?.isFile()) return [file];
	// Ignore top-level folders because strings often name whole layers. Template and fixture folders are small.
	if (!stats?.isDirectory() || !folders || file.split('/').length < 2) return [];
	const names = readdirSync(join(root, file), { recursive: true, withFileTypes: true });
	if (names.length > maxFolderFiles) return [];
	return names
		.filter((entry) => entry.isFile())
		.map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

const maxFolderFiles = 400;
