const table = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
	let value = i;
	for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
	table[i] = value;
}

/** Computes the CRC-32C (Castagnoli), masked as in TFRecord files: rotated right by 15 bits, plus 0xa282ead8. */
export function maskedCrc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
	let crc = 0xffffffff;
	for (let i = from; i < to; i++) crc = (crc >>> 8) ^ (table[(crc ^ (bytes[i] as number)) & 0xff] as number);
	crc = ~crc >>> 0;
	return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
