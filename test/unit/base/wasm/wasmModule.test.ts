import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import * as code from '../../../../src/base/wasm/code.ts';
import { defineFunction, instantiate, pageBytes } from '../../../../src/base/wasm/wasmModule.ts';

const { i32, int } = code;

/** The same operators in JavaScript. */
const expected: Readonly<Record<keyof typeof i32, (a: number, b: number) => number | boolean>> = {
	isZero: (a) => a === 0,
	equal: (a, b) => a === b,
	notEqual: (a, b) => a !== b,
	less: (a, b) => a < b,
	greater: (a, b) => a > b,
	notGreater: (a, b) => a <= b,
	notLess: (a, b) => a >= b,
	trailingZeros: (a) => (a === 0 ? 32 : 31 - Math.clz32(a & -a)),
	add: (a, b) => (a + b) | 0,
	subtract: (a, b) => (a - b) | 0,
	multiply: Math.imul,
	and: (a, b) => a & b,
	or: (a, b) => a | b,
	xor: (a, b) => a ^ b,
	shiftLeft: (a, b) => a << b,
	shiftRight: (a, b) => a >> b,
	shiftRightUnsigned: (a, b) => (a >>> b) | 0,
};

describe('WebAssembly functions', () => {
	it('compute the same as JavaScript', () => {
		const names = Object.keys(i32) as (keyof typeof i32)[];
		const unary = ['isZero', 'trailingZeros'];
		const wasm = instantiate(
			Object.fromEntries(
				names.map((name) => [
					name,
					defineFunction({ parameters: ['a', 'b'], integers: [] }, ({ a, b }) => [
						code.giveBack(unary.includes(name) ? i32[name](a.value) : i32[name](a.value, b.value)),
					]),
				]),
			),
			pageBytes,
		);
		const random = Random.of(1, 'wasm');
		const numbers = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), ...Array.from({ length: 20 }, () => random.int(2 ** 32) | 0)];
		for (const name of names) {
			for (const a of numbers) {
				for (const b of numbers) assert.equal(wasm?.[name]?.(a, b), Number(expected[name](a, b)), `${a} ${name} ${b}`);
			}
		}
	});

	it('contain any 32-bit constant', () => {
		const random = Random.of(2, 'wasm');
		const near = Array.from({ length: 32 }, (_, bit) =>
			[-1, 0, 1].flatMap((d) => [2 ** bit + d, -(2 ** bit) + d]),
		).flat();
		const numbers = [...near, ...Array.from({ length: 50 }, () => random.int(2 ** 32))].map((value) => value | 0);
		const constants = numbers.map((value) =>
			defineFunction({ parameters: [], integers: [] }, () => [code.giveBack(int(value))]),
		);
		const wasm = instantiate(Object.fromEntries(constants.map((made, i) => [`f${i}`, made])), pageBytes);
		for (const [i, value] of numbers.entries()) assert.equal(wasm?.[`f${i}`]?.(), value);
	});

	it('read and write memory, and loop', () => {
		const sum = defineFunction({ parameters: ['at', 'end'], integers: ['sum'] }, ({ at, end, sum }) => [
			code.until(
				i32.notLess(at.value, end.value),
				code.when(i32.equal(code.loadByte(at.value), int(255)), code.giveBack(int(-1))),
				sum.set(i32.add(sum.value, i32.add(code.loadShort(at.value, 2), code.loadInt(at.value, 4)))),
				code.storeInt(at.value, sum.value, 300),
				at.set(i32.add(at.value, int(8))),
			),
			code.giveBack(sum.value),
		]);
		const wasm = instantiate({ sum }, 1);
		const bytes = new DataView(wasm?.memory.buffer as ArrayBuffer);
		assert.equal(bytes.byteLength, pageBytes);
		for (let i = 0; i < 3; i++) {
			bytes.setUint16(8 * i + 2, 65_000 + i, true);
			bytes.setInt32(8 * i + 4, -i, true);
		}
		assert.equal(wasm?.sum(0, 24), 195_000);
		assert.deepEqual(
			[300, 308, 316].map((at) => bytes.getInt32(at, true)),
			[65_000, 130_000, 195_000],
		);
		bytes.setUint8(8, 255);
		assert.equal(wasm?.sum(0, 24), -1);
		assert.throws(() => wasm?.sum(pageBytes, pageBytes + 8), /out of bounds/);
	});

	it('can have many variables', () => {
		const names = Array.from({ length: 200 }, (_, i) => `v${i}`);
		const last = defineFunction({ parameters: ['a'], integers: names }, (locals) => [
			locals.v199?.set(locals.a?.value ?? []) ?? [],
			code.giveBack(locals.v199?.value ?? []),
		]);
		assert.equal(instantiate({ ['x'.repeat(200)]: last }, pageBytes)?.['x'.repeat(200)]?.(7), 7);
	});

	it('are rejected if they are invalid or need more memory than can be declared', () => {
		assert.throws(
			() => instantiate({ bad: { parameters: 0, code: [0, 0x6a, 0x0b] } }, pageBytes),
			/not enough arguments/,
		);
		assert.throws(() => instantiate({}, 2 ** 33), { name: 'CompileError' });
		assert.throws(() => instantiate({}, 2 ** 49), RangeError);
	});
});
