import { SqliteError, type SqlitePages } from './sqlitePages.ts';

export type SqliteValue = null | number | bigint | string | Buffer;

/** Sizes of serial types 0 to 9 (https://www.sqlite.org/fileformat2.html#record_format). */
const fixedBytes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0] as const;

/** Reads a variable-length integer of up to nine bytes. Integers that a number cannot represent lose precision. */
export function varintAt(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
	let value = 0;
	for (let i = 0; i < 8; i++) {
		const byte = bytes.readUInt8(at + i);
		value = value * 128 + (byte & 0x7f);
		if (byte < 0x80) return { value, end: at + i + 1 };
	}
	const whole = BigInt(value) * 256n + BigInt(bytes.readUInt8(at + 8));
	return { value: Number(BigInt.asIntN(64, whole)), end: at + 9 };
}

/** Returns a record's values. Fails with an Error if they extend past its end. */
export function recordValues(record: Buffer, encoding: SqlitePages['encoding']): SqliteValue[] {
	const header = varintAt(record, 0);
	const values: SqliteValue[] = [];
	let body = header.value;
	for (let at = header.end; at < header.value; ) {
		const { value: type, end } = varintAt(record, at);
		at = end;
		const size = type < 12 ? fixedBytes[type] : Math.floor((type - 12) / 2);
		if (size === undefined || body + size > record.length) throw new SqliteError('a value overruns its row');
		values.push(valueAt(record, body, type, size, encoding));
		body += size;
	}
	return values;
}

function valueAt(
	record: Buffer,
	at: number,
	type: number,
	size: number,
	encoding: SqlitePages['encoding'],
): SqliteValue {
	if (type === 0) return null;
	if (type === 7) return record.readDoubleBE(at);
	if (type === 8 || type === 9) return type - 8;
	if (type === 6) {
		const value = record.readBigInt64BE(at);
		return Number.isSafeInteger(Number(value)) ? Number(value) : value;
	}
	if (type < 6) return record.readIntBE(at, size);
	const bytes = record.subarray(at, at + size);
	return type % 2 === 0 ? Buffer.from(bytes) : textOf(bytes, encoding);
}

function textOf(bytes: Buffer, encoding: SqlitePages['encoding']): string {
	if (encoding !== 'utf16be') return bytes.toString(encoding);
	return Buffer.from(bytes.subarray(0, bytes.length & ~1))
		.swap16()
		.toString('utf16le');
}
