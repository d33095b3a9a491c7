import type { PictureType } from '../../protocol/rolloutPicture.ts';

export interface PictureSize {
	readonly type: PictureType;
	/** In pixels, as declared in the file. */
	readonly width: number;
	readonly height: number;
}

const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Returns the type and declared size of a PNG or JPEG file, without decoding it; null if it is neither. */
export function pictureSize(content: Uint8Array): PictureSize | null {
	const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
	if (content.length >= 24 && pngStart.every((byte, i) => content[i] === byte)) {
		// The first chunk must be IHDR.
		if (view.getUint32(12) !== 0x49484452) return null;
		return { type: 'image/png', width: view.getUint32(16), height: view.getUint32(20) };
	}
	return content[0] === 0xff && content[1] === 0xd8 ? jpegSize(view) : null;
}

/** Markers of frames in ITU-T T.81, table B.1: SOF0 to SOF15, except DHT (C4), JPG (C8) and DAC (CC). */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function jpegSize(view: DataView): PictureSize | null {
	for (let place = 2; place + 9 <= view.byteLength; ) {
		if (view.getUint8(place) !== 0xff) return null;
		const marker = view.getUint8(place + 1);
		if (isFrame(marker)) {
			return { type: 'image/jpeg', height: view.getUint16(place + 5), width: view.getUint16(place + 7) };
		}
		// Reached a scan or the end before any frame.
		if (marker === 0xda || marker === 0xd9) return null;
		place += 2 + view.getUint16(place + 2);
	}
	return null;
}
