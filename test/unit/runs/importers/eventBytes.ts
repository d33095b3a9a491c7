import { maskedCrc32c } from '../../../../src/runs/importers/crc32c.ts';

/** Contents of one event in a TensorBoard event file. */
export interface EventToWrite {
	readonly step: number;
	/** Unix time in seconds. */
	readonly time?: number;
	readonly tag: string;
	readonly value?: number;
	readonly text?: string;
}

function varint(value: number): Buffer {
	const bytes: number[] = [];
	let rest = value;
	do {
		bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
		rest = Math.floor(rest / 128);
	} while (rest > 0);
	return Buffer.from(bytes);
}

const field = (number: number, bytes: Uint8Array) =>
	Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
const text = (number: number, value: string) => field(number, Buffer.from(value));

function fixed(number: number, value: number, width: 4 | 8): Buffer {
	const bytes = Buffer.alloc(width);
	if (width === 4) bytes.writeFloatLE(value);
	else bytes.writeDoubleLE(value);
	return Buffer.concat([varint(number * 8 + (width === 4 ? 5 : 1)), bytes]);
}

/** Encodes an event with its framing, as TensorBoard writers do. */
export function eventBytes({ step, time = 1_760_000_000, tag, value, text: words }: EventToWrite): Buffer {
	const content =
		words === undefined
			? fixed(2, value ?? 0, 4)
			: Buffer.concat([
					field(8, Buffer.concat([varint(8), varint(7), text(8, words)])),
					field(9, field(1, text(1, 'text'))),
				]);
	const summary = field(1, Buffer.concat([text(1, tag), content]));
	return framed(Buffer.concat([fixed(1, time, 8), varint(16), varint(step), field(5, summary)]));
}

export function framed(event: Uint8Array): Buffer {
	const length = Buffer.alloc(8);
	length.writeBigUInt64LE(BigInt(event.length));
	const sum = (bytes: Uint8Array) => {
		const buffer = Buffer.alloc(4);
		buffer.writeUInt32LE(maskedCrc32c(bytes));
		return buffer;
	};
	return Buffer.concat([length, sum(length), event, sum(event)]);
}

export function eventFile(events: readonly EventToWrite[]): Buffer {
	return Buffer.concat(events.map(eventBytes));
}
