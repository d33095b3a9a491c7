import { defaultRewardName, rewardLanguage } from './rewardFiles.ts';

/** Position of a reward declaration in the text. Lines are 0-based. */
export interface RewardSignature {
	readonly name: string;
	/** First line of the declaration, where code lenses are shown. */
	readonly line: number;
	/** Column of the name. */
	readonly column: number;
	/** Line where the signature ends; the inline text is shown after it. */
	readonly endLine: number;
}

/** Maximum number of lines searched for the end of a signature. */
const longestSignature = 60;

/**
 * Finds reward declarations by pattern matching, without running any code. Once the file is loaded, the host's list of
 * rewards is authoritative; these positions only locate the listed names in text that may have been edited since.
 */
export function findSignatures(text: string, path: string): RewardSignature[] {
	const language = rewardLanguage(path);
	if (language === null) return [];
	return language === 'python' ? pythonSignatures(text) : scriptSignatures(text, path);
}

function pythonSignatures(text: string): RewardSignature[] {
	const code = maskPython(text);
	const found: RewardSignature[] = [];
	for (const match of code.matchAll(/^(?:async[ \t]+)?def[ \t]+([A-Za-z]\w*)[ \t]*\(/gm)) {
		const name = match[1] as string;
		const open = match.index + match[0].length - 1;
		const close = closing(code, open);
		if (
			!/^\s*(?:prompts|completions)\s*[,:=]|^\s*(?:prompts|completions)\s*$|^\s*\*,/.test(code.slice(open + 1, close))
		)
			continue;
		// Includes a return type annotation, up to the colon.
		const end = code.indexOf(':', close);
		found.push(signature(code, name, match.index, match[0].indexOf(name), end === -1 ? close : end));
	}
	return lastOfEach(found);
}

function scriptSignatures(text: string, path: string): RewardSignature[] {
	const code = maskScript(text);
	const listed = exportLists(code);
	const found: RewardSignature[] = [];
	const declaration =
		/^(?<export>export[ \t]+)?(?<default>default[ \t]+)?(?:(?:async[ \t]+)?(?<function>function)[ \t]*\*?|const|let|var)[ \t]+(?<name>[\w$]+)/gm;
	for (const match of code.matchAll(declaration)) {
		const groups = match.groups as { export?: string; default?: string; function?: string; name: string };
		const after = match.index + match[0].length;
		const end = groups.function === undefined ? initializerEnd(code, after) : headEnd(code, code.indexOf('(', after));
		if (end === null) continue;
		const names = [...(listed.get(groups.name) ?? [])];
		if (groups.export !== undefined) names.push(groups.default === undefined ? groups.name : 'default');
		for (const name of names) {
			const shown = name === 'default' ? defaultRewardName(path) : name;
			found.push(signature(code, shown, match.index, match[0].length - groups.name.length, end));
		}
	}
	const unnamed = /^export[ \t]+default[ \t]+(?:async[ \t]+)?(?:function[ \t]*)?(?=\()/m.exec(code);
	if (unnamed !== null) {
		const end = headEnd(code, unnamed.index + unnamed[0].length);
		if (end !== null) found.push(signature(code, defaultRewardName(path), unnamed.index, 'export '.length, end));
	}
	return lastOfEach(found).sort((a, b) => a.line - b.line);
}

/** Maps local names to the names exported by `export { local as name }` and `export default local`. */
function exportLists(code: string): Map<string, string[]> {
	const names = new Map<string, string[]>();
	const add = (local: string, name: string) => names.set(local, [...(names.get(local) ?? []), name]);
	for (const [, list = ''] of code.matchAll(/^export[ \t]*\{([^}]*)\}/gm)) {
		for (const [, local = '', name = local] of list.matchAll(/([\w$]+)(?:\s+as\s+([\w$]+))?/g)) add(local, name);
	}
	const standard = /^export[ \t]+default[ \t]+(?!async\b|function\b)([\w$]+)/m.exec(code);
	if (standard !== null) add(standard[1] as string, 'default');
	return names;
}

/**
 * Returns the end of the function head in a variable's initializer, or null if the initializer does not appear to be a
 * function.
 */
function initializerEnd(code: string, start: number): number | null {
	const equals = assignment(code, start);
	if (equals === null) return null;
	const rewarded = /\b(?:Batch)?Reward\b/.test(code.slice(start, equals));
	const head = /^=\s*(?:Object\.assign\s*\(\s*)?(?:async\b\s*)?(?:(function\b[^(]*)?(?=\()|[\w$]+\s*=>)?/.exec(
		code.slice(equals, equals + 400),
	);
	const at = equals + (head?.[0].length ?? 1);
	if (code[at - 1] === '>') return at - 1;
	if (code[at] === '(') {
		const end = headEnd(code, at);
		if (end !== null) return end;
	}
	return rewarded ? equals : null;
}

/** Returns the offset of the `=` in a declaration, skipping a type annotation that may contain brackets and arrows. */
function assignment(code: string, start: number): number | null {
	let depth = 0;
	for (let i = start; i < Math.min(code.length, start + 2000); i++) {
		const c = code[i] as string;
		if ('([{'.includes(c)) depth++;
		else if (')]}'.includes(c)) depth--;
		else if (c === ';' && depth === 0) return null;
		else if (c === '=' && depth === 0 && code[i + 1] !== '>') return i;
	}
	return null;
}

/**
 * Returns the offset of the arrow or brace after the parameter list that opens at `open`, or null if neither follows.
 */
function headEnd(code: string, open: number): number | null {
	if (open === -1) return null;
	const close = closing(code, open);
	const end = /^\s*(?::[^;]*?)?(?:=>|\{)/.exec(code.slice(close + 1, close + 1000));
	return end === null ? null : close + end[0].length;
}

/** Keeps only the last declaration of each name, which is the effective one. */
function lastOfEach(found: readonly RewardSignature[]): RewardSignature[] {
	return [...new Map(found.map((entry) => [entry.name, entry])).values()];
}

function signature(code: string, name: string, start: number, offset: number, end: number): RewardSignature {
	const line = lineOf(code, start);
	return { name, line, column: offset, endLine: Math.min(Math.max(line, lineOf(code, end)), line + longestSignature) };
}

function lineOf(text: string, offset: number): number {
	let line = 0;
	for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
	return line;
}

/** Returns the offset of the bracket that matches the one at `open`, or the end of the text if there is none. */
function closing(code: string, open: number): number {
	let depth = 0;
	for (let i = open; i < code.length; i++) {
		const c = code[i];
		if (c === '(' || c === '[' || c === '{') depth++;
		else if ((c === ')' || c === ']' || c === '}') && --depth === 0) return i;
	}
	return code.length;
}

const blank = (part: string) => part.replace(/[^\n]/g, ' ');

/** Returns the text with comments and strings replaced with spaces, preserving line breaks. */
function maskPython(text: string): string {
	return text.replace(
		/"""[\s\S]*?(?:"""|$(?![\s\S]))|'''[\s\S]*?(?:'''|$(?![\s\S]))|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*/g,
		blank,
	);
}

function maskScript(text: string): string {
	return text.replace(
		/\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`/g,
		blank,
	);
}
