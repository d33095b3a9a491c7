import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seccompFilter } from '../../../../src/rewards/sandbox/seccompFilter.ts';
import { allowedCalls, newestCall } from '../../../../src/rewards/sandbox/systemCalls.ts';

const audit = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const allow = 0x7fff0000;
const error = (code: number) => 0x00050000 | code;

/**
 * Returns the kernel's decision, emulating the subset of classic BPF in the filter. Fails on a jump outside the
 * program.
 */
function decide(
	architecture: 'x64' | 'arm64',
	nr: number,
	arguments_: number | readonly number[] = 0,
	as: number = audit[architecture],
): number {
	const args = typeof arguments_ === 'number' ? [arguments_] : arguments_;
	const bytes = seccompFilter(architecture);
	assert.ok(bytes);
	let accumulator = 0;
	for (let at = 0; ; at++) {
		assert.ok(at * 8 < bytes.length, 'the jump leaves the program');
		const code: number = bytes.readUInt16LE(at * 8);
		const [whenTrue, whenFalse] = [bytes.readUInt8(at * 8 + 2), bytes.readUInt8(at * 8 + 3)];
		const value = bytes.readUInt32LE(at * 8 + 4);
		const jump = (condition: boolean) => {
			at += condition ? whenTrue : whenFalse;
		};
		if (code === 0x20) accumulator = value === 0 ? nr : value === 4 ? as : (args[(value - 16) / 8] ?? 0);
		else if (code === 0x15) jump(accumulator === value);
		else if (code === 0x25) jump(accumulator > value);
		else if (code === 0x35) jump(accumulator >= value);
		else if (code === 0x45) jump((accumulator & value) !== 0);
		else if (code === 0x06) return value;
		else assert.fail(`unknown instruction ${code}`);
	}
}

describe('the system call filter', () => {
	it('allows the calls that programs need', () => {
		for (const nr of [0, 1, 2, 9, 59, 60, 231, 257, 302]) assert.equal(decide('x64', nr), allow, String(nr));
		for (const nr of [56, 63, 64, 93, 94, 221, 222, 261]) assert.equal(decide('arm64', nr), allow, String(nr));
	});

	it('has one number per call, without duplicates', () => {
		for (const architecture of ['x64', 'arm64'] as const) {
			const numbers = allowedCalls.flatMap((call) => call[architecture] ?? []);
			for (const nr of numbers) assert.equal(decide(architecture, nr), allow, String(nr));
			assert.equal(new Set(numbers).size, numbers.length);
			assert.ok(numbers.every((nr) => Number.isInteger(nr) && nr <= newestCall));
			assert.ok(numbers.length > 150);
		}
		for (const { name, x64, arm64 } of allowedCalls) assert.ok(x64 !== null || arm64 !== null, name);
	});

	it('blocks ptrace, mounts, namespaces, keys, io_uring, bpf, memfd and System V shared memory', () => {
		for (const nr of [101, 165, 272, 308, 250, 425, 321, 319, 29])
			assert.equal(decide('x64', nr), error(1), String(nr));
		for (const nr of [117, 40, 97, 268, 219, 425, 280, 279, 194])
			assert.equal(decide('arm64', nr), error(1), String(nr));
	});

	it('allows new processes and threads, but not with new namespaces', () => {
		for (const [architecture, clone] of [
			['x64', 56],
			['arm64', 220],
		] as const) {
			assert.equal(decide(architecture, clone, 0x11), allow);
			assert.equal(decide(architecture, clone, 0x3d0f00), allow);
			assert.equal(decide(architecture, clone, 0x10000011), error(1));
			assert.equal(decide(architecture, clone, 0x00020011), error(1));
			// The filter cannot see the flags of clone3; libraries fall back to clone.
			assert.equal(decide(architecture, 435), error(38));
		}
	});

	it('blocks everything it does not list: AIO, inotify, dnotify, message queues, vmsplice, future calls', () => {
		for (const nr of [206, 209, 253, 254, 294, 240, 278, 162, 306, 333, 154])
			assert.equal(decide('x64', nr), error(1), String(nr));
		for (const nr of [0, 2, 26, 27, 180, 75, 81, 267]) assert.equal(decide('arm64', nr), error(1), String(nr));
		for (const architecture of ['x64', 'arm64'] as const) {
			for (const nr of [451, 462, 500]) assert.equal(decide(architecture, nr), error(38), String(nr));
		}
	});

	it('blocks growing buffers or pipes, and writing to a terminal', () => {
		for (const [architecture, setsockopt, fcntl, ioctl] of [
			['x64', 54, 72, 16],
			['arm64', 208, 25, 29],
		] as const) {
			for (const option of [7, 8]) assert.equal(decide(architecture, setsockopt, [3, 1, option]), error(1));
			assert.equal(decide(architecture, setsockopt, [3, 1, 2]), allow);
			assert.equal(decide(architecture, setsockopt, [3, 6, 7]), allow);
			for (const request of [1031, 1026]) assert.equal(decide(architecture, fcntl, [3, request]), error(1));
			assert.equal(decide(architecture, fcntl, [3, 4]), allow);
			for (const request of [0x5412, 0x541c]) assert.equal(decide(architecture, ioctl, [0, request]), error(1));
			assert.equal(decide(architecture, ioctl, [0, 0x5401]), allow);
		}
	});

	it('allows only Unix sockets with protocol 0', () => {
		assert.equal(decide('x64', 41, [1, 1, 0]), allow);
		// MPTCP, UDP-Lite, SCTP
		for (const protocol of [262, 136, 132]) assert.equal(decide('x64', 41, [1, 1, protocol]), error(1));
		for (const family of [0, 2, 10, 16, 17, 38, 40]) assert.equal(decide('x64', 41, family), error(97));
		assert.equal(decide('x64', 53, 1), allow);
		assert.equal(decide('arm64', 198, 40), error(97));
	});

	it('kills programs of another architecture, and blocks the x32 numbers of x86-64', () => {
		assert.equal(decide('x64', 1, 0, 0x40000003), 0x80000000);
		assert.equal(decide('x64', 0x40000000 + 101), error(38));
	});

	it('does not exist for architectures with unknown call numbers', () => {
		assert.equal(seccompFilter('riscv64'), null);
	});
});
