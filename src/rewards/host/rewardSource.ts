import { readFileSync } from 'node:fs';
import module from 'node:module';
import { extname } from 'node:path';
import { type AnyNode, type Program, parse } from 'acorn';

/** First and last line of a reward's signature, 1-based. */
export interface Location {
	readonly line: number;
	readonly endLine: number;
}

/** A JavaScript or TypeScript file on disk. Determines where its exports are and which of its lines can run. */
export class RewardFileSource {
	readonly #program: Program;

	/** @throws SyntaxError with the property `line`, if the line is known */
	constructor(path: string) {
		const text = readFileSync(path, 'utf8');
		const typed = /^\.[cm]?ts$/.test(extname(path));
		// Types are replaced with spaces, so lines and columns do not change.
		this.#program = parseModule(typed ? module.stripTypeScriptTypes(text) : text);
	}

	/** Returns where an exported function and its body begin, or null if the export was not found. */
	locationOf(name: string): Location | null {
		for (const node of this.#program.body) {
			if (node.type === 'ExportDefaultDeclaration' && name === 'default') {
				return signature(node, this.#functionOf(node.declaration));
			}
			if (node.type !== 'ExportNamedDeclaration') continue;
			if (node.declaration) {
				const found = declared(node.declaration, name);
				if (found !== null) return signature(node, this.#functionOf(found));
			}
			for (const specifier of node.specifiers) {
				if (nameOfExport(specifier.exported) !== name) continue;
				const local = nameOfExport(specifier.local);
				const declaration = this.#program.body.find((one) => declared(one, local) !== null);
				if (declaration) return signature(declaration, this.#functionOf(declared(declaration, local)));
			}
		}
		return null;
	}

	/** Returns the file's import specifiers with their lines. */
	imports(): { readonly specifier: string; readonly line: number }[] {
		return this.#program.body.flatMap((node) =>
			'source' in node && node.source
				? [{ specifier: String(node.source.value), line: node.loc?.start.line ?? 1 }]
				: [],
		);
	}

	/**
	 * Returns every location that control flow can either reach or skip: its line, its offset in the text, and the number
	 * of functions that enclose it.
	 */
	places(): { readonly line: number; readonly offset: number; readonly depth: number }[] {
		const found: { line: number; offset: number; depth: number }[] = [];
		let depth = 0;
		const add = (node: AnyNode) => {
			if (node.loc) found.push({ line: node.loc.start.line, offset: node.start, depth });
		};
		const walk = (node: AnyNode) => {
			if (isPlace(node)) add(node);
			const isFunction = node.type.includes('Function');
			if (isFunction) depth++;
			if (node.type === 'ConditionalExpression') [node.consequent, node.alternate].forEach(add);
			if (node.type === 'LogicalExpression') add(node.right);
			if (node.type === 'ArrowFunctionExpression' && node.body.type !== 'BlockStatement') add(node.body);
			for (const value of Object.values(node)) {
				for (const child of Array.isArray(value) ? value : [value]) {
					if (typeof (child as { type?: unknown } | null)?.type === 'string') walk(child as AnyNode);
				}
			}
			if (isFunction) depth--;
		};
		walk(this.#program);
		return found;
	}

	/**
	 * Returns the function in a declaration or initializer: either the expression itself or an argument of a wrapping
	 * call.
	 */
	#functionOf(node: AnyNode | null | undefined): AnyNode | null {
		switch (node?.type) {
			case 'FunctionDeclaration':
			case 'FunctionExpression':
			case 'ArrowFunctionExpression':
				return node;
			case 'CallExpression':
				for (const argument of node.arguments) {
					const found = this.#functionOf(argument);
					if (found !== null) return found;
				}
				return null;
			case 'Identifier': {
				const declaration = this.#program.body.find((one) => declared(one, node.name) !== null);
				const found = declaration ? declared(declaration, node.name) : null;
				return found === null || found.type === 'Identifier' ? null : this.#functionOf(found);
			}
			default:
				return null;
		}
	}
}

function parseModule(text: string): Program {
	const options = { ecmaVersion: 'latest', locations: true, allowHashBang: true } as const;
	try {
		return parse(text, { ...options, sourceType: 'module' });
	} catch (error) {
		try {
			// A CommonJS file can use top-level return, or identifiers that are reserved in modules.
			return parse(text, { ...options, sourceType: 'script', allowReturnOutsideFunction: true });
		} catch {
			throw withLine(error);
		}
	}
}

function withLine(error: unknown): unknown {
	const line = (error as { loc?: { line?: unknown } }).loc?.line;
	if (error instanceof SyntaxError && typeof line === 'number') {
		error.message = error.message.replace(/ \(\d+:\d+\)$/, '');
		Object.assign(error, { line });
	}
	return error;
}

/** Returns the function or initializer that a statement declares under the given name. */
function declared(node: AnyNode, name: string): AnyNode | null {
	switch (node.type) {
		case 'FunctionDeclaration':
		case 'ClassDeclaration':
			return node.id?.name === name ? node : null;
		case 'VariableDeclaration': {
			const one = node.declarations.find(({ id }) => id.type === 'Identifier' && id.name === name);
			return one?.init ?? null;
		}
		case 'ExportNamedDeclaration':
			return node.declaration ? declared(node.declaration, name) : null;
		default:
			return null;
	}
}

function nameOfExport(node: AnyNode): string {
	return node.type === 'Identifier' ? node.name : node.type === 'Literal' ? String(node.value) : '';
}

function signature(statement: AnyNode, body: AnyNode | null): Location | null {
	const line = statement.loc?.start.line;
	if (line === undefined) return null;
	const inner = body !== null && 'body' in body ? (body.body as AnyNode) : null;
	return { line, endLine: Math.max(line, inner?.loc?.start.line ?? line) };
}

const noPlace = new Set(['BlockStatement', 'EmptyStatement', 'FunctionDeclaration', 'ImportDeclaration']);

/** Returns whether a node is a statement that can execute. */
function isPlace(node: AnyNode): boolean {
	if (noPlace.has(node.type) || node.type.startsWith('Export')) return false;
	return /(?:Statement|Declaration|SwitchCase)$/.test(node.type);
}
