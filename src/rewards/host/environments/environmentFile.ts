import { basename } from 'node:path';
import { types } from 'node:util';
import type { EnvironmentDescription, ToolDescription } from '../../../protocol/environmentHost.ts';
import { importFile, LoadFault } from '../importFile.ts';
import type { LocalImports } from '../localImports.ts';
import { describeThrown } from '../userFrames.ts';
import { EnvironmentSource } from './environmentSource.ts';
import { parameterNames, toolSchema } from './toolSchema.ts';
import { TypedModule } from './typedModule.ts';
import { SchemaFault } from './typeSchema.ts';

/** An instance of an environment. Everything is user code. */
export interface Instance {
	reset(row: Readonly<Record<string, unknown>>): unknown;
	getReward?: unknown;
	readonly done?: unknown;
	readonly turnRewards?: unknown;
	readonly [tool: string]: unknown;
}

type Constructor = (new () => Instance) & { readonly rewardRange?: unknown };

/** A tool that the class defines. */
export interface Tool {
	readonly description: ToolDescription;
	/** Parameter names, in order; null if unknown. */
	readonly parameters: readonly string[] | null;
}

/** Environment in a file: its class, and what is known about it. */
export interface EnvironmentFile {
	readonly kind: Constructor;
	readonly description: EnvironmentDescription;
	readonly tools: ReadonlyMap<string, Tool>;
	/** An instance that was created to inspect the class. */
	readonly probe: Instance;
}

/** Methods that are not tools. */
const own = new Set(['constructor', 'reset', 'getReward']);

/**
 * Loads the environment in a TypeScript file: the only exported class with a `reset` method.
 * @param folder folder that contains this program
 * @throws LoadFault
 */
export async function loadEnvironmentFile(
	file: string,
	imports: LocalImports,
	folder: string,
): Promise<EnvironmentFile> {
	const exported = await importFile(file, 'environment', imports, folder);
	const module = parsed(file);
	const { name, kind, source } = classIn(exported, module, file);
	let probe: Instance;
	try {
		probe = new kind();
	} catch (error) {
		const { message, ...place } = describeThrown(error, file, folder);
		const action = 'Make it work without arguments: trainers create environments with no arguments, then call reset.';
		const line = place.line ?? source.location.line;
		throw new LoadFault({ reason: 'invalid', message: `${name}() failed: ${message}`, action, file, ...place, line });
	}
	const tools = toolsOf(kind, source);
	const range = rangeOf(kind.rewardRange ?? probe.rewardRange);
	const places = { reset: source.placeOf('reset'), get_reward: source.placeOf('getReward') };
	return {
		...{ kind, probe, tools },
		description: {
			name,
			tools: [...tools.values()].map(({ description }) => description),
			resetParameters: source.columns,
			resetTakesAll: true,
			// The host awaits it.
			asyncReset: false,
			ownsReward: typeof probe.getReward === 'function',
			reportsDone: typeof probe.done === 'boolean' || source.mentionsDone,
			...(range === null ? {} : { rewardRange: range }),
			location: source.location,
			places: Object.fromEntries(Object.entries(places).flatMap(([key, at]) => (at === null ? [] : [[key, at]]))),
		},
	};
}

function parsed(file: string): TypedModule {
	try {
		return new TypedModule(file);
	} catch (error) {
		const { message: why, loc } = error as { message?: unknown; loc?: { line?: unknown } };
		const line = typeof loc?.line === 'number' ? { line: loc.line } : {};
		// Node was able to load the file.
		const action = 'The type parser does not support this syntax. Rewrite it, or move it to another file.';
		const message = `The types in the file cannot be read: ${String(why).replace(/ \(\d+:\d+\)$/, '')}`;
		throw new LoadFault({ reason: 'invalid', message, action, file, ...line });
	}
}

function classIn(exported: Record<string, unknown>, module: TypedModule, file: string) {
	const found = new Map<Constructor, { name: string; kind: Constructor; source: EnvironmentSource }>();
	for (const [exportName, value] of Object.entries(exported)) {
		if (typeof value !== 'function' || typeof value.prototype?.reset !== 'function') continue;
		const source = EnvironmentSource.of(module, exportName) ?? EnvironmentSource.of(module, value.name);
		const name = value.name === '' || value.name === 'default' ? basename(file).split('.')[0] : value.name;
		const kind = value as Constructor;
		if (source !== null) found.set(kind, { name: String(name), kind, source });
	}
	// A base class of other classes in the file is not an environment itself.
	const all = [...found.values()];
	const classes = all.filter(({ kind }) => all.every((other) => !(other.kind.prototype instanceof kind)));
	const [only, second] = classes;
	if (only !== undefined && second === undefined) return only;
	const names = classes.map(({ name }) => name).join(', ');
	throw new LoadFault({
		reason: 'invalid',
		message:
			second === undefined
				? 'The file has no exported class with a reset method, so it has no environment'
				: `The file has several environments: ${names}`,
		action:
			second === undefined
				? 'Export a class: `export class Guess` with `reset({ number }: Row): string`.'
				: 'Export only one class with a reset method.',
		file,
		line: second?.source.location.line ?? 1,
	});
}

/** Returns the tools sorted by name, as TRL's trainer lists them. */
function toolsOf(kind: Constructor, source: EnvironmentSource): Map<string, Tool> {
	const found = new Map<string, Tool>();
	for (let one: object = kind.prototype; one !== Object.prototype && one !== null; one = Object.getPrototypeOf(one)) {
		for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
			if (typeof value !== 'function' || own.has(name) || name.startsWith('_') || found.has(name)) continue;
			// Methods such as toString are part of JavaScript, not tools.
			if (name in Object.prototype) continue;
			if (!source.isPrivate(name)) found.set(name, toolOf(name, value, source));
		}
	}
	return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function toolOf(name: string, method: unknown, source: EnvironmentSource): Tool {
	const declared = source.method(name);
	const description = { name, isAsync: types.isAsyncFunction(method), location: source.placeOf(name) };
	if (declared === null) {
		const message = `${name} is not declared in a file that this one imports by path, so its types are unknown`;
		return { parameters: null, description: { ...description, schema: null, fault: { kind: 'types', message } } };
	}
	const parameters = parameterNames(declared);
	try {
		return { parameters, description: { ...description, schema: toolSchema(name, declared), fault: null } };
	} catch (error) {
		if (!(error instanceof SchemaFault)) throw error;
		const fault = { kind: error.kind, message: error.message };
		return { parameters, description: { ...description, schema: null, fault } };
	}
}

function rangeOf(value: unknown): [number, number] | null {
	if (!Array.isArray(value) || value.length !== 2 || !value.every(Number.isFinite)) return null;
	return value[0] <= value[1] ? [value[0], value[1]] : null;
}
