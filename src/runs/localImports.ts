/**
 * A Python import as written: `from ..pkg.mod import a, b` is `{level: 2, module: ['pkg', 'mod'], names: ['a', 'b']}`.
 */
export interface PythonImport {
	/** Number of leading dots; 0 for absolute imports. */
	readonly level: number;
	readonly module: readonly string[];
	/** Names imported from the module; some can be modules themselves. */
	readonly names: readonly string[];
}

const relative = String.raw`(\.{1,2}/[^'"\`\n]*)`;
const specifiers = [
	// import x from './a.ts'; export * from './a.ts'
	new RegExp(String.raw`\bfrom\s*(['"])${relative}\1`, 'g'),
	// import './a.ts'; import('./a.ts')
	new RegExp(String.raw`\bimport\s*(?:\(\s*)?(['"\`])${relative}\1`, 'g'),
	new RegExp(String.raw`\brequire\s*\(\s*(['"\`])${relative}\1`, 'g'),
	// new URL('./words.txt', import.meta.url)
	new RegExp(String.raw`\bnew\s+URL\s*\(\s*(['"\`])${relative}\1\s*,\s*import\.meta\.url`, 'g'),
];

/**
 * Returns the relative specifiers in TypeScript or JavaScript source, as written. It scans text without parsing:
 * imports in comments are included, at the cost of an extra copy, and specifiers computed at run time are not.
 */
export function scriptImports(text: string): string[] {
	const found = new Set<string>();
	for (const pattern of specifiers) {
		for (const match of text.matchAll(pattern)) {
			const specifier = match[2] as string;
			if (!specifier.includes('${')) found.add(specifier.replace(/[?#].*$/s, ''));
		}
	}
	return [...found];
}

const name = String.raw`[\p{L}_][\p{L}\p{N}_]*`;
const dotted = String.raw`${name}(?:\s*\.\s*${name})*`;
const fromImport = new RegExp(
	String.raw`(?:^|[;:])[ \t]*from[ \t]+(\.[. \t]*)?(${dotted})?[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)`,
	'gmu',
);
const plainImport = /(?:^|[;:])[ \t]*import[ \t]+([^\n;]*)/gmu;
const byName = new RegExp(String.raw`\bimport_module\(\s*['"](${dotted})['"]\s*[,)]`, 'gu');

const parts = (path: string) =>
	path
		.split('.')
		.map((part) => part.trim())
		.filter((part) => part !== '');
/** Splits `a.b as c, d` into names without their "as" parts. */
const listed = (text: string) =>
	text
		.replace(/#[^\n]*/g, '')
		.replace(/[()]/g, ' ')
		.replace(/\s*\.\s*/g, '.')
		.split(',')
		.map((item) => item.trim().split(/\s+as\s+|\s/u)[0] as string)
		.filter((item) => item !== '');

/** Returns the imports in Python source, wherever they are, including examples in docstrings. */
export function pythonImports(text: string): PythonImport[] {
	const joined = text.replace(/\\\r?\n/g, ' ');
	const imports: PythonImport[] = [];
	for (const [, dots, module, names] of joined.matchAll(fromImport)) {
		imports.push({
			level: (dots ?? '').replace(/[^.]/g, '').length,
			module: parts(module ?? ''),
			names: listed(names as string).filter((item) => item !== '*'),
		});
	}
	for (const [, modules] of joined.matchAll(plainImport)) {
		for (const module of listed(modules as string)) imports.push({ level: 0, module: parts(module), names: [] });
	}
	for (const [, module] of joined.matchAll(byName)) {
		imports.push({ level: 0, module: parts(module as string), names: [] });
	}
	return imports;
}

/**
 * Returns the files named in comments, `// @file words.txt` or `# @file words.txt`, with their 1-based line numbers.
 */
export function namedFiles(text: string): { readonly path: string; readonly line: number }[] {
	const files: { path: string; line: number }[] = [];
	for (const [i, line] of text.split('\n').entries()) {
		const match = /^\s*(?:\/\/|\/?\*+|#)\s*@file\s+(\S.*?)\s*(?:\*\/)?\s*$/.exec(line);
		if (match) files.push({ path: match[1] as string, line: i + 1 });
	}
	return files;
}
