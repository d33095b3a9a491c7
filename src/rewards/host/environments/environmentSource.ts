import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import { type Declared, nameOf, type TypedModule, type TypedNode } from './typedModule.ts';

type Location = EnvironmentDescription['location'];

/** The source of an environment's class: where its methods are, and which of them are private. */
export class EnvironmentSource {
	readonly #class: Declared;
	/** The class, then the classes that it extends, if their source is known. */
	readonly #chain: readonly Declared[];

	private constructor(found: Declared) {
		this.#class = found;
		const chain: Declared[] = [];
		for (let one: Declared | null = found; one !== null && chain.length < 20; ) {
			chain.push(one);
			const base = nameOf(one.node.superClass);
			one = base === null ? null : one.module.classNamed(base);
		}
		this.#chain = chain;
	}

	/**
	 * Finds an exported class in a module, or returns null if another file declares it.
	 * @throws SyntaxError
	 */
	static of(module: TypedModule, exportName: string): EnvironmentSource | null {
		const found = module.classNamed(exportName);
		return found === null || found.module !== module ? null : new EnvironmentSource(found);
	}

	get location(): Location {
		const { line } = this.#class.node.loc?.start ?? { line: 1 };
		return { line, endLine: line };
	}

	/** Returns a method of the class or of a class it extends, or null. */
	method(name: string): Declared | null {
		for (const { node, module } of this.#chain) {
			const found = methodsOf(node).find((one) => nameOf(one.key) === name);
			if (found !== undefined) return { node: found, module };
		}
		return null;
	}

	isPrivate(name: string): boolean {
		const access = this.method(name)?.node.accessibility;
		return access === 'private' || access === 'protected';
	}

	/** Returns the first and last line of a method's signature, or null if the class inherits it. */
	placeOf(name: string): Location | null {
		const node = methodsOf(this.#class.node).find((one) => nameOf(one.key) === name);
		const line = node?.loc?.start.line;
		if (node === undefined || line === undefined) return null;
		const body = (node.value as TypedNode | undefined)?.body as TypedNode | undefined;
		return { line, endLine: Math.max(line, body?.loc?.start.line ?? line) };
	}

	/** Names of the columns that `reset` takes from its argument; empty if it takes the whole row. */
	get columns(): string[] {
		const reset = this.method('reset')?.node.value as { params?: TypedNode[] } | undefined;
		const [first] = reset?.params ?? [];
		const pattern = (first?.type === 'AssignmentPattern' ? first.left : first) as TypedNode | undefined;
		if (pattern?.type !== 'ObjectPattern') return [];
		return (pattern.properties as TypedNode[]).flatMap(({ key }) => nameOf(key) ?? []);
	}

	/** Whether a method assigns `this.done`. */
	get mentionsDone(): boolean {
		return this.#chain.some(({ node, module }) => /\bthis\.done\s*=[^=]/.test(module.textOf(node)));
	}
}

function methodsOf(node: TypedNode): TypedNode[] {
	const members = (node.body as { body?: TypedNode[] } | undefined)?.body ?? [];
	// Overloads and abstract methods have no body.
	return members.filter((one) => {
		return one.type === 'MethodDefinition' && one.static !== true && (one.value as TypedNode | null)?.body != null;
	});
}
