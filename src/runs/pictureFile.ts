import { createHash } from 'node:crypto';
import { Failure } from '../base/failure.ts';
import { pictureSize } from '../core/vision/pictureSize.ts';
import { openRegular } from '../files/safeFile.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { largestPicture, type PictureType, pictureFileSchema } from '../protocol/rolloutPicture.ts';
import { runFiles } from './runFiles.ts';

/** Maximum side length of a displayed picture, in pixels. The engine's copies have at most 1024. */
const longestSide = 2048;

/** Checks a picture before it is written to or shown from a run. Fails with `corrupt` and `unsupported`. */
export function checkPicture(file: string, content: Uint8Array): PictureType {
	const broken = (what: string) => new Failure('corrupt', `The picture ${file} in the run folder ${what}.`);
	if (content.length > largestPicture) throw broken(`is larger than ${largestPicture} bytes`);
	const size = pictureSize(content);
	if (size === null) throw broken('is neither a PNG nor a JPEG file');
	if (Math.max(size.width, size.height) > longestSide || Math.min(size.width, size.height) < 1) {
		throw broken(`declares ${size.width} x ${size.height} pixels`);
	}
	if (createHash('sha256').update(content).digest('hex') !== file.slice(0, 64)) {
		throw broken('has changed since it was recorded');
	}
	return size.type;
}

/**
 * Reads a picture that a run's rollouts refer to. Fails with `missing`, and with `invalid` or `corrupt` for anything
 * that the engine would not have written.
 * @param file name from a rollout's `extra.picture`
 */
export async function readPicture(run: string, file: string): Promise<{ type: PictureType; content: Buffer }> {
	const name = decodeOrThrow(pictureFileSchema, file, 'The name of a picture');
	const handle = await openRegular(run, `${runFiles.pictures}/${name}`);
	try {
		const { size } = await handle.stat();
		if (size > largestPicture) throw new Failure('corrupt', `The picture ${name} in the run folder is ${size} bytes.`);
		const content = await handle.readFile();
		return { type: checkPicture(name, content), content };
	} finally {
		await handle.close();
	}
}
