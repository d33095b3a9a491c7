/** Finds locations in the product's sources that can be mutated: operators, bounds, constants and calls. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { parse } from 'acorn';

export const kinds = ['operator', 'bound', 'constant', 'call'] as const;
export type Kind = (typeof kinds)[number];

export interface Place {
	/** Path relative to the tree. */
	readonly file: string;
	readonly kind: Kind;
	/** Range of characters to replace, from `start` up to `end` (exclusive). */
	readonly start: number;
	readonly end: number;
	readonly original: string;
	readonly replacement: string;
}

/** Operator -> replacement. Magnitude comparisons are bounds. */
const operators: Readonly<Record<string, string>> = {
	'===': '!==',
	'!==': '===',
	'==': '!=',
	'!=': '==',
	'+': '-',
	'-': '+',
	'*': '/',
	'/': '*',
	'//': '*',
	'%': '*',
	'**': '*',
	'&&': '||',
	'||': '&&',
	and: 'or',
	or: 'and',
	'+=': '-=',
	'-=': '+=',
	'*=': '/=',
	'/=': '*=',
};
const bounds: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

/** Returns all mutation locations in a file. @param tree folder of a checkout */
export function placesOf(tree: string, file: string): Place[] {
	const text = readFileSync(join(tree, file), 'utf8');
	return file.endsWith('.py') ? pythonPlaces(text, file) : typeScriptPlaces(text, file);
}

interface Node {
	readonly type: string;
	readonly start: number;
	readonly end: number;
	readonly [key: string]: unknown;
}

export function typeScriptPlaces(text: string, file: string): Place[] {
	// Types are replaced with spaces of equal length, so positions match the source.
	const tree = parse(stripTypeScriptTypes(text), { ecmaVersion: 'latest', sourceType: 'module' }) as unknown as Node;
	const places: Place[] = [];
	const replace = (kind: Kind, start: number, end: number, replacement: string) =>
		places.push({ file, kind, start, end, original: text.slice(start, end), replacement });
	const replaceOperator = (node: Node, left: Node, right: Node) => {
		const operator = node.operator as string;
		const replacement = bounds[operator] ?? operators[operator];
		const start = text.indexOf(operator, left.end);
		if (replacement === undefined || start < 0 || start >= right.start) return;
		replace(operator in bounds ? 'bound' : 'operator', start, start + operator.length, replacement);
	};
	const visit = (node: Node) => {
		if (node.type === 'ImportDeclaration' || node.type === 'TemplateElement') return;
		if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
			if (node.operator !== '+' || !(isText(node.left as Node) || isText(node.right as Node)))
				replaceOperator(node, node.left as Node, node.right as Node);
		} else if (node.type === 'AssignmentExpression') {
			if (!isText(node.right as Node)) replaceOperator(node, node.left as Node, node.right as Node);
		} else if (node.type === 'Literal') {
			if (typeof node.value === 'number') replace('constant', node.start, node.end, otherNumber(node.value));
			if (typeof node.value === 'boolean') replace('constant', node.start, node.end, String(!node.value));
		} else if (node.type === 'ExpressionStatement') {
			const expression = node.expression as Node;
			const call = expression.type === 'AwaitExpression' ? (expression.argument as Node) : expression;
			const callee = call.type === 'CallExpression' ? (call.callee as Node) : undefined;
			if (callee !== undefined && callee.type !== 'Super') replace('call', node.start, node.end, 'void 0;');
		}
		for (const value of Object.values(node)) {
			for (const child of Array.isArray(value) ? value : [value])
				if (typeof (child as Node | null)?.type === 'string') visit(child as Node);
		}
	};
	visit(tree);
	return places;
}

const isText = (node: Node): boolean =>
	node.type === 'TemplateLiteral' ||
	(node.type === 'Literal' && typeof node.value === 'string') ||
	(node.type === 'BinaryExpression' && (isText(node.left as Node) || isText(node.right as Node)));

/** Returns an integer plus one, or twice a fraction. */
function otherNumber(value: number): string {
	return String(Number.isInteger(value) ? value + 1 : value * 2);
}

/**
 * Prints a JSON list of [kind, start, end, text before the operator's end...] for a module read from standard input.
 */
const pythonProgram = `
import ast, json, sys
source = sys.stdin.read()
lines = source.splitlines(keepends=True)
starts = [0]
for line in lines: starts.append(starts[-1] + len(line))
def at(line, column):
    return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())
def begin(node): return at(node.lineno, node.col_offset)
def end(node): return at(node.end_lineno, node.end_col_offset)
found = []
def text(node): return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
for node in ast.walk(ast.parse(source)):
    if isinstance(node, ast.BinOp) and not (text(node.left) or text(node.right)):
        found.append(['between', end(node.left), begin(node.right)])
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        found.append(['between', end(node.left), begin(node.comparators[0])])
    elif isinstance(node, ast.BoolOp):
        found.append(['between', end(node.values[0]), begin(node.values[1])])
    elif isinstance(node, ast.AugAssign):
        found.append(['between', end(node.target), begin(node.value)])
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        found.append(['constant', begin(node), end(node)])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        found.append(['call', begin(node), end(node)])
json.dump(found, sys.stdout)
`;

export function pythonPlaces(text: string, file: string): Place[] {
	const output = execFileSync('python3', ['-c', pythonProgram], { input: text, encoding: 'utf8', maxBuffer: 64 << 20 });
	const found = JSON.parse(output) as ['between' | 'constant' | 'call', number, number][];
	// Python counts code points; JavaScript counts UTF-16 code units.
	const characters = [...text];
	const units = [0];
	for (const character of characters) units.push((units.at(-1) as number) + character.length);
	return found.flatMap(([type, first, last]): Place[] => {
		const [from, to] = [units[first] as number, units[last] as number];
		const original = text.slice(from, to);
		if (type === 'call') return [{ file, kind: 'call', start: from, end: to, original, replacement: 'pass' }];
		if (type === 'constant') {
			const replacement = original === 'True' ? 'False' : original === 'False' ? 'True' : otherNumber(Number(original));
			return replacement === 'NaN' ? [] : [{ file, kind: 'constant', start: from, end: to, original, replacement }];
		}
		const operator = original.trim();
		const replacement = bounds[operator] ?? operators[operator];
		if (replacement === undefined) return [];
		const start = from + original.indexOf(operator);
		const kind = operator in bounds ? 'bound' : 'operator';
		return [{ file, kind, start, end: start + operator.length, original: operator, replacement }];
	});
}

/** Returns the mutated source. */
export function mutated(text: string, { start, end, original, replacement }: Place): string {
	if (text.slice(start, end) !== original)
		throw new Error(`The file no longer contains "${original}" at this position`);
	return text.slice(0, start) + replacement + text.slice(end);
}

/**
 * Returns the location in another version of a file: where the same lines, including the ones before and after, occur
 * exactly once. Returns null if they do not occur or are ambiguous.
 */
export function relocated(place: Place, from: string, to: string): Place | null {
	if (from === to) return place;
	const lineBefore = from.lastIndexOf('\n', place.start - 1);
	const first = lineBefore <= 0 ? 0 : from.lastIndexOf('\n', lineBefore - 1) + 1;
	const lineAfter = from.indexOf('\n', place.end);
	const after = lineAfter < 0 ? -1 : from.indexOf('\n', lineAfter + 1);
	const around = from.slice(first, after < 0 ? from.length : after);
	const at = to.indexOf(around);
	if (at < 0 || to.indexOf(around, at + 1) >= 0) return null;
	const start = at + place.start - first;
	return { ...place, start, end: start + place.original.length };
}
