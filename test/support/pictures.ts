import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

function chunk(kind: string, content: Uint8Array): Buffer {
	const body = Buffer.concat([Buffer.from(kind), content]);
	const whole = Buffer.alloc(body.length + 8);
	whole.writeUInt32BE(content.length, 0);
	body.copy(whole, 4);
	whole.writeUInt32BE(crc32(body), body.length + 4);
	return whole;
}

/** Returns a PNG file that declares a size. A small one contains all its pixels, in gray. */
export function pngOf(width: number, height: number): Buffer {
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	header[8] = 8;
	const rows = width * height > 1_000_000 ? Buffer.alloc(0) : Buffer.alloc((width + 1) * height, 128);
	for (let row = 0; row * (width + 1) < rows.length; row++) rows[row * (width + 1)] = 0;
	const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
	return Buffer.concat([
		start,
		chunk('IHDR', header),
		chunk('IDAT', deflateSync(rows)),
		chunk('IEND', Buffer.alloc(0)),
	]);
}

/** Returns the name under which a run keeps a picture. */
export function pictureName(content: Uint8Array, kind: 'png' | 'jpg' = 'png'): string {
	return `${createHash('sha256').update(content).digest('hex')}.${kind}`;
}
