import { defaultRewardName, rewardLanguage } from './rewardFiles.ts';

/** Where a reward is declared in a text. Lines from 0. */
export interface RewardSignature {
	readonly name: string;
	/** First line of the declaration, where lenses stand above. */
	readonly line: number;
	/** Column of the name. */
	readonly column: number;
	/** Line on which the signature ends: the inline text comes after it. */
	readonly endLine: number;
}

/** A signature of more lines is not looked for further. */
const longestSignature = 60;

/**
 * The rewards that a text seems to declare, by its looks alone: nothing is run. The host's own list decides once the file
 * was loaded; this says where its names stand, in a text that may have been edited since.
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
		// With an annotation of the result, up to the colon.
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
		const end = groups.function === undefined ? initialiserEnd(code, after) : headEnd(code, code.indexOf('(', after));
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

/** Local name -> names under which `export { local as name }` and `export default local` give it out. */
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

/** Where the head of a function that a variable is set to ends; null when it seems to be set to no function. */
function initialiserEnd(code: string, start: number): number | null {
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

/** Offset of the `=` of a declaration, behind a type with brackets and arrows of its own. */
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

/** Offset of the arrow or the brace behind the parameter list that opens at `open`; null when neither follows. */
function headEnd(code: string, open: number): number | null {
	if (open === -1) return null;
	const close = closing(code, open);
	const end = /^\s*(?::[^;]*?)?(?:=>|\{)/.exec(code.slice(close + 1, close + 1000));
	return end === null ? null : close + end[0].length;
}

/** The last declaration of a name is the one that holds. */
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

/** Offset of the bracket that closes the one at `open`; the end of the text when none does. */
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

/** The text with comments and strings blanked, line for line. */
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
