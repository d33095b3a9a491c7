import { type Code, type Local, unsigned } from './code.ts';

const types = { i32: 0x7f, v128: 0x7b } as const;

/** A function on 32-bit integers that returns one. */
export interface WasmFunction {
	readonly parameters: number;
	/** Local variables and statements, in the binary format. The last statement has to return a value. */
	readonly code: readonly number[];
}

/**
 * Defines a function.
 * @param names names of its parameters, of its other integers, which start as 0, and of its vectors
 */
export function defineFunction<Name extends string>(
	names: {
		readonly parameters: readonly Name[];
		readonly integers: readonly Name[];
		readonly vectors?: readonly Name[];
	},
	statements: (locals: Readonly<Record<Name, Local>>) => readonly Code[],
): WasmFunction {
	const { parameters, integers, vectors = [] } = names;
	const locals = [...parameters, ...integers, ...vectors].map((name, i): [Name, Local] => [
		name,
		{ value: [0x20, ...unsigned(i)], set: (value) => [...value, 0x21, ...unsigned(i)] },
	]);
	const body = statements(Object.fromEntries(locals) as Record<Name, Local>).flat();
	const declared = [...unsigned(integers.length), types.i32, ...unsigned(vectors.length), types.v128];
	return { parameters: parameters.length, code: [2, ...declared, ...body, 0x00, 0x0b] };
}

/** TypeScript declares it only in its DOM library. */
const { WebAssembly } = globalThis as unknown as {
	readonly WebAssembly?: {
		readonly Module: new (bytes: Uint8Array) => object;
		readonly Instance: new (module: object) => { readonly exports: Record<string, unknown> };
	};
};

export const pageBytes = 0x10000;

export type WasmInstance<Name extends string> = { readonly memory: { readonly buffer: ArrayBuffer } } & Readonly<
	Record<Name, (...values: number[]) => number>
>;

/**
 * Returns an instance with its own memory, or null without WebAssembly or if there is no memory for it: 8 GiB of addresses
 * are reserved, which some machines limit.
 * @param functions by name
 * @param bytes size of the memory, rounded up to pages of 64 KiB
 */
export function instantiate<Name extends string>(
	functions: Readonly<Record<Name, WasmFunction>>,
	bytes: number,
): WasmInstance<Name> | null {
	if (WebAssembly === undefined) return null;
	const module = new WebAssembly.Module(assemble(functions, Math.ceil(bytes / pageBytes)));
	try {
		return new WebAssembly.Instance(module).exports as unknown as WasmInstance<Name>;
	} catch (error) {
		if (error instanceof RangeError) return null;
		throw error;
	}
}

function assemble(functions: Readonly<Record<string, WasmFunction>>, pages: number) {
	const list = (items: readonly (readonly number[])[]) => [...unsigned(items.length), ...items.flat()];
	const section = (id: number, items: readonly (readonly number[])[]) => {
		const content = list(items);
		return [id, ...unsigned(content.length), ...content];
	};
	const name = (text: string) => [
		...unsigned(text.length),
		...Array.from(text, (character) => character.charCodeAt(0)),
	];
	const all = Object.entries(functions);
	return Uint8Array.from([
		...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
		...section(
			1,
			all.map(([, { parameters }]) => [0x60, ...list(new Array(parameters).fill([types.i32])), 1, types.i32]),
		),
		...section(
			3,
			all.map((_, i) => unsigned(i)),
		),
		...section(5, [[1, ...unsigned(pages), ...unsigned(pages)]]),
		...section(7, [[...name('memory'), 2, 0], ...all.map(([key], i) => [...name(key), 0, ...unsigned(i)])]),
		...section(
			10,
			all.map(([, { code }]) => [...unsigned(code.length), ...code]),
		),
	]);
}
