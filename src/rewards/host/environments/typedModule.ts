import { constants, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { tsPlugin } from '@sveltejs/acorn-typescript';
import { type Comment, type Options, Parser } from 'acorn';

/** A node in the syntax tree, with types. Its other properties depend on its type (ESTree, and TSESTree for types). */
export interface TypedNode {
	readonly type: string;
	readonly start: number;
	readonly end: number;
	readonly loc?: { readonly start: { readonly line: number }; readonly end: { readonly line: number } } | null;
	readonly [property: string]: unknown;
}

/** A declaration and the module that contains it. */
export interface Declared {
	readonly node: TypedNode;
	readonly module: TypedModule;
}

const options = { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true } as const;
let parser: { parse(text: string, options: Options): unknown } | null = null;
/** Maximum import depth, because modules can import or re-export each other in a cycle. */
const maxHops = 20;

/** A parsed TypeScript module. Finds classes and types by name, in the module and in those that it imports by path. */
export class TypedModule {
	readonly path: string;
	readonly text: string;
	readonly #body: readonly TypedNode[];
	readonly #comments: readonly Comment[];
	/** Parsed modules by path; null if a module cannot be parsed. Shared by all modules of a program. */
	readonly #modules: Map<string, TypedModule | null>;

	/** @throws SyntaxError, or a file system error */
	constructor(path: string, modules: Map<string, TypedModule | null> = new Map()) {
		this.path = path;
		// Node has not loaded type-only files, so they could be pipes. (The type declarations lack numeric flags.)
		const flag = (constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)) as unknown as string;
		this.text = readFileSync(path, { encoding: 'utf8', flag });
		this.#modules = modules;
		modules.set(path, this);
		const { body, comments } = parsed(this.text);
		this.#body = body;
		this.#comments = comments;
	}

	/** Returns the class with the given name, whether or not it is exported. `name` "default" is the default export. */
	classNamed(name: string, hops = 0): Declared | null {
		return this.#find(name, ['ClassDeclaration', 'ClassExpression'], hops);
	}

	/** Returns the type alias, interface, class or enum with the given name. */
	typeNamed(name: string, hops = 0): Declared | null {
		const types = ['TSTypeAliasDeclaration', 'TSInterfaceDeclaration', 'TSEnumDeclaration', 'ClassDeclaration'];
		return this.#find(name, types, hops);
	}

	/** Returns the JSDoc comment directly before a node, without its delimiters, or null. */
	docOf(node: TypedNode): string | null {
		let found: Comment | null = null;
		for (const comment of this.#comments) {
			if (comment.end > node.start) break;
			found = comment;
		}
		if (found?.type !== 'Block' || !found.value.startsWith('*')) return null;
		return this.text.slice(found.end, node.start).trim() === '' ? found.value.slice(1) : null;
	}

	textOf({ start, end }: TypedNode): string {
		return this.text.slice(start, end);
	}

	#find(name: string, types: readonly string[], hops: number): Declared | null {
		if (hops > maxHops) return null;
		for (const statement of this.#body) {
			const isExport = statement.type.startsWith('Export');
			const node = (isExport ? statement.declaration : statement) as TypedNode | null | undefined;
			if (node && types.includes(node.type)) {
				const isDefault = name === 'default' && statement.type === 'ExportDefaultDeclaration';
				if (isDefault || nameOf(node.id) === name) return { node, module: this };
			}
			const assigned = node?.type === 'VariableDeclaration' ? (node.declarations as TypedNode[]) : [];
			const initial = assigned.find(({ id }) => nameOf(id) === name)?.init as TypedNode | null | undefined;
			if (initial && types.includes(initial.type)) return { node: initial, module: this };
			const found = this.#follow(statement, name, types, hops);
			if (found !== null) return found;
		}
		return null;
	}

	/** Follows an import, a re-export, or `export { A as B }` that declares a name. */
	#follow(statement: TypedNode, name: string, types: readonly string[], hops: number): Declared | null {
		const { type, source } = statement;
		const findIn = (module: TypedModule | null, wanted: string) =>
			module === null ? null : module.#find(wanted, types, hops + 1);
		if (type === 'ExportDefaultDeclaration' && name === 'default') {
			const local = nameOf(statement.declaration);
			return local === null ? null : this.#find(local, types, hops + 1);
		}
		if (type === 'ExportAllDeclaration') return findIn(this.#imported(source), name);
		if (type !== 'ImportDeclaration' && type !== 'ExportNamedDeclaration') return null;
		const own = type === 'ImportDeclaration' ? 'local' : 'exported';
		for (const specifier of (statement.specifiers as TypedNode[] | undefined) ?? []) {
			if (nameOf(specifier[own]) !== name) continue;
			const there = nameOf(specifier.imported ?? (own === 'exported' ? specifier.local : null)) ?? 'default';
			const module = source ? this.#imported(source) : this;
			if (module === this && there === name) continue;
			return findIn(module, there);
		}
		return null;
	}

	/** Returns the module that a relative specifier refers to, or null if it is in a package or cannot be parsed. */
	#imported(source: unknown): TypedModule | null {
		const specifier = (source as { value?: unknown } | null)?.value;
		if (typeof specifier !== 'string' || !specifier.startsWith('.')) return null;
		const path = resolve(dirname(this.path), specifier);
		const known = this.#modules.get(path);
		if (known !== undefined) return known;
		try {
			return new TypedModule(path, this.#modules);
		} catch {
			this.#modules.set(path, null);
			return null;
		}
	}
}

interface ParsedText {
	readonly body: readonly TypedNode[];
	readonly comments: readonly Comment[];
}

/**
 * Parses a module. The parser plugin (1.0.13) rejects some async arrow functions with type parameters, depending on the
 * surrounding text. Their types are not needed, so text that fails to parse is parsed again without these type
 * parameters, at the same positions.
 * @throws SyntaxError for the original text
 */
function parsed(text: string): ParsedText {
	try {
		return parsedText(text);
	} catch (error) {
		try {
			return parsedText(text.replace(genericArrow, (found) => found.replace(/[^\r\n]/g, ' ')));
		} catch {
			throw error;
		}
	}
}

/** Type parameters between `async` and the parameters of an arrow function. */
const genericArrow = /(?<=\basync\s*)<[^()]*>(?=\s*\()/g;

function parsedText(text: string): ParsedText {
	const comments: Comment[] = [];
	parser ??= Parser.extend(tsPlugin()) as unknown as NonNullable<typeof parser>;
	const { body } = parser.parse(text, { ...options, onComment: comments }) as { body: TypedNode[] };
	return { body, comments };
}

/** Returns an identifier's name, or null for other nodes. */
export function nameOf(node: unknown): string | null {
	const { type, name, value } = (node ?? {}) as { type?: unknown; name?: unknown; value?: unknown };
	if (type === 'Identifier' && typeof name === 'string') return name;
	return type === 'Literal' && typeof value === 'string' ? value : null;
}
