/*
 * WebAssembly instructions as expressions. Loops over the bytes of a text take a fraction of the time that they take in
 * JavaScript, because accesses to memory are not checked one by one, and SIMD instructions are available.
 */

/** Instructions, in the binary format. An expression leaves one value; a statement leaves none. */
export type Code = readonly number[];

/** A parameter or local variable. */
export interface Local {
	/** Expression for its value. */
	readonly value: Code;
	/** Assigns a value. */
	set(value: Code): Code;
}

/** Encodes an integer from 0 to 2^32 - 1. */
export function unsigned(value: number): number[] {
	if (value >>> 0 !== value) throw new RangeError(`${value} is not an unsigned 32-bit integer`);
	return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
	const low = value & 0x7f;
	const rest = value >> 7;
	return rest === ((low & 0x40) === 0 ? 0 : -1) ? [low] : [low | 0x80, ...signed(rest)];
}

/** A 32-bit integer. */
export function int(value: number): Code {
	return [0x41, ...signed(value | 0)];
}

const operator =
	(...instruction: number[]) =>
	(...operands: readonly Code[]): Code => [...operands.flat(), ...instruction];

/** Operators on 32-bit integers; comparisons give 0 or 1. */
export const i32 = {
	isZero: operator(0x45),
	equal: operator(0x46),
	notEqual: operator(0x47),
	less: operator(0x48),
	greater: operator(0x4a),
	notGreater: operator(0x4c),
	notLess: operator(0x4e),
	trailingZeros: operator(0x68),
	add: operator(0x6a),
	subtract: operator(0x6b),
	multiply: operator(0x6c),
	and: operator(0x71),
	or: operator(0x72),
	xor: operator(0x73),
	shiftLeft: operator(0x74),
	shiftRight: operator(0x75),
	shiftRightUnsigned: operator(0x76),
};

/** Operators on vectors of 16 bytes. */
export const bytes16 = {
	equal: operator(0xfd, 0x23),
	and: operator(0xfd, 0x4e),
	or: operator(0xfd, 0x50),
	/** Bit i: the high bit of byte i. */
	highBits: operator(0xfd, 0x64),
};

/** Operators that read memory at an address, plus a constant offset. */
const load =
	(...instruction: number[]) =>
	(address: Code, offset = 0): Code => [...address, ...instruction, 0, ...unsigned(offset)];

export const loadInt = load(0x28);
export const loadByte = load(0x2d);
/** Reads an unsigned integer of two bytes. */
export const loadShort = load(0x2f);
export const load16Bytes = load(0xfd, 0x00);
/** Reads a byte and repeats it in all of a vector. */
export const loadSplat = load(0xfd, 0x07);

export function storeInt(address: Code, value: Code, offset = 0): Code {
	return [...address, ...value, 0x36, 0, ...unsigned(offset)];
}

/** Ends the function. */
export function giveBack(value: Code): Code {
	return [...value, 0x0f];
}

export function when(condition: Code, ...statements: readonly Code[]): Code {
	return [...condition, 0x04, 0x40, ...statements.flat(), 0x0b];
}

/** Repeats the statements until the condition holds before them. */
export function until(condition: Code, ...statements: readonly Code[]): Code {
	return [0x02, 0x40, 0x03, 0x40, ...condition, 0x0d, 1, ...statements.flat(), 0x0c, 0, 0x0b, 0x0b];
}
