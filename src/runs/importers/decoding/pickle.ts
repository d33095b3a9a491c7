import { resultOf, setState, storageOf } from './pickleClasses.ts';
import {
	PickleBytes,
	PickleDict,
	PickleList,
	PickleName,
	PickleNumbers,
	PickleObject,
	PickleText,
} from './pickleValues.ts';

/*
 * Python's pickle format (Lib/pickletools.py), protocols 2 to 5, as data: nothing is imported or called. Opcodes used
 * only by older protocols are errors.
 */

/** Maximum number of objects. Numbers in long lists are not counted, because they stay encoded. */
const maxObjects = 8_000_000;
/** Text longer than this is kept encoded. */
const longText = 200;
/** Minimum length of a run of numbers in a list that is kept encoded. */
const minNumbers = 8;

const mark = Symbol('mark');

/** Bytes of an opcode whose argument is a number, including the opcode; 0 for all others. */
const numberBytes = new Uint8Array(256);
// BINFLOAT, BININT, BININT1, BININT2, NONE, NEWTRUE, NEWFALSE.
const sizes = [
	[0x47, 9],
	[0x4a, 5],
	[0x4b, 2],
	[0x4d, 3],
	[0x4e, 1],
	[0x88, 1],
	[0x89, 1],
] as const;
for (const [op, bytes] of sizes) numberBytes[op] = bytes;

/** Reads a pickle. Throws an Error whose message is a sentence fragment. */
export class Pickle {
	readonly #bytes: Buffer;
	#at = 0;
	#objects = 0;
	readonly #stack: unknown[] = [];
	readonly #memo: unknown[] = [];

	constructor(bytes: Buffer) {
		this.#bytes = bytes;
	}

	/** Returns the pickled value. */
	read(): unknown {
		for (;;) {
			if (this.#at >= this.#bytes.length) throw new Error('the pickle is truncated');
			const op = this.#bytes[this.#at++] as number;
			if (op === 0x2e) return this.#pop();
			if (!this.#number(op) && !this.#text(op) && !this.#container(op) && !this.#object(op)) {
				throw new Error(`opcode 0x${op.toString(16)} at byte ${this.#at - 1} of the pickle is not supported`);
			}
		}
	}

	/** Decodes text that was left encoded. */
	text({ start, length }: PickleText, encoding: 'utf8' | 'latin1' = 'utf8'): string {
		return this.#bytes.toString(encoding, start, start + length);
	}

	/** Decodes numbers that were left encoded and appends them. */
	numbers({ start, count }: PickleNumbers, into: unknown[]): void {
		this.#at = start;
		for (let left = count; left > 0; left--) {
			this.#number(this.#bytes[this.#at++] as number);
			into.push(this.#stack.pop());
		}
	}

	#number(op: number): boolean {
		switch (op) {
			case 0x4b: // BININT1
				this.#stack.push(this.#bytes.readUInt8(this.#skip(1)));
				return true;
			case 0x4d: // BININT2
				this.#stack.push(this.#bytes.readUInt16LE(this.#skip(2)));
				return true;
			case 0x4a: // BININT
				this.#stack.push(this.#bytes.readInt32LE(this.#skip(4)));
				return true;
			case 0x47: // BINFLOAT
				this.#stack.push(this.#bytes.readDoubleBE(this.#skip(8)));
				return true;
			case 0x4e: // NONE
				this.#stack.push(null);
				return true;
			case 0x88: // NEWTRUE
			case 0x89: // NEWFALSE
				this.#stack.push(op === 0x88);
				return true;
			case 0x8a: // LONG1
				this.#stack.push(this.#long(this.#bytes.readUInt8(this.#skip(1))));
				return true;
			default:
				return false;
		}
	}

	/** Reads a little-endian integer of any size as a number. */
	#long(length: number): number {
		const start = this.#skip(length);
		let value = 0n;
		for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.#bytes[start + i] as number);
		return Number(BigInt.asIntN(8 * length, value));
	}

	#text(op: number): boolean {
		switch (op) {
			case 0x58: // BINUNICODE
				return this.#pushText(this.#bytes.readUInt32LE(this.#skip(4)));
			case 0x8c: // SHORT_BINUNICODE
				return this.#pushText(this.#bytes.readUInt8(this.#skip(1)));
			case 0x8d: // BINUNICODE8
				return this.#pushText(this.#size());
			case 0x43: // SHORT_BINBYTES
				return this.#pushBytes(this.#bytes.readUInt8(this.#skip(1)));
			case 0x42: // BINBYTES
				return this.#pushBytes(this.#bytes.readUInt32LE(this.#skip(4)));
			case 0x8e: // BINBYTES8
			case 0x96: // BYTEARRAY8
				return this.#pushBytes(this.#size());
			default:
				return false;
		}
	}

	#container(op: number): boolean {
		switch (op) {
			case 0x28: // MARK
				if (!this.#encodedNumbers()) this.#push(mark);
				return true;
			case 0x5d: // EMPTY_LIST
			case 0x29: // EMPTY_TUPLE
			case 0x8f: // EMPTY_SET
				return this.#push(new PickleList());
			case 0x7d: // EMPTY_DICT
				return this.#push(new PickleDict());
			case 0x61: // APPEND
				this.#append([this.#pop()]);
				return true;
			case 0x65: // APPENDS
			case 0x90: // ADDITEMS
				this.#append(this.#toMark());
				return true;
			case 0x74: // TUPLE
			case 0x6c: // LIST
			case 0x91: // FROZENSET
				return this.#push(new PickleList(this.#toMark()));
			case 0x85: // TUPLE1
			case 0x86: // TUPLE2
			case 0x87: // TUPLE3
				return this.#push(new PickleList(this.#last(op - 0x84)));
			case 0x73: // SETITEM
				this.#set(this.#last(2));
				return true;
			case 0x75: // SETITEMS
				this.#set(this.#toMark());
				return true;
			case 0x64: // DICT
				return this.#dict(this.#toMark());
			default:
				return false;
		}
	}

	#object(op: number): boolean {
		switch (op) {
			case 0x80: // PROTO
				this.#skip(1);
				return true;
			case 0x95: // FRAME
				this.#skip(8);
				return true;
			case 0x71: // BINPUT
				this.#memo[this.#bytes.readUInt8(this.#skip(1))] = this.#top();
				return true;
			case 0x72: // LONG_BINPUT
				return this.#remember(this.#bytes.readUInt32LE(this.#skip(4)));
			case 0x94: // MEMOIZE
				return this.#remember(this.#memo.length);
			case 0x68: // BINGET
				return this.#recall(this.#bytes.readUInt8(this.#skip(1)));
			case 0x6a: // LONG_BINGET
				return this.#recall(this.#bytes.readUInt32LE(this.#skip(4)));
			case 0x63: // GLOBAL
				return this.#push(new PickleName(`${this.#line()}.${this.#line()}`));
			case 0x93: {
				// STACK_GLOBAL
				const [module, name] = this.#last(2);
				return this.#push(new PickleName(`${String(module)}.${String(name)}`));
			}
			case 0x52: // REDUCE
			case 0x81: {
				// NEWOBJ
				const [called, args] = this.#last(2);
				return this.#push(resultOf(called, args));
			}
			case 0x92: {
				// NEWOBJ_EX
				const [called] = this.#last(3);
				return this.#push(new PickleObject(called instanceof PickleName ? called.name : 'object'));
			}
			case 0x62: {
				// BUILD
				const state = this.#pop();
				setState(this.#top(), state);
				return true;
			}
			case 0x51: // BINPERSID
				return this.#push(storageOf(this.#pop()));
			case 0x30: // POP
				this.#pop();
				return true;
			case 0x31: // POP_MARK
				this.#toMark();
				return true;
			case 0x32: // DUP
				return this.#push(this.#top());
			default:
				return false;
		}
	}

	/**
	 * Leaves entries encoded if all entries added to a list in one operation are numbers, such as token ids: a batch
	 * can have millions of them, and only one rollout is needed at a time.
	 */
	#encodedNumbers(): boolean {
		const list = this.#stack.at(-1);
		if (!(list instanceof PickleList)) return false;
		const start = this.#at;
		let [at, count] = [start, 0];
		for (let bytes = numberBytes[this.#bytes[at] ?? 0] as number; bytes > 0; count++) {
			at += bytes;
			bytes = numberBytes[this.#bytes[at] ?? 0] as number;
		}
		if (count < minNumbers || this.#bytes[at] !== 0x65) return false;
		this.#at = at + 1;
		list.items.push(new PickleNumbers(start, count));
		return true;
	}

	#pushText(length: number): boolean {
		const start = this.#skip(length);
		const text = new PickleText(start, length);
		return this.#push(length > longText ? text : this.text(text));
	}

	#pushBytes(length: number): boolean {
		const start = this.#skip(length);
		return this.#push(new PickleBytes(this.#bytes.subarray(start, start + length)));
	}

	#append(items: unknown[]): void {
		const list = this.#top();
		if (!(list instanceof PickleList)) {
			if (list instanceof PickleObject) return;
			throw new Error('entries are added to something that is not a list');
		}
		for (const item of items) list.items.push(item);
	}

	#set(items: readonly unknown[]): void {
		const dict = this.#top();
		if (dict instanceof PickleObject) return;
		if (!(dict instanceof PickleDict) || items.length % 2 !== 0) throw new Error('a dictionary is incomplete');
		for (let i = 0; i < items.length; i += 2) dict.entries.push([items[i], items[i + 1]]);
	}

	#dict(items: readonly unknown[]): boolean {
		this.#push(new PickleDict());
		this.#set(items);
		return true;
	}

	#push(value: unknown): boolean {
		if (++this.#objects > maxObjects) throw new Error(`the pickle has more than ${maxObjects} objects`);
		this.#stack.push(value);
		return true;
	}

	#remember(index: number): boolean {
		// Pickles number objects in order, so a larger number would only waste memory.
		if (index > this.#objects) throw new Error('the pickle has invalid object numbers');
		this.#memo[index] = this.#top();
		return true;
	}

	#recall(index: number): boolean {
		if (index >= this.#memo.length) throw new Error(`object ${index} of the pickle is missing`);
		return this.#push(this.#memo[index]);
	}

	#top(): unknown {
		const top = this.#stack.at(-1);
		if (this.#stack.length === 0 || top === mark) throw new Error('the pickle has too few objects');
		return top;
	}

	#pop(): unknown {
		const top = this.#top();
		this.#stack.pop();
		return top;
	}

	/** Removes and returns the last objects. */
	#last(count: number): unknown[] {
		const items: unknown[] = [];
		for (let i = 0; i < count; i++) items.unshift(this.#pop());
		return items;
	}

	/** Removes and returns the objects after the latest mark. */
	#toMark(): unknown[] {
		const at = this.#stack.lastIndexOf(mark);
		if (at < 0) throw new Error('the pickle has no mark');
		return this.#stack.splice(at).slice(1);
	}

	/** Returns the position of the next `length` bytes and moves past them. */
	#skip(length: number): number {
		const start = this.#at;
		if (start + length > this.#bytes.length) throw new Error('the pickle is truncated');
		this.#at = start + length;
		return start;
	}

	#size(): number {
		return Number(this.#bytes.readBigUInt64LE(this.#skip(8)));
	}

	#line(): string {
		const end = this.#bytes.indexOf(0x0a, this.#at);
		if (end < 0) throw new Error('the pickle is truncated');
		const line = this.#bytes.toString('utf8', this.#at, end);
		this.#at = end + 1;
		return line;
	}
}
